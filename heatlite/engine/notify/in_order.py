"""Sends the start of an action before what follows it.

A request is announced once it is committed. From then on the same engine may end its action, and begin the next one,
before the thread that committed it goes on. Another engine may still be faster.
"""

from __future__ import annotations

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

    def hold(self, request: StoredStack) -> None:
        """Delay what follows the request that is about to be committed, until `release`."""
        self._requests.setdefault(request.id, []).append(request.generation)

    def release(self, request: StoredStack) -> None:
        """The request was announced, or was not committed: send what came meanwhile, if no other one is held. Once for
        each `hold`."""
        requests = self._requests[request.id]
        requests.remove(request.generation)
        if not requests:
            del self._requests[request.id]
            for send in self._held.pop(request.id, ()):
                send()
