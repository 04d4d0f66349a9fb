"""The readable values of a resource: its reference, its attributes, its live state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from oslo_log import log

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import attributes as attribute_set
from heatlite.engine.properties import Properties
from heatlite.engine.resource_properties import PropertyAccess
from heatlite.engine.resource_services import Services
from heatlite.language.definition import StackDefinition

LOG = log.getLogger(__name__)


class Reading(PropertyAccess, Services):
    """A part of `Resource`."""

    base_attributes_schema: Mapping[str, attribute_set.Schema] = {
        attribute_set.SHOW_ATTR: attribute_set.Schema(
            _('Detailed information about resource.'), cache_mode=attribute_set.CACHE_NONE,
            type=attribute_set.Schema.MAP)}

    accepts_any_attribute: ClassVar[bool] = False       # takes names that `attributes_schema` does not have
    live_is_read = True                                 # whether the last `get_live_state` has asked a service
    # (as declared, Schemas)
    _all_attributes: ClassVar[tuple[object, Mapping[str, attribute_set.Schema]] | None] = None

    # --- references ---------------------------------------------------------------------------------------

    def get_reference_id(self) -> str:
        """Return the value of `get_resource`: the physical id, or the name while there is none."""
        return str(self.resource_id) if self.resource_id is not None else str(self.name)

    @classmethod
    def early_reference(cls, stack_name: str, name: str) -> str:
        """Return the reference of a resource that has no object yet. Types with `strict_dependency` False give the
        final one here: others use it before."""
        return name

    def FnGetRefId(self) -> str:
        return self.get_reference_id()

    # --- attributes ---------------------------------------------------------------------------------------

    @property
    def attributes(self) -> attribute_set.Attributes:
        if self._attributes is None:
            self._attributes = attribute_set.Attributes(self.name, self._attribute_schemata(),
                                                        self._resolve_any_attribute)
            self._attributes.cached_attrs = {_key(name): value for name, value in self._cached_attributes.items()}
        found: attribute_set.Attributes = self._attributes
        return found

    @attributes.setter
    def attributes(self, value: attribute_set.Attributes) -> None:
        self._attributes = value

    def get_attribute(self, key: str, *path: object) -> object:
        """Return the value, or the part of it at `path`. Raises InvalidTemplateAttribute for an unknown name.

        Types with attributes that exist only together with a path override this.
        """
        try:
            value = self.attributes[key]
        except KeyError:
            raise exception.InvalidTemplateAttribute(resource=self.name, key=key)
        return attribute_set.select_from_attribute(value, path)

    def FnGetAtt(self, key: str, *path: object) -> object:
        """Return `get_attribute(key, *path)`; also caches the values of types that override it."""
        overridden = type(self).get_attribute is not Reading.get_attribute
        values = self.attributes
        keep = overridden and isinstance(values, attribute_set.Attributes)
        if not keep or values.get_cache_mode(key) == attribute_set.CACHE_NONE:
            return self.get_attribute(key, *path)
        name = (key, *path) if path else key
        if name in values.cached_attrs:
            return values.cached_attrs[name]
        value = self.get_attribute(key, *path)
        if value is not None:
            values.set_cached_attr(name, value)
        return value

    def FnGetAtts(self) -> dict[str, object]:
        """Return name -> value of every attribute except `show`."""
        return {name: self.FnGetAtt(name) for name in self.attributes if name != attribute_set.SHOW_ATTR}

    def live_attribute(self, key: str) -> object:
        """Return the current value, without using or filling the cache. Errors of services pass through."""
        found = self._resolve_any_attribute(key)
        return self.get_attribute(key) if found is None else found

    def cached_attributes(self) -> dict[str, object]:
        """Return the cached values to store with the resource, with keys as text."""
        if not isinstance(self._attributes, attribute_set.Attributes):
            return dict(self._cached_attributes)
        return {name if isinstance(name, str) else json.dumps(list(name)): value
                for name, value in self._attributes.cached_attrs.items()}

    def clear_attributes(self) -> None:
        """Drop cached values, when the properties changed or the resource is not COMPLETE."""
        self._cached_attributes = {}
        if self._record is not None:
            self._record.attributes = {}
        if isinstance(self._attributes, attribute_set.Attributes):
            self._attributes.reset_resolved_values()

    def referenced_attrs(self, stk_defn: StackDefinition | None = None, in_resources: bool = True,
                         in_outputs: bool = True, load_all: bool = False) -> set[object]:
        """Return the attributes of this resource that the template uses: names, or tuples of a name and a path.

        `stk_defn`: the definition, the stack's by default. A reference without attribute name means all of them.
        The whole template is searched: `in_resources`, `in_outputs` and `load_all` have no effect.
        """
        definition = self.stack.defn if stk_defn is None else stk_defn
        found: set[object] = set()
        for entry in definition.referenced_attributes(self.name):
            if not entry or entry[0] == attribute_set.ALL_ATTRIBUTES:
                found.update(name for name in self._attribute_schemata() if name != attribute_set.SHOW_ATTR)
            else:
                found.add(entry[0] if len(entry) == 1 else tuple(entry))
        return found

    def _attribute_schemata(self) -> Mapping[str, attribute_set.Schema]:
        source = self.attributes_schema
        if source is not type(self).attributes_schema:          # the type computes attributes for each resource
            return {**attribute_set.schemata(source), **self.base_attributes_schema}
        kept: tuple[object, Mapping[str, attribute_set.Schema]] | None = type(self).__dict__.get('_all_attributes')
        if kept is None or kept[0] is not source:
            kept = type(self)._all_attributes = (source, attribute_set.all_schemata(type(self)))
        return kept[1]

    def _resolve_any_attribute(self, attr: str) -> object:
        """Return the current value; None if the service reports that the object is gone."""
        try:
            if attr not in self.base_attributes_schema:
                return self._resolve_attribute(attr)
            return self._show_resource() if self.resource_id else None
        except Exception as error:
            self._default_client_plugin().ignore_not_found(error)
            return None

    def _resolve_attribute(self, name: str) -> object:
        """Return the value of an attribute of `attributes_schema`. For types to override."""
        return None

    def _show_resource(self) -> object:
        """Return the service's representation of the object, as a map; None without `entity` or client, and with a line
        in the log if the client has no such collection."""
        if not self.entity or not self.default_client_name:
            return None
        client = self.client()
        try:
            read = getattr(client, self.entity).get
        except AttributeError as error:
            LOG.warning('Resource %s shows nothing: the client "%s" has no collection "%s" with get: %s', self.name,
                        self.default_client_name, self.entity, error)
            return None
        found = read(self.resource_id)
        return found.to_dict() if hasattr(found, 'to_dict') else found

    # --- live state ---------------------------------------------------------------------------------------

    def get_live_state(self, resource_properties: Properties) -> dict[str, object]:
        """Return the live values of properties that can be updated. Raises EntityNotFound if the object is gone, and
        ObjectUncomparable if something is gone that the properties name."""
        data = self.get_live_resource_data()
        self.live_is_read = data is not None
        if data is None:
            return {}
        try:
            return self.parse_live_resource_data(resource_properties, data)
        except exception.EntityNotFound as error:
            raise exception.ObjectUncomparable(self.name, error) from error

    def get_live_resource_data(self) -> object:
        try:
            return self._live_object()
        except Exception as error:
            if self.default_client_name is not None and self.client_plugin().is_not_found(error):
                raise exception.EntityNotFound(entity='Resource', name=self.name)
            raise

    def _live_object(self) -> object:
        """What is compared. By default what users see; types override it that show their own attributes only."""
        return self._show_resource()

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Any) -> dict[str, object]:
        """Return the part of `resource_data` that can be compared with properties.

        A `name` that the template does not set is left out: it is the physical name.
        """
        names = self.calc_update_allowed(self.properties)
        return {name: resource_data.get(name) for name in names
                if name in resource_data and not (name == 'name' and resource_properties.get(name) is None)}

    def _verify_check_conditions(self, checks: Sequence[Mapping[str, object]]) -> None:
        """Raise Error with each of `[{attr, expected, current}]` whose current value is not expected."""
        wrong = []
        for check in checks:
            expected = check['expected'] if isinstance(check['expected'], list) else [check['expected']]
            if check['current'] not in expected:
                wrong.append(_("'%(attr)s': expected '%(expected)s', got '%(current)s'") % check)
        if wrong:
            raise exception.Error('; '.join(wrong))


def _key(name: str) -> attribute_set.Key:
    """Return the cache key for a stored key, which is a name, or a JSON list of a name and a path."""
    return tuple(json.loads(name)) if name.startswith('[') else name
