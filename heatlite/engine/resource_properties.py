"""The properties of a resource: those of the template before it was created, then the stored ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from oslo_utils import uuidutils

from heatlite.engine import properties as property_set
from heatlite.engine import rsrc_defn
from heatlite.engine.resource_state import State
from heatlite.engine.stored_resource import NULL_WRITER
from heatlite.language.translation import TranslationRule


class PropertyAccess(State):
    """A part of `Resource`."""

    @property
    def properties(self) -> property_set.Properties:
        """The stored properties once it was created, before that those of the template."""
        if self._properties is None:
            self._parse(client_resolve=self._writer is not NULL_WRITER, ignore_resolve_error=self._is_applied)
        return self._properties             # type: ignore[return-value]

    @properties.setter
    def properties(self, value: property_set.Properties) -> None:
        self._properties = value

    @property
    def update_policy(self) -> property_set.Properties:
        if self._update_policy is None:
            self._update_policy = self.t.update_policy(self.update_policy_schema, self.context)
        return self._update_policy

    @update_policy.setter
    def update_policy(self, value: property_set.Properties) -> None:
        self._update_policy = value

    def reparse(self, client_resolve: bool = True) -> None:
        """Parse the properties anew. `client_resolve`: translate names into ids by calling services."""
        self._parse(client_resolve, ignore_resolve_error=False)

    def _parse(self, client_resolve: bool, ignore_resolve_error: bool) -> None:
        found = (self.frozen_definition() if self._is_applied else self.t).properties(self._schemata(), self.context)
        self._properties = found
        self._update_policy = None
        self.translate_properties(found, client_resolve, ignore_resolve_error)

    @property
    def _is_applied(self) -> bool:
        """Whether the stored definition is in force. Objects that it names may be gone: that must not prevent a
        delete."""
        return self._record is not None and self._record.properties is not None and self.action != self.INIT

    def translation_rules(self, properties: property_set.Properties) -> list[TranslationRule]:
        """Return rules that translate given properties. For types to override."""
        return []

    def translate_properties(self, properties: property_set.Properties, client_resolve: bool = True,
                             ignore_resolve_error: bool = False) -> None:
        rules = self.translation_rules(properties)
        if rules:
            properties.update_translation(rules, client_resolve=client_resolve,
                                          ignore_resolve_error=ignore_resolve_error, is_made=self._is_made_here)

    def _is_made_here(self, value: object) -> bool:
        """Whether `value` is the id of a resource in the stack on which this one depends. A value that is no UUID may
        be a name."""
        return isinstance(value, str) and uuidutils.is_uuid_like(value) and self.stack.has_made(value, self.name)

    def frozen_definition(self) -> rsrc_defn.ResourceDefinition:
        """Return the definition last applied, as stored; if there is none, its own one with functions resolved."""
        record = self._record
        if record is None or record.properties is None:
            return self.t.freeze()
        if record.definition is None:
            return self.t.freeze(properties=record.properties)
        return rsrc_defn.ResourceDefinition.from_stored(self.name, record.definition, record.properties)

    @contextlib.contextmanager
    def frozen_properties(self) -> Iterator[property_set.Properties]:
        """Make `self.properties` the stored properties within the context."""
        before = self._properties
        stored = self.frozen_definition().properties(self._schemata(), self.context)
        self.translate_properties(stored, ignore_resolve_error=True)
        self._properties = stored
        try:
            yield stored
        finally:
            self._properties = before

    def _schemata(self) -> Mapping[str, property_set.Schema]:
        """Return the schemas of properties. Made once for a class; old plug-ins declare them as dictionaries."""
        source = self.properties_schema
        kept: tuple[object, Mapping[str, property_set.Schema]] | None = type(self).__dict__.get('_property_schemata')
        if kept is not None and kept[0] is source:
            return kept[1]
        found = property_set.schemata(source)
        if source is type(self).properties_schema:
            type(self)._property_schemata = (source, found)
        return found

    def calc_update_allowed(self, props: property_set.Properties) -> set[str]:
        """Return the names of properties that may change in place."""
        return set(self.update_allowed_properties) | {
            name for name, schema in props.schema.items() if schema.update_allowed}
