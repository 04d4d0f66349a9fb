"""An application whose options are checked when its module is loaded, and that is built at its first request, in the
process that answers it.

Servers that fork after loading would otherwise share connections by accident. A wrong option ends the server, or its
worker, before it takes a request.
"""

from __future__ import annotations

import atexit
import importlib
import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIEnvironment

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

_Application = Callable[[dict[str, object], Callable[..., object]], Iterable[bytes]]


class Lazy:
    """A WSGI application that is built when it is first called."""

    def __init__(self, build: Callable[[], _Application]) -> None:
        self._build = build
        self._built: tuple[int, _Application] | None = None
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        built = self._built
        if built is None or built[0] != os.getpid():
            with self._lock:
                if self._built is None or self._built[0] != os.getpid():
                    self._built = os.getpid(), self._build()
                built = self._built
        return built[1](environ, start_response)


def application(program: str, deploy: str) -> Lazy:
    """Return the application that `build(conf, database, engine_client)` of module `deploy` makes, with room for its
    frames: the threads of our own server have it already.

    Options come from the file in HEATLITE_CONFIG, else from the default places of `program`. Raises SystemExit with a
    message of one line for invalid ones. Connects to nothing.
    """
    from heatlite.common import config, crypt, exception, key_manager
    named = os.environ.get('HEATLITE_CONFIG')
    conf = config.load([], program, default_files=[named] if named else None)
    try:
        if not key_manager.is_used(conf):   # else a connection is needed
            crypt.check_keys(conf)
    except exception.HeatException as error:
        raise SystemExit(str(error)) from None
    return Lazy(partial(_build, conf, program, deploy))


def _build(conf: ConfigOpts, program: str, deploy: str) -> _Application:
    """Build the application. Raises SystemExit with a message of one line when a file is wrong."""
    from heatlite.cmd import keys
    from heatlite.common import crypt, exception, frame_space, key_manager, messaging, runtime, tracing
    from heatlite.db.connection import Database
    from heatlite.engine.types import template_extensions
    from heatlite.rpc import cells
    from heatlite.rpc.client import BrokerClient
    from heatlite.rpc.engine_life import EngineLife
    try:
        key_manager.load(conf)
        crypt.check_keys(conf)
        tracing.start(conf, program.removeprefix('heatlite-'))
    except exception.HeatException as error:
        raise SystemExit(str(error)) from None
    atexit.register(tracing.stop)
    template_extensions.install()           # the API lists them
    database = Database.from_options(conf)
    threading.Thread(target=keys.watch, args=(conf, database, runtime.current()), daemon=True).start()
    engines = BrokerClient(conf, messaging.transport(conf, f'{program}-wsgi'), engines=EngineLife(database))
    try:
        others = cells.clients(conf, f'{program}-wsgi')
    except exception.HeatException as error:
        raise SystemExit(str(error)) from None
    made: _Application = importlib.import_module(deploy).build(
        conf, database, engines, others=others)
    return frame_space.roomy(made)
