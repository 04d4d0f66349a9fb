"""The base of plug-ins' types of the load balancing service: `heat.engine.resources.openstack.octavia.octavia_base`.

Octavia refuses a change of a load balancer, with a conflict, while another one of it is going on. So calls are made in
the checks, which repeat them at each interval until they are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from heatlite.common import exception
from heatlite.engine import resource, support

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Fields
    from heatlite.engine.properties import Properties

T = TypeVar('T')


class OctaviaBase(resource.Resource):
    """Subclasses have `_prepare_args(properties)`, `_resource_create(arguments)`, `_resource_update(changes)`,
    `_resource_delete()` and `_show_resource()`, whose result has `provisioning_status`."""

    default_client_name = 'octavia'
    support_status = support.SupportStatus(version='10.0.0')
    _update_called = _delete_called = False     # another engine may continue with the check
    _prepare_args: Callable[[Properties], object]
    _resource_create: Callable[[object], Fields]
    _resource_update: Callable[[object], object]
    _resource_delete: Callable[[], object]
    _show_resource: Callable[[], Fields]

    def _resolve_attribute(self, name: str) -> object:
        if self.resource_id is None:
            return None
        shown = self._show_resource()
        return shown[name]

    def _check_status(self, expected_status: str = 'ACTIVE') -> bool:
        """Whether the object has that status. Raises ResourceInError."""
        shown = self._show_resource()
        status = shown['provisioning_status']
        if status == 'ERROR':
            raise exception.ResourceInError(resource_status=status)
        return bool(status == expected_status)

    def _check_deleted(self) -> bool:
        """Whether the object is deleted, or gone."""
        try:
            return self._check_status('DELETED')
        except Exception as error:
            if not self.client_plugin().is_not_found(error):
                raise
            return True

    def handle_create(self) -> object:
        return self._prepare_args(self.properties)

    def check_create_complete(self, arguments: object) -> bool:
        if self.resource_id is None:
            _accepted, made = self._accepted(self._resource_create, arguments)
            if made is None:
                return False
            self.resource_id_set(made['id'])
        return self._check_status()

    def handle_update(self, json_snippet: object, tmpl_diff: object, prop_diff: object) -> object:
        self._update_called = False
        return prop_diff

    def check_update_complete(self, prop_diff: object) -> bool:
        if not prop_diff:
            return True
        if not self._update_called:
            self._update_called, _answer = self._accepted(self._resource_update, prop_diff)
            if not self._update_called:
                return False
        return self._check_status()

    def handle_delete(self) -> object:
        self._delete_called = False
        return None

    def check_delete_complete(self, _data: object) -> bool:
        if self.resource_id is None:
            return True
        if not self._delete_called:
            try:
                self._delete_called, _answer = self._accepted(self._resource_delete)
            except Exception as error:
                if self.client_plugin().is_not_found(error):
                    return True
                raise
        return self._check_deleted()

    def _accepted(self, call: Callable[..., T], *arguments: object) -> tuple[bool, T | None]:
        """Return (whether the service accepted the call, its answer). Errors other than conflicts pass through."""
        try:
            return True, call(*arguments)
        except Exception as error:
            if not self.client_plugin().is_conflict(error):
                raise
            return False, None
