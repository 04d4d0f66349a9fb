"""Statements that are sent to a server as one message: each one by itself is a round trip, during which its thread
waits for the server and then for its turn in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

SEPARATOR: Final = b'\n;'       # the line may end with a comment, as [database] connection_trace adds one
ENOUGH: Final = 1 << 16         # bytes of statements that are gathered: a millisecond of work in this process


class Gathered:
    """The statements of a connection that wait for the next one. `is_wanted`: whether they wait for more.

    They must return no rows. How many rows they affect is not known.
    """

    def __init__(self) -> None:
        self.is_wanted = False
        self._texts: list[bytes] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, text: bytes) -> None:
        self._texts.append(text)
        self._size += len(text)

    def messages(self, text: bytes) -> Iterator[list[bytes]]:
        """Add a statement, and yield those of each message that is to be sent now; nothing if this one waits.

        A large one is sent by itself: servers have a limit for a message, which statements are made for."""
        if self._texts and self._size + len(text) >= ENOUGH:
            yield self.take()
        self.add(text)
        if self._size >= ENOUGH or not self.is_wanted:
            yield self.take()

    def take(self) -> list[bytes]:
        taken, self._texts, self._size = self._texts, [], 0
        return taken

    def discard(self) -> None:
        """Gather no more, and forget what was gathered."""
        self.is_wanted = False
        self.take()
