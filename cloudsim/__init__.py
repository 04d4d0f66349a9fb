"""cloudsim: a small simulated OpenStack that speaks the real HTTP APIs from memory.

Must not import anything of the engine; it is reached over HTTP like a real cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cloudsim.settings import Settings
    from heatlite.common.http_server import HttpServer
    from heatlite.common.runtime import Runtime

HOST = '127.0.0.1'


def serve(where: Any = 0, runtime: Runtime | None = None, settings: Settings | None = None,
          outside: dict[str, str] | None = None, regions: Iterable[str] = ()) -> tuple[HttpServer, str]:
    """Starts a cloud in this process, on loopback. Gives the server (`stop(grace_period)` ends it) and its URL: what
    clients log in to is URL/v3, with admin or demo, each in the project of its name, domain default.

    `where`: a listening socket, or a port (0: any that is free). `outside`: type -> URL of services that run
    elsewhere and shall stand in the catalog, such as {'orchestration': 'http://127.0.0.1:8004/v1/%(project_id)s'}.
    `regions`: names of more regions beside that of `settings`; region NAME is at URL/regions/NAME, and its
    /_sim/catalog takes what runs elsewhere.
    The world must be patched before anything else is imported (`heatlite.common.runtime.patch`).
    """
    from cloudsim.application import Application
    from cloudsim.cloud import Cloud
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.common.http_server import HttpServer
    from heatlite.common.limits import Connections

    listening = listen(where) if isinstance(where, int) else where
    url = f'http://{HOST}:{listening.getsockname()[1]}'
    cloud = Cloud(runtime or GreenRuntime(), url, settings, regions)
    if outside:
        cloud.service('identity').add_outside(cloud, outside)
    # Engines keep connections for as long as they live, and images are large.
    server = HttpServer(listening, Application(cloud), Connections(
        4096, 4096, header_seconds=None, body_seconds=None, idle_seconds=None, body_bytes=1 << 40))
    server.start()
    return server, url


def listen(port: int) -> Any:
    """A listening socket on loopback. Raises OSError when the port is taken."""
    import socket
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, port))
    listening.listen(1024)
    return listening
