"""A TCP relay between processes under test and a server, which can be cut off or made to fail as servers do."""

import contextlib
import socket
import threading

UNAVAILABLE = (b'HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 2\r\n'
               b'Connection: close\r\n\r\n{}')


class Relay:
    """Listens on `port` of loopback and passes bytes to and from `server`, an address as (host, port)."""

    def __init__(self, server):
        self._server = server
        self._open = []
        self._listening = None
        self._moves = threading.Event()         # what passes on
        self._moves.set()
        self.port = 0
        self.mend()

    @property
    def is_used(self):
        """Whether there are connections."""
        return bool(self._open)

    def mend(self):
        """Accept connections, on the same port as before, and pass everything on."""
        self._listen(self._relayed)

    def cut(self):
        """End all connections, and refuse new ones."""
        for each in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open = []

    def hang(self):
        """End all connections, accept new ones, and answer nothing."""
        self.cut()
        self._listen(self._open.append)

    def freeze(self):
        """Keep all connections, accept new ones, and pass nothing on: a server that stands still."""
        self._moves.clear()

    def answer(self, content=UNAVAILABLE):
        """End all connections, and answer to each new one the same."""
        def answered(near):
            near.recv(65536)
            near.sendall(content)
            near.close()

        self.cut()
        self._listen(answered)

    def _listen(self, connected):
        self._listening = socket.create_server(('127.0.0.1', self.port), backlog=256)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening, connected), daemon=True).start()

    def _accept(self, listening, connected):
        with contextlib.suppress(OSError):
            while True:
                near, _address = listening.accept()
                with contextlib.suppress(OSError):      # of one connection
                    connected(near)

    def _relayed(self, near):
        try:
            far = socket.create_connection(self._server)
        except OSError:
            near.close()
            return
        self._open += [near, far]
        for ends in ((near, far), (far, near)):
            threading.Thread(target=_pass_on, args=(*ends, self._moves), daemon=True).start()


def _pass_on(source, target, moves):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            moves.wait()
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
