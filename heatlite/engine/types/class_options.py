"""What the operator's options give to classes of resource types: defaults of properties, attributes of the class.

A class is one for the process, options belong to an engine. So a class only names its options, and the registry of an
engine asks here for the class with their values.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heatlite.language.schema import Schema

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.engine.resource import Resource

WITHOUT = '_without_options'                    # attribute of the made subclass: the class it is made of


class OptionSchema(Schema):
    """The schema of a property whose default is an option. Without an engine the default is the option's own."""

    option = ''                                 # its name in [DEFAULT]
    stated: object = None                          # the default of the option

    @classmethod
    def of(cls, schema: Schema, option: str) -> OptionSchema:
        """Return the same schema with the name of an option; its default is the option's own."""
        found = cls.__new__(cls)
        found.__dict__.update(schema.__dict__, option=option, stated=schema.default)
        return found

    def with_options(self, conf: ConfigOpts) -> Schema:
        """Return the schema with the option's value as the default, itself if the default is that already or a plug-in
        has changed it. Raises InvalidSchemaError for a value that the schema refuses."""
        value = conf[self.option]
        if self.default != self.stated or self.default == value:
            return self
        found = copy.copy(self)
        found.default, found.absent = value, None
        found._check()
        return found


def with_options(resource_class: type[Resource], conf: ConfigOpts) -> type[Resource]:
    """Return the class for an engine with these options: itself if they change nothing, else a subclass.

    Reads `attributes_from_options` of the class, and those of its properties that are an OptionSchema.
    """
    changed = _attributes(resource_class, conf)
    schemata = (resource_class.properties_schema
                if isinstance(getattr(resource_class, 'properties_schema', None), Mapping) else {})
    given = {name: schema.with_options(conf) for name, schema in schemata.items() if isinstance(schema, OptionSchema)}
    if any(schema is not schemata[name] for name, schema in given.items()):
        changed['properties_schema'] = {**schemata, **given}
    if not changed:
        return resource_class
    metaclass: Any = type(resource_class)
    made: type[Resource] = metaclass(resource_class.__name__, (resource_class,), {
        '__module__': resource_class.__module__, '__qualname__': resource_class.__qualname__,
        '__doc__': resource_class.__doc__, **changed, WITHOUT: resource_class})
    return made


def without_options(kind: object) -> object:
    """Return the class of which `with_options` has made this one, or itself."""
    return vars(kind).get(WITHOUT, kind)


def _attributes(resource_class: type[Resource], conf: ConfigOpts) -> dict[str, object]:
    """The attributes of the class that the options change. What a subclass states itself stays."""
    found = {}
    for name, option in getattr(resource_class, 'attributes_from_options', {}).items():
        stating = next(each for each in resource_class.__mro__ if name in each.__dict__)
        if (name in stating.__dict__.get('attributes_from_options', {})
                and getattr(resource_class, name) != conf[option]):
            found[name] = conf[option]
    return found
