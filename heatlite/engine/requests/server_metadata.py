"""Writes the deployments of servers into the metadata of the servers' resources, and limits what is deployed on one.

Source: docs/spec/engine.rst, "Software deployments".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlalchemy import Connection

from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.db import codec, resource_data, resource_lists, resources, software_deployments
from heatlite.db.connection import Database
from heatlite.db.resource_lists import Holder
from heatlite.db.software_deployments import Deployment
from heatlite.engine.resource_keeping import too_much_metadata
from heatlite.rpc.software import shown_config

LOG = logging.getLogger(__name__)

TRIES = 11                              # to replace the deployments in a server's metadata despite concurrent writes
MOST_RESOURCES = 8                      # of one server, in all stacks, that get its deployments; each gets all of them
KINDS_OF_PUSH = ('metadata_put_url', 'metadata_queue_id')       # data keys of servers that do not poll heatlite


@dataclass(frozen=True)
class ProjectServer:
    """A server, for the deployments of one project on it: what administrators change belongs to another one."""

    project_id: str
    id: str

    @classmethod
    def of(cls, deployment: Deployment) -> ProjectServer:
        return cls(deployment.project_id, deployment.server_id)


@runtime_checkable
class _Pushes(Protocol):
    """A resource whose server does not ask heatlite for its metadata."""

    def push_metadata(self, metadata: Mapping[str, object]) -> None: ...


class _Changed(Exception):
    """The metadata were changed concurrently, or their resource was deleted."""


@dataclass(frozen=True)
class _Written:
    """What was committed. `rows`: with new metadata; `pushed`: (row, metadata) of those that do not poll heatlite."""

    rows: Sequence[Holder] = ()
    pushed: Sequence[tuple[Holder, Mapping[str, object]]] = ()


class ServerMetadata:
    """Writes in the threads of requests and of the pool."""

    def __init__(self, database: Database, resource_of: Callable[[str, str, int], object],
                 changed: Callable[[str, int], None]) -> None:
        """`resource_of(stack id, name, row)`: an object of the type, None if the row is gone; `changed(stack id, row)`:
        what was read is old."""
        self._database = database
        self._resource_of = resource_of
        self._changed = changed

    def write_after(self, work: Callable[[Connection], ProjectServer | None], may_grow: bool = False) -> None:
        """Do `work` and, in the same transaction, write the deployments of the server that it returns into the
        metadata of the server's resource: a crash leaves both or none. Of several resources with that id, as those that
        name the server by `external_id`, the MOST_RESOURCES that were stored first get them. None: write nothing.

        `work` may be called several times, each time in a new transaction. `may_grow`: it may add deployments, so the
        limit of metadata applies, and RequestLimitExceeded is raised; what is there already is written in any case.

        A failed push to a server that does not poll is only logged: the next change pushes again.
        """
        def store(tx: Connection) -> _Written:
            server = work(tx)
            return _write(tx, server, may_grow) if server is not None else _Written()

        for _try in range(TRIES):
            try:
                written = self._database.retry(store)
                break
            except _Changed:
                continue
        else:
            server = self._database.retry(work)
            LOG.warning('The metadata of server %s changes too often, the deployments were not written',
                        server and server.id)
            return
        for row in written.rows:
            self._changed(row.stack_id, row.id)
        for row, value in written.pushed:
            self._push(row, value)

    def _push(self, row: Holder, value: Mapping[str, object]) -> None:
        try:
            # By its row: while a server is replaced, its name belongs to two.
            resource = self._resource_of(row.stack_id, row.name, row.id)
            if isinstance(resource, _Pushes):
                resource.push_metadata(value)
        except Exception as error:
            LOG.warning('The deployments of resource %s of stack %s could not be sent to its server: %s',
                        row.name, row.stack_id, error)


def _write(tx: Connection, server: ProjectServer, may_grow: bool) -> _Written:
    """Write the metadata of the server's resources. Raises _Changed, and if they `may_grow` RequestLimitExceeded for
    metadata that grow beyond their limit."""
    rows = resource_lists.oldest_holders(tx, server.id, server.project_id, MOST_RESOURCES)
    if not rows:
        return _Written()
    pushed: list[tuple[Holder, Mapping[str, object]]] = []
    # The versions are read first: a change that is committed after the deployments were read must be noticed.
    try:
        stored = [(row, *resources.metadata(tx, row.stack_id, row.id)) for row in rows]
    except LookupError:                             # the resource was deleted since it was found
        raise _Changed from None
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
    return _Written(rows, pushed)


@contextmanager
def limited_growth(tx: Connection, server: ProjectServer, new: int = 0) -> Iterator[None]:
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
