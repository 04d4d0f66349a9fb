"""The inbox of one runner: what its own thread has to do next, in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from heatlite.common.runtime import Runtime
from heatlite.engine.durability.journal import StopsDriving
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.planning import commands
from heatlite.planning.steps import Step

Work = Callable[[], Iterable[commands.Command]]


class RunnerInbox:
    """Any thread may add work. `is_stopped`: the runner was stopped or has lost its lease, and takes no more work;
    `is_draining`: it begins nothing further, and takes only the results of what it has begun."""

    def __init__(self, runtime: Runtime, leased: LeasedStack) -> None:
        self._runtime = runtime
        self._leased = leased
        self._waiting: deque[tuple[Work, bool]] = deque()       # with whether it is a result
        self._has_work = runtime.flag()
        self._announced: set[Step | None] = set()   # steps that have an event here
        self._handled: list[Step] = []              # steps whose events were handled since `take_handled`
        self._begins_until = 0.0
        self.is_stopped = self.is_draining = False
        self.defect: Exception | None = None        # why the runner cannot go on

    def ask(self, work: Work) -> None:
        """Run `work` in the runner's thread and perform the commands it returns; not while it drains."""
        if not self.is_draining:
            self._put(work)

    def run(self, work: Callable[[], object]) -> None:
        """As `ask`, for work that returns no commands."""
        def do() -> Iterable[commands.Command]:
            work()
            return ()

        self.ask(do)

    def _put(self, work: Work, is_result: bool = False) -> None:
        self._waiting.append((work, is_result))
        self._has_work.set()

    def post(self, event: commands.Event) -> None:
        """Hand `event` to the traversal, in the runner's thread; while it drains, only results."""
        is_result = isinstance(event, commands.RESULTS)
        if self.is_draining and not is_result:
            return
        # None: such an event does not complete the step's own work.
        step = None if isinstance(event, (commands.Preempted, commands.TimedOut)) else event.step
        self._announced.add(step)

        def handle() -> list[commands.Command]:
            self._announced.discard(step)
            if step is not None:
                self._handled.append(step)
            return self._leased.traversal.handle(event, self._runtime.now())

        self._put(handle, is_result)

    def fail(self, why: StopsDriving) -> None:
        """Raise `why` in the runner's thread: a write, or a request to a service, was refused."""
        # Without its traceback, and no longer in the list once it is raised: else it would refer to itself through the
        # variables of these threads, and keep the whole stack until garbage is collected.
        failure = [why.with_traceback(None)]

        def fail() -> list[commands.Command]:
            raise failure.pop()

        self._put(fail, is_result=True)

    def has_event_of(self, step: Step) -> bool:
        return step in self._announced

    def drain(self, begins_until: float) -> None:
        """See `Runner.drain`."""
        self._begins_until = begins_until
        self.is_draining = True
        self._waiting = deque(each for each in self._waiting if each[1])
        self._has_work.set()

    def may_begin(self, is_stored: bool) -> bool:
        """Whether a call into a type may begin now. `is_stored`: it is that of a handler, and its intent is stored."""
        return not self.is_stopped and (not self.is_draining
                                        or (is_stored and self._runtime.monotonic() < self._begins_until))

    @property
    def is_drained(self) -> bool:
        """Whether the runner drains, and no result waits."""
        return self.is_draining and not self._waiting

    def look(self) -> None:
        """Let the runner see what has changed outside of its inbox."""
        self._has_work.set()

    def stop(self, defect: Exception | None = None) -> None:
        """Stop the runner. `defect`: the error that stops it, if any."""
        self.defect = self.defect or defect
        self.is_stopped = True
        self._has_work.set()

    # --- the runner's thread ------------------------------------------------------------------------------

    def take(self) -> Work | None:
        """Return the next work; None after a wait, which also ends when the runner is stopped."""
        if self._waiting:
            return self._waiting.popleft()[0]
        self._has_work.wait()
        self._has_work.clear()
        return None

    def take_handled(self) -> list[Step]:
        """Return the steps whose events were handled since the last call."""
        handled, self._handled = self._handled, []
        return handled
