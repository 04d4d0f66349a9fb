"""Suspending and resuming, the same for everything that is a server."""

from __future__ import annotations

from collections.abc import Callable

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine import resource


class Suspending(resource.Resource):
    """Part of types whose physical id is that of a server."""

    _delete_internal_port: Callable[[str], None]        # deletes a port that was made for the server

    def _found_for(self, action: str) -> object:
        """Raise Error, NotFound."""
        if self.resource_id is None:
            raise exception.Error(_('Cannot %(action)s %(name)s, resource_id not set')
                                  % {'action': action, 'name': self.name})
        try:
            return self.client().servers.get(self.resource_id)
        except Exception as error:
            if self.client_plugin().is_not_found(error):
                raise exception.NotFound(_('Failed to find server %s') % self.resource_id) from error
            raise

    def handle_suspend(self) -> str:
        server = self._found_for('suspend')
        if self.client_plugin().get_status(server) != 'SUSPENDED':
            self.client().servers.suspend(self.resource_id)
        return str(self.resource_id)

    def check_suspend_complete(self, server_id: str) -> bool:
        return bool(self._is_on_its_way(server_id, 'SUSPENDED', 'ACTIVE', _('Suspend of server %s failed')))

    def handle_resume(self) -> str:
        server = self._found_for('resume')
        if self.client_plugin().get_status(server) != 'ACTIVE':
            self.client().servers.resume(self.resource_id)
        return str(self.resource_id)

    def check_resume_complete(self, server_id: str) -> bool:
        return bool(self._is_on_its_way(server_id, 'ACTIVE', 'SUSPENDED', _('Resume of server %s failed')))

    def _is_on_its_way(self, server_id: str, wanted: str, before: str, failure: str) -> bool:
        server = self.client_plugin().fetch_server(server_id)
        if server is None:
            return False
        status = self.client_plugin().get_status(server)
        if status == wanted:
            return True
        if status == before or status in self.client_plugin().deferred_server_statuses:
            return False
        raise exception.ResourceUnknownStatus(resource_status=server.status, result=failure % server_id)
