"""When something asked for is done: what a status means, and when something deleted is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest import spelling
from heatlite.engine.resources.rest.templating import pick
from heatlite.engine.resources.yaml_lines import Written

WAIT_KEYS = frozenset({'field', 'busy', 'ready', 'error', 'reason', 'after'})
NOT_FOUND, PAGE = 404, 'page'
GONE_KEYS = frozenset({'field', 'values', 'error', 'reason', 'busy'})
ACTIONS = ('create', 'update')              # that are waited for
TEXTS = frozenset({'field', 'reason'})
STATUSES = frozenset({'busy', 'ready', 'error', 'values', 'after'})
OTHER = 'other'                             # every status that is not named


class ObjectNotDeletable(Exception):
    """The object cannot be deleted now. Hooks raise it, and are called again at the next poll."""


@dataclass(frozen=True)
class DescribedWait:
    """`busy` or `ready` may be 'other'. `reason`: the field that says why something failed."""

    field: str
    ready: tuple[str, ...] | str
    busy: tuple[str, ...] | str = ()
    error: tuple[str, ...] = ()
    reason: str = ''

    def is_over(self, found: object) -> bool:
        """Raise ResourceInError, or ResourceUnknownStatus for a status that is not described."""
        status = pick(found, self.field)
        seen = status if isinstance(status, list) else [status]
        failed = [each for each in seen if each in self.error]
        if failed:
            raise exception.ResourceInError(
                resource_status=failed[0], status_reason=pick(found, self.reason) or _('Unknown')
                if self.reason else _('Unknown'))
        left = [each for each in seen if not _has(self.ready, each)]
        if not left or (self.ready == OTHER and not any(_has(self.busy, each) for each in seen)):
            return True
        if self.busy == OTHER or self.ready == OTHER or all(_has(self.busy, each) for each in left):
            return False
        raise exception.ResourceUnknownStatus(resource_status=left[0], result=_('Resource is not built'),
                                              status_reason=self._known())

    def _known(self) -> str:
        """Return the message for a status that the description does not list, with those that it lists."""
        return _('%(field)s is none of the described statuses: %(statuses)s') % {
            'field': self.field, 'statuses': '; '.join(
                f'{word} {", ".join(map(str, statuses)) if statuses != OTHER else statuses}'
                for word, statuses in (('busy', self.busy), ('ready', self.ready), ('error', self.error)) if statuses)}


def _has(statuses: tuple[str, ...] | str, status: object) -> bool:
    return statuses != OTHER and status in statuses


@dataclass(frozen=True)
class Gone:
    """When something deleted is gone, beyond 404: a field with one of `values`. `error`: it will never be. `busy`: it
    is being deleted, and the service refuses another request to delete it. `takes_pages`: an answer 404 with a page is
    that of the service, not of a proxy."""

    field: str | None = None
    values: tuple[str, ...] = ()
    error: tuple[str, ...] = ()
    reason: str = ''
    busy: tuple[str, ...] = ()
    takes_pages: bool = False

    def is_over(self, found: object) -> bool:
        """`found`: the thing as it still is. Raises ResourceInError."""
        if self.field is None:
            return False
        status = pick(found, self.field)
        if status in self.error:
            raise exception.ResourceInError(
                resource_status=status,
                status_reason=(pick(found, self.reason) if self.reason else None) or _('Unknown'))
        return status in self.values

    def is_under_way(self, found: object) -> bool:
        return self.field is not None and pick(found, self.field) in self.busy


def waits(written: object) -> dict[str, DescribedWait]:
    """Return the waits by action. `written`: one wait with `after`, or a map of them by action. Raises ValueError."""
    if not written:
        return {}
    if not isinstance(written, Mapping):
        raise ValueError(f'a map is wanted, not {written!r}')
    if 'field' in written or not any(key in ACTIONS or isinstance(value, Mapping) for key, value in written.items()):
        wait = _wait(written)
        return dict.fromkeys(written.get('after', ['create']), wait)
    spelling.refuse(written, ACTIONS, 'no such action')
    return {action: _wait(each) for action, each in written.items()}


def _wait(written: object) -> DescribedWait:
    given = _checked(written, WAIT_KEYS, needed=('field', 'ready'), can_be_other=('busy', 'ready'))

    def named(key: str) -> tuple[str, ...] | str:
        value = given.get(key, ())
        return OTHER if value == OTHER else tuple(value)
    return DescribedWait(given['field'], named('ready'), named('busy'), tuple(given.get('error', ())),
                         given.get('reason', ''))


def gone(written: object) -> Gone | None:
    """None: the answer to the deletion is the end of it. `[404]`, `[404, page]`, or a map. Raises ValueError."""
    if not written:
        return None
    if isinstance(written, list):
        spelling.refuse((each for each in written if each != NOT_FOUND), (PAGE,))
        return Gone(takes_pages=PAGE in written)
    given = _checked(written, GONE_KEYS, needed=('field',))
    return Gone(given['field'], tuple(given.get('values', ())), tuple(given.get('error', ())),
                given.get('reason', ''), tuple(given.get('busy', ())))


def _checked(written: object, known: frozenset[str], needed: tuple[str, ...],
             can_be_other: tuple[str, ...] = ()) -> Written:
    """`written`, if each value has the form that is wanted. Raises ValueError, with all that is wrong."""
    if not isinstance(written, Mapping):
        raise ValueError(f'a map is wanted, not {written!r}')
    mistakes = spelling.unknown(written, known)
    if not mistakes:                        # else what is needed may be there, misspelt
        mistakes += [f'{key} is missing' for key in needed if key not in written]
    for key, value in written.items():
        if key in TEXTS and not isinstance(value, str):
            mistakes.append(f'{key}: text is wanted, not {value!r}')
        elif key in STATUSES and not isinstance(value, list) and not (key in can_be_other and value == OTHER):
            mistakes.append(f'{key}: a list is wanted, not {value!r}')
    if isinstance(written.get('after'), list):
        mistakes += [f'after: {mistake}' for mistake in spelling.unknown(written['after'], ACTIONS, 'no such action')]
    if mistakes:
        raise ValueError('; '.join(mistakes))
    return written
