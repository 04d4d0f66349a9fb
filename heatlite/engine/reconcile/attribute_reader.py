"""Reads the references and attributes of resources into the attribute cache of their stack."""

from __future__ import annotations

from functools import partial

from heatlite.common import exception
from heatlite.engine.attributes import CACHE_NONE, SHOW_ATTR
from heatlite.engine.reconcile import attribute_cache
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.resource import Resource
from heatlite.engine.types.contract_names import is_built_in


class AttributeReader:
    """Reads attributes of one stack's resources, in threads of the pool and of requests that ask for live values."""

    def __init__(self, leased: LeasedStack, objects: ResourceObjects) -> None:
        self._leased = leased
        self._objects = objects

    def read(self, resource: Resource, name: str) -> dict[str, object]:
        """Read the reference and the attributes that the template or the API will need: cache key -> value, or the
        error of reading it."""
        kept: dict[str, object] = {attribute_cache.REFERENCE: resource.get_reference_id()}
        wanted = set(self._leased.definition.referenced_attributes(name))
        if () in wanted or resource.default_client_name is None:        # all are needed, or reading calls no service
            wanted.discard(())
            wanted |= {(attribute,) for attribute in resource.attributes_schema if attribute != SHOW_ATTR}
        for attribute, *path in sorted(wanted, key=str):        # one order, so that a simulation can be repeated
            if attribute == SHOW_ATTR and resource.default_client_name is not None:
                continue                                # later steps may change the object, so it is read when needed
            try:
                value = resource.FnGetAtt(attribute, *path)
            except exception.DatabaseUnavailable:
                raise
            except Exception as error:                  # raised when the attribute is read, not in the step
                value = error
            kept[attribute_cache.key(attribute, tuple(path))] = value
        return kept

    def is_live(self, name: str, attribute: str) -> bool:
        """Whether the attribute comes from a service and must be read anew each time, not from the cache."""
        row = self._leased.current(name)
        if row is None:
            return False
        try:
            kind = self._objects.kind_of(row)
        except exception.StackValidationFailed:     # the type is gone: only the cached value is left
            return False
        if kind.default_client_name is None and is_built_in(kind):
            return False                    # uses no service; a plug-in may use one without a client of heatlite
        schema = kind.attributes_schema.get(attribute)
        return getattr(schema, 'cache_mode', None) == CACHE_NONE or attribute == SHOW_ATTR

    def forget_live(self) -> None:
        """Drop the live attributes from the cache, so that they are read anew."""
        cache = self._leased.attribute_cache
        for number in cache.numbers():
            row = self._leased.row_numbered(number)
            if row is None:                         # added since the rows were read
                cache.drop(number)
            else:
                cache.drop_attributes(number, partial(self.is_live, row.name))
