"""A TCP relay between processes under test and a server, which can be cut off as if the server had stopped."""

import contextlib
import socket
import threading


class Relay:
    """Listens on `port` of loopback and passes bytes to and from `server`, an address as (host, port)."""

    def __init__(self, server):
        self._server = server
        self._open = []
        self._listening = None
        self.port = 0
        self.mend()

    def mend(self):
        """Accept connections, on the same port as before."""
        self._listening = socket.create_server(('127.0.0.1', self.port), backlog=256)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def cut(self):
        """End all connections, and refuse new ones."""
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open = []

    def _accept(self, listening):
        with contextlib.suppress(OSError):
            while True:
                near, _address = listening.accept()
                try:
                    far = socket.create_connection(self._server)
                except OSError:
                    near.close()
                    continue
                self._open += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=ends, daemon=True).start()


def _pass_on(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
