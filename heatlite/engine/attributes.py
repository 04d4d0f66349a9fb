"""Attributes of resources: their schemas, and the mapping that reads their values on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from oslo_log import log

from heatlite.common.i18n import _
from heatlite.engine import support
from heatlite.language.support import status_of
from heatlite.language.unknown import UNKNOWN

if TYPE_CHECKING:
    from heatlite.engine.resource_reading import Reading

LOG = log.getLogger(__name__)

CACHE_MODES = (CACHE_LOCAL, CACHE_NONE) = ('cache_local', 'cache_none')
ALL_ATTRIBUTES = '*'
BASE_ATTRIBUTES = (SHOW_ATTR,) = ('show',)


class Schema:
    """The schema of one attribute. `cache_mode` CACHE_NONE: read anew each time. `type` is informative.

    Some public plug-ins pass the type in the second place, where Heat notices it only when it describes the type.
    """

    CACHE_MODES = (CACHE_LOCAL, CACHE_NONE) = CACHE_MODES
    TYPES = (UNKNOWN, STRING, MAP, LIST, INTEGER, BOOLEAN, NUMBER) = (
        None, 'String', 'Map', 'List', 'Integer', 'Boolean', 'Number')
    KEYS = (DESCRIPTION, TYPE) = ('description', 'type')

    __slots__ = ('cache_mode', 'description', 'support_status', 'type')

    def __init__(self, description: str | None = None,
                 support_status: support.SupportStatus | str | None = None,
                 cache_mode: str = CACHE_LOCAL, type: str | None = None) -> None:
        self.description = description
        self.support_status = status_of(support_status)
        self.cache_mode = cache_mode
        if type is None and isinstance(support_status, str) and support_status in self.TYPES:
            type = support_status
        self.type = type

    @classmethod
    def from_attribute(cls, schema: object) -> Schema:
        """Return `schema` itself, or a Schema from the description, which is all that old plug-ins give."""
        return schema if isinstance(schema, Schema) else cls(str(schema))

    def __getitem__(self, key: str) -> str:
        if key == self.DESCRIPTION and self.description is not None:
            return self.description
        if key == self.TYPE and self.type is not None:
            return self.type.lower()
        raise KeyError(key)

    def keys(self) -> list[str]:
        """Return only the keys with a value, so that `dict(schema)` is the wire form."""
        return [key for key in self.KEYS if getattr(self, key) is not None]


Key: TypeAlias = str | tuple[object, ...]    # of a cached value: a name, or a name and a path
_ACCEPTS: Mapping[str, tuple[type, ...]] = {
    Schema.STRING: (str,), Schema.MAP: (Mapping,), Schema.LIST: (list, tuple), Schema.INTEGER: (int,),
    Schema.BOOLEAN: (bool,), Schema.NUMBER: (int, float)}


def schemata(attributes_schema: Mapping[str, object]) -> dict[str, Schema]:
    """Return the mapping with every value as a Schema."""
    return {name: Schema.from_attribute(schema) for name, schema in attributes_schema.items()}


class Attribute:
    """An attribute of a resource, for generating templates from types."""

    def __init__(self, attr_name: str, schema: object) -> None:
        self.name = attr_name
        self.schema = Schema.from_attribute(schema)

    def support_status(self) -> support.SupportStatus:
        return self.schema.support_status

    def as_output(self, resource_name: str, template_type: str = 'cfn') -> dict[str, object]:
        if template_type == 'hot':
            return {'value': {'get_attr': [resource_name, self.name]}, 'description': self.schema.description}
        return {'Value': {'Fn::GetAtt': [resource_name, self.name]}, 'Description': self.schema.description}


class Attributes(Mapping[str, object]):
    """Values by attribute name, read by `resolver(name)` at the first use and cached unless the schema forbids it.

    None is not cached: it often means that there is no value yet.
    """

    def __init__(self, res_name: str, schema: Mapping[str, object], resolver: Callable[[str], object]) -> None:
        self._resource_name = res_name
        self._resolver = resolver
        self.schema = schema
        self._values: dict[Key, object] = {}
        self._has_new = False

    def __getitem__(self, key: str) -> object:
        if key not in self.schema:
            raise KeyError(_('%(resource)s: Invalid attribute %(key)s')
                           % {'resource': self._resource_name, 'key': key})
        keep = self.get_cache_mode(key) == CACHE_LOCAL
        if keep and key in self._values:
            return self._values[key]
        value = self._resolver(key)
        if value is not None:
            self._note_wrong_type(key, value)
            if keep:
                self.set_cached_attr(key, value)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self.schema

    def __len__(self) -> int:
        return len(self.schema)

    def __iter__(self) -> Iterator[str]:
        return iter(self.schema)

    def __repr__(self) -> str:
        return f'Attributes for {self._resource_name}: {", ".join(map(str, self.schema))}'

    def get_cache_mode(self, attribute_name: str) -> str:
        schema = self.schema.get(attribute_name)
        return schema.cache_mode if isinstance(schema, Schema) else CACHE_LOCAL

    @property
    def cached_attrs(self) -> dict[Key, object]:
        return self._values

    @cached_attrs.setter
    def cached_attrs(self, values: Mapping[Key, object] | None) -> None:
        self._values = dict(values or {})
        self._has_new = False

    def set_cached_attr(self, key: Key, value: object) -> None:
        self._values[key] = value
        self._has_new = True

    def has_new_cached_attrs(self) -> bool:
        return self._has_new

    def reset_resolved_values(self) -> None:
        """Drop all cached values."""
        self._has_new = self._has_new or bool(self._values)
        self._values = {}

    def _note_wrong_type(self, key: str, value: object) -> None:
        schema = self.schema[key]
        if not isinstance(schema, Schema) or not schema.type:
            return
        wanted = _ACCEPTS.get(schema.type)
        if wanted is not None and not isinstance(value, wanted):
            LOG.warning('Attribute %s of %s is declared as %s but is a %s', key, self._resource_name, schema.type,
                        type(value).__name__)

    @staticmethod
    def as_outputs(resource_name: str, resource_class: type[Reading],
                   template_type: str = 'cfn') -> dict[str, dict[str, object]]:
        """Return the outputs of a template generated from a type, one for each attribute that is not hidden."""
        found = {}
        for name, schema in all_schemata(resource_class).items():
            if schema.support_status.status != support.HIDDEN:
                found[name] = Attribute(name, schema).as_output(resource_name, template_type)
        return found

    @staticmethod
    def schema_from_outputs(json_outputs: Mapping[str, object] | None) -> dict[str, Schema]:
        """Return attribute schemas for a template's outputs."""
        return {name: Schema((body.get('Description') or body.get('description')) if isinstance(body, Mapping)
                             else getattr(body, 'description', lambda: None)())
                for name, body in (json_outputs or {}).items()}


def all_schemata(resource_class: type[Reading]) -> dict[str, Schema]:
    """Return the schemas of a type's own attributes and of those that every type has."""
    return {**schemata(resource_class.attributes_schema), **resource_class.base_attributes_schema}


def select_from_attribute(attribute_value: object, path: Sequence[object]) -> object:
    """Follow `path` through maps (by key), lists and texts (by integer). Returns None if a part does not fit."""
    value = attribute_value
    for part in path:
        if value is UNKNOWN:
            return UNKNOWN
        try:
            if isinstance(value, Mapping):
                value = value[part]
                continue
            if isinstance(part, bool) or not isinstance(part, int) or not isinstance(value, Sequence):
                return None
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value
