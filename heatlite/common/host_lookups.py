"""Looks up the addresses of hosts by the system's resolver, which blocks its thread of the system.

A green process would stop for as long as a name server does not answer. So look-ups are made in threads of their own,
bounded in time and number, and what was found is valid for some seconds: hundreds of connections need one look-up.
Names of users have other threads than names of the operator, such as those of Keystone and of the database.
"""

from __future__ import annotations

import functools
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.os_threads import ThreadPool

SECONDS: Final = 10.0           # that a caller waits for a look-up; the resolver itself may take longer (resolv.conf)
VALID: Final = 10.0             # seconds for which addresses are valid
FAILED: Final = 2.0             # seconds for which an error is
MOST: Final = 1000              # names whose addresses are stored, and as many whose errors are

Entry: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str | int | bytes, ...]]
Found: TypeAlias = Sequence[Entry]

# Of the standard library: `runtime.patch` replaces it for all others.
_ask_system: Callable[..., Found] = socket.getaddrinfo


class Lookups:
    """Look-ups in a pool of threads: at most `threads` at once, `share` of them for one owner."""

    def __init__(self, threads: int, share: int) -> None:
        self._pool: ThreadPool[Found] = ThreadPool(threads, share)
        self.forget()

    def forget(self) -> None:
        self._found: ExpiringCache[Found] = ExpiringCache(MOST, VALID, time.monotonic)
        self._failed: ExpiringCache[tuple[object, ...]] = ExpiringCache(MOST, FAILED, time.monotonic)

    def addresses(self, host: bytes | str | None, port: bytes | str | int | None, family: int = 0, kind: int = 0,
                  protocol: int = 0, flags: int = 0, *, seconds: float = SECONDS, owner: str = '') -> Found:
        """Return the list of socket.getaddrinfo. Raises its gaierror, also after SECONDS, and TimeoutError after
        `seconds` if these are fewer. For threads of all kinds.

        `owner`: the id of a project, whose look-ups use at most `share` threads. Addresses, also in the unusual forms
        that the resolver reads, need no thread.
        """
        try:
            return _ask_system(host, port, family, kind, protocol, flags | socket.AI_NUMERICHOST)
        except socket.gaierror as error:
            if host is None or error.errno != socket.EAI_NONAME:
                raise
        if not isinstance(port, int):
            return [*self._looked_up((host, port, family, kind, protocol, flags), seconds, owner)]
        return [_with_port(each, port)
                for each in self._looked_up((host, None, family, kind, protocol, flags), seconds, owner)]

    def _looked_up(self, wanted: tuple[object, ...], seconds: float, owner: str) -> Found:
        found = self._found.get(wanted)
        if found is None:
            failed = self._failed.get(wanted)
            if failed is not None:
                raise socket.gaierror(*failed)
            found = self._ask(wanted, seconds, owner)
            self._found.put(wanted, found)
        return found

    def _ask(self, wanted: tuple[object, ...], seconds: float, owner: str) -> Found:
        try:
            return self._pool.call(min(seconds, SECONDS), _ask_system, *wanted, owner=owner)
        except TimeoutError:
            if seconds < SECONDS:
                raise
            raise socket.gaierror(socket.EAI_AGAIN, 'the resolver does not answer in time') from None
        except socket.gaierror as error:
            self._failed.put(wanted, error.args)
            raise


def _with_port(entry: Entry, port: int) -> Entry:
    family, kind, protocol, name, place = entry
    return family, kind, protocol, name, (place[0], port, *place[2:])


@functools.cache
def of_users() -> Lookups:
    """Return the look-ups of names in URLs of users: 64 threads, four for each project."""
    return Lookups(threads=64, share=4)


@functools.cache
def of_services() -> Lookups:
    """Names that the operator and the catalogue of the cloud give."""
    return Lookups(threads=16, share=16)


def getaddrinfo(host: bytes | str | None, port: bytes | str | int | None, family: int = 0, type: int = 0,
                proto: int = 0, flags: int = 0) -> Found:
    """Return what the standard library's does, for the libraries of a green process."""
    return of_services().addresses(host, port, family, type, proto, flags)
