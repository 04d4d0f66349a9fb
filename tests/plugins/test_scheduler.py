"""Tasks of plug-ins: steps, timeouts, groups. Time is the test's own."""

from __future__ import annotations

import pytest

from heatlite.engine import scheduler
from heatlite.engine.dependencies import Dependencies


def counting(log, steps, name='t', result=None):
    def task(*args):
        for step in range(steps):
            log.append((name, step))
            yield
        log.append((name, 'end'))
    return task


def test_a_runner_takes_one_step_at_a_time():
    log = []
    runner = scheduler.TaskRunner(counting(log, 2))
    assert runner and not runner.started()
    runner.start()
    assert log == [('t', 0)] and runner.started()
    assert runner.step() is False
    assert runner.step() is True
    assert log[-1] == ('t', 'end') and runner.done() and not runner
    assert runner.step() is True


def test_a_plain_function_is_done_when_started():
    log = []
    runner = scheduler.TaskRunner(log.append, 5)
    runner.start()
    assert log == [5] and runner.done()


def test_a_yielded_number_is_the_step_at_which_it_goes_on():
    log = []

    def task():
        yield 3
        log.append('on')

    runner = scheduler.TaskRunner(task)
    runner.start()
    assert [runner.step() for _turn in range(3)] == [False, False, True] and log == ['on']


def test_run_to_completion_sleeps_between_steps(runtime):
    ticks = []
    scheduler.TaskRunner(counting([], 3))(wait_time=2, progress_callback=lambda: ticks.append(runtime.monotonic()))
    assert runtime.monotonic() == 6 and ticks == [2, 4, 6]


def test_a_timeout_is_thrown_into_the_task(runtime):
    seen = []

    def task():
        try:
            while True:
                yield
        except scheduler.Timeout as timeout:
            seen.append(str(timeout))
            raise

    runner = scheduler.TaskRunner(task)
    runner.start(timeout=5)
    runtime.sleep(6)
    with pytest.raises(scheduler.Timeout):
        runner.step()
    assert runner.done() and seen == ['Task task Timed out']
    assert not issubclass(scheduler.Timeout, Exception)


def test_a_task_may_take_its_timeout_calmly(runtime):
    def task():
        try:
            while True:
                yield
        except scheduler.Timeout:
            return

    runner = scheduler.TaskRunner(task)
    with pytest.raises(AssertionError, match='not started'):
        runner.step()
    runner.start(timeout=1)
    runtime.sleep(2)
    assert runner.step() is True


def test_cancelling_at_once_and_after_a_grace_period(runtime):
    ended = []

    def task(name):
        try:
            while True:
                yield
        finally:
            ended.append((name, runtime.monotonic()))

    now, later = scheduler.TaskRunner(task, 'now'), scheduler.TaskRunner(task, 'later')
    now.start(), later.start()
    now.cancel()
    later.cancel(grace_period=3)
    assert now.done() and later.step() is False
    runtime.sleep(4)
    assert later.step() is True
    assert ended == [('now', 0), ('later', 4)]


def test_as_task_cleans_up_when_it_is_closed():
    log, after = [], []
    runner = scheduler.TaskRunner(counting(log, 9))
    stepping = runner.as_task(post_func=lambda: after.append(True))
    next(stepping), next(stepping)
    stepping.close()
    assert runner.done() and after == [True] and log == [('t', 0), ('t', 1)]


def test_wrappertask_runs_what_is_yielded():
    log = []

    def part(name):
        log.append(name)
        yield
        if name == 'bad':
            raise ValueError(name)

    @scheduler.wrappertask
    def whole():
        yield part('a')
        try:
            yield part('bad')
        except ValueError as error:
            log.append(f'caught {error}')
        yield
        yield part('b')

    turns = len(list(whole()))
    assert log == ['a', 'bad', 'caught bad', 'b'] and turns == 4


def group(edges, tasks, **options):
    return scheduler.DependencyTaskGroup(Dependencies(edges), lambda name: tasks[name](), **options)


def test_a_group_begins_what_nothing_holds_back():
    log = []
    tasks = {name: counting(log, 1, name) for name in 'abc'}
    scheduler.TaskRunner(group([('a', None), ('c', None), ('b', 'a')], tasks))(wait_time=None)
    assert log == [('a', 0), ('c', 0), ('a', 'end'), ('c', 'end'), ('b', 0), ('b', 'end')]


def test_a_group_in_reverse():
    log = []
    tasks = {name: counting(log, 0, name) for name in 'ab'}
    scheduler.TaskRunner(group([('b', 'a')], tasks, reverse=True))(wait_time=None)
    assert log == [('b', 'end'), ('a', 'end')]


def test_an_error_ends_the_group_and_the_others(runtime):
    log = []

    def bad():
        yield
        raise ValueError('bad')

    tasks = {'a': bad, 'b': counting(log, 9, 'b'), 'c': counting(log, 1, 'c')}
    with pytest.raises(ValueError, match='bad'):
        scheduler.TaskRunner(group([('c', 'a'), ('b', None)], tasks))(wait_time=1)
    assert log == [('b', 0)]


def test_running_tasks_get_their_grace(runtime):
    log = []

    def bad():
        raise ValueError('bad')

    tasks = {'b': counting(log, 2, 'b'), 'a': bad}
    with pytest.raises(ValueError, match='bad'):
        scheduler.TaskRunner(group([('b', None), ('a', None)], tasks, error_wait_time=10))(wait_time=1)
    assert log[-1] == ('b', 'end')


def test_all_errors_together(runtime):
    def bad(text):
        def task():
            yield
            raise ValueError(text)
        return task

    tasks = {'a': bad('one'), 'b': bad('two')}
    with pytest.raises(scheduler.ExceptionGroup) as error:
        scheduler.TaskRunner(group([('a', None), ('b', None)], tasks, error_wait_time=9,
                                   aggregate_exceptions=True))(wait_time=1)
    assert str(error.value) == "['one', 'two']"


def test_a_circle_is_refused():
    from heatlite.common import exception
    with pytest.raises(exception.CircularDependencyException):
        group([('a', 'b'), ('b', 'a')], {})


def test_polling_group_of_2015(runtime):
    log = []

    def task(name, steps):
        for step in range(steps):
            log.append((name, step))
            yield

    scheduler.TaskRunner(scheduler.PollingTaskGroup.from_task_with_args(task, 'ab', [1, 2]))(wait_time=1)
    assert log == [('a', 0), ('b', 0), ('b', 1)]


def test_dependencies_as_plugins_build_them():
    deps = Dependencies()
    for edge in (('c', 'b'), ('b', 'a'), ('d', None)):
        deps += edge
    assert list(deps).index('a') < list(deps).index('b') < list(deps).index('c')
    assert deps.required_by('a') == ['b'] and deps.requires('c') == ['b']
    assert set(deps['b']) == {'b', 'c'}
    assert (deps.roots(), deps.leaves()) == (['c', 'd'], ['a', 'd'])
    assert next(iter(reversed(deps))) in ('c', 'd')
