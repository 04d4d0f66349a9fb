"""Reads answers over HTTP of servers that may be hostile.

http.client skips interim answers and trailers for as long as they come, and its green socket gives way to other threads
only where it has to wait for bytes. Here what surrounds a body is bounded, and each read from the connection is a turn.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Final

from heatlite.common import turns

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_AROUND: Final = 65536      # bytes of interim answers, status and headers together; of trailers; of a line
MOST_OVERHEAD: Final = 4        # bytes that may come for each byte that a body may have: chunks of two bytes have 3.5

# Not in the stubs of the standard library.
_discard_trailer: Callable[[http.client.HTTPResponse], None] = vars(
    http.client.HTTPResponse)['_read_and_discard_trailer']


class AnswerTooLong(http.client.HTTPException):
    """More bytes have come than the part of the answer may have that is read."""


class AnswerSource(io.RawIOBase):
    """The bytes of a connection, in pieces: each is one read from the system, after which other threads may run."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket, self._bytes = sock, sock.makefile('rb', buffering=0)
        self._count = 0                         # bytes that have come
        self._most: int | None = None           # that may come

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        turns.spend(turns.EVERY)
        if self._most is not None and self._count >= self._most:
            raise self.refusal()
        count = self.receive(buffer)
        self._count += count or 0
        return count

    def receive(self, buffer: WriteableBuffer) -> int | None:
        return self._bytes.readinto(buffer)

    def refusal(self) -> Exception:
        return AnswerTooLong('the answer is too long')

    @contextmanager
    def at_most(self, size: int) -> Iterator[None]:
        """Raise the refusal at a read in the block after `size` bytes have been received in it. Of blocks inside of
        each other the lower limit holds."""
        before, most = self._most, self._count + size
        self._most = most if before is None else min(before, most)
        try:
            yield
        finally:
            self._most = before

    def close(self) -> None:
        self._bytes.close()
        super().close()


class TimedSource(AnswerSource):
    """A source with a deadline, `until`, in monotonic seconds: a read after it raises TimeoutError."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        super().__init__(sock)
        self._until = until

    def receive(self, buffer: WriteableBuffer) -> int | None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError('the time is over')
        self._socket.settimeout(left)
        return super().receive(buffer)


class _Lines(io.BufferedReader):
    def readline(self, size: int | None = -1, /) -> bytes:
        """Return a line, or what there is of a longer one: urllib3 reads lines of any length."""
        return super().readline(MOST_AROUND if size is None or size < 0 else size)


class BoundedAnswer(http.client.HTTPResponse):
    """An answer that comes from an `AnswerSource`."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None, url: str | None = None, *,
                 opened: Callable[[socket.socket], AnswerSource] = AnswerSource) -> None:
        super().__init__(sock, debuglevel, method, url)
        self.fp.close()
        self.source = opened(sock)
        self.fp = _Lines(self.source)

    def begin(self) -> None:
        with self.source.at_most(MOST_AROUND):
            super().begin()

    def content_of(self, limit: int) -> AbstractContextManager[None]:
        """Refuse in the block to read a body that needs far more than `limit` bytes."""
        return self.source.at_most(MOST_OVERHEAD * limit + MOST_AROUND)

    def _read_and_discard_trailer(self) -> None:
        with self.source.at_most(MOST_AROUND):
            _discard_trailer(self)
