"""A port that speaks AMQP 0-9-1 as far as the refusal of a login, or of a virtual host, in the words of RabbitMQ."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

LOGIN = (403, 'ACCESS_REFUSED - Login was refused using authentication mechanism AMQPLAIN. For details see the broker '
              'logfile.')
VIRTUAL_HOST = (530, 'NOT_ALLOWED - vhost cellar not found')
CONNECTION, START, START_OK, TUNE, OPEN, CLOSE = 10, 10, 11, 30, 40, 50
END = b'\xce'
HEADER, FRAME = 8, struct.Struct('>BHI')


def short(text: bytes) -> bytes:
    return struct.pack('>B', len(text)) + text


def long(text: bytes) -> bytes:
    return struct.pack('>I', len(text)) + text


def frame(method: int, payload: bytes) -> bytes:
    content = struct.pack('>HH', CONNECTION, method) + payload
    return FRAME.pack(1, 0, len(content)) + content + END


CAPABILITIES = short(b'capabilities') + b'F' + long(short(b'authentication_failure_close') + b't\x01')
GREETING = frame(START, b'\x00\x09' + long(CAPABILITIES) + long(b'AMQPLAIN PLAIN') + long(b'en_US'))
TUNING = frame(TUNE, struct.pack('>HIH', 2047, 131072, 60))


def answer(peer: socket.socket, refusal: tuple[int, str]) -> None:
    with contextlib.closing(peer), contextlib.suppress(OSError, EOFError), peer.makefile('rb') as stream:
        def read() -> None:
            head = stream.read(FRAME.size)
            if len(head) < FRAME.size:
                raise EOFError
            stream.read(FRAME.unpack(head)[2] + len(END))

        code, text = refusal
        stream.read(HEADER)
        peer.sendall(GREETING)
        read()                                  # the login
        if refusal == VIRTUAL_HOST:
            peer.sendall(TUNING)
            read()
            read()                              # the virtual host
        during = OPEN if refusal == VIRTUAL_HOST else START_OK
        peer.sendall(frame(CLOSE, struct.pack('>H', code) + short(text.encode()) + struct.pack(
            '>HH', CONNECTION, during)))
        read()


@contextlib.contextmanager
def refusing(refusal: tuple[int, str]) -> Iterator[int]:
    """The port, while the block runs."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(server.accept()[0], refusal), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
