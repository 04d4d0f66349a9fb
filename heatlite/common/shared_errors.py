"""Errors that are raised more than once: by several threads that wait for one outcome, or whenever it is asked for."""

from __future__ import annotations


class SharedError:
    """An error, with the traceback that it has when it is shared. Raise it by `raise shared.again()`."""

    __slots__ = ('_error', '_traceback')

    def __init__(self, error: Exception) -> None:
        self._error = error
        self._traceback = error.__traceback__

    def again(self) -> Exception:
        """Return the error, without the frames of those that have raised it: else each would add its own to the same
        traceback, which would refer to all of them."""
        return self._error.with_traceback(self._traceback)
