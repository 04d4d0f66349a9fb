"""The schema of one property, and the coercion of values.

`Schema` is part of the plug-in contract.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language import constraints as constraint_kinds
from heatlite.language import diagnostics, support
from heatlite.language.constraints import Constraint, CustomConstraint, CustomLookup, shown
from heatlite.language.expression import ABSENT
from heatlite.language.unknown import UNKNOWN, is_known

KINDS = {'String': 'string', 'Integer': 'integer', 'Number': 'number', 'Boolean': 'boolean', 'List': 'list',
         'Map': 'map', 'Any': 'any'}
EMPTY: dict[str, Callable[[], object]] = {
    'String': str, 'Integer': int, 'Number': int, 'Boolean': bool, 'List': list, 'Map': dict, 'Any': lambda: None}
Inside: TypeAlias = 'Schema | Mapping[str, Schema] | None'
"""What is inside a value: for a Map the schemas of its children by name, for a List the one schema of its items."""

LEGACY = ('Type', 'Required', 'Implemented', 'Default', 'Schema', 'AllowedPattern', 'MinValue', 'MaxValue',
          'AllowedValues', 'MinLength', 'MaxLength', 'Description', 'UpdateAllowed', 'Immutable')


class Schema(Mapping[str, object]):
    """The schema of a property. The constructor raises InvalidSchemaError for contradictions.

    `schema`: for a Map the schemas of its children by name, for a List the one schema of its items. As a mapping it has
    those of `KEYS` that are set.
    """

    KEYS = (TYPE, DESCRIPTION, DEFAULT, SCHEMA, REQUIRED, CONSTRAINTS, UPDATE_ALLOWED, IMMUTABLE) = (
        'type', 'description', 'default', 'schema', 'required', 'constraints', 'update_allowed', 'immutable')
    TYPES: ClassVar[tuple[str, ...]] = (
        'Integer', 'String', 'Number', 'Boolean', 'Map', 'List', 'Any')
    INTEGER, STRING, NUMBER, BOOLEAN, MAP, LIST, ANY = TYPES

    def __init__(self, data_type: str, description: str | None = None, default: object = None, schema: Inside = None,
                 required: bool = False, constraints: Sequence[Constraint] | None = None, implemented: bool = True,
                 update_allowed: bool = False, immutable: bool = False,
                 support_status: support.SupportStatus | str | None = None, allow_conversion: bool = False) -> None:
        if data_type not in KINDS:
            hint = diagnostics.did_you_mean(data_type, self.TYPES)
            raise exception.InvalidSchemaError(_('Invalid type (%s)') % data_type + (f'; {hint}' if hint else ''))
        if isinstance(constraints, Constraint):     # which is a mapping: a tuple of it has its keys
            raise exception.InvalidSchemaError(_('constraints is a list: write constraints=[%s(...)]')
                                               % type(constraints).__name__)
        self.type = data_type
        self.kind = KINDS[data_type]
        self.description = description
        self.default = default
        self.schema = schema
        self.required = bool(required)
        self.constraints = list(constraints or ())      # plug-ins append to it
        self.implemented = implemented
        self.update_allowed = bool(update_allowed)
        self.immutable = bool(immutable)
        self.support_status = support.status_of(support_status)
        self.allow_conversion = allow_conversion
        self.absent: tuple[object] | None = None       # the coerced default, once found valid: `Reader.default`
        self._check()

    def _check(self) -> None:
        if self.update_allowed and self.immutable:
            raise exception.InvalidSchemaError(_('Options UpdateAllowed and Immutable cannot both be True'))
        if self.schema is not None:
            if self.type not in (self.LIST, self.MAP):
                raise exception.InvalidSchemaError(_('Schema valid only for List or Map, not %s') % self.type)
            if (self.type == self.LIST) != isinstance(self.schema, Schema):
                raise exception.InvalidSchemaError(_('A List takes one schema, a Map one for each name'))
        constraint_kinds.check_fit(self.constraints, self.kind, self.type)
        if self.default is not None and self.constraints:
            try:
                self.validate_constraints(self.coerce(self.default))
            except (ValueError, TypeError) as error:
                raise exception.InvalidSchemaError(
                    _('Invalid default %(default)s (%(error)s)') % {'default': self.default, 'error': error}) from None

    # --- values -------------------------------------------------------------------------------------------

    def coerce(self, value: object) -> object:
        """Convert `value` to this type, at its own level only. Raises ValueError or TypeError with the reason."""
        return COERCE[self.type](self, value)

    def to_schema_type(self, value: object) -> object:
        return self.coerce(value)

    def validate_constraints(self, value: object, context: object = None,
                             skipped: Sequence[type[Constraint]] | None = None,
                             lookup: CustomLookup | None = None) -> None:
        """Raise InvalidProperty, which is a ValueError, with the reason of the first constraint that `value` (coerced)
        violates."""
        for constraint in self.constraints:
            if type(constraint) in (skipped or ()):
                continue
            try:
                if isinstance(constraint, CustomConstraint):
                    constraint.validate(value, self, context, lookup)
                else:
                    constraint.validate(value, self, context)
            except ValueError as error:
                raise exception.InvalidProperty(message=error) from None

    def empty(self) -> object:
        """Return the value of null: the default, else the type's empty value (None for Any).

        An empty default stands for the empty value of the type: plug-ins give '' as the default of a list.
        """
        if self.default or (self.type == self.ANY and self.default is not None):
            return copy.deepcopy(self.default)
        return EMPTY[self.type]()

    @staticmethod
    def str_to_num(value: object) -> float:
        return constraint_kinds.to_number(value)

    @property
    def of_items(self) -> Schema | None:
        """The schema of the items of a List; None if they may be anything, and for other types."""
        return self.schema if isinstance(self.schema, Schema) else None

    @property
    def of_children(self) -> Mapping[str, Schema]:
        """The schemas of the children of a Map; empty if they may be anything, and for other types."""
        return {} if self.schema is None or isinstance(self.schema, Schema) else self.schema

    @property
    def needs_service(self) -> bool:
        """Whether a service is asked about a value of this schema, or about what is inside."""
        inside = (self.schema,) if isinstance(self.schema, Schema) else self.of_children.values()
        return (any(isinstance(constraint, CustomConstraint) for constraint in self.constraints)
                or any(schema.needs_service for schema in inside))

    # --- the plug-in contract -----------------------------------------------------------------------------

    @classmethod
    def from_legacy(cls, schema_dict: Any) -> Schema:
        """Make a Schema from the dictionaries of old plug-ins; return a Schema unchanged."""
        if isinstance(schema_dict, Schema):
            return schema_dict
        unknown = sorted(set(schema_dict) - set(LEGACY))
        if unknown:
            raise exception.InvalidSchemaError(_('Unknown key(s) %s') % unknown)
        get = schema_dict.get
        if get('Type') is None:
            raise exception.InvalidSchemaError(_('No Type specified'))
        children = get('Schema')
        if children is not None:
            children = (cls.from_legacy(children) if get('Type') == cls.LIST
                        else {name: cls.from_legacy(child) for name, child in children.items()})
        found: list[Constraint] = []
        if get('MinValue') is not None or get('MaxValue') is not None:
            lowest, highest = get('MinValue'), get('MaxValue')
            found.append(constraint_kinds.Range(None if lowest is None else cls.str_to_num(lowest),
                                                None if highest is None else cls.str_to_num(highest)))
        if get('MinLength') is not None or get('MaxLength') is not None:
            shortest, longest = get('MinLength'), get('MaxLength')
            found.append(constraint_kinds.Length(shortest if shortest is None else int(shortest),
                                                 longest if longest is None else int(longest)))
        if 'AllowedValues' in schema_dict:
            found.append(constraint_kinds.AllowedValues(schema_dict['AllowedValues']))
        if 'AllowedPattern' in schema_dict:
            found.append(constraint_kinds.AllowedPattern(schema_dict['AllowedPattern']))
        return cls(schema_dict['Type'], description=get('Description'), default=get('Default'), schema=children,
                   required=get('Required', False), constraints=found, implemented=get('Implemented', True),
                   update_allowed=get('UpdateAllowed', False), immutable=get('Immutable', False))

    @property
    def value(self) -> Schema:
        """This schema. Plug-ins find the schema of a List's items as `schema.value`, or by `*` or any index."""
        return self

    def __getitem__(self, key: str | int) -> object:
        match key:
            case '*' | int():
                return self
            case 'constraints' if self.constraints:
                return [dict(constraint) for constraint in self.constraints]
            case 'schema' if self.schema is not None:
                inside = self.schema
                return ({'*': dict(inside)} if isinstance(inside, Schema)
                        else {name: dict(child) for name, child in inside.items()})
            case 'type' | 'required' | 'update_allowed' | 'immutable':
                return getattr(self, key).lower() if key == 'type' else getattr(self, key)
            case 'description' | 'default' if getattr(self, key) is not None:
                return getattr(self, key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for key in self.KEYS:
            try:
                self[key]
            except KeyError:
                continue
            yield key

    def __len__(self) -> int:
        return sum(1 for _key in self)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mapping) and dict(self) == dict(other))


def _string(schema: Schema, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    raise ValueError(_('Value must be a string; got %s') % shown(repr(value)))


def _integer(schema: Schema, value: object) -> int:
    try:
        return constraint_kinds.to_whole(value)     # the interpreter refuses a text of more than 4300 digits
    except (ValueError, OverflowError):
        raise ValueError(_("Value '%s' is not an integer") % shown(value)) from None


def _number(schema: Schema, value: object) -> float:
    return constraint_kinds.to_number(value)


def _boolean(schema: Schema, value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if isinstance(value, str) and word in ('true', 'false'):
        return word == 'true'
    raise ValueError(_('"%s" is not a valid boolean') % shown(word))


def _map(schema: Schema, value: object) -> object:
    if isinstance(value, Mapping):
        return value
    if schema.allow_conversion:
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple):
            return json.dumps(value, default=str) if is_known(value) else UNKNOWN
    raise TypeError(_('"%s" is not a map') % shown(value))


def _list(schema: Schema, value: object) -> object:
    if isinstance(value, list | tuple):
        return value
    if schema.allow_conversion and isinstance(value, str):
        return value.split(',') if value else []
    raise TypeError(_('"%s" is not a list') % shown(repr(value)))


def _any(schema: Schema, value: object) -> object:
    return value


COERCE: dict[str, Callable[[Schema, object], object]] = {
    'String': _string, 'Integer': _integer, 'Number': _number, 'Boolean': _boolean, 'Map': _map, 'List': _list,
    'Any': _any}


class Erased:
    """The value of a property that a translation rule has removed: reads as null, is not checked."""

    def __deepcopy__(self, memo: dict[int, object]) -> Erased:
        return self


ERASED = Erased()

class FailedValue:
    """The value of a property whose evaluation failed; reading it reports the error."""

    def __init__(self, error: exception.StackValidationFailed) -> None:
        self.error = error

    def __deepcopy__(self, memo: dict[int, object]) -> FailedValue:
        return self


FAILED = FailedValue

SCALARS = frozenset({str, int, float, bool, type(None)})
NOT_ASSIGNED = _('Property %s not assigned')
Path = tuple[object, ...]
Report = Callable[[exception.StackValidationFailed], None]


def _raise(error: exception.StackValidationFailed) -> None:
    raise error


class Reader:
    """Coerces and checks given values against schemas; passes each error to `report`.

    `report` raises by default, so the first error ends it. `deferred` names properties whose values depend on resources
    that do not exist: they are coerced at their own level only. `lookup` finds custom constraints; without it they are
    not checked.
    """

    def __init__(self, report: Report = _raise, *, lookup: CustomLookup | None = None, context: object = None,
                 constraints: bool = True) -> None:
        self.report = report
        self.lookup = lookup
        self.context = context
        self.constraints = constraints
        self._errors = 0                        # that were reported

    def read(self, schemas: Mapping[str, Schema], given: Mapping[str, object], path: Path,
             deferred: frozenset[str] = frozenset()) -> dict[str, object]:
        """Return every name of `schemas` with its value. `path` is that of the map that contains the values."""
        for name in given:
            if name not in schemas:
                self._wrong(path, _('Unknown Property %s') % name)
        values: dict[str, object] = {}
        for name, schema in schemas.items():
            if name in given:
                value = given[name]
                if value is ERASED:
                    values[name] = None
                    continue
                if isinstance(value, FailedValue):
                    self.report(value.error)
                    values[name] = None
                    continue
                if value is ABSENT and schema.default is None:
                    values[name] = None
                    if schema.required:
                        self._wrong((*path, name), NOT_ASSIGNED % name)
                    continue
                if value is ABSENT:
                    value = schema.empty()
                if not schema.implemented:
                    self._wrong(path, _('Property %s not implemented yet') % name)
                    continue
                values[name] = self.value(schema, value, (*path, name), whole=name not in deferred)
            elif schema.default is not None:
                values[name] = self.default(schema, (*path, name))
            else:
                if schema.required:
                    self._wrong(path, NOT_ASSIGNED % name)
                values[name] = None
        return values

    def default(self, schema: Schema, path: Path) -> object:
        """Return the coerced default, a copy that may be changed. It is read and checked once only, unless a service is
        asked about it, or a plug-in gives what is no plain data."""
        if schema.absent is not None:
            return _copied(schema.absent[0])
        errors = self._errors
        value = self.value(schema, schema.empty(), path)
        if self.constraints and self._errors == errors and not schema.needs_service and _is_plain(value):
            schema.absent = (_copied(value),)
        return value

    def value(self, schema: Schema, value: object, path: Path, *, whole: bool = True) -> object:
        """Coerce one value; `whole` False stops at its own level."""
        if value is UNKNOWN:
            return UNKNOWN
        if value is None:
            if not whole:
                return None             # a placeholder fits every type
            value = schema.empty()
        try:
            coerced = schema.coerce(value)
        except (ValueError, TypeError) as error:
            self._wrong(path, str(error))
            return None
        if not whole:
            return coerced
        inside = schema.schema
        if inside is not None:
            if isinstance(inside, Schema):
                if isinstance(coerced, list | tuple):
                    coerced = [None if item is ERASED else self.value(inside, item, (*path, place))
                               for place, item in enumerate(coerced)]
            elif isinstance(coerced, Mapping):
                coerced = self.read(inside, coerced, path)
        if schema.constraints and self.constraints and is_known(coerced):
            try:
                schema.validate_constraints(coerced, self.context, lookup=self.lookup)
            except (ValueError, TypeError) as error:
                self._wrong(path, str(error))
        return coerced

    def _wrong(self, path: Path, text: str) -> None:
        self._errors += 1
        self.report(exception.StackValidationFailed(error='Property error', path=path, message=text))


def _is_plain(value: object) -> bool:
    """Whether `_copied` copies all of a value that may be changed."""
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    return type(value) in SCALARS


def _copied(value: object) -> object:
    """Return a copy of plain data. It is a default, so it is small: it needs no budget, and no other thread has to run
    meanwhile, as types do not expect one where they read a property."""
    if type(value) is list:
        return [_copied(item) for item in value]
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return value
