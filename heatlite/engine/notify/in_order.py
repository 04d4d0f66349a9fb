"""Sends the start of an action before what follows it.

A request is announced once it is committed. From then on the same engine may end its action, and begin the next one,
before the thread that committed it goes on. Another engine may still be faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from heatlite.db.stacks import StoredStack
from heatlite.engine.notify.notifications import Notify, Scaling
from heatlite.planning.states import Status


class InOrder:
    """A `Notify` that delays what follows a request. Used by all green threads of an engine; no method lets others
    run."""

    def __init__(self, notify: Notify) -> None:
        self._notify = notify
        self._requests: dict[str, list[int]] = {}           # stack -> generations of requests that are being committed
        self._held: dict[str, list[partial[None]]] = {}     # stack -> what came meanwhile

    def __call__(self, stack: StoredStack, action: str, status: str, reason: str,
                 scaling: Scaling | None = None) -> None:
        send = partial(self._notify, stack, action, status, reason, scaling)
        requests = self._requests.get(stack.id, [])
        is_start = stack.generation in requests and status == Status.IN_PROGRESS and scaling is None
        if is_start or all(stack.generation < request for request in requests):
            send()
        else:
            self._held.setdefault(stack.id, []).append(send)

    @contextmanager
    def held(self, request: StoredStack) -> Iterator[None]:
        """Delay what follows a request. Enter it before the request is committed, leave it once the request is
        announced or was not committed: what came meanwhile is sent then, if no other request of the stack is held."""
        requests = self._requests.setdefault(request.id, [])
        requests.append(request.generation)
        try:
            yield
        finally:
            requests.remove(request.generation)
            if not requests:
                del self._requests[request.id]
                for send in self._held.pop(request.id, ()):
                    send()
