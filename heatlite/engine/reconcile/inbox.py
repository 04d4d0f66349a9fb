"""The inbox of one runner: what its own thread has to do next, in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from heatlite.common.runtime import Flag, Runtime
from heatlite.engine.durability.journal import StopsDriving
from heatlite.engine.reconcile.active_steps import ActiveSteps
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.runner_phase import RunnerPhase
from heatlite.planning import commands

Work = Callable[[], Iterable[commands.Command]]


class RunnerInbox:
    """Any thread may add work; what the runner does not take in its phase is dropped."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, phase: RunnerPhase, steps: ActiveSteps,
                 news: Flag) -> None:
        """`news`: set when there is work, and by others for which the runner's thread must not wait in `take`."""
        self._runtime = runtime
        self._leased = leased
        self._phase = phase
        self._steps = steps
        self._news = news
        self._waiting: deque[tuple[Work, bool]] = deque()       # with whether it is a result

    def ask(self, work: Work) -> None:
        """Run `work` in the runner's thread and perform the commands it returns; not while it drains."""
        self._put(work)

    def run(self, work: Callable[[], object]) -> None:
        """As `ask`, for work that returns no commands."""
        def do() -> Iterable[commands.Command]:
            work()
            return ()

        self.ask(do)

    def _put(self, work: Work, is_result: bool = False) -> None:
        if self._phase.is_stopped or (self._phase.is_draining and not is_result):
            return
        self._waiting.append((work, is_result))
        self._news.set()

    def post(self, event: commands.Event) -> None:
        """Hand `event` to the traversal, in the runner's thread; while it drains, only results."""
        def handle() -> list[commands.Command]:
            if not isinstance(event, commands.TimedOut):
                self._steps.touch(event.step)
            return self._leased.traversal.handle(event, self._runtime.now())

        self._put(handle, isinstance(event, commands.RESULTS))

    def fail(self, why: StopsDriving) -> None:
        """Raise `why` in the runner's thread: a write, or a request to a service, was refused."""
        # Without its traceback, and no longer in the list once it is raised: else it would refer to itself through the
        # variables of these threads, and keep the whole stack until garbage is collected.
        failure = [why.with_traceback(None)]

        def fail() -> list[commands.Command]:
            raise failure.pop()

        self._put(fail, is_result=True)

    def keep_results(self) -> None:
        """Drop all other work: the runner drains."""
        self._waiting = deque(each for each in self._waiting if each[1])

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    # --- the runner's thread ------------------------------------------------------------------------------

    def take(self) -> Work | None:
        """Return the next work; None after a wait for news."""
        if self._waiting:
            return self._waiting.popleft()[0]
        self._news.wait()
        self._news.clear()
        return None
