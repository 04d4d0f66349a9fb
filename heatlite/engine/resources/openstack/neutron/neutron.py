"""The base class of the types of the network service; the base plug-in authors build on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients.os.neutron import paths
from heatlite.engine.resources import existing

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.properties import Properties, PropertyDiff

# Names and numbers of protocols that rules of security groups may have, for plug-ins.
_PROTOCOLS = ('ah', 'dccp', 'egp', 'esp', 'gre', 'icmp', 'icmpv6', 'igmp', 'ipv6-encap', 'ipv6-frag', 'ipv6-icmp',
              'ipv6-nonxt', 'ipv6-opts', 'ipv6-route', 'ospf', 'pgm', 'rsvp', 'sctp', 'tcp', 'udp', 'udplite', 'vrrp')
ALLOWED_SECURITY_GROUP_PROTOCOLS: list[object] = [*range(256), *_PROTOCOLS]
SECURITY_GROUP_PROTOCOL_DESCRIPTION = (
    f'The protocol of matching packets: a number from 0 to 255, or {", ".join(_PROTOCOLS)}.')


def refused_value_specs(properties: Properties) -> str | None:
    """An error text when `value_specs` sets what a property, or only an administrator, should set."""
    specs = properties.get('value_specs')
    refused = {'shared', 'tenant_id', *properties}.intersection(specs if isinstance(specs, Mapping) else ())
    return _('%s not allowed in value_specs') % ', '.join(sorted(refused)) if refused else None


class NeutronResource(resource.Resource):
    """Subclasses say `entity`: the service's word for the thing. It is shown by `show_<entity>`.

    Those of plug-ins may override `_show_resource` instead."""

    default_client_name = 'neutron'
    validates_at_creation = True
    res_info_key: str | None = None         # the key of the thing in a body, where it is not `entity`
    find_existing: Callable[[], str | None]     # defined by types that make the thing with `_created`

    # --- checking -----------------------------------------------------------------------------------------

    def validate(self) -> object:
        """Raise StackValidationFailed."""
        result = super().validate()
        if result is not None:
            return result
        return self.validate_properties(self.properties)

    @staticmethod
    def validate_properties(properties: Properties) -> str | None:
        """An error text when `value_specs` sets what a property, or only an administrator, should set."""
        return refused_value_specs(properties)

    # --- bodies -------------------------------------------------------------------------------------------

    @staticmethod
    def prepare_properties(properties: Properties, name: str | None) -> PropertyDiff:
        """The body of a create: what is given, `name` when none is, and the entries of `value_specs`."""
        body = {key: value for key, value in properties.items() if value is not None}
        if 'name' in properties:
            body.setdefault('name', name)
        NeutronResource.merge_value_specs(body)
        return body

    @staticmethod
    def merge_value_specs(props: PropertyDiff, before_value_specs: Mapping[str, object] | None = None) -> None:
        """Merge `value_specs` into the properties in place; with `before_value_specs`, only changed entries."""
        if 'value_specs' in props:
            specs = props.pop('value_specs') or {}
            old = before_value_specs or {}
            props.update({key: value for key, value in specs.items() if key not in old or old[key] != value})

    def prepare_update_properties(self, prop_diff: dict[str, object]) -> None:
        """Make the body of an update of a property diff, in place."""
        if 'value_specs' in prop_diff:
            self.merge_value_specs(prop_diff, self.properties['value_specs'])
        if 'name' in prop_diff and prop_diff['name'] is None:
            prop_diff['name'] = self.physical_resource_name()

    # --- states -------------------------------------------------------------------------------------------

    @staticmethod
    def is_built(attributes: Mapping[str, object]) -> bool:
        """Raise ResourceInError, ResourceUnknownStatus."""
        status = attributes['status']
        match status:
            case 'BUILD':
                return False
            case 'ACTIVE' | 'DOWN':
                return True
            case 'ERROR' | 'DEGRADED':
                raise exception.ResourceInError(resource_status=status)
        raise exception.ResourceUnknownStatus(resource_status=status, result=_('Resource is not built'))

    def needs_replace_failed(self) -> bool:
        if not self.resource_id:
            return True
        shown = None
        with self.client_plugin().ignore_not_found:
            shown = self._show_resource()
        return shown is None or shown.get('status') == 'ERROR'

    # --- reading ------------------------------------------------------------------------------------------

    def get_reference_id(self) -> Any:
        return self.resource_id

    def FnGetRefId(self) -> Any:
        return self.get_reference_id()

    def _res_get_args(self) -> list[object]:
        return [self.resource_id]

    def _show_resource(self) -> Any:
        if not self.entity:
            return None
        shown = getattr(self.client(), f'show_{self.entity}')(*self._res_get_args())
        return shown[self.res_info_key or self.entity]

    def _resolve_attribute(self, name: str) -> object:
        shown = self._show_resource() if self.resource_id else None
        return None if shown is None else shown[name]

    def get_resource_plural(self) -> str:
        """The collection, as in a path."""
        return paths.path_of(paths.plural_of(str(self.entity))).lstrip('/')

    def set_tags(self, tags: list[str] | None) -> None:
        """The thing's tags become `tags`."""
        self.client().replace_tag(self.get_resource_plural(), self.resource_id, {'tags': tags or []})

    def parse_live_resource_data(self, resource_properties: Properties,
                                 resource_data: Mapping[str, object]) -> dict[str, object]:
        """Return the values of properties that the template gives: the service has values for the others, too."""
        live = super().parse_live_resource_data(resource_properties, resource_data)
        return {name: value for name, value in live.items() if resource_properties.get(name) is not None}

    # --- after a crash ------------------------------------------------------------------------------------

    def list_named(self, name: str | None) -> list[Fields]:
        plural = paths.plural_of(str(self.entity))
        query = {} if name is None else {'name': name}
        found: list[Mapping[str, object]] = getattr(self.client(), f'list_{plural}')(**query)[
            paths.key_of(plural)]
        return found

    def _listed_by_name(self) -> list[Mapping[str, object]]:
        name = self.properties.get('name') or self.physical_resource_name()
        return [entry for entry in self.list_named(name) if entry['name'] == name]

    def _created(self, make: Callable[[], str]) -> str:
        """Return `make()`, the id of a new object with a name. For `handle_create`."""
        return existing.create(self, make, self._listed_by_name if self.properties.get('name') else None)

    def _find_by_name(self, **wanted: object) -> str | None:
        """Return the id of the object with the name of the resource. For `find_existing`."""
        return existing.choose(self, self._listed_by_name(), own_name=not self.properties.get('name'), wanted=wanted)

    # --- deleting -----------------------------------------------------------------------------------------

    def _not_found_in_call(self, function: Callable[..., object], *args: object, **kwargs: object) -> bool:
        """Whether a call says that the thing is gone."""
        return bool(self.client_plugin().not_found_in_call(function, *args, **kwargs))

    def _delete_entity(self) -> bool | None:
        """Delete the object, and return the argument of the check; None if there is nothing to wait for. For
        `handle_delete`."""
        if self.resource_id is None:
            return None
        deleted = getattr(self.client(), f'delete_{self.entity}')
        return None if self._not_found_in_call(deleted, *self._res_get_args()) else True

    def check_delete_complete(self, check: object) -> bool:
        """`check` false: done already. Raises PhysicalResourceExists as long as the thing is there."""
        if not check:
            return True
        if not self._not_found_in_call(self._show_resource):
            raise exception.PhysicalResourceExists(name=self.physical_resource_name_or_FnGetRefId())
        return True
