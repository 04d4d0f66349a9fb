"""HTTP by hand: what a client that keeps no rules sends, and what comes back."""

import json
import socket
from contextlib import closing, suppress


def connect(port, timeout=20):
    return socket.create_connection(('127.0.0.1', port), timeout)


def send(port, data, timeout=20):
    """(status, headers in lower case, body) of the first answer to `data`; status 0: the connection was closed."""
    with closing(connect(port, timeout)) as peer:
        # An answer may come, and the connection end, before everything was sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            peer.sendall(data)
        return answer(peer)


def answer(peer):
    received = b''
    while b'\r\n\r\n' not in received:
        chunk = _receive(peer)
        if not chunk:
            return 0, {}, b''
        received += chunk
    head, _, body = received.partition(b'\r\n\r\n')
    line, *lines = head.decode('latin-1').split('\r\n')
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(':') for each in lines)}
    while len(body) < int(headers.get('content-length', 0)):
        chunk = _receive(peer)
        if not chunk:
            break
        body += chunk
    return int(line.split()[1]), headers, body


def _receive(peer):
    try:
        return peer.recv(65536)
    except ConnectionResetError:
        return b''


def request(method, path, body=b'', **headers):
    """The bytes of a request; `Content_Length=None` leaves a header out."""
    headers = {'Host': '127.0.0.1', 'Content_Length': str(len(body)), **headers}
    lines = [f'{method} {path} HTTP/1.1',
             *(f'{name.replace("_", "-")}: {value}' for name, value in headers.items() if value is not None)]
    return '\r\n'.join([*lines, '', '']).encode('latin-1') + body


def ask(port, method, path, body=b'', **headers):
    """(status, JSON or text)."""
    status, _, content = send(port, request(method, path, body, **headers))
    try:
        return status, json.loads(content)
    except ValueError:
        return status, content.decode()
