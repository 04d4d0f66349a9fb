"""Where simulations store: files of SQLite, or databases on the servers of `tools/services`."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from multiprocessing import util
from typing import Any

from heatlite.testing.runtime import Universe
from heatlite.testing.storage import DatabaseServer, SqliteFile
from tests.system import databases

SQLITE = 'sqlite'
AVAILABLE = [SQLITE, *(name for name, url in databases.SERVERS.items() if url)]


def storage(store: str) -> Callable[[Universe], Any]:
    """What Cluster takes as `storage`. `store`: a name in AVAILABLE; another one raises SystemExit."""
    if store not in AVAILABLE:
        raise SystemExit(f'{store} does not run here: eval "$(tools/services up)"')
    return SqliteFile if store == SQLITE else functools.partial(DatabaseServer, url=_database(store))


@functools.cache
def _database(store: str) -> str:
    """The URL of a database that this process has for itself, and drops at its end."""
    server, name = databases.SERVERS[store], f'heatlite_simulation_{uuid.uuid4().hex[:12]}'
    # Worker processes of multiprocessing end without what atexit has; these they execute.
    util.Finalize(None, databases.drop, (server, name), exitpriority=0)
    return databases.create(server, name)
