"""Tasks of plug-ins: generators that yield whenever they have to wait.

The engine itself does not run on these; a handler may start one and let its check step it. Time and sleep are the
runtime's.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Generator, Iterable
from typing import Any, SupportsInt

from oslo_log import log

from heatlite.common import runtime as runtimes
from heatlite.common.i18n import _
from heatlite.engine import dependencies as dependency_graph

LOG = log.getLogger(__name__)

ENABLE_SLEEP = True                         # False: for tests that must not wait

Step = Generator[object, None, None]


def task_description(task: object) -> str:
    """Return a name for logs: `create from <object>` for a method, the name for a function."""
    name = getattr(task, '__name__', None)
    if name is None:
        return repr(task)
    owner = getattr(task, '__self__', None)
    return f'{name} from {owner}' if owner is not None and not isinstance(owner, types.ModuleType) else str(name)


class Timeout(BaseException):
    """Thrown into a task that takes too long. Not an Exception: `except Exception` in a task must not catch it."""

    def __init__(self, task_runner: object, timeout: float) -> None:
        super().__init__(_('%s Timed out') % (task_runner,))
        self._ends = runtimes.current().monotonic() + timeout

    def expired(self) -> bool:
        return runtimes.current().monotonic() > self._ends

    def trigger(self, generator: Step) -> bool:
        """Throw it into the task. Returns whether the task ended without an error; errors pass through."""
        try:
            generator.throw(self)
        except StopIteration:
            return True
        generator.close()                   # the task caught the timeout and went on
        return False

    def earlier_than(self, other: Timeout) -> bool:
        return self._ends < other._ends

    __lt__ = earlier_than


class TimedCancel(Timeout):
    """Ends a task after a grace period: closes it without raising an error."""

    def trigger(self, generator: Step) -> bool:
        generator.close()
        return False


class ExceptionGroup(Exception):
    """Several errors of one group of tasks."""

    def __init__(self, exceptions: Iterable[BaseException] | None = None) -> None:
        self.exceptions = list(exceptions or ())
        super().__init__([str(error) for error in self.exceptions])

    def __str__(self) -> str:
        return str([str(error) for error in self.exceptions])


class TaskRunner:
    """Runs one task step by step. Its truth value is true until the task is done."""

    def __init__(self, task: Callable[..., object], *args: object, **kwargs: object) -> None:
        assert callable(task), 'Task is not callable'
        self._task = task
        self._args = args
        self._kwargs = kwargs
        self._generator: Step | None = None
        self._done = False
        self._timeout: Timeout | None = None
        self._turns = 1                     # steps until the generator runs again
        self.name = task_description(task)

    def __str__(self) -> str:
        return f'Task {self.name}'

    def start(self, timeout: float | None = None) -> None:
        """Run to the first yield. `timeout`: seconds after which a step throws Timeout into the task."""
        assert self._generator is None, 'Task already started'
        assert not self._done, 'Task already cancelled'
        LOG.debug('%s starting', self)
        if timeout is not None:
            self._timeout = Timeout(self, timeout)
        result = self._task(*self._args, **self._kwargs)
        if isinstance(result, types.GeneratorType):
            self._generator = result
            self.step()
        else:                               # a plain function: it is done
            self._generator = None
            self._done = True

    def step(self) -> bool:
        """Run to the next yield. Returns whether the task is done. A task that yielded n runs at the n-th step only."""
        if self._done:
            return True
        assert self._generator is not None, 'Task not started'
        if self._timeout is not None and self._timeout.expired():
            LOG.info('%s timed out', self)
            self._done = True
            self._timeout.trigger(self._generator)
            return True
        if self._turns > 1:
            self._turns -= 1
            return False
        try:
            self._turns = _turns(next(self._generator))
        except StopIteration:
            self._done = True
            LOG.debug('%s complete', self)
        except BaseException:
            self._done = True
            raise
        return self._done

    def throw(self, error: BaseException) -> bool:
        """Throw an error into the task. Returns whether the task is done then."""
        assert self._generator is not None, 'Task not started'
        try:
            self._turns = _turns(self._generator.throw(error))
        except StopIteration:
            self._done = True
        except BaseException:
            self._done = True
            raise
        return self._done

    def run_to_completion(self, wait_time: float = 1, progress_callback: Callable[[], object] | None = None) -> None:
        """Step until the task is done, `wait_time` seconds apart."""
        assert self._generator is not None or self._done, 'Task not started'
        for _step in self.as_task(progress_callback=progress_callback):
            self._sleep(wait_time)

    def as_task(self, timeout: float | None = None, progress_callback: Callable[[], object] | None = None,
                post_func: Callable[[], object] | None = None) -> Step:
        """Return a generator that steps the task; `progress_callback` runs after each step."""
        try:
            if not self.started():
                self.start(timeout)
            else:
                if timeout is not None:
                    self._limit(Timeout(self, timeout))
                self.step()
            while not self._done:
                try:
                    yield None
                    if progress_callback is not None:
                        progress_callback()
                except GeneratorExit:
                    self.cancel()
                    raise
                except BaseException as error:
                    self.throw(error)
                else:
                    self.step()
        finally:
            if post_func is not None:
                post_func()

    def __call__(self, wait_time: float = 1, timeout: float | None = None,
                 progress_callback: Callable[[], object] | None = None,
                 post_func: Callable[[], object] | None = None) -> None:
        """Run the task from start to end."""
        assert self._generator is None, 'Task already started'
        for _step in self.as_task(timeout, progress_callback, post_func):
            self._sleep(wait_time)

    def cancel(self, grace_period: float | None = None) -> None:
        """Cancel the task at once, or at the first step after `grace_period` seconds."""
        if self._done:
            return
        if self._generator is None or grace_period is None:
            self._done = True
            if self._generator is not None:
                self._generator.close()
            return
        self._limit(TimedCancel(self, grace_period))

    def _limit(self, timeout: Timeout) -> None:
        if self._timeout is None or timeout < self._timeout:
            self._timeout = timeout

    def started(self) -> bool:
        return self._generator is not None or self._done

    def done(self) -> bool:
        return self._done

    def __bool__(self) -> bool:
        return not self._done

    def _sleep(self, seconds: float) -> None:
        if ENABLE_SLEEP and seconds is not None:
            runtimes.current().sleep(seconds)


def _turns(yielded: object) -> int:
    try:
        return max(int(yielded), 1) if isinstance(yielded, str | SupportsInt) else 1
    except ValueError:
        return 1


def wrappertask(task: Callable[..., Generator[object, None, object]]) -> Callable[..., Step]:
    """Decorate a task: generators that it yields are run as subtasks, and their errors are raised in it."""
    @functools.wraps(task)
    def wrapper(*args: object, **kwargs: object) -> Step:
        parent = task(*args, **kwargs)
        try:
            subtask = next(parent)
            while True:
                try:
                    if isinstance(subtask, types.GeneratorType):
                        yield from subtask
                    else:
                        yield subtask
                except GeneratorExit:
                    parent.close()
                    raise
                except BaseException as error:
                    subtask = parent.throw(error)
                else:
                    subtask = next(parent)
        except StopIteration:
            return

    return wrapper


class DependencyTaskGroup:
    """A task that runs one task for each element, required ones first, independent ones in parallel.

    `dependencies`: an object with `graph(reverse)`, or a map of an element to the set it needs. After an error no
    further task starts, and running ones are cancelled after `error_wait_time` seconds (a number, or a function of the
    element); the first error is raised, or all of them as an ExceptionGroup.
    """

    def __init__(self, dependencies: Any, task: Callable[..., object] = lambda element: element(),
                 reverse: bool = False, name: str | None = None,
                 error_wait_time: float | Callable[..., float | None] | None = None,
                 aggregate_exceptions: bool = False) -> None:
        graph = dependencies.graph(reverse=reverse) if hasattr(dependencies, 'graph') else dependencies
        if reverse and not hasattr(dependencies, 'graph'):
            graph = dependency_graph.Dependencies(
                [(element, needed) for element, needs in dependencies.items() for needed in needs or [None]]
            ).graph(reverse=True)
        dependency_graph.in_order(graph)    # raises CircularDependencyException
        self._needs = {element: set(needs) for element, needs in graph.items()}
        self._runners = {element: TaskRunner(task, element) for element in graph}
        self.name = name or f'({", ".join(str(element) for element in graph)})'
        self._error_wait_time = error_wait_time
        self._aggregate = aggregate_exceptions

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.name})'

    __str__ = __repr__

    def __call__(self) -> Step:
        errors: list[BaseException] = []
        try:
            while True:
                for element in [element for element, runner in self._runners.items() if _is_running(runner)]:
                    self._advance(element, self._runners[element].step, errors)
                while not errors and (ready := self._ready()):
                    for element in ready:
                        self._advance(element, self._runners[element].start, errors)
                if not any(_is_running(runner) for runner in self._runners.values()):
                    break
                yield None
        except BaseException:
            for runner in self._runners.values():
                runner.cancel()
            raise
        if errors:
            raise ExceptionGroup(errors) if self._aggregate else errors[0]

    def _ready(self) -> list[object]:
        return [element for element, runner in self._runners.items()
                if not runner.started() and not self._needs[element]]

    def _advance(self, element: object, move: Callable[[], object], errors: list[BaseException]) -> None:
        try:
            move()
        except Exception as error:
            errors.append(error)
            self._give_up(element)
        else:
            if self._runners[element].done():
                self._finished(element)

    def _finished(self, element: object) -> None:
        for needs in self._needs.values():
            needs.discard(element)

    def _give_up(self, failed: object) -> None:
        for element, runner in self._runners.items():
            if element == failed or runner.done() or not runner.started():
                continue
            wait = self._error_wait_time
            runner.cancel(grace_period=wait(element) if callable(wait) else wait)


def _is_running(runner: TaskRunner) -> bool:
    return runner.started() and not runner.done()


class PollingTaskGroup:
    """A task that runs several tasks in parallel; the first error cancels the others. For plug-ins of 2015."""

    def __init__(self, tasks: Iterable[Callable[..., object]], name: str | None = None) -> None:
        self._runners = [task if isinstance(task, TaskRunner) else TaskRunner(task) for task in tasks]
        self.name = name or ', '.join(runner.name for runner in self._runners)

    @classmethod
    def from_task_with_args(cls, task: Callable[..., object], *arg_lists: Iterable[object],
                            **kwarg_lists: Iterable[object]) -> PollingTaskGroup:
        """Make a group with one task for each position of the argument lists."""
        lists = [list(values) for values in arg_lists]
        named = {name: list(values) for name, values in kwarg_lists.items()}
        count = max([len(values) for values in (*lists, *named.values())], default=0)
        return cls([functools.partial(task, *(values[place] for values in lists),
                                      **{name: values[place] for name, values in named.items()})
                    for place in range(count)])

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.name})'

    def __call__(self) -> Step:
        running = list(self._runners)
        try:
            for runner in running:
                runner.start()
            while running := [runner for runner in running if not runner.done()]:
                yield None
                for runner in running:
                    runner.step()
        finally:
            for runner in self._runners:
                runner.cancel()
