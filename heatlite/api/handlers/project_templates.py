"""Templates written from the objects of a project."""

from __future__ import annotations

from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.rpc import messages

MOST_VALUES, LONGEST_VALUE = 100, 255       # values of one field, characters of each


def generate(req: Request) -> dict[str, object]:
    """Return the objects of the project as a template, with the imports to it; the body selects some."""
    body = req.json or {}
    name = body.get('name') or ''
    if not isinstance(name, str) or len(name) > LONGEST_VALUE:
        raise exception.InvalidField('name', _('a pattern of at most %d characters') % LONGEST_VALUE,
                                     type(name).__name__)
    found: dict[str, object] = req.call(messages.GenerateProjectTemplate(
        types=_texts(body, 'types'), tags=_texts(body, 'tags'), name=name, networks=_texts(body, 'networks')))
    return found


def _texts(body: dict[str, object], key: str) -> tuple[str, ...]:
    given = body.get(key) or []
    if not isinstance(given, list) or len(given) > MOST_VALUES or not all(
            isinstance(each, str) and len(each) <= LONGEST_VALUE for each in given):
        raise exception.InvalidField(key, _('a list of at most %(count)d texts of at most %(limit)d characters') % {
            'count': MOST_VALUES, 'limit': LONGEST_VALUE}, type(given).__name__)
    return tuple(given)
