"""Input shapes: what a parameter of an action may be, and dataclasses that are read from what a protocol has decoded.

A protocol delivers maps, lists, texts, numbers and booleans. A scalar of the query protocol is a `QueryScalar`: a text
that also stands for a number, a boolean or a time.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar, cast

from heatlite.common import turns
from heatlite.common.i18n import _

T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)

LARGEST = 2.0 ** 360                    # of a value, positive or negative
SHOWN = 100                             # characters of a wrong value that an error quotes
LATEST = 32_503_680_000.0               # the year 3000 in seconds since 1970, beyond which a time is no date
_WHOLE = re.compile(r'[+-]?[0-9]{1,18}')
_NUMBER = re.compile(r'[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?')
# What XML 1.0 cannot hold, the lone surrogates among it; and what no name needs.
_UNPRINTABLE = re.compile('[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]')


class QueryScalar(str):
    """A scalar of the query protocol."""


class InvalidParameter(Exception):
    """A parameter is not as its shape says."""


class MissingParameter(InvalidParameter):
    """A required parameter is not there."""


class InvalidCombination(InvalidParameter):
    """Parameters exclude each other, or ask for too much together."""


class MistypedParameter(InvalidParameter):
    """A value has not the type of its shape, or a text stands for none."""


class Shape(Protocol[T_co]):
    def read(self, value: object, at: str) -> T_co:
        """Return the value as actions use it. `at`: the parameter's name, for errors. Raises InvalidParameter."""
        ...


def invalid(at: str, value: object, expected: str) -> InvalidParameter:
    return InvalidParameter(_('The value %(value)s for parameter %(at)s is invalid: %(expected)s.')
                            % {'value': _shown(value), 'at': at, 'expected': expected})


def _type(at: str, value: object, expected: str) -> MistypedParameter:
    return MistypedParameter(_('The value %(value)s for parameter %(at)s is not %(expected)s.')
                             % {'value': _shown(value), 'at': at, 'expected': expected})


def _shown(value: object) -> str:
    """Return a value in an error: not long, and not with what no answer can hold."""
    text = value if isinstance(value, str) else repr(value) if isinstance(value, float | int) else type(value).__name__
    text = _UNPRINTABLE.sub('?', text[:SHOWN + 1])
    return text if len(text) <= SHOWN else f'{text[:SHOWN]}...'


@dataclass(frozen=True)
class TextShape:
    """A text of `least` to `most` characters. `pattern`: what all of it must match, and in words."""

    most: int
    least: int = 1
    pattern: tuple[str, str] | None = None

    def read(self, value: object, at: str) -> str:
        if not isinstance(value, str):
            raise _type(at, value, _('a text'))
        if not self.least <= len(value) <= self.most:
            raise invalid(at, value, _('it must have %(least)d to %(most)d characters')
                          % {'least': self.least, 'most': self.most})
        if _UNPRINTABLE.search(value):
            raise invalid(at, value, _('it has control characters'))
        if self.pattern is not None and not re.fullmatch(self.pattern[0], value, re.S):
            raise invalid(at, value, self.pattern[1])
        return str(value)


@dataclass(frozen=True)
class WordShape:
    """One of some words. `aliases`: other spellings that are accepted, in lower case."""

    words: Collection[str]
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def read(self, value: object, at: str) -> str:
        if not isinstance(value, str):
            raise _type(at, value, _('a text'))
        if value in self.words:
            return str(value)
        if value.lower() in self.aliases:
            return self.aliases[value.lower()]
        raise invalid(at, value, _('it must be one of %s') % ', '.join(sorted(self.words)))


@dataclass(frozen=True)
class IntegerShape:
    """A whole number."""

    least: int
    most: int

    def read(self, value: object, at: str) -> int:
        found = self._number(value, at)
        if not self.least <= found <= self.most:
            raise invalid(at, value, _('it must be from %(least)d to %(most)d')
                          % {'least': self.least, 'most': self.most})
        return found

    @staticmethod
    def _number(value: object, at: str) -> int:
        match value:
            case bool():
                pass
            case QueryScalar() if _WHOLE.fullmatch(value):
                return int(value)
            case int():
                return value
            case float() if value.is_integer():
                return int(value)
        raise _type(at, value, _('a whole number'))


class NumberShape:
    """A finite number of at most LARGEST."""

    def read(self, value: object, at: str) -> float:
        found = self._number(value, at)
        if math.isnan(found) or not -LARGEST <= found <= LARGEST:
            raise invalid(at, value, _('it must be a number from -2^360 to 2^360'))
        return found

    @staticmethod
    def _number(value: object, at: str) -> float:
        match value:
            case bool():
                pass
            case QueryScalar() if _NUMBER.fullmatch(value) or value.strip('+-').lower() in ('nan', 'inf', 'infinity'):
                return float(value)
            case int():
                return math.inf if abs(value) > LARGEST else float(value)
            case float():
                return value
        raise _type(at, value, _('a number'))


class FlagShape:
    """A boolean."""

    def read(self, value: object, at: str) -> bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, QueryScalar) and value.lower() in ('true', 'false'):
            return value.lower() == 'true'
        raise _type(at, value, _('true or false'))


class MomentShape:
    """A time: seconds since 1970, or a text of ISO 8601, which is UTC without a zone. Reads seconds since 1970."""

    def read(self, value: object, at: str) -> float:
        found = self._seconds(value, at)
        if not -LATEST <= found <= LATEST:
            raise invalid(at, value, _('it is no date'))
        return found

    @staticmethod
    def _seconds(value: object, at: str) -> float:
        match value:
            case bool():
                pass
            case int():
                return math.inf if abs(value) > LARGEST else float(value)
            case float():
                return math.inf if math.isnan(value) else value
            case QueryScalar() if _NUMBER.fullmatch(value) and len(value) != 8:     # a date may be written in 8 digits
                return float(value)
            case str():
                try:
                    found = datetime.fromisoformat(value)
                    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
                except (ValueError, OverflowError):
                    pass
        raise _type(at, value, _('a time'))


@dataclass(frozen=True)
class ListOf(Generic[T]):
    """A list of `least` to `most` values of one shape."""

    shape: Shape[T]
    most: int
    least: int = 0

    def read(self, value: object, at: str) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise _type(at, value, _('a list'))
        if not self.least <= len(value) <= self.most:
            raise InvalidParameter(_('The list %(at)s must have %(least)d to %(most)d members.')
                                   % {'at': at, 'least': self.least, 'most': self.most})
        return tuple(self.shape.read(each, f'{at}.member.{number}') for number, each in enumerate(value, start=1))


@dataclass(frozen=True)
class Structure(Generic[T]):
    """A map that is read as a dataclass whose fields `required` and `optional` have made.

    Members that the class does not have are ignored, except those in `unsupported`: name -> what is not supported.
    """

    kind: type[T]
    unsupported: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def read(self, value: object, at: str = '') -> T:
        if not isinstance(value, Mapping):
            raise _type(at, value, _('a structure'))
        turns.spend(10)
        prefix = f'{at}.' if at else ''
        for name, why in self.unsupported.items():
            if not _is_absent(value.get(name)):
                raise InvalidParameter(_('The parameter %(at)s is not supported: %(why)s.')
                                       % {'at': f'{prefix}{name}', 'why': why})
        return self.kind(**{each.field: each.read(value.get(each.name), prefix) for each in _members(self.kind)})


@dataclass(frozen=True)
class _Member:
    """One field of a dataclass: `field` in Python, `name` for clients."""

    field: str
    name: str
    shape: Shape[object]
    is_required: bool
    default: object

    def read(self, value: object, prefix: str) -> object:
        if not _is_absent(value):
            return self.shape.read(value, f'{prefix}{self.name}')
        if self.is_required:
            raise MissingParameter(f'{prefix}{self.name}')
        return self.default


def _is_absent(value: object) -> bool:
    """Return whether a value is absent: the query protocol writes empty lists and texts alike."""
    return value is None or (isinstance(value, QueryScalar) and not value)


_MEMBERS: dict[type, tuple[_Member, ...]] = {}


def _members(kind: type) -> tuple[_Member, ...]:
    found = _MEMBERS.get(kind)
    if found is None:
        found = _MEMBERS[kind] = tuple(
            _Member(each.name, each.metadata['name'] or ''.join(part.title() for part in each.name.split('_')),
                    each.metadata['shape'], each.metadata['required'], each.metadata['default'])
            for each in dataclasses.fields(kind))
    return found


def required(shape: Shape[T], name: str = '') -> T:
    """Return a field of a dataclass. `name`: for clients, if it is not the field's in camel case."""
    return _field(shape, name, True, None)


def optional(shape: Shape[T], default: T | None = None, name: str = '') -> T | None:
    return _field(shape, name, False, default)


def preset(shape: Shape[T], default: T, name: str = '') -> T:
    """Return an optional field that always has a value."""
    return _field(shape, name, False, default)


def _field(shape: Shape[T], name: str, is_required: bool, default: T | None) -> T:
    make = cast(Callable[..., T], dataclasses.field)
    return make(metadata={'shape': shape, 'name': name, 'required': is_required, 'default': default})
