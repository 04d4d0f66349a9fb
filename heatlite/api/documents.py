"""Parses templates, environments and adopt data of a request: from text, mapping or URL to a mapping.

Errors are HTTPBadRequest with the texts that clients expect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from heatlite.api import fetching
from heatlite.api.faults import MALFORMED
from heatlite.api.json_text import Sent
from heatlite.common import document_size, exception, json_bounds, template_format, urlfetch
from heatlite.common.document_parts import mapping
from heatlite.common.i18n import _
from heatlite.common.limits import Limits, too_large
from heatlite.language import environment as environments
from heatlite.language import template as templates


def template(body: Mapping[str, object], limits: Limits) -> tuple[Mapping[str, object] | None, str | None]:
    """Return the document and, if it was sent as text, the text. Both None if the body has no template."""
    given = body.get('template')
    if given is None:
        url = body.get('template_url')
        if url is None:
            return None, None
        given = _fetch(url)
    if isinstance(given, Mapping):
        return _checked(given, limits, body.text if isinstance(body, Sent) else None), None
    if not isinstance(given, str):
        raise exception.HTTPBadRequest(f'{MALFORMED} ' + _('The template is neither a text nor a map.'))
    try:
        return templates.parse(given, limits=limits), given
    except ValueError as error:
        raise templates.not_in_valid_format(error) from None


def _checked(body: Mapping[str, object], limits: Limits, sent: bytes | None) -> Mapping[str, object]:
    """Check a template sent as data: limit the length of its JSON, its depth and its expansion. `sent`: the text of
    the body that it is a part of."""
    if limits.max_size >= 0 and (sent is None or json_bounds.most_characters(sent) > limits.max_size):
        size = len(json.dumps(body))
        if limits.max_size < size:
            raise too_large(size, limits.max_size)
    found = dict(body)
    if sent is None or not json_bounds.keeps_to(sent, limits):
        document_size.check_size(found, limits)
    return found


def environment(value: object, limits: Limits) -> dict[str, object]:
    """Return the sections of a map or a text; None is an empty environment."""
    try:
        return environments.read(value, limits)
    except ValueError as error:
        raise exception.HTTPBadRequest(_('Environment not in valid format: %s') % error) from None


def section(environment: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return a section of an environment that is a map; empty without it."""
    return mapping(environment.get(name))


def adopt_data(value: object, limits: Limits) -> Mapping[str, object]:
    """Parse an export document; it must have a `template` that is a map."""
    if not isinstance(value, str):
        raise exception.HTTPBadRequest(f'{MALFORMED} ' + _('adopt_stack_data is not a text.'))
    try:
        found = template_format.simple_parse(value, limits=limits)
    except ValueError as error:
        raise exception.HTTPBadRequest(_('Invalid adopt data: %s') % error) from None
    if 'template' not in found:
        raise exception.HTTPBadRequest(_("Invalid adopt data: 'template'"))
    if not isinstance(found['template'], Mapping):
        raise exception.HTTPBadRequest(_('Invalid adopt data: the template is not a map'))
    return found


def _fetch(url: object) -> str:
    if not isinstance(url, str):
        raise exception.HTTPBadRequest(f'{MALFORMED} ' + _('template_url is not a text.'))
    try:
        return fetching.template(url)
    except urlfetch.URLFetchError as error:
        raise exception.HTTPBadRequest(_('Could not retrieve template: %s') % error) from None
