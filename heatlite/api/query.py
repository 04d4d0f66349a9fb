"""Parses and validates values of query keys and of single body fields."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

from heatlite.common import exception, limits
from heatlite.common.i18n import _

LONGEST_TAG = 80                            # characters
LONGEST_NAME = 255
LONGEST_ID = 36
NO_NUL = _('a text without the character NUL')
LARGEST_INTEGER = 2 ** 31 - 1               # of an integer column

_NATURAL = re.compile(r'(0|[1-9][0-9]*)\Z')
_NEGATIVE = re.compile(r'-[1-9][0-9]*\Z')


class Query:
    """The query of one request. For a key that is not repeatable the last value is used."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[str]:
        """Return the keys, in the order of the query."""
        return iter(self._values)

    def text(self, key: str) -> str | None:
        """Return the value of a key; None when absent or empty."""
        return self._values.get(key, [''])[-1] or None

    def texts(self, key: str) -> tuple[str, ...]:
        """All values of a repeatable key that are not empty."""
        return tuple(value for value in self._values.get(key, ()) if value)

    def boolean(self, key: str, default: bool = False) -> bool:
        """Return a boolean. An empty value is an error."""
        return boolean(key, self._values[key][-1]) if key in self._values else default

    def boolean_or_empty(self, key: str) -> bool:
        """Return a boolean. An empty value counts as absent."""
        return boolean(key, self.text(key) or 'false')

    def natural(self, key: str) -> int | None:
        """Return a non-negative integer. An empty value counts as absent."""
        value = self.text(key)
        return None if value is None else natural(key, value)

    def limit(self) -> int | None:
        """Return the value of `limit`; one beyond any list's length means no limit: clients send the largest number
        they have."""
        value = self.text('limit')
        return None if value is None or (_NATURAL.match(value) and _is_too_large(value)) else natural('limit', value)

    def depth(self, deepest: int) -> int:
        """Return the value of `nested_depth`, at most `deepest`, however large it is. An empty value counts as 0."""
        value = self.text('nested_depth')
        return 0 if value is None else _at_most(deepest, 'nested_depth', value)

    def depth_or_error(self, deepest: int) -> int:
        """As `depth`, but an empty value is an error."""
        return _at_most(deepest, 'nested_depth', self._values['nested_depth'][-1]) \
            if 'nested_depth' in self._values else 0

    def tags(self, key: str) -> tuple[str, ...]:
        value = self.text(key)
        return () if value is None else tags(value)

    def direction(self) -> str | None:
        """`sort_dir`: asc, desc or None."""
        value = self.text('sort_dir')
        if value is not None and value not in ('asc', 'desc'):
            raise exception.HTTPBadRequest(
                _('Unrecognized value "%s" for "sort_dir", acceptable values are: asc, desc.') % value)
        return value


def boolean(key: str, value: object) -> bool:
    """Parse `true` or `false` in any case, or a JSON boolean."""
    if isinstance(value, bool):
        return value
    lowered = value.lower() if isinstance(value, str) else None
    if lowered not in ('true', 'false'):
        raise exception.HTTPBadRequest(
            _('Unrecognized value "%(value)s" for "%(key)s", acceptable values are: true, false.')
            % {'value': value, 'key': key})
    return lowered == 'true'


def natural(key: str, value: object) -> int:
    """Parse a non-negative integer in its canonical form that fits a column."""
    written = value if isinstance(value, str) else str(value) if type(value) is int else ''
    if _NEGATIVE.match(written):
        raise exception.HTTPBadRequest(
            _("Value '%(value)s' is invalid for '%(key)s' which only accepts non-negative integer.")
            % {'value': written, 'key': key})
    if not _NATURAL.match(written):
        raise exception.HTTPBadRequest(_("Only integer is acceptable by '%s'.") % key)
    return decimal(key, written)


def decimal(key: str, written: str) -> int:
    """Parse decimal digits, as many as a column takes."""
    if _is_too_large(written):
        raise exception.HTTPBadRequest(
            _("Value '%(value)s' is too large for '%(key)s', which is at most %(most)s.")
            % {'value': written[:40], 'key': key, 'most': LARGEST_INTEGER})
    return int(written)


def _at_most(most: int, key: str, written: str) -> int:
    is_too_large = _NATURAL.match(written) and _is_too_large(written)
    return most if is_too_large else min(natural(key, written), most)


def _is_too_large(written: str) -> bool:
    return len(written) > 10 or int(written) > LARGEST_INTEGER


def text(body: Mapping[str, object], key: str, most: int = sys.maxsize) -> str | None:
    """Return a field of a body; None when absent or null. `most`: the characters of its column, which takes no NUL."""
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise exception.InvalidField(key, _('a text'), value)
    if len(value) > most:
        raise exception.InvalidField(key, _('at most %s characters') % most, value)
    if '\0' in value and most < sys.maxsize:
        raise exception.InvalidField(key, NO_NUL, value)
    return value


def tags(value: object, key: str = 'tags') -> tuple[str, ...]:
    """Parse a comma separated text or a list of texts, without blanks at their ends; an empty text is an empty
    list."""
    if isinstance(value, str):
        found = value.split(',') if value else []
    elif isinstance(value, list) and all(isinstance(tag, str) and ',' not in tag for tag in value):
        found = value
    else:
        raise exception.HTTPBadRequest(
            _('"%s" must be a text of tags separated by commas, or a list of texts without commas.') % key)
    if len(found) > limits.MOST_TAGS:
        raise exception.HTTPBadRequest(_('"%(key)s" has %(count)d tags, more than the %(most)d that a stack may have.')
                                       % {'key': key, 'count': len(found), 'most': limits.MOST_TAGS})
    for tag in found:
        if '\0' in tag:
            raise exception.InvalidField(key, NO_NUL, tag)
        if len(tag) > LONGEST_TAG:
            raise exception.HTTPBadRequest(
                _('Invalid tag, "%(tag)s" is longer than %(most)s characters') % {'tag': tag, 'most': LONGEST_TAG})
    return tuple(dict.fromkeys(tag.rstrip(' ') for tag in found))
