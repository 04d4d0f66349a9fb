"""The client plug-ins of a resource by their names, with their classes for the type checker.

The names and classes are those of engine.clients.BUILT_IN; a test compares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from heatlite.common.i18n import _
from heatlite.engine import clients
from heatlite.engine.resource_state import State

if TYPE_CHECKING:
    from heatlite.engine.clients.os.aodh import AodhClientPlugin
    from heatlite.engine.clients.os.barbican import BarbicanClientPlugin
    from heatlite.engine.clients.os.blazar import BlazarClientPlugin
    from heatlite.engine.clients.os.cinder import CinderClientPlugin
    from heatlite.engine.clients.os.designate import DesignateClientPlugin
    from heatlite.engine.clients.os.glance import GlanceClientPlugin
    from heatlite.engine.clients.os.heat_plugin import HeatClientPlugin
    from heatlite.engine.clients.os.ironic import IronicClientPlugin
    from heatlite.engine.clients.os.keystone import KeystoneClientPlugin
    from heatlite.engine.clients.os.magnum import MagnumClientPlugin
    from heatlite.engine.clients.os.manila import ManilaClientPlugin
    from heatlite.engine.clients.os.mistral import MistralClientPlugin
    from heatlite.engine.clients.os.neutron import NeutronClientPlugin
    from heatlite.engine.clients.os.nova import NovaClientPlugin
    from heatlite.engine.clients.os.octavia import OctaviaClientPlugin
    from heatlite.engine.clients.os.openstacksdk import OpenStackSDKPlugin
    from heatlite.engine.clients.os.swift import SwiftClientPlugin
    from heatlite.engine.clients.os.trove import TroveClientPlugin
    from heatlite.engine.clients.os.zaqar import ZaqarClientPlugin
    from heatlite.engine.clients.os.zun import ZunClientPlugin


class Plugins(State):
    """A part of `Resource`."""

    default_client_name: ClassVar[str | None] = None

    @overload
    def client_plugin(self, name: Literal['aodh']) -> AodhClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['barbican']) -> BarbicanClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['blazar']) -> BlazarClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['cinder']) -> CinderClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['designate']) -> DesignateClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['glance']) -> GlanceClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['heat']) -> HeatClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['ironic']) -> IronicClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['keystone']) -> KeystoneClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['magnum']) -> MagnumClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['manila']) -> ManilaClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['mistral']) -> MistralClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['neutron']) -> NeutronClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['nova']) -> NovaClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['octavia']) -> OctaviaClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['openstack']) -> OpenStackSDKPlugin: ...

    @overload
    def client_plugin(self, name: Literal['swift']) -> SwiftClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['trove']) -> TroveClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['zaqar']) -> ZaqarClientPlugin: ...

    @overload
    def client_plugin(self, name: Literal['zun']) -> ZunClientPlugin: ...

    @overload
    def client_plugin(self, name: str | None = None) -> Any: ...

    def client_plugin(self, name: str | None = None) -> object:
        """Return a client plug-in; None if there is no such client."""
        client_name = name or self.default_client_name
        assert client_name, _('Must specify client name')
        return self._clients().client_plugin(client_name)

    def _clients(self) -> clients.OpenStackClients:
        return getattr(self.stack, 'clients', None) or clients.of(self.context)
