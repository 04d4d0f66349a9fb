"""Use cases of software configs and deployments, for users and types.

Source: docs/spec/engine.rst, "Software configs" and "Software deployments"; docs/spec/rest.rst, "Objects of software".

Types get it as `rpc_client()`, with the names of the plug-in contract. Answers are objects as clients see them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from heatlite.common import exception, limits
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import (
    codec,
    presence,
    resource_data,
    resource_lists,
    resources,
    software_configs,
    software_deployments,
    stacks,
)
from heatlite.db.connection import Database
from heatlite.db.resource_lists import Holder
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from heatlite.engine.requests import software_lengths
from heatlite.engine.requests.ignored_errors import IgnoredError
from heatlite.engine.resource_keeping import too_much_metadata
from heatlite.engine.resources import software_config_io
from heatlite.rpc import messages
from heatlite.rpc.software import ShownConfig, ShownDeployment, shown_config, shown_deployment

LOG = logging.getLogger(__name__)

RESULTS = ('deploy_stdout', 'deploy_stderr', 'deploy_status_code')      # outputs of each deployment
STATUS_CODE = RESULTS[-1]
TRIES = 11                              # to replace the deployments in a server's metadata despite concurrent writes
MOST_RESOURCES = 8                      # of one server, in all stacks, that get its deployments; each gets all of them
KINDS_OF_PUSH = ('metadata_put_url', 'metadata_queue_id')       # data keys of servers that do not poll heatlite


class _Changed(Exception):
    """The metadata were changed concurrently."""


@dataclass(frozen=True)
class _Result:
    """What a server says came of a deployment. `why` it failed, empty if it did not; `code`: of its exit, or None."""

    outputs: Mapping[str, object]
    why: Sequence[str]
    code: object


@dataclass(frozen=True)
class _Server:
    """A server, for the deployments of one project on it: what administrators change belongs to another one."""

    project_id: str
    id: str


class Software:
    """Serves requests of users in their threads, and types, as `rpc_client()`, in threads of the pool."""

    def __init__(self, runtime: Runtime, database: Database, max_configs: int, max_deployments: int,
                 resource_of: Callable[[str, str, int], Any], changed: Callable[[str, int], None]) -> None:
        """`resource_of(stack id, name, row)`: an object of the type; `changed(stack id, row)`: what was read is old."""
        self._runtime = runtime
        self._database = database
        self._max_configs = max_configs
        self._max_deployments = max_deployments
        self._resource_of = resource_of
        self._changed = changed

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
            presence.enter(tx, new.project_id)
            limit = self._max_configs
            if not context.is_admin and not limits.has_room(
                    limit, lambda: software_configs.count(tx, new.project_id)):
                raise exception.RequestLimitExceeded(_(
                    'You have reached the maximum software configs per tenant, %d. Please delete some of them.')
                    % limit)
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

        def insert(tx: Connection) -> _Server:
            self._own_config(tx, context, config_id, held=True)
            with _growing(tx, server):
                self._insert(tx, context, made_id, server_id, config_id, fields)
            return server

        # As in Heat, it belongs to the project of the caller, also if an administrator names the server of another one.
        server = _Server(context.owning_project(), server_id)
        made_id = deployment_id or self._runtime.uuid()
        self._telling(insert, may_grow=True)
        return self.show_software_deployment(context, made_id)

    def _insert(self, tx: Connection, context: RequestContext, deployment_id: str, server_id: str, config_id: str,
                fields: Mapping[str, Any]) -> None:
        project_id, limit = context.owning_project(), self._max_deployments
        presence.enter(tx, project_id)
        if not context.is_admin and not limits.has_room(limit, lambda: software_deployments.count(tx, project_id)):
            raise exception.RequestLimitExceeded(_(
                'You have reached the maximum software deployments per tenant, %d. Please delete some of them.')
                % limit)
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

        def put(tx: Connection) -> _Server:
            known = software_deployments.show(tx, deployment_id)
            if known is not None:                   # the id may come from a template or an adopted document
                self._own_deployment(tx, context, deployment_id)
            server = _Server(new.project_id if known is None else known.project_id, server_id)
            if known is not None and known.action == fields.get('action') and known.status in (
                    'IN_PROGRESS', 'COMPLETE') and _is_alike(software_configs.show(tx, known.config_id), new):
                return server                       # at most, the metadata are pushed once more
            presence.enter(tx, new.project_id)
            with _growing(tx, server, size):
                replace(tx, known)
            return server

        def replace(tx: Connection, known: Deployment | None) -> None:
            software_configs.insert(tx, new)
            if known is None:
                self._insert(tx, context, deployment_id, server_id, new.id, fields)
                return
            changed = {name: fields[name] for name in ('action', 'status', 'status_reason', 'input_values')
                       if name in fields}
            software_deployments.update(tx, deployment_id, self._runtime.now(), config_id=new.id, **changed)
            software_configs.delete_unused(tx, known.config_id)

        new = self._config(context, self._runtime.uuid(), config)
        size = len(codec.encode(new.config))
        self._telling(put, may_grow=True)
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

        def change(tx: Connection) -> _Server | None:
            deployment = self._own_deployment(tx, context, deployment_id)
            presence.enter(tx, deployment.project_id)
            now = updated_at or self._runtime.now()
            if not changed.get('config_id'):
                software_deployments.update(tx, deployment_id, now, **changed)
                return None
            self._own_config(tx, context, changed['config_id'], held=True)
            server = _server_of(deployment)
            with _growing(tx, server):
                software_deployments.update(tx, deployment_id, now, **changed)
            return server

        changed = {name: value for name, value in fields.items() if value and name in software_deployments.CHANGEABLE}
        self._telling(change, may_grow=True)
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
        result = _result(config, details)
        if not self._database.retry(lambda tx: self._store_result(tx, awaited, result)):
            return None
        if not result.why:
            return _('deployment %s succeeded') % deployment_id
        if result.code:
            return _('deployment %(id)s failed (%(code)s)') % {'id': deployment_id, 'code': result.code}
        return _('deployment %s failed') % deployment_id

    def _store_result(self, tx: Connection, awaited: Deployment, result: _Result) -> bool:
        """Add a result to the outputs that are stored. False if the deployment is no longer the `awaited` one."""
        known = software_deployments.show(tx, awaited.id)
        if known is None:
            return False
        presence.enter(tx, known.project_id)
        # Compares with what was read when the result arrived, not with `known`: another try of this transaction would
        # find the newer deployment, and complete it.
        return software_deployments.update_unchanged(
            tx, awaited, self._runtime.now(), output_values={**(known.output_values or {}), **result.outputs},
            status='FAILED' if result.why else 'COMPLETE',
            status_reason=', '.join(result.why) if result.why else _('Outputs received'))

    def delete_software_deployment(self, context: RequestContext, deployment_id: str) -> None:
        def delete(tx: Connection) -> _Server:
            found = self._own_deployment(tx, context, deployment_id)
            presence.enter(tx, found.project_id)
            software_deployments.delete(tx, deployment_id)
            return _server_of(found)

        self._telling(delete)

    def withdraw(self, context: RequestContext, deployment_id: str) -> None:
        """Delete the deployment and its derived config. Does nothing if it is gone, or not of the caller's project."""
        def delete(tx: Connection) -> _Server | None:
            found = software_deployments.show(tx, deployment_id)
            if found is None or not context.may_see(found.project_id):
                return None
            presence.enter(tx, found.project_id)
            software_deployments.delete(tx, deployment_id)
            software_configs.delete_unused(tx, found.config_id)
            return _server_of(found)

        self._telling(delete)

    def _own_deployment(self, tx: Connection, context: RequestContext, deployment_id: str) -> Deployment:
        found = software_deployments.show(tx, deployment_id)
        if found is None or not context.may_see(found.project_id, found.stack_user_project_id):
            raise exception.NotFound(_('Deployment with id %s not found') % deployment_id)
        return found

    # --- metadata of servers ------------------------------------------------------------------------------

    def _telling(self, work: Callable[[Connection], _Server | None], may_grow: bool = False) -> None:
        """Do `work` and, in the same transaction, write the deployments of the server that it returns into the
        metadata of the server's resource: a crash leaves both or none. Of several resources with that id, as those that
        name the server by `external_id`, the MOST_RESOURCES that were stored first get them. `may_grow`: `work` may add
        to them, so the limit of metadata applies; what is there already is written in any case.

        A failed push to a server that does not poll is only logged: the next change pushes again.
        """
        def tell(tx: Connection) -> tuple[_Server | None, list[Holder], list[tuple[Holder, object]]]:
            server = work(tx)
            rows = resource_lists.oldest_holders(
                tx, server.id, server.project_id, MOST_RESOURCES) if server is not None else []
            return server, rows, self._write(tx, server, rows, may_grow) if server is not None and rows else []

        for _try in range(TRIES):
            try:
                server, rows, pushed = self._database.retry(tell)
                break
            except _Changed:
                continue
        else:
            server = self._database.retry(work)
            LOG.warning('The metadata of server %s changes too often, the deployments were not written',
                        server.id if server is not None else None)
            return
        for row in rows:
            self._changed(row.stack_id, row.id)
        for row, value in pushed:
            try:
                # By its row: while a server is replaced, its name belongs to two.
                self._resource_of(row.stack_id, row.name, row.id).push_metadata(value)
            except Exception as error:
                LOG.warning('The deployments of server %s could not be sent to it: %s',
                            server.id if server is not None else None, error)

    def _write(self, tx: Connection, server: _Server, rows: Sequence[Holder],
               may_grow: bool) -> list[tuple[Holder, object]]:
        """Write the metadata. Returns (row, metadata) of those to push. Raises _Changed, and if they `may_grow`
        RequestLimitExceeded for metadata that grow beyond their limit."""
        pushed: list[tuple[Holder, object]] = []
        # The versions are read first: a change that is committed after the deployments were read must be noticed.
        stored = [(row, *resources.metadata(tx, row.stack_id, row.id)) for row in rows]
        deployments = [shown_config(each)
                       for each in software_deployments.configs_of_server(tx, server.project_id, server.id)]
        for row, metadata, version in stored:
            value = {**(metadata or {}), 'deployments': deployments}
            encoded = codec.Encoded(codec.encode(value))
            size = len(encoded.text)
            if may_grow and size > limits.MOST_METADATA and size > len(codec.encode(metadata)):
                raise too_much_metadata(row.name, size)
            if not resources.set_metadata(tx, row.stack_id, row.id, encoded, version):
                raise _Changed
            keys = {datum.key for datum in resource_data.data(tx, row.stack_id, row.id)}
            if keys & set(KINDS_OF_PUSH):
                pushed.append((row, value))
        return pushed

    # --- names of the plug-in contract --------------------------------------------------------------------

    @staticmethod
    def ignore_error_by_name(name: str) -> IgnoredError:
        return IgnoredError(name)


@contextmanager
def _growing(tx: Connection, server: _Server, new: int = 0) -> Iterator[None]:
    """Raise RequestLimitExceeded if the block lets what is deployed on a server grow beyond the limit of metadata.

    Each read of an agent, and each change of one deployment, takes all of them, one config as often as it is deployed.
    `new`: characters of a config that the block inserts, which may be more than the database takes.
    """
    before = software_deployments.size_on_server(tx, server.project_id, server.id)
    most = max(before, limits.MOST_METADATA)        # of an earlier release there may be more, which may be removed
    if new <= most:
        yield
        now = software_deployments.size_on_server(tx, server.project_id, server.id)
    else:
        now = new
    if now > most:
        raise exception.RequestLimitExceeded(
            _('The software configs deployed on server %(server)s would have %(size)d characters, more than the '
              '%(limit)d that one server can have.')
            % {'server': server.id, 'size': now, 'limit': limits.MOST_METADATA})


def _server_of(deployment: Deployment) -> _Server:
    return _Server(deployment.project_id, deployment.server_id)


def _result(config: Config | None, details: object) -> _Result:
    """Failed: an output that the config declares as an error, or an exit code that is not zero."""
    received: Mapping[str, object] = details if isinstance(details, Mapping) else {}
    outputs, why = dict[str, object](), list[str]()
    for declared in shown_config(config)['outputs'] if config is not None else ():
        name = declared['name']
        if name in received:
            outputs[name] = received[name]
            if declared.get('error_output'):
                why.append(f'{name} : {received[name]}')
    outputs.update({name: received.get(name) for name in RESULTS})
    code = outputs[STATUS_CODE]
    if code and str(code) != '0':
        why.append(_('%(name)s : Deployment exited with non-zero status code: %(code)s')
                   % {'name': STATUS_CODE, 'code': code})
    return _Result(outputs, why, code)


def _is_alike(stored: Config | None, new: Config) -> bool:
    return stored is not None and (stored.name, stored.group, stored.config) == (
        new.name, new.group, codec.decode(codec.encode(new.config)))
