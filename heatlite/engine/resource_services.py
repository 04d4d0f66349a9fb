"""The clients of a resource, and the check whether its service is available."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.db.alarms import Alarm
from heatlite.engine import clients
from heatlite.engine.resource_plugins import Plugins
from heatlite.monitoring.alarms import AlarmRule
from heatlite.rpc.software import ShownConfig, ShownDeployment

if TYPE_CHECKING:
    from heatlite.engine.clients.client_plugin import ClientPlugin

OURSELVES = 'heat'


class ErrorFilter(Protocol):
    """Ignores errors with one class name: as a context manager, or called with an error, which raises all others."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool: ...

    def __call__(self, error: BaseException) -> None: ...


class SoftwareConfigs(Protocol):
    """The use cases of software configs and deployments, with the names of the plug-in contract. Answers are objects
    as clients see them; `fields` are keys of these objects (engine.requests.software)."""

    def create_software_config(self, context: RequestContext, *, config_id: str | None = None,
                               **fields: object) -> ShownConfig: ...

    def show_software_config(self, context: RequestContext, config_id: str) -> ShownConfig: ...

    def delete_software_config(self, context: RequestContext, config_id: str) -> None: ...

    def create_software_deployment(self, context: RequestContext, *, server_id: str, config_id: str,
                                   deployment_id: str | None = None, **fields: object) -> ShownDeployment: ...

    def deploy(self, context: RequestContext, deployment_id: str, server_id: str, config: ShownConfig,
               **fields: object) -> ShownDeployment: ...

    def show_software_deployment(self, context: RequestContext, deployment_id: str) -> ShownDeployment: ...

    def update_software_deployment(self, context: RequestContext, deployment_id: str,
                                   updated_at: datetime | None = None, **fields: object) -> ShownDeployment: ...

    def signal_software_deployment(self, context: RequestContext, deployment_id: str,
                                   details: object) -> str | None: ...

    def delete_software_deployment(self, context: RequestContext, deployment_id: str) -> None: ...

    def withdraw(self, context: RequestContext, deployment_id: str) -> None: ...

    def ignore_error_by_name(self, name: str) -> ErrorFilter: ...


class AlarmUseCases(Protocol):
    """The use cases of alarms that are resources (engine.requests.alarms): `stack.alarms`."""

    def put(self, context: RequestContext, name: str, rule: AlarmRule, *, stack_id: str, resource_name: str,
            actions_enabled: bool = True) -> None: ...

    def delete(self, context: RequestContext, name: str, stack_id: str) -> None: ...

    def show(self, context: RequestContext, name: str) -> Alarm | None: ...

    def suspend(self, context: RequestContext, name: str, stack_id: str) -> None: ...

    def resume(self, context: RequestContext, name: str, stack_id: str) -> None: ...


class Services(Plugins):
    """A part of `Resource`."""

    default_client_name: ClassVar[str | None] = None
    required_service_extension: ClassVar[str | None] = None

    def rpc_client(self) -> SoftwareConfigs:
        """Return the use cases of software configs and deployments, with the names of the plug-in contract."""
        found: SoftwareConfigs = self.stack.software
        return found

    def client(self, name: str | None = None, version: str | None = None) -> Any:
        client_name = name or self.default_client_name
        assert client_name, _('Must specify client name')
        return self._clients().client(client_name, version)

    def _default_client_plugin(self) -> ClientPlugin[Any]:
        """Return the plug-in that classifies errors of the default client; or one that knows no error."""
        plugin = self.client_plugin() if self.default_client_name else None
        return plugin or clients.without_client(self.context)

    @classmethod
    def is_service_available(cls, context: RequestContext) -> tuple[bool, str | None]:
        """Return (whether it is available, why not). Raises ClientNotAvailable without the client plug-in."""
        name = cls.default_client_name
        if name is None or name == OURSELVES:           # heatlite itself is answering this request
            return True, None
        plugin = clients.of(context).client_plugin(name)
        if plugin is None:
            raise exception.ClientNotAvailable(client_name=name)
        service_types = plugin.service_types
        if not service_types:
            return True, None
        if not any(plugin.does_endpoint_exist(service_type=kind, service_name=name) for kind in service_types):
            return False, _('%(client)s %(service)s endpoint is not in service catalog.') % {
                'client': name, 'service': service_types[-1]}
        for extension in (cls.required_service_extension or '').replace(',', ' ').split():
            if not plugin.has_extension(extension):
                return False, _('Required extension %(extension)s in %(client)s service is not available.') % {
                    'extension': extension, 'client': name}
        return True, None

    @classmethod
    def check_service_available(cls, context: RequestContext, resource_type: str) -> None:
        """Raise ResourceTypeUnavailable (HEAT-E99001) if the service is not available."""
        try:
            available, reason = cls.is_service_available(context)
        except Exception as error:
            available, reason = False, str(error)
        if not available:
            raise exception.ResourceTypeUnavailable(
                service_name=cls.default_client_name, resource_type=resource_type, reason=reason)
