"""Old names on a resource that plug-ins still use (docs/spec/plugins.rst, "Former names")."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self

from heatlite.engine.compat.node_data import NodeData
from heatlite.engine.resource_keeping import Keeping
from heatlite.engine.resource_update import Updates
from heatlite.engine.rsrc_defn import Metadata

if TYPE_CHECKING:
    from heatlite.engine.clients.os.keystone.heat_keystoneclient import KeystoneClient
    from heatlite.engine.resource_services import Services
    from heatlite.language.definition import StackDefinition

HELD = 'True'                       # the value of the data of a resource that is held at a hook
SERVICES = ('keystone', 'nova', 'swift', 'neutron', 'cinder', 'trove', 'ceilometer', 'heat', 'glance')


class Legacy(Updates, Keeping):
    """A part of `Resource`. heatlite itself uses only `keystone`."""

    keystone: Callable[[], KeystoneClient]             # as the others of SERVICES

    @property
    def metadata(self) -> Metadata:
        return self.metadata_get()

    @metadata.setter
    def metadata(self, value: dict[str, object]) -> None:
        self.metadata_set(value)

    def parsed_template(self, section: str | None = None, default: object = None) -> object:
        """Return the definition last applied, or one section of it, with the keys of the CFN format."""
        parts = dict(self.frozen_definition().items())
        if section is None:
            return parts
        return parts.get(section, {} if default is None else default)

    @property
    def _stored_properties_data(self) -> dict[str, object]:
        """The values of the properties last applied; None for those that were not given."""
        return {**dict.fromkeys(self.properties_schema), **self.frozen_definition()['Properties']}

    def FnBase64(self, data: str) -> str:
        return base64.b64encode(data.encode()).decode()

    def is_using_neutron(self) -> bool:
        return True

    def dep_attrs(self, resource_name: str) -> set[object]:
        return self.t.dep_attrs(resource_name)

    def get_abandon_data(self) -> object:
        return self.prepare_abandon()

    def restore_after_rollback(self) -> None:
        self.restore_prev_rsrc()

    def set_requires(self, requires: Iterable[str]) -> None:
        self.requires = set(requires)

    def set_deletion_policy(self, policy: str) -> None:
        """Set the policy for this object only; the stored definition does not change."""
        self.t = self.t.freeze(deletion_policy=policy)

    def physical_resource_name_or_FnGetRefId(self) -> object:
        name = self.physical_resource_name()
        return str(name) if name is not None else self.get_reference_id()

    def has_hook(self, hook: str) -> bool:
        """Whether the resource is held at a hook of its environment."""
        return self.data().get(hook) == HELD

    def clear_hook(self, hook: str) -> None:
        """Forget that the resource is held there. What the engine holds goes on by a signal only."""
        self.data_delete(hook)

    def node_data(self, stk_defn: StackDefinition | None = None, for_resources: bool = True,
                  for_outputs: bool = False) -> NodeData:
        """Return what others read of the resource: its state, its reference, and the attributes that they use."""
        return NodeData.of(self, self.referenced_attrs(stk_defn, for_resources, for_outputs))

    @classmethod
    def resource_class(cls) -> type[Self]:
        return cls

    def implementation_signature(self) -> tuple[str, str]:
        """Return the name of the class, and a text that changes with its properties."""
        return type(self).__name__, ','.join(sorted(self.properties_schema))


def _shortcut(service: str) -> object:
    def client(self: Services) -> object:
        return self.client(service)

    client.__name__ = service
    client.__doc__ = f"`client('{service}')`."
    return client


for _service in SERVICES:
    setattr(Legacy, _service, _shortcut(_service))
