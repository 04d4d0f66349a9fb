"""Another address for a port: programs that only know port 8003 reach a CloudWatch API that listens elsewhere."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESSES = [f'127.0.0.{number}' for number in range(2, 255)]


@contextmanager
def relayed(port: int, target: int) -> Iterator[str]:
    """The first address of loopback on which `port` is free, relayed to the port `target` of 127.0.0.1."""

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(('127.0.0.1', target)) as inner:
                back = threading.Thread(target=pump, args=(inner, self.request), daemon=True)
                back.start()
                pump(self.request, inner)
                back.join()

    server = _server(port, Relay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield str(server.server_address[0])
    finally:
        server.shutdown()
        server.server_close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    while content := source.recv(65536):
        sink.sendall(content)
    sink.shutdown(socket.SHUT_WR)


def _server(port: int, handler: type[socketserver.BaseRequestHandler]) -> socketserver.ThreadingTCPServer:
    for address in ADDRESSES:
        try:
            return socketserver.ThreadingTCPServer((address, port), handler)
        except OSError:
            continue
    raise AssertionError(f'port {port} is taken on all addresses of loopback')
