"""Use cases of software configs and deployments, for users and types.

Source: docs/spec/engine.rst, "Software configs" and "Software deployments"; docs/spec/rest.rst, "Objects of software".

Types get it as `rpc_client()`, with the names of the plug-in contract. Answers are objects as clients see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import codec, presence, project_limits, software_configs, software_deployments, stacks
from heatlite.db.connection import Database
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from heatlite.engine.requests import reported_results, software_lengths
from heatlite.engine.requests.ignored_errors import IgnoredError
from heatlite.engine.requests.reported_results import Result
from heatlite.engine.requests.server_metadata import ProjectServer, ServerMetadata, limited_growth
from heatlite.engine.resources import software_config_io
from heatlite.rpc import messages
from heatlite.rpc.software import ShownConfig, ShownDeployment, shown_config, shown_deployment


class Software:
    """Serves requests of users in their threads, and types, as `rpc_client()`, in threads of the pool."""

    def __init__(self, runtime: Runtime, database: Database, max_configs: int, max_deployments: int,
                 server_metadata: ServerMetadata) -> None:
        self._runtime = runtime
        self._database = database
        self._max_configs = max_configs
        self._max_deployments = max_deployments
        self._server_metadata = server_metadata

    # --- use cases ----------------------------------------------------------------------------------------

    def create_config(self, context: RequestContext, message: messages.CreateSoftwareConfig) -> ShownConfig:
        return self.create_software_config(
            context, name=message.name, group=message.group, config=message.config, inputs=list(message.inputs),
            outputs=list(message.outputs), options=dict(message.options))

    def delete_config(self, context: RequestContext, message: messages.DeleteSoftwareConfig) -> None:
        self.delete_software_config(context, message.config_id)

    def create_deployment(self, context: RequestContext,
                          message: messages.CreateSoftwareDeployment) -> ShownDeployment:
        self._check_user_project(context, message.stack_user_project_id)
        return self.create_software_deployment(
            context, server_id=message.server_id, config_id=message.config_id, input_values=dict(message.input_values),
            action=message.action, status=message.status, status_reason=message.status_reason,
            stack_user_project_id=message.stack_user_project_id)

    def _check_user_project(self, context: RequestContext, user_project_id: str | None) -> None:
        """Raise NotFound unless it is the project of the users inside a stack of the caller.

        Servers execute deployments for the project of their user: naming another project would inject commands there.
        """
        if user_project_id is None or context.may_see(user_project_id):
            return
        with self._database.reader() as tx:
            if not stacks.has_user_project(tx, context.project_id, user_project_id):
                raise exception.NotFound(_('The project of stack users %s could not be found') % user_project_id)

    def update_deployment(self, context: RequestContext,
                          message: messages.UpdateSoftwareDeployment) -> ShownDeployment:
        given = {name: getattr(message, name) for name in software_deployments.CHANGEABLE}
        return self.update_software_deployment(context, message.deployment_id, **given)

    def delete_deployment(self, context: RequestContext, message: messages.DeleteSoftwareDeployment) -> None:
        self.delete_software_deployment(context, message.deployment_id)

    # --- configs ------------------------------------------------------------------------------------------

    def create_software_config(self, context: RequestContext, *, config_id: str | None = None,
                               **fields: object) -> ShownConfig:
        """Store a config. `config_id`: its id; an existing config with it is returned, as it is of an interrupted try.

        Raises RequestLimitExceeded, and HTTPBadRequest for a default that is none of the type of its input and for a
        text that is longer than its column.
        """
        software_lengths.check(fields)
        given = fields.get('inputs')
        try:
            inputs = software_config_io.with_typed_defaults(given if isinstance(given, list) else ())
        except ValueError as error:
            raise exception.HTTPBadRequest(str(error)) from None
        new = self._config(context, config_id or self._runtime.uuid(), {**fields, 'inputs': inputs})

        def store(tx: Connection) -> Config:
            known = software_configs.show(tx, new.id)       # also if an earlier try of this transaction was committed
            if known is not None:
                return known
            limit = self._max_configs
            if not context.is_admin and not project_limits.has_room(
                    tx, new.project_id, limit, lambda: software_configs.count(tx, new.project_id)):
                raise exception.RequestLimitExceeded(_(
                    'You have reached the maximum software configs per tenant, %d. Please delete some of them.')
                    % limit)
            presence.enter(tx, new.project_id)
            software_configs.insert(tx, new)
            return new

        return shown_config(self._database.retry(store))

    def _config(self, context: RequestContext, config_id: str, fields: Mapping[str, Any]) -> Config:
        return Config(config_id, context.owning_project(), fields.get('name'), fields.get('group'), {
            'config': fields.get('config'), 'inputs': list(fields.get('inputs') or ()),
            'outputs': list(fields.get('outputs') or ()), 'options': fields.get('options') or {}}, self._runtime.now())

    def show_software_config(self, context: RequestContext, config_id: str) -> ShownConfig:
        """Return a config. Raises NotFound."""
        with self._database.reader() as tx:
            return shown_config(self._own_config(tx, context, config_id))

    def delete_software_config(self, context: RequestContext, config_id: str) -> None:
        """Delete a config. Raises NotFound, and InvalidRestrictedAction while a deployment refers to it."""
        def delete(tx: Connection) -> None:
            presence.enter(tx, self._own_config(tx, context, config_id).project_id)
            if not software_configs.delete_unused(tx, config_id):
                raise exception.InvalidRestrictedAction(message=_(
                    'Software config with id %s can not be deleted as it is referenced.') % config_id)

        self._database.retry(delete)

    def _own_config(self, tx: Connection, context: RequestContext, config_id: str, held: bool = False) -> Config:
        found = software_configs.show(tx, config_id, held)
        if found is None or not context.may_see(found.project_id):
            raise exception.NotFound(_('Software config with id %s not found') % config_id)
        return found

    # --- deployments --------------------------------------------------------------------------------------

    def create_software_deployment(self, context: RequestContext, *, server_id: str, config_id: str,
                                   deployment_id: str | None = None, **fields: object) -> ShownDeployment:
        """Store a deployment. Raises NotFound, RequestLimitExceeded, and InvalidField for a text that is longer than
        its column."""
        software_lengths.check({**fields, 'server_id': server_id})

        def insert(tx: Connection) -> ProjectServer:
            self._own_config(tx, context, config_id, held=True)
            # As in Heat, it belongs to the caller's project, also if an administrator names the server of another one.
            server = ProjectServer(context.owning_project(), server_id)
            with limited_growth(tx, server):
                self._insert(tx, context, made_id, server_id, config_id, fields)
            return server

        made_id = deployment_id or self._runtime.uuid()
        self._server_metadata.write_after(insert, may_grow=True)
        return self.show_software_deployment(context, made_id)

    def _insert(self, tx: Connection, context: RequestContext, deployment_id: str, server_id: str, config_id: str,
                fields: Mapping[str, Any]) -> None:
        project_id, limit = context.owning_project(), self._max_deployments
        if not context.is_admin and not project_limits.has_room(
                tx, project_id, limit, lambda: software_deployments.count(tx, project_id)):
            raise exception.RequestLimitExceeded(_(
                'You have reached the maximum software deployments per tenant, %d. Please delete some of them.')
                % limit)
        presence.enter(tx, project_id)
        software_deployments.insert(tx, Deployment(
            deployment_id, project_id, fields.get('stack_user_project_id'), server_id, config_id,
            fields.get('action'), fields.get('status'), str(fields.get('status_reason')),
            fields.get('input_values') or {}, None, self._runtime.now(), None))

    def deploy(self, context: RequestContext, deployment_id: str, server_id: str, config: ShownConfig,
               **fields: object) -> ShownDeployment:
        """Deploy a derived `config` on a server, and delete the deployment's former config in the same transaction: the
        deployment always refers to an existing config, and no other one is left.

        Idempotent: a repeated call after a crash keeps the result that the server may have reported meanwhile. Raises
        InvalidField for a text that is longer than its column.
        """
        software_lengths.check({**config, **fields, 'server_id': server_id})

        def put(tx: Connection) -> ProjectServer:
            known = software_deployments.show(tx, deployment_id)
            if known is not None:                   # the id may come from a template or an adopted document
                _check_own(context, known, deployment_id)
            server = ProjectServer(new.project_id if known is None else known.project_id, server_id)
            if known is not None and known.action == fields.get('action') and known.status in (
                    'IN_PROGRESS', 'COMPLETE') and _is_alike(software_configs.show(tx, known.config_id), new):
                return server                       # at most, the metadata are pushed once more
            with limited_growth(tx, server, size):
                replace(tx, known)
            return server

        def replace(tx: Connection, known: Deployment | None) -> None:
            software_configs.insert(tx, new)
            if known is None:
                self._insert(tx, context, deployment_id, server_id, new.id, fields)
                return
            presence.enter(tx, new.project_id)
            changed = {name: fields[name] for name in ('action', 'status', 'status_reason', 'input_values')
                       if name in fields}
            if not software_deployments.update(tx, deployment_id, self._runtime.now(), config_id=new.id, **changed):
                self._insert(tx, context, deployment_id, server_id, new.id, fields)     # deleted since it was read
            software_configs.delete_unused(tx, known.config_id)

        new = self._config(context, self._runtime.uuid(), config)
        size = len(codec.encode(new.config))
        self._server_metadata.write_after(put, may_grow=True)
        return self.show_software_deployment(context, deployment_id)

    def show_software_deployment(self, context: RequestContext, deployment_id: str) -> ShownDeployment:
        """Return a deployment. Raises NotFound."""
        with self._database.reader() as tx:
            return shown_deployment(self._own_deployment(tx, context, deployment_id))

    def update_software_deployment(self, context: RequestContext, deployment_id: str,
                                   updated_at: datetime | None = None, **fields: Any) -> ShownDeployment:
        """Change the given fields; empty ones stay unchanged. Raises NotFound, and InvalidField for a text that is
        longer than its column."""
        software_lengths.check(fields)

        def change(tx: Connection) -> ProjectServer | None:
            deployment = self._own_deployment(tx, context, deployment_id)
            presence.enter(tx, deployment.project_id)
            now = updated_at or self._runtime.now()
            if not changed.get('config_id'):
                software_deployments.update(tx, deployment_id, now, **changed)
                return None
            self._own_config(tx, context, changed['config_id'], held=True)
            server = ProjectServer.of(deployment)
            with limited_growth(tx, server):
                software_deployments.update(tx, deployment_id, now, **changed)
            return server

        changed = {name: value for name, value in fields.items() if value and name in software_deployments.CHANGEABLE}
        self._server_metadata.write_after(change, may_grow=True)
        return self.show_software_deployment(context, deployment_id)

    def signal_software_deployment(self, context: RequestContext, deployment_id: str, details: object,
                                   config_id: str | None = None) -> str | None:
        """Store what a server says came of a deployment, if that is waited for; return a text about it.

        None, and nothing is stored, also if the config, the action or the status have changed since the call, or the
        config is not `config_id`: the result is of the former config.
        """
        with self._database.reader() as tx:
            awaited = software_deployments.show(tx, deployment_id)
            if (awaited is None or awaited.status != 'IN_PROGRESS' or config_id not in (None, awaited.config_id)
                    or not context.may_see(awaited.project_id, awaited.stack_user_project_id)):
                return None
            config = software_configs.show(tx, awaited.config_id)
        result = reported_results.result(config, details)
        is_stored = self._database.retry(lambda tx: self._store_result(tx, awaited, result))
        return result.text(deployment_id) if is_stored else None

    def _store_result(self, tx: Connection, awaited: Deployment, result: Result) -> bool:
        """Add a result to the outputs that are stored. False if the deployment is no longer the `awaited` one."""
        known = software_deployments.show(tx, awaited.id)
        if known is None:
            return False
        presence.enter(tx, known.project_id)
        # Compares with what was read when the result arrived, not with `known`: another try of this transaction would
        # find the newer deployment, and complete it.
        return software_deployments.update_unchanged(
            tx, awaited, self._runtime.now(), output_values={**(known.output_values or {}), **result.outputs},
            status=result.status, status_reason=result.status_reason)

    def delete_software_deployment(self, context: RequestContext, deployment_id: str) -> None:
        def delete(tx: Connection) -> ProjectServer:
            found = self._own_deployment(tx, context, deployment_id)
            presence.enter(tx, found.project_id)
            software_deployments.delete(tx, deployment_id)
            return ProjectServer.of(found)

        self._server_metadata.write_after(delete)

    def withdraw(self, context: RequestContext, deployment_id: str) -> None:
        """Delete the deployment and its derived config. Does nothing if it is gone, or not of the caller's project."""
        def delete(tx: Connection) -> ProjectServer | None:
            found = software_deployments.show(tx, deployment_id)
            if found is None or not context.may_see(found.project_id):
                return None
            presence.enter(tx, found.project_id)
            software_deployments.delete(tx, deployment_id)
            software_configs.delete_unused(tx, found.config_id)
            return ProjectServer.of(found)

        self._server_metadata.write_after(delete)

    def _own_deployment(self, tx: Connection, context: RequestContext, deployment_id: str) -> Deployment:
        return _check_own(context, software_deployments.show(tx, deployment_id), deployment_id)

    # --- names of the plug-in contract --------------------------------------------------------------------

    @staticmethod
    def ignore_error_by_name(name: str) -> IgnoredError:
        return IgnoredError(name)


def _check_own(context: RequestContext, found: Deployment | None, deployment_id: str) -> Deployment:
    """Return what was found by the id of a deployment. Raises NotFound, also for one of another project."""
    if found is None or not context.may_see(found.project_id, found.stack_user_project_id):
        raise exception.NotFound(_('Deployment with id %s not found') % deployment_id)
    return found


def _is_alike(stored: Config | None, new: Config) -> bool:
    return stored is not None and (stored.name, stored.group, stored.config) == (
        new.name, new.group, codec.decode(codec.encode(new.config)))
