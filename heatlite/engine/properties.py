"""The properties of one resource: the given values, converted by the type's schema when they are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine import constraints as constr
from heatlite.engine import function, support, translation
from heatlite.language.constraints import CustomLookup
from heatlite.language.expression import copied
from heatlite.language.schema import ERASED, Reader, Schema
from heatlite.language.translation import TranslationRule, moved

if TYPE_CHECKING:
    from heatlite.language.parameter_schema import ParameterSchema

SCHEMA_KEYS = (REQUIRED, IMPLEMENTED, DEFAULT, TYPE, SCHEMA, ALLOWED_PATTERN, MIN_VALUE, MAX_VALUE, ALLOWED_VALUES,
               MIN_LENGTH, MAX_LENGTH, DESCRIPTION, UPDATE_ALLOWED, IMMUTABLE) = (
    'Required', 'Implemented', 'Default', 'Type', 'Schema', 'AllowedPattern', 'MinValue', 'MaxValue',
    'AllowedValues', 'MinLength', 'MaxLength', 'Description', 'UpdateAllowed', 'Immutable')
SCHEMA_TYPES = (INTEGER, STRING, NUMBER, BOOLEAN, MAP, LIST) = (
    Schema.INTEGER, Schema.STRING, Schema.NUMBER, Schema.BOOLEAN, Schema.MAP, Schema.LIST)

__all__ = ['InvalidSchemaError', 'Properties', 'Property', 'Schema', 'TranslationRule', 'constr', 'schemata', 'support']

InvalidSchemaError = exception.InvalidSchemaError

Values: TypeAlias = Mapping[str, Any]
"""Values of properties by name, converted by their schemas: only its schema says of what type one is."""

PropertyDiff: TypeAlias = dict[str, Any]
"""The third argument of `handle_update`: changed properties with their new values, None for one that was removed. The
types of the values are those of `Values`."""


def schemata(schema_dicts: Mapping[str, Any]) -> Mapping[str, Schema]:
    """Return the mapping with every value as a Schema; the same mapping if all are."""
    if all(isinstance(schema, Schema) for schema in schema_dicts.values()):
        return schema_dicts
    return {name: Schema.from_legacy(schema) for name, schema in schema_dicts.items()}


class Property:
    """One schema with its name and its path. `path`: its parts, or as a text, which shows in errors."""

    def __init__(self, schema: object, name: str | None = None, context: RequestContext | None = None,
                 path: Sequence[object] | str = ()) -> None:
        self.schema = Schema.from_legacy(schema)
        self.name = name
        self.context = context
        self.path = [path] if isinstance(path, str) and path else list(path) or ([name] if name is not None else [])

    def required(self) -> bool:
        return self.schema.required

    def implemented(self) -> bool:
        return self.schema.implemented

    def update_allowed(self) -> bool:
        return self.schema.update_allowed

    def immutable(self) -> bool:
        return self.schema.immutable

    def has_default(self) -> bool:
        return self.schema.default is not None

    def default(self) -> object:
        return self.schema.default

    def type(self) -> str:
        return self.schema.type

    def support_status(self) -> support.SupportStatus:
        return self.schema.support_status

    def get_value(self, value: object, validate: bool = False, translation: object = None) -> object:
        """Return `value` converted by the schema. Raises InvalidProperty, a ValueError."""
        return _reader(self.context, validate).value(self.schema, value, tuple(self.path))


class PropertyView(MutableMapping[str, Property]):
    """The properties of one resource by name. Assigning one gives it another schema, for this resource only."""

    def __init__(self, owner: Properties) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> Property:
        return Property(self._owner.schema[name], name, self._owner.context, [*self._owner.path, name])

    def __setitem__(self, name: str, found: Property) -> None:
        self._owner.change_schema({**self._owner.schema, name: found.schema})

    def __delitem__(self, name: str) -> None:
        self._owner.change_schema({other: schema for other, schema in self._owner.schema.items() if other != name})

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner.schema)

    def __len__(self) -> int:
        return len(self._owner.schema)


class Properties(Mapping[str, Any]):
    """A read-only mapping with all names of the schema.

    `resolver(value)` resolves functions in a given value. A value is converted when it is first read, and checked
    against constraints only by `validate()`. Errors: InvalidProperty at `parent_name`, `section`. `deferred`:
    names whose values depend on resources that do not exist yet (docs/spec/templates.rst, "Values that are not known
    yet").
    """

    def __init__(self, schema: Mapping[str, object], data: Mapping[str, object] | None,
                 resolver: Callable[[object], Any] = function.resolve, parent_name: str | None = None,
                 context: RequestContext | None = None,
                 section: str | None = None, translation: Sequence[TranslationRule] | None = None,
                 rsrc_description: str | None = None, *,
                 deferred: frozenset[str] = frozenset()) -> None:
        self.schema = schemata(schema)
        self.given: Mapping[str, object] = data if data is not None else {}    # must not be changed: see `data`
        self.resolve = resolver
        self.context = context
        self.parent_name = parent_name
        self.rsrc_description = rsrc_description
        self.deferred = deferred
        self.path: tuple[object, ...] = tuple(
            part for part in (parent_name, section or 'Properties') if part is not None)
        self._rules: Sequence[TranslationRule] = translation or ()
        self._client_resolve = True
        self._ignore_resolve_error = False
        self._is_made: Callable[[object], bool] | None = None
        self._translated_data: dict[str, object] | None = None
        self._looked_up: set[str] = set()           # names of properties whose look-ups in services are done
        self.unresolved: set[str] = set()           # of those read: what a service did not find stayed as it was given
        self._values: dict[str, object] = {}
        self._is_data_shared = False
        self._data_read: dict[str, object] | None = None    # of shared data: what the last read found

    @property
    def data(self) -> Mapping[str, object]:
        """The given values, which plug-ins may change in place, as in Heat: reads see the changes, and each of them
        compares the data for it. The definition, with which the next update is compared, does not change."""
        if not self._is_data_shared:
            if isinstance(self.given, Mapping):         # not if one function gives them all
                self.given = {name: copied(value) for name, value in self.given.items()}
            self._is_data_shared = True
        return self.given

    @data.setter
    def data(self, data: Mapping[str, object] | None) -> None:
        self.given = data if data is not None else {}
        self._is_data_shared = True

    @property
    def error_prefix(self) -> str:
        return exception.path_text(self.path)

    @property
    def props(self) -> PropertyView:
        return PropertyView(self)

    def change_schema(self, schema: Mapping[str, Schema]) -> None:
        """Read and check the values by another schema from now on."""
        self.schema = schema
        self._forget()

    # --- reading ------------------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        if self._is_data_shared:
            self._notice_changes()
        if key in self._values:
            return self._values[key]
        if key not in self.schema:
            raise KeyError(_('%(parent)sInvalid Property %(key)s')
                           % {'parent': f'{self.error_prefix}: ' if self.path else '', 'key': key})
        value = self._read(key, self._translated([key]))
        self._values[key] = value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema)

    def __len__(self) -> int:
        return len(self.schema)

    def __contains__(self, key: object) -> bool:
        return key in self.schema

    def get_user_value(self, key: str) -> object:
        """Return what the user gave, after translation, without a default; None if nothing was given, or if a rule has
        moved or removed it. Raises KeyError, and InvalidProperty for a value of the wrong kind."""
        if key not in self.schema:
            raise KeyError(_('Invalid Property %s') % key)
        if self._is_data_shared:
            self._notice_changes()
        return self._read(key, self._translated([key])) if key in self.resolved_data() else None

    def is_given(self, key: str) -> bool:
        return self.resolved_data().get(key) is not None

    def resolved_data(self) -> dict[str, object]:
        """Return the given values with functions resolved, not converted, as they are stored with a resource."""
        found = self.resolve(self.given) if self.given else {}
        return found if isinstance(found, dict) else dict(found or {})

    # --- checking -----------------------------------------------------------------------------------------

    def validate(self, with_value: bool = True, lookup: CustomLookup | None = None,
                 path: Sequence[object] | None = None) -> None:
        """Raise StackValidationFailed for the first error. `with_value` False: check the names only.

        `lookup`: finds custom constraints by name; `path`: the place of the properties in the template.
        """
        place = tuple(path) if path is not None else self.path
        if not with_value:
            self._validate_names(place)
            return
        if self._is_data_shared:
            self._notice_changes()
        reader = Reader(lookup=lookup, context=self.context)
        given = self._described(self._translated(self.schema))
        reader.read(self.schema, given, place, moved(self._rules, self.deferred))

    def _validate_names(self, place: tuple[object, ...]) -> None:
        for name in self.given:
            if name not in self.schema:
                raise exception.StackValidationFailed(
                    error='Property error', path=place, message=_('Unknown Property %s') % name)
            if not self.schema[name].implemented:
                raise exception.StackValidationFailed(
                    error='Property error', path=place, message=_('Property %s not implemented yet') % name)

    # --- translation --------------------------------------------------------------------------------------

    def update_translation(self, rules: Sequence[TranslationRule] | None, client_resolve: bool = True,
                           ignore_resolve_error: bool = False, is_made: Callable[[object], bool] | None = None) -> None:
        """Apply `rules` to values that are read from now on. `client_resolve` False: without look-ups in services;
        `is_made(value)`: whether the value is an id that needs no look-up."""
        self._rules = rules or ()
        self._client_resolve = client_resolve
        self._ignore_resolve_error = ignore_resolve_error
        self._is_made = is_made
        self._forget()

    @property
    def looked_up(self) -> frozenset[str]:
        """Names of the properties read so far whose values services were asked for."""
        return frozenset(self._looked_up)

    def _forget(self) -> None:
        """The next reads translate and convert again."""
        self._translated_data = None
        self._looked_up = set()
        self.unresolved = set()
        self._values = {}

    def _notice_changes(self) -> None:
        data = self.resolved_data()
        if data != self._data_read:
            self._forget()
            self._data_read = {name: copied(value) for name, value in data.items()}

    def _translated(self, names: Collection[str]) -> dict[str, object]:
        """Return the given values after translation. Calls services for `names` only, and only once: deleting a server
        does not need its flavor."""
        if self._translated_data is None:
            self._translated_data = translation.apply(self._rules, self.resolved_data(), self.path,
                                                      schemas=self.schema)
        if self._rules and self._client_resolve:
            rules = [rule for rule in self._rules if rule.rule == translation.RESOLVE
                     and rule.translation_path[0] in names and rule.translation_path[0] not in self._looked_up]
            if rules:
                lookup = translation.service_lookup(self._ignore_resolve_error, self._is_made, self.unresolved)
                self._translated_data = translation.apply(rules, self._translated_data, self.path, lookup)
                self._looked_up.update(rule.translation_path[0] for rule in rules)
        return self._translated_data

    # --- one value ----------------------------------------------------------------------------------------

    def _described(self, given: Mapping[str, object]) -> Mapping[str, object]:
        """Return `given` with the resource's own description, if the type has a property for it."""
        if self._takes_description('description') and 'description' not in given:
            return {**given, 'description': self.rsrc_description}
        return given

    def _takes_description(self, name: str) -> bool:
        return (name == 'description' and self.rsrc_description is not None and name in self.schema
                and self.schema[name].update_allowed)

    def _read(self, key: str, given: Mapping[str, object]) -> object:
        schema = self.schema[key]
        path = (*self.path, key)
        if key in given:
            value = given[key]
            if value is ERASED:
                return None
            return _CONVERTER.value(schema, value, path, whole=key not in self.deferred)
        if schema.default is not None:
            return _CONVERTER.default(schema, path)
        if self._takes_description(key):
            return self.rsrc_description
        if schema.required:
            raise exception.InvalidProperty(
                error='Property error', path=self.path, message=_('Property %s not assigned') % key)
        return None

    def __str__(self) -> str:
        return str(dict(self.given))

    # --- templates and types ------------------------------------------------------------------------------

    @staticmethod
    def schema_from_params(params_snippet: Mapping[str, ParameterSchema] | None) -> dict[str, Schema]:
        """Return name -> property schema for a template's parameters."""
        from heatlite.engine.types import generated_templates
        return {name: generated_templates.schema_of_parameter(parameter)
                for name, parameter in (params_snippet or {}).items()}

    @classmethod
    def schema_to_parameters_and_properties(cls, schema: Mapping[str, object],
                                            template_type: str = 'cfn') -> tuple[dict[str, object], dict[str, object]]:
        """Return (parameters, properties that use them) of a template generated from a type."""
        from heatlite.engine.types import generated_templates
        return generated_templates.parameters_and_properties(schemata(schema), template_type)


def _refuse(error: exception.StackValidationFailed) -> None:
    raise exception.InvalidProperty(error=error.error, path=error.path, message=error.error_message)


_CHECKER, _CONVERTER = Reader(_refuse), Reader(_refuse, constraints=False)


def _reader(context: RequestContext | None, check: bool = False) -> Reader:
    """Return a reader; a shared one if no constraint is checked, as only constraints need the context."""
    if not check:
        return _CONVERTER
    return _CHECKER if context is None else Reader(_refuse, context=context)
