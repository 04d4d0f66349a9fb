"""clients: how a resource type reaches other services. Nothing is imported or called before it is needed.

Must not import stacks, resources or rows.
"""

from __future__ import annotations

import pkgutil
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log
from oslo_utils import importutils

from heatlite.common import config as _options  # noqa: F401 - registers cloud_backend
from heatlite.common import context
from heatlite.engine.compat import aliases, extensions

if TYPE_CHECKING:
    from heatlite.common.context import RequestContext
    from heatlite.engine.clients.client_plugin import ClientPlugin
    from heatlite.engine.clients.default_client_plugin import DefaultClientPlugin
    from heatlite.engine.clients.os.cinder import VolumeClient
    from heatlite.engine.clients.os.glance import ImageClient
    from heatlite.engine.clients.os.heat_plugin import OrchestrationClient
    from heatlite.engine.clients.os.keystone.heat_keystoneclient import KeystoneClient
    from heatlite.engine.clients.os.neutron.client import NetworkClient
    from heatlite.engine.clients.os.nova_collections import ComputeClient
    from heatlite.engine.clients.os.swift import ObjectClient
    from heatlite.engine.clients.os.trove import DatabaseClient
    from heatlite.engine.clients.sessions import Session

LOG = log.getLogger(__name__)

OS = 'heatlite.engine.clients.os'
BUILT_IN: dict[str, str] = {                            # name -> module:class
    'aodh': f'{OS}.aodh:AodhClientPlugin',
    'barbican': f'{OS}.barbican:BarbicanClientPlugin',
    'blazar': f'{OS}.blazar:BlazarClientPlugin',
    'cinder': f'{OS}.cinder:CinderClientPlugin',
    'designate': f'{OS}.designate:DesignateClientPlugin',
    'glance': f'{OS}.glance:GlanceClientPlugin',
    'heat': f'{OS}.heat_plugin:HeatClientPlugin',
    'ironic': f'{OS}.ironic:IronicClientPlugin',
    'keystone': f'{OS}.keystone:KeystoneClientPlugin',
    'magnum': f'{OS}.magnum:MagnumClientPlugin',
    'manila': f'{OS}.manila:ManilaClientPlugin',
    'mistral': f'{OS}.mistral:MistralClientPlugin',
    'neutron': f'{OS}.neutron:NeutronClientPlugin',
    'nova': f'{OS}.nova:NovaClientPlugin',
    'octavia': f'{OS}.octavia:OctaviaClientPlugin',
    'openstack': f'{OS}.openstacksdk:OpenStackSDKPlugin',
    'swift': f'{OS}.swift:SwiftClientPlugin',
    'trove': f'{OS}.trove:TroveClientPlugin',
    'zaqar': f'{OS}.zaqar:ZaqarClientPlugin',
    'zun': f'{OS}.zun:ZunClientPlugin',
}
OLD_CLIENT_MODULES = {                                  # attributes old plug-ins look for -> module
    'novaclient': 'novaclient.client', 'neutronclient': 'neutronclient.v2_0.client',
    'cinderclient': 'cinderclient.client', 'swiftclient': 'swiftclient', 'troveclient': 'troveclient.client',
    'ceilometerclient': 'ceilometerclient.client', 'glanceclient': 'glanceclient', 'heatclient': 'heatclient.client',
}


class OpenStackClients:
    """The clients of one request context. Option `cloud_backend` names a subclass to use instead.

    A subclass may serve a client without a plug-in by a method `_<name>()`.
    """

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._plugins: dict[str, ClientPlugin[object]] = {}

    @property
    def context(self) -> RequestContext:
        return self._context

    def client_plugin(self, name: str) -> Any:
        """None when there is no such plug-in."""
        if name not in self._plugins:
            plugin_class = plugin_classes().get(name)
            if plugin_class is None:
                return None
            self._plugins[name] = plugin_class(self._context)
        return self._plugins[name]

    def client(self, name: str, version: str | None = None) -> Any:
        """None, and a warning, when the name is unknown."""
        plugin = self.client_plugin(name)
        if plugin is not None:
            return plugin.client(version=version) if version else plugin.client()
        own = getattr(self, f'_{name}', None)
        if own is not None:
            return own()
        LOG.warning('Requested client "%s" not found', name)
        return None

    # --- as former years called it ------------------------------------------------------------------------

    @property
    def auth_token(self) -> str | None:
        token: str | None = self._context.keystone_session.get_token()
        return token

    def url_for(self, **kwargs: object) -> str:
        url: str = self.client_plugin('keystone').url_for(**kwargs)
        return url

    def keystone(self) -> KeystoneClient:
        found: KeystoneClient = self.client('keystone')
        return found

    def nova(self, service_type: str = 'compute') -> ComputeClient:
        found: ComputeClient = self.client('nova')
        return found

    def swift(self) -> ObjectClient:
        found: ObjectClient = self.client('swift')
        return found

    def neutron(self) -> NetworkClient:
        found: NetworkClient = self.client('neutron')
        return found

    def cinder(self) -> VolumeClient:
        found: VolumeClient = self.client('cinder')
        return found

    def trove(self, service_type: str = 'database') -> DatabaseClient:
        found: DatabaseClient = self.client('trove')
        return found

    def ceilometer(self) -> object:
        return self.client('ceilometer')

    def heat(self) -> OrchestrationClient:
        found: OrchestrationClient = self.client('heat')
        return found

    def glance(self) -> ImageClient:
        found: ImageClient = self.client('glance')
        return found


def Clients(context: RequestContext) -> OpenStackClients:
    """Return the clients of `context`, of the class the operator chose."""
    name = cfg.CONF.cloud_backend
    if name.startswith('heat.engine.clients'):
        name = name.replace('heat.', 'heatlite.', 1)
    if name == f'{__name__}.{OpenStackClients.__name__}':
        return OpenStackClients(context)
    aliases.install()
    found: OpenStackClients = importutils.import_class(name)(context)
    return found


def of(request: RequestContext) -> OpenStackClients:
    """Return the clients that belong to a request context, made once for it."""
    found: OpenStackClients | None = request.__dict__.get('_clients')
    if found is None:
        found = request.__dict__['_clients'] = Clients(request)
    return found


def without_client(request: RequestContext) -> DefaultClientPlugin:
    """Return the plug-in of resources without a client: no error is a conflict, or means that something is gone."""
    from heatlite.engine.clients import default_client_plugin  # it imports this package
    return default_client_plugin.DefaultClientPlugin(request)


class _PluginClasses:
    """Client plug-ins by name: built-in ones and those of installed packages, each loaded when it is asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, type[ClientPlugin[object]] | None] = {}

    def names(self) -> frozenset[str]:
        return extensions.names(extensions.CLIENTS) | BUILT_IN.keys()

    def get(self, name: str) -> type[ClientPlugin[object]] | None:
        """Return the class; None for an unknown one, one that cannot be loaded, one that says it is not available."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> type[ClientPlugin[object]] | None:
        try:
            if name in extensions.names(extensions.CLIENTS):
                found = extensions.load(extensions.CLIENTS, name)
            elif name in BUILT_IN:
                found = pkgutil.resolve_name(BUILT_IN[name])
            else:
                return None
        except Exception as error:          # a library that is missing must not take the engine with it
            LOG.warning('The client plug-in %s cannot be loaded: %s: %s', name, type(error).__name__, error)
            return None
        available = getattr(found, 'is_available', None)
        return found if available is None or available() else None


_classes: _PluginClasses | None = None


def plugin_classes() -> _PluginClasses:
    global _classes
    if _classes is None:
        _classes = _PluginClasses()
    return _classes


def initialise() -> None:
    """Forget what was loaded, and look at the installed packages anew."""
    global _classes
    _classes = None


def has_client(name: str) -> bool:
    return name in plugin_classes().names()


def list_opts() -> Iterator[tuple[str, list[cfg.Opt]]]:
    """Options of client plug-ins: those that declare any with `list_opts`."""
    for name in sorted(plugin_classes().names()):
        found = plugin_classes().get(name)
        declared = getattr(found, 'list_opts', None)
        if declared is not None:
            yield from declared()


def __getattr__(name: str) -> object:
    """Client libraries as attributes, as plug-ins of 2013 look for them; None when one is not installed."""
    if name in OLD_CLIENT_MODULES:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            return importutils.try_import(OLD_CLIENT_MODULES[name])
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


def _session_of(request: RequestContext) -> Session:
    """Made once for a context; keystoneauth1 is not imported before."""
    found: Session | None = request.__dict__.get('_session')
    if found is None:
        from heatlite.engine.clients import sessions
        found = request.__dict__['_session'] = sessions.session(request)
    return found


context.RequestContext.clients_of = staticmethod(of)
context.RequestContext.session_of = staticmethod(_session_of)
