"""Standard output of programs whose reader may go away first, as that of `heatlite-lint --schema | head`.

Imports nothing that has a lock or a socket: programs use it before threads are patched.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

READER_GONE: Final = 141            # exit code; that of a shell for a program that SIGPIPE ended


def ends_with_its_reader(main: Callable[..., int]) -> Callable[..., int]:
    """Make the `main` of a program end without a message, with READER_GONE, once nothing reads what it prints.

    Only standard output counts: a connection that breaks is an error as before. SIGPIPE cannot tell them apart.
    Callers that have replaced `sys.stdout`, such as tests, keep their own.
    """
    @functools.wraps(main)
    def wrapped(*arguments: object, **named: object) -> int:
        former = sys.stdout
        if not isinstance(former, io.TextIOWrapper) or former is not sys.__stdout__:
            return main(*arguments, **named)
        former.flush()
        output = io.TextIOWrapper(
            io.BufferedWriter(_Output(former.fileno(), 'w', closefd=False)), encoding=former.encoding,
            errors=former.errors, line_buffering=former.line_buffering)
        sys.stdout = output
        try:
            return main(*arguments, **named)
        finally:
            if not output.closed:       # the library of the language server closes it
                output.flush()          # here, and not when the interpreter ends: that would print a message
            sys.stdout = former

    return wrapped


class _Output(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            # What is left in the buffers has a place to go, so that nothing complains about it later.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            # No OSError: handlers of errors of files and connections must not take it for theirs.
            raise SystemExit(READER_GONE) from None
