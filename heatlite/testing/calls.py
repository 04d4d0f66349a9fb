"""What types do outside of the engine, as it happens: HTTP requests and programs they start.

Every HTTP library of Python ends in http.client, so watching that one sees them all.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import client

READING = frozenset({'GET', 'HEAD', 'OPTIONS'})
# POST requests that change nothing: logins, which a session makes whenever it likes, and questions for a price.
UNCHANGING = ('/auth/tokens', '/tokens', '/rating/quote')


class Calls:
    """Those made while `watched()`, and what is to be done right before and right after each."""

    def __init__(self, around: Callable[[str], None]) -> None:
        """`around(label)`: called twice for each call, from within it; may raise."""
        self._around = around
        self._busy = False
        self.writes: list[str] = []         # method and URL of requests that may have changed something, programs

    @contextmanager
    def watched(self) -> Iterator[Calls]:
        real: tuple[Callable[..., None], ...] = (
            client.HTTPConnection.putrequest, client.HTTPConnection.endheaders, client.HTTPResponse.begin)
        popen: Callable[..., None] = subprocess.Popen.__init__

        def putrequest(connection: client.HTTPConnection, method: str, url: str, *arguments: object,
                       **more: object) -> None:
            if not self._busy and method.upper() not in READING and not url.partition('?')[0].endswith(UNCHANGING):
                self.writes.append(f'{method} {url}')
            real[0](connection, method, url, *arguments, **more)

        def endheaders(connection: client.HTTPConnection, *arguments: object, **more: object) -> None:
            self._tell('before a request')
            real[1](connection, *arguments, **more)

        def begin(response: client.HTTPResponse) -> None:
            real[2](response)
            self._tell('after a request')

        def start(process: object, *arguments: object, **more: object) -> None:
            self._tell('before a program')
            self.writes.append(f'run {arguments[0] if arguments else more.get("args")}')
            popen(process, *arguments, **more)
            self._tell('after a program has started')

        patched: dict[tuple[object, str], object] = {
            (client.HTTPConnection, 'putrequest'): putrequest, (client.HTTPConnection, 'endheaders'): endheaders,
            (client.HTTPResponse, 'begin'): begin, (subprocess.Popen, '__init__'): start}
        before = {(owner, name): getattr(owner, name) for owner, name in patched}
        for (owner, name), function in patched.items():
            setattr(owner, name, function)
        try:
            yield self
        finally:
            for (owner, name), function in before.items():
                setattr(owner, name, function)

    @contextmanager
    def unwatched(self) -> Iterator[None]:
        """Let the kit itself make the requests of the block."""
        self._busy, before = True, self._busy
        try:
            yield
        finally:
            self._busy = before

    def _tell(self, label: str) -> None:
        if not self._busy:
            self._around(label)
