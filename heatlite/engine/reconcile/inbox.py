"""The inbox of one runner: what its own thread has to do next, in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from heatlite.common.runtime import Runtime
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.planning import commands
from heatlite.planning.steps import Step

Work = Callable[[], Iterable[commands.Command]]


class RunnerInbox:
    """Any thread may add work. `is_stopped`: the runner was stopped or has lost its lease, and takes no more work."""

    def __init__(self, runtime: Runtime, leased: LeasedStack) -> None:
        self._runtime = runtime
        self._leased = leased
        self._waiting: deque[Work] = deque()
        self._has_work = runtime.flag()
        self._announced: set[Step | None] = set()   # steps that have an event here
        self._handled: list[Step] = []              # steps whose events were handled since `take_handled`
        self.is_stopped = False
        self.defect: Exception | None = None        # why the runner cannot go on

    def ask(self, work: Work) -> None:
        """Run `work` in the runner's thread and perform the commands it returns."""
        self._waiting.append(work)
        self._has_work.set()

    def post(self, event: commands.Event) -> None:
        """Hand `event` to the traversal, in the runner's thread."""
        # None: such an event does not complete the step's own work.
        step = None if isinstance(event, (commands.Preempted, commands.TimedOut)) else event.step
        self._announced.add(step)

        def handle() -> list[commands.Command]:
            self._announced.discard(step)
            if step is not None:
                self._handled.append(step)
            return self._leased.traversal.handle(event, self._runtime.now())

        self.ask(handle)

    def lose_lease(self) -> None:
        """Raise LeaseLost in the runner's thread: a write, or a request to a service, was refused."""
        def lose() -> list[commands.Command]:
            raise LeaseLost(self._leased.id)

        self.ask(lose)

    def has_event_of(self, step: Step) -> bool:
        return step in self._announced

    def stop(self, defect: Exception | None = None) -> None:
        """Stop the runner. `defect`: the error that stops it, if any."""
        self.defect = self.defect or defect
        self.is_stopped = True
        self._has_work.set()

    # --- the runner's thread ------------------------------------------------------------------------------

    def take(self) -> Work | None:
        """Return the next work; None after a wait, which also ends when the runner is stopped."""
        if self._waiting:
            return self._waiting.popleft()
        self._has_work.wait()
        self._has_work.clear()
        return None

    def take_handled(self) -> list[Step]:
        """Return the steps whose events were handled since the last call."""
        handled, self._handled = self._handled, []
        return handled
