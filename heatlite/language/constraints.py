"""Constraints of parameters and of properties, one class each.

A constraint is checked with `validate(value, schema)`, which raises ValueError with the reason. `schema` converts
values before they are compared. The classes are part of the plug-in contract.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_DIGITS
from heatlite.language import budget as budgets
from heatlite.language import patterns
from heatlite.language.kind_names import kind_name

STRING, NUMBER, INTEGER, BOOLEAN, LIST, MAP, ANY = 'string', 'number', 'integer', 'boolean', 'list', 'map', 'any'
EVERY_SCALAR = frozenset({STRING, NUMBER, INTEGER, BOOLEAN})


class Typed(Protocol):
    """The part of a schema that its constraints use."""

    @property
    def kind(self) -> str: ...

    def to_schema_type(self, value: object) -> object: ...


def to_whole(value: object) -> int:
    """Convert `value` as `int` does. Raises ValueError, TypeError, OverflowError."""
    if not isinstance(value, str | int | float):
        raise TypeError(_('expected a number, found a %s') % kind_name(value))
    return int(value)


def to_number(value: object) -> float:
    """Convert `value` to a number: itself, an integer if its text is one, else a float. Raises ValueError, TypeError.

    It is finite and has at most `MOST_DIGITS` digits: other numbers could be neither stored nor shown.
    """
    if isinstance(value, int | float):
        number = value
    elif not isinstance(value, str):
        return to_whole(value)              # raises
    elif len(value) > MOST_DIGITS:
        raise ValueError(_('A number has more than %d digits') % MOST_DIGITS)
    else:
        try:
            return int(value)
        except ValueError:
            number = _to_float(value)
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(_('%s is not a finite number') % number)
    return number


def _to_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(_("'%s' is not a number") % text) from None


def as_json(value: object) -> str:
    return json.dumps(value, default=str)


MOST_SHOWN = 1000               # characters of a value in a message
MOST_LISTED = 10_000            # characters of all allowed values in one
CHARACTERS_A_STEP = 4096        # of a text that a custom constraint reads in one step of `turns`
VALUES_A_STEP = 16              # allowed values that a value is compared with in one step of the budget
FEW_COMPARISONS = 500           # that take less time than a set of the values


def shown(value: object) -> str:
    """`value` as text for a message, truncated: a value may be as long as a template."""
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= MOST_SHOWN else f'{text[:MOST_SHOWN]}...'


class Constraint(Mapping[str, object]):
    """Base class. As a mapping it gives `{<name>: <body>}` and `description` if there is one."""

    name = ''
    valid_kinds: frozenset[str] = frozenset()

    def __init__(self, description: str | None = None) -> None:
        self.description = description

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        raise NotImplementedError

    def reason(self, value: object) -> str:
        raise NotImplementedError

    def body(self) -> object:
        raise NotImplementedError

    def validate(self, value: object, schema: Typed | None = None, context: object = None) -> None:
        """Raise ValueError with the description, or with the reason if there is none."""
        if not self.is_valid(value, schema):
            raise ValueError(self.description or self.reason(value))

    def __getitem__(self, key: str) -> object:
        if key == self.name:
            return self.body()
        if key == 'description' and self.description is not None:
            return self.description
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        if self.description is not None:
            yield 'description'
        yield self.name

    def __len__(self) -> int:
        return 2 if self.description is not None else 1

    def sentence(self) -> str:
        """Return what a value has to be, for documentation."""
        return f'{self.name}: {self.body()}'

    def __str__(self) -> str:
        return '\n'.join(text for text in (self.description, self.sentence()) if text)


def _bounded(what: str, minimum: object, maximum: object) -> str:
    bounds = {'what': what, 'min': minimum, 'max': maximum}
    if maximum is None:
        return _('%(what)s must be at least %(min)s.') % bounds
    if minimum is None:
        return _('%(what)s must be at most %(max)s.') % bounds
    return _('%(what)s must be from %(min)s to %(max)s.') % bounds


def _bounds(minimum: object, maximum: object) -> dict[str, object]:
    return {key: value for key, value in (('min', minimum), ('max', maximum)) if value is not None}


class Range(Constraint):
    """A number between two inclusive bounds."""

    name = 'range'
    valid_kinds = frozenset({NUMBER, INTEGER})

    def __init__(self, min: float | None = None, max: float | None = None, description: str | None = None) -> None:
        super().__init__(description)
        if min is None and max is None:
            raise exception.InvalidSchemaError(
                _('A range constraint must have a min value and/or a max value specified.'))
        self.min, self.max = min, max
        for bound in (min, max):
            if bound is not None:
                _definition_number(bound, 'min/max')

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        number = to_number(value)
        return ((self.min is None or number >= to_number(self.min))
                and (self.max is None or number <= to_number(self.max)))

    def reason(self, value: object) -> str:
        return f'{shown(value)} is out of range (min: {self.min}, max: {self.max})'

    def sentence(self) -> str:
        return _bounded(_('The value'), self.min, self.max)

    def body(self) -> dict[str, object]:
        return _bounds(self.min, self.max)


class Length(Constraint):
    """Characters of a text, items of a list, keys of a map, between two inclusive bounds."""

    name = 'length'
    valid_kinds = frozenset({STRING, LIST, MAP})

    def __init__(self, min: object = None, max: object = None, description: str | None = None) -> None:
        super().__init__(description)
        if min is None and max is None:
            raise exception.InvalidSchemaError(
                _('A length constraint must have a min value and/or a max value specified.'))
        if not isinstance(min, int | None) or not isinstance(max, int | None):
            raise exception.InvalidSchemaError(_('min/max length must be integral'))
        self.min, self.max = min, max

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        length = len(value if isinstance(value, list | tuple | Mapping) else str(value))
        return (self.min is None or length >= self.min) and (self.max is None or length <= self.max)

    def reason(self, value: object) -> str:
        length = len(value if isinstance(value, list | tuple | Mapping) else str(value))
        return f'length ({length}) is out of range (min: {self.min}, max: {self.max})'

    def sentence(self) -> str:
        return _bounded(_('The length'), self.min, self.max)

    def body(self) -> dict[str, object]:
        return _bounds(self.min, self.max)


class Modulo(Constraint):
    """A number that leaves `offset` when divided by `step`, with Python's sign rule."""

    name = 'modulo'
    valid_kinds = frozenset({NUMBER, INTEGER})

    def __init__(self, step: object = None, offset: object = None, description: str | None = None) -> None:
        super().__init__(description)
        if step is None or offset is None:
            raise exception.InvalidSchemaError(
                _('A modulo constraint must have a step value and an offset value specified.'))
        if not isinstance(step, int) or not isinstance(offset, int):
            raise exception.InvalidSchemaError(_('step/offset must be integer'))
        if step == 0:
            raise exception.InvalidSchemaError(_('step cannot be 0.'))
        if abs(offset) >= abs(step):
            raise exception.InvalidSchemaError(_('offset must be smaller (by absolute value) than step.'))
        if step * offset < 0:
            raise exception.InvalidSchemaError(_('step and offset must be both positive or both negative.'))
        self.step, self.offset = step, offset

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        return bool(to_number(value) % self.step == self.offset)

    def reason(self, value: object) -> str:
        return f'{value} is not a multiple of {self.step} with an offset of {self.offset}'

    def sentence(self) -> str:
        return _('The value must be a multiple of %(step)s plus %(offset)s.') % self.body()

    def body(self) -> dict[str, object]:
        return {'step': self.step, 'offset': self.offset}


class AllowedValues(Constraint):
    """One of a list of values; for a list, every item must be."""

    name = 'allowed_values'
    valid_kinds = EVERY_SCALAR | {LIST, ANY}

    def __init__(self, allowed: Iterable[object], description: str | None = None) -> None:
        super().__init__(description)
        if isinstance(allowed, str | Mapping) or not isinstance(allowed, Iterable):
            raise exception.InvalidSchemaError(_('AllowedValues must be a list'))
        self.allowed = tuple(allowed)

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        if isinstance(value, list | tuple):
            return self._are_allowed(value)
        budgets.work(self.name, len(self.allowed) // VALUES_A_STEP)
        if schema is None or schema.kind in (LIST, MAP, ANY):
            return value in self.allowed
        converted = schema.to_schema_type(value)
        return any(converted == _converted(item, schema) for item in turns.paced(self.allowed))

    def _are_allowed(self, values: Sequence[object]) -> bool:
        """Whether all values of a list are. Linear: comparing each with each would cost the product of the lengths."""
        if len(values) * len(self.allowed) <= FEW_COMPARISONS:
            return all(item in self.allowed for item in values)
        budgets.work(self.name, len(values) + len(self.allowed))
        try:
            # Not stored: many parameters may have the same long list, and a set of each would multiply its size.
            allowed = frozenset([budgets.frozen(item) for item in turns.paced(self.allowed)])
            return all(budgets.frozen(item) in allowed for item in turns.paced(values))
        except TypeError:                   # a plug-in allows what is no plain data
            return all(item in self.allowed for item in values)

    def reason(self, value: object) -> str:
        return f'{shown(as_json(value))} is not an allowed value [{self._listed()}]'

    def _listed(self) -> str:
        """Return the allowed values for a message, truncated: many parameters may have the same long list."""
        text, separator = '', ''
        for item in self.allowed:
            text += separator + as_json(item)
            separator = ', '
            if len(text) > MOST_LISTED:
                return f'{text[:MOST_LISTED]}...'
        return text

    def sentence(self) -> str:
        return _('Allowed values: %s.') % self._listed()

    def body(self) -> list[object]:
        return list(self.allowed)


def _converted(value: object, schema: Typed) -> object:
    """Convert an allowed value. One of the wrong type matches nothing; it must not hide the reason of a refusal."""
    try:
        return schema.to_schema_type(value)
    except (ValueError, TypeError):
        return value


class AllowedPattern(Constraint):
    """A Python regular expression that must cover the whole text, with the first alternative it finds."""

    name = 'allowed_pattern'
    valid_kinds = frozenset({STRING})

    def __init__(self, pattern: str, description: str | None = None) -> None:
        super().__init__(description)
        if not isinstance(pattern, str):
            raise exception.InvalidSchemaError(_('AllowedPattern must be a string'))
        self.pattern = pattern
        try:
            patterns.check(pattern)
        except (re.error, ValueError) as error:
            raise exception.InvalidSchemaError(
                _('AllowedPattern "%(pattern)s" is not a regular expression: %(error)s')
                % {'pattern': shown(pattern), 'error': error}) from None

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        text = value if isinstance(value, str) else str(value)
        return patterns.match_end(self.pattern, text) == len(text)

    def reason(self, value: object) -> str:
        return f'"{shown(value)}" does not match pattern "{shown(self.pattern)}"'

    def sentence(self) -> str:
        return _('The value must match the pattern "%s".') % self.pattern

    def body(self) -> str:
        return self.pattern


class ConstraintRegistry(Protocol):
    """Custom constraints by name, as plug-ins pass them to a schema."""

    def get_constraint(self, name: str, /) -> type[CustomCheck] | CustomCheck | None: ...


class CustomConstraint(Constraint):
    """A check by name, found in `environment` (a plug-in registry), or by the `lookup` of the validation."""

    name = 'custom_constraint'
    valid_kinds = EVERY_SCALAR | {LIST, ANY}

    def __init__(self, name: str, description: str | None = None,
                 environment: ConstraintRegistry | None = None) -> None:
        super().__init__(description)
        self.constraint_name = name
        self.environment = environment

    def validate(self, value: object, schema: Typed | None = None, context: object = None,
                 lookup: CustomLookup | None = None) -> None:
        """Raise ValueError. Checks nothing if there is neither `lookup` nor environment."""
        find: CustomLookup | None = lookup if self.environment is None else self.environment.get_constraint
        if find is None:
            return
        check = find(self.constraint_name) if isinstance(self.constraint_name, str) else None
        items = value if isinstance(value, list | tuple) else [value]
        most = getattr(check, 'most_items', None)
        if most is not None and len(items) > most:
            raise ValueError(_('%(name)s asks a service for each item, of which there may be at most %(most)d')
                             % {'name': self.constraint_name, 'most': most})
        for item in items:
            turns.spend(1 + (len(item) // CHARACTERS_A_STEP if isinstance(item, str) else 0))
            self._validate_one(check, item, context)

    def _validate_one(self, check: type[CustomCheck] | CustomCheck | None, value: object, context: object) -> None:
        if check is None:
            raise ValueError(self.description or _('"%(value)s" does not validate %(name)s (constraint not found)')
                             % {'value': shown(value), 'name': self.constraint_name})
        check = check() if isinstance(check, type) else check
        if check.validate(value, context):
            return
        error = getattr(check, 'error', None)
        text = error(value) if error is not None else f"Error validating value '{shown(value)}'"
        raise ValueError(self.description or text)

    def is_valid(self, value: object, schema: Typed | None) -> bool:
        return True

    def reason(self, value: object) -> str:
        return f'"{shown(value)}" does not validate {self.constraint_name}'

    def sentence(self) -> str:
        return _('The value must be valid for %s.') % self.constraint_name

    def body(self) -> str:
        return self.constraint_name


class CustomCheck(Protocol):
    """A custom constraint: of BaseCustomConstraint, or what has this method and perhaps `error`."""

    def validate(self, value: object, context: object, /) -> bool:
        """Whether the value is valid. `context`: of the request."""


CustomLookup = Callable[[str], type[CustomCheck] | CustomCheck | None]
"""Name of a custom constraint -> a `BaseCustomConstraint` (class or instance), None if no such name exists."""


class BaseCustomConstraint:
    """Base class of custom constraints, for plug-ins. `validate` returns whether the value is valid.

    Subclasses set `resource_client_name` and `resource_getter_name`, or override `validate_with_client`; an error of
    `expected_exceptions` there means "invalid", any other one is raised.
    """

    expected_exceptions: tuple[type[BaseException], ...] = (exception.EntityNotFound,)
    resource_client_name: str | None = None
    resource_getter_name: str | None = None
    _error_message: str | None = None
    message: str | None = None

    def error(self, value: object) -> str:
        detail = self.message if self._error_message is None else self._error_message
        if detail is None:
            return _("Error validating value '%(value)s'") % {'value': shown(value)}
        return _("Error validating value '%(value)s': %(detail)s") % {'value': shown(value), 'detail': detail}

    def validate(self, value: object, context: Any) -> bool:
        try:
            self.validate_with_client(context.clients, value)
        except self.expected_exceptions as error:
            self._error_message = shown(error)
            return False
        return True

    def validate_with_client(self, client: Any, resource_id: Any) -> None:
        if self.resource_client_name and self.resource_getter_name:
            getattr(client.client_plugin(self.resource_client_name), self.resource_getter_name)(resource_id)
        else:
            raise ValueError(_('client name and getter name of the constraint are not set'))


def check_fit(constraints: Sequence[Constraint], kind: str, type_name: str) -> None:
    """Raise InvalidSchemaError when a constraint is not applicable to values of `kind`."""
    for constraint in constraints:
        if kind != ANY and kind not in constraint.valid_kinds:
            raise exception.InvalidSchemaError(
                _('%(constraint)s constraint invalid for %(type)s')
                % {'constraint': type(constraint).__name__, 'type': type_name})


def _definition_number(value: object, what: str) -> None:
    try:
        to_number(value)
    except (TypeError, ValueError):
        raise exception.InvalidSchemaError(_('%(what)s must be numeric') % {'what': what}) from None
