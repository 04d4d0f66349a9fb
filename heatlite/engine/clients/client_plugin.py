"""The base of client plug-ins: how to reach one service, and how to read its errors. Nothing about stacks."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oslo_config import cfg
from oslo_utils import excutils

from heatlite.common import config, exception
from heatlite.engine import clients
from heatlite.engine.clients import library_errors

if TYPE_CHECKING:
    from heatlite.common.context import RequestContext
    from heatlite.engine.clients.os import http

ExceptionFilter = excutils.exception_filter             # the name former years gave it

C = TypeVar('C')                        # the class of the client


class ClientPlugin(Generic[C], metaclass=abc.ABCMeta):
    """Subclasses define `_create(version=None)`, `service_types`, and what their errors mean.

    `exceptions_module`: a module, or several, whose classes are the client's own errors.
    """

    exceptions_module: ModuleType | list[ModuleType] | tuple[ModuleType, ...] | None = None
    service_types: list[str] = []
    option_group = ''                       # X of the options [clients_X]
    api_version: dict[str, Any] = {}        # `min_version`, `max_version` of the Adapter
    default_version: str | None = None
    supported_versions: list[str] = []

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._client_instances: dict[str | None, C] = {}

    @property
    def context(self) -> RequestContext:
        return self._context

    @property
    def clients(self) -> clients.OpenStackClients:
        return clients.of(self._context)

    # --- the client ---------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _create(self, version: str | None = None) -> C:
        """Return a new client of the service."""

    def client(self, version: str | None = None) -> C:
        """Return the client, made once per version. Raises InvalidServiceVersion."""
        wanted = version or self.default_version
        if wanted not in self._client_instances:
            if wanted is not None and self.supported_versions and wanted not in self.supported_versions:
                raise exception.InvalidServiceVersion(version=wanted, service=self._get_service_name())
            self._client_instances[wanted] = self._make(wanted)
        return self._client_instances[wanted]

    def _make(self, version: str | None) -> C:
        parameters = inspect.signature(self._create).parameters.values()
        takes_version = any(p.name == 'version' or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
        return self._create(version=version) if takes_version and version is not None else self._create()

    def _get_service_name(self) -> str:
        return self.service_types[0] if self.service_types else type(self).__name__

    def invalidate(self) -> None:
        """Make new clients at the next use."""
        self._client_instances.clear()

    @property
    def auth_token(self) -> str | None:
        """The token of the context's session, for clients that take nothing better."""
        token: str | None = self.context.keystone_session.get_token()
        return token

    # --- where the service is -----------------------------------------------------------------------------

    def url_for(self, **kwargs: Any) -> str:
        """Return the service's endpoint by `service_type`, `endpoint_type` (or `interface`), `region_name`.

        Raises keystoneauth1's EndpointNotFound.
        """
        if 'endpoint_type' in kwargs:
            kwargs.setdefault('interface', kwargs.pop('endpoint_type'))
        kwargs.setdefault('region_name', self._get_region_name())
        url = self.context.keystone_session.get_endpoint(**kwargs)
        if url is None:
            from keystoneauth1 import exceptions
            raise exceptions.EndpointNotFound(
                f'There is no endpoint of {kwargs.get("service_type")} in region {kwargs["region_name"]}.')
        return str(url)

    def adapter(self, service_type: str | None = None, **given: object) -> http.ServiceAdapter:
        """Return a keystoneauth1 Adapter to the service: retries, limits and time-outs are taken care of.

        `given`: further arguments of the Adapter, such as `default_microversion`, `min_version`.
        """
        from heatlite.engine.clients.os import http
        wanted = {'interface': self.interface(), 'region_name': self._get_region_name(), 'client_name': 'heatlite',
                  'global_request_id': self._request_id(), **self.api_version, **given}
        return http.ServiceAdapter(self.context.keystone_session,
                                   service_type=service_type or self._service_type(), **wanted)

    def interface(self) -> str:
        """Which endpoint to use, without the old ending: public, internal, admin."""
        return str(self._get_client_option(self.option_group, 'endpoint_type')).removesuffix('URL')

    def _service_type(self) -> str:
        """Return the first of its service types that the catalogue has; the first one when it has none."""
        for kind in self.service_types[1:]:
            if not self.does_endpoint_exist(self.service_types[0], self.option_group) \
                    and self.does_endpoint_exist(kind, self.option_group):
                return kind
        return self.service_types[0]

    def _request_id(self) -> str | None:
        """Ours, for the logs of the service; services take it in one form only."""
        found = getattr(self.context, 'global_request_id', None) or getattr(self.context, 'request_id', None)
        return found if found and found.startswith('req-') else None

    def does_endpoint_exist(self, service_type: str, service_name: str) -> bool:
        """Remembered with the plug-in, which lives as long as one request's context: every type of the service asks."""
        known = self.__dict__.setdefault('_endpoints', {})
        key = (service_type, service_name, self._get_region_name())
        if key not in known:
            known[key] = self._has_endpoint(service_type, service_name)
        return bool(known[key])

    def _has_endpoint(self, service_type: str, service_name: str) -> bool:
        from keystoneauth1 import exceptions
        try:
            return self.context.keystone_session.get_endpoint(
                service_type=service_type, interface=self._get_client_option(service_name, 'endpoint_type'),
                region_name=self._get_region_name()) is not None
        except exceptions.EndpointNotFound:
            return False

    def has_extension(self, alias: str) -> bool:
        """Services that have extensions mix in `clients.os.ExtensionMixin`; the others have none to miss."""
        return True

    @staticmethod
    def _get_client_option(client: str, option: str, fallback: bool = True) -> object:
        """`option` of [clients_<client>], or of [clients] where that says nothing."""
        if not fallback:
            return cfg.CONF[f'clients_{client}'][option]
        return config.get_client_option(client, option)

    def _get_region_name(self) -> str | None:
        shared: str | None = cfg.CONF.region_name_for_shared_services
        if shared and set(cfg.CONF.shared_services_types).intersection(self.service_types):
            return shared
        found: str | None = self.context.region_name or cfg.CONF.region_name_for_services
        return found

    # --- what errors mean ---------------------------------------------------------------------------------

    def is_client_exception(self, ex: BaseException) -> bool:
        """Return whether it is one of the client's own errors, not a subclass that another module has made of one."""
        named = self.exceptions_module
        modules = named if isinstance(named, list | tuple) else [named]
        kinds = library_errors.classes_of(ex)
        return any(kind in vars(module).values() for module in modules if module is not None for kind in kinds)

    def is_not_found(self, ex: BaseException) -> bool:
        return False

    def is_over_limit(self, ex: BaseException) -> bool:
        return False

    def is_conflict(self, ex: BaseException) -> bool:
        return False

    @excutils.exception_filter              # type: ignore[arg-type]
    def ignore_not_found(self, ex: BaseException) -> bool:
        """Both a function of the error being handled and a context manager: any other error is raised again."""
        return self.is_not_found(ex)

    def not_found_in_call(self, function: Callable[..., object], *arguments: object, **more: object) -> bool:
        """Make a call, and return whether the service says that it does not have the object. Other errors pass
        through."""
        try:
            function(*arguments, **more)
        except Exception as error:
            self.ignore_not_found(error)
            return True
        return False

    @excutils.exception_filter              # type: ignore[arg-type]
    def ignore_conflict_and_not_found(self, ex: BaseException) -> bool:
        return self.is_conflict(ex) or self.is_not_found(ex)
