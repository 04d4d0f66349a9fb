"""OS::Heat::Stack.

Schema: heatlite/engine/resources/catalogue/heat.yaml
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from oslo_config import cfg

from heatlite.common import exception, template_format
from heatlite.common.i18n import _
from heatlite.engine import resource
from heatlite.engine.clients import sessions
from heatlite.engine.properties import Properties
from heatlite.engine.resources import catalogue
from heatlite.engine.resources.snapshots import Snapshotted
from heatlite.engine.rsrc_defn import ResourceDefinition, ResourceDefinitionDiff
from heatlite.language import environment
from heatlite.language.unknown import is_known

if TYPE_CHECKING:
    from keystoneauth1.session import Session

    from heatlite.engine.clients.os.heat_plugin import OrchestrationClient
    from heatlite.engine.resource_update import Updates

NAME = 'OS::Heat::Stack'
SET_MEMBER = 'stack_set_member'         # key in the metadata of the members of stack sets


class RemoteStack(resource.Resource):
    """A stack of its own, made through the orchestration API of this or another region, in the caller's name."""

    validates_at_creation = False           # the service there checks it again when it creates the stack
    default_client_name = 'heat'
    entity = 'stacks'
    always_inspected = False                # an equal definition asks the other service for nothing
    sends_files = True
    keeps_token = True

    PROPERTIES = (CONTEXT, TEMPLATE, TIMEOUT, PARAMETERS) = ('context', 'template', 'timeout', 'parameters')
    _CONTEXT_KEYS = (REGION_NAME, CREDENTIAL_SECRET_ID, CA_CERT, SSL_INSECURE, PROJECT_ID) = (
        'region_name', 'credential_secret_id', 'ca_cert', 'insecure', 'project_id')
    ATTRIBUTES = (NAME_ATTR, OUTPUTS) = ('stack_name', 'outputs')

    properties_schema = catalogue.properties(NAME)
    attributes_schema = catalogue.attribute_schemata(NAME)
    support_status = catalogue.status(NAME)

    @property
    def away_patience(self) -> float | None:        # type: ignore[override]
        """Bounded for members of stack sets: others do not wait for one whose service is away."""
        return float(cfg.CONF.stack_set_patience) if SET_MEMBER in self.t.metadata() else None

    def heat(self) -> OrchestrationClient:
        """The API of the region, and of the cloud, that `context` names. May ask Barbican, and another Keystone."""
        where = self.properties[self.CONTEXT] or {}
        found: OrchestrationClient = self.client_plugin().elsewhere(
            self._region(), where.get(self.CREDENTIAL_SECRET_ID), where.get(self.CA_CERT),
            bool(where.get(self.SSL_INSECURE)), where.get(self.PROJECT_ID))
        return found

    def client(self, name: str | None = None, version: str | None = None) -> object:
        """Return the client of the service in the region and project of `context`."""
        return self.heat() if name in (None, self.default_client_name) else super().client(name, version)

    def _region(self) -> str | None:
        found: str | None = (self.properties[self.CONTEXT] or {}).get(self.REGION_NAME)
        return found or self.context.region_name

    # --- is it right? -------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Ask over there. A template that depends on other resources is not known yet, and is not sent. Members of
        stack sets ask when their turn comes: a place that refuses one is not to refuse the set."""
        super().validate()
        where = self.properties[self.CONTEXT]
        if is_known(where) and where and where.get(self.PROJECT_ID) and where.get(self.CREDENTIAL_SECRET_ID):
            raise exception.StackValidationFailed(message=_(
                'A credential names its project: give no project_id with it.'))
        needed = (self.CONTEXT, self.TEMPLATE, self.PARAMETERS)
        waits = self.t.deferred.intersection(needed) or not all(is_known(self.properties[name]) for name in needed)
        if waits or not getattr(self.stack, 'strict_validate', True) or SET_MEMBER in self.t.metadata():
            return
        try:
            heat = self.heat()
            heat.http.get_endpoint()
        except Exception as error:
            raise self._refused(_('Cannot establish connection to Heat endpoint at region "%(region)s" due to '
                                  '"%(reason)s"'), error) from error
        try:
            heat.stacks.validate(**self._template())
        except Exception as error:
            raise self._refused(_('Failed validating stack template using Heat endpoint at region "%(region)s" due '
                                  'to "ERROR: %(reason)s"'), error) from error

    def _refused(self, text: str, error: Exception) -> exception.StackValidationFailed:
        """Return the error for a request that another service has refused, with the first line of its message."""
        said = str(getattr(error, 'message', None) or error)
        return exception.StackValidationFailed(elsewhere=True, message=text % {
            'region': self._region(), 'reason': said.partition('\n')[0]})

    # --- life ---------------------------------------------------------------------------------------------

    def _template(self) -> dict[str, object]:
        """The part of a request that is also looked at when nothing is to be made. The environment is that of this
        stack, with other parameters, as nested stacks have it."""
        try:
            template = template_format.parse(self.properties[self.TEMPLATE])
        except ValueError as error:
            raise exception.StackValidationFailed(message=str(error)) from None
        return {'template': template, 'files': dict(self.stack.defn.files),
                'environment': {**self.stack.env.user_env_as_dict(),
                                environment.PARAMETERS: dict(self.properties[self.PARAMETERS] or {})}}

    def _request(self) -> dict[str, object]:
        found = self._template()
        if self.properties[self.TIMEOUT] is not None:
            found['timeout_mins'] = self.properties[self.TIMEOUT]
        return found

    def handle_create(self) -> None:
        made = self.heat().stacks.create(stack_name=self.physical_resource_name(), disable_rollback=True,
                                         **self._request())
        self.resource_id_set(made.id)

    def find_existing(self) -> str | None:
        """Return the id of the stack with the physical name; None if another user has created it."""
        heat = self.heat()
        try:
            found = heat.stacks.get(self.physical_resource_name() or '')
        except Exception as error:
            self.client_plugin().ignore_not_found(error)
            return None
        owner, username = found.stack_owner, _username(heat.http.session)
        return str(found.id) if None in (owner, username) or owner == username else None

    def handle_update(self, json_snippet: ResourceDefinition, tmpl_diff: ResourceDefinitionDiff,
                      prop_diff: Mapping[str, object]) -> None:
        self.properties = json_snippet.properties(self.properties_schema, self.context)
        self.heat().stacks.update(self.resource_id or '', **self._request())

    def handle_delete(self) -> bool:
        if self.resource_id is None:
            return False
        return not self.client_plugin().not_found_in_call(self.heat().stacks.delete, self.resource_id)

    def handle_suspend(self) -> None:
        self._act(self.SUSPEND)

    def handle_resume(self) -> None:
        self._act(self.RESUME)

    def handle_check(self) -> None:
        self._check_created()
        self._act(self.CHECK)

    def handle_snapshot(self) -> bool:
        if self.resource_id is None:                # its create has failed
            return False
        made = self.heat().stacks.snapshot(self.resource_id)
        self.data_set('snapshot_id', made['id'])
        return True

    def handle_delete_snapshot(self, snapshot: Snapshotted) -> None:
        snapshot_id = (snapshot.get('resource_data') or {}).get('snapshot_id')
        if snapshot_id is not None:
            heat = self.heat()
            with self.client_plugin().ignore_not_found:
                heat.stacks.snapshot_delete(self.resource_id or '', snapshot_id)

    def handle_restore(self, defn: ResourceDefinition, restore_data: Snapshotted) -> object:
        """The definition with the template that the other stack had, also if it was updated there alone."""
        snapshot_id = (restore_data.get('resource_data') or {}).get('snapshot_id')
        if snapshot_id is None:
            return defn
        heat = self.heat()
        try:
            found = heat.stacks.snapshot_show(self.resource_id or '', snapshot_id)
        except Exception as error:                  # the other stack was deleted, and its snapshots with it
            self.client_plugin().ignore_not_found(error)
            return defn
        saved = found['snapshot']['data']['template']
        given = defn.freeze()._properties or {}
        if is_known(given[self.TEMPLATE]) and template_format.parse(str(given[self.TEMPLATE])) == saved:
            return defn
        return defn.freeze(properties={**given, self.TEMPLATE: json.dumps(saved)})

    def _act(self, action: str) -> None:
        if self.resource_id is None:
            raise exception.Error(_('Cannot %(action)s %(name)s, stack not created')
                                  % {'action': action.lower(), 'name': self.name})
        getattr(self.heat().actions, action.lower())(self.resource_id)

    # --- waiting ------------------------------------------------------------------------------------------

    def check_create_complete(self, _handle: object = None) -> bool:
        return self._is_over(self.CREATE, self.heat())

    def check_update_complete(self, _handle: object = None) -> bool:
        return self._is_over(self.UPDATE, self.heat())

    def check_suspend_complete(self, _handle: object = None) -> bool:
        return self._is_over(self.SUSPEND, self.heat())

    def check_resume_complete(self, _handle: object = None) -> bool:
        return self._is_over(self.RESUME, self.heat())

    def check_check_complete(self, _handle: object = None) -> bool:
        return self._is_over(self.CHECK, self.heat())

    def check_snapshot_complete(self, has_begun: bool | None = None) -> bool:
        return has_begun is False or self._is_over(self.SNAPSHOT, self.heat())

    def check_delete_complete(self, asked: object = None) -> bool:
        if not asked:
            return True
        heat = self.heat()
        try:
            return self._is_over(self.DELETE, heat)
        except Exception as error:
            self.client_plugin().ignore_not_found(error)
            return True

    def _is_over(self, action: str, heat: OrchestrationClient) -> bool:
        """Raise ResourceInError, ResourceUnknownStatus."""
        found = heat.stacks.get(self.resource_id or '')
        done, _underscore, status = found.stack_status.partition('_')
        if done != action or status == self.IN_PROGRESS:
            return False
        if status == self.COMPLETE:
            return True
        if status == self.FAILED:
            raise resource.ResourceInError(resource_status=found.stack_status,
                                           status_reason=found.stack_status_reason)
        raise resource.ResourceUnknownStatus(resource_status=found.stack_status,
                                             status_reason=found.stack_status_reason,
                                             result=_('Remote stack failed'))

    # --- what an update means -----------------------------------------------------------------------------

    def _needs_update(self, after: ResourceDefinition, before: ResourceDefinition, after_props: Properties,
                      before_props: Properties, prev_resource: Updates, check_init_complete: bool = True) -> bool:
        """Return True, as for nested stacks: the other service compares the templates."""
        if self.resource_id is None or self.state == (self.DELETE, self.COMPLETE):
            raise resource.UpdateReplace(str(self))
        return super()._needs_update(after, before, after_props, before_props, prev_resource,
                                     check_init_complete) or True

    def needs_replace_failed(self) -> bool:
        return bool(self.client_plugin().not_found_in_call(self.heat().stacks.get, self.resource_id or ''))

    def needs_replace_with_prop_diff(self, changed_properties_set: set[str], after_props: Properties,
                                     before_props: Properties) -> bool:
        """Return whether the region or the project changes: the stack must then be created there."""
        old, new = before_props[self.CONTEXT] or {}, after_props[self.CONTEXT] or {}
        return any(old.get(name) != new.get(name) for name in (self.REGION_NAME, self.PROJECT_ID))

    # --- attributes ---------------------------------------------------------------------------------------

    def _resolve_attribute(self, name: str) -> object:
        found = self.heat().stacks.get(self.resource_id or '')
        match name:
            case 'stack_name':
                return found.stack_name
            case 'outputs':
                return {each['output_key']: each['output_value'] for each in found.to_dict().get('outputs') or ()}
        return None


def _username(session: Session) -> str | None:
    """The name of the user who asks the other service; None: it is not known."""
    try:
        return str(sessions.access(session).username)
    except AttributeError:                  # a fixed endpoint has none
        return None


def resource_mapping() -> dict[str, type[RemoteStack]]:
    return {NAME: RemoteStack}
