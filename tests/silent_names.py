"""A resolver of the system that answers some names only when a test lets it, in the threads of the system that ask."""

from __future__ import annotations

import _socket
import socket
import threading
import time
from collections import Counter

# As they are before a program replaces those that others use.
REAL, SLEEP, THREAD = _socket.getaddrinfo, time.sleep, threading.get_ident
PATIENCE = 60.0
PAUSE = 0.001


class Resolver:
    """Names that begin with `silent` wait until `is_answering`. All have the addresses of `found`, or none."""

    def __init__(self, found=('192.0.2.1',)) -> None:
        self.found = list(found)
        self.asked = Counter()              # calls by name
        self.threads = set()                # that have asked
        self.is_answering = False

    def __call__(self, host, port, family=0, type=0, proto=0, flags=0):
        try:
            return REAL(host, port, family, type, proto, flags | socket.AI_NUMERICHOST)
        except OSError:
            if flags & socket.AI_NUMERICHOST or host is None:
                raise
        self.asked[host] += 1
        self.threads.add(THREAD())
        while host.startswith('silent') and not self.is_answering:
            SLEEP(PAUSE)
        if not self.found:
            raise socket.gaierror(socket.EAI_NONAME, 'Name or service not known')
        return [each for address in self.found for each in REAL(address, port, family, type, proto, flags)]

    @property
    def silent(self):
        """How many silent names were asked for."""
        return sum(name.startswith('silent') for name in self.asked)

    def wait(self, silent):
        """Wait for so many silent names."""
        for _ in range(int(PATIENCE / PAUSE)):
            if self.silent >= silent:
                return
            SLEEP(PAUSE)
        raise AssertionError(f'{self.silent} of {silent} silent names are asked for')
