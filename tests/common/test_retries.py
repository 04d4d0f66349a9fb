"""Which pauses each policy makes, when it ends, and that the pauses are those of the runtime."""

import pytest

from heatlite.common import retries, runtime
from heatlite.common.green_threads import GreenRuntime


class Broken(Exception):
    pass


class Other(Exception):
    pass


class Failing:
    """Fails so many times, then returns how often it was called."""

    def __init__(self, failures, error=Broken):
        self.failures = failures
        self.error = error
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error(self.calls)
        return self.calls


@pytest.mark.parametrize('name, failures, pauses', [
    ('CONTENTION', 10, [0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09]),
    ('DATABASE', 3, [0.5, 0.5, 0.5]),
    ('JOURNAL', 8, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 2.0, 2.0]),
    ('START', 2, [2.0, 2.0]),
    ('CONNECTION', 4, [0.5, 1.0, 2.0, 4.0]),
    ('ENGINE', 3, [0.25, 0.25, 0.25]),
])
def test_pauses(name, failures, pauses):
    slept = []
    assert retries.call(Failing(failures), getattr(retries, name), Broken, sleep=slept.append) == failures + 1
    assert slept == pytest.approx(pauses)


@pytest.mark.parametrize('name, attempts', [('CONTENTION', 11), ('CONNECTION', 5)])
def test_the_error_of_the_last_attempt_is_raised(name, attempts):
    work, slept = Failing(100), []
    with pytest.raises(Broken, match=rf'\A{attempts}\Z'):
        retries.call(work, getattr(retries, name), Broken, sleep=slept.append)
    assert work.calls == attempts and len(slept) == attempts - 1


@pytest.mark.parametrize('name', ['DATABASE', 'JOURNAL', 'START', 'ENGINE'])
def test_others_end_only_when_the_caller_says_so(name):
    work, told = Failing(10_000), []
    with pytest.raises(Broken, match=r'\A1000\Z'):
        retries.call(work, getattr(retries, name), Broken, sleep=lambda seconds: None,
                     gives_up=lambda error: error.args[0] == 1000,
                     before_pause=lambda error, seconds: told.append(error.args[0]))
    assert told == list(range(1, 1000))


def test_an_attempt_that_the_caller_gives_up_is_not_followed_by_a_pause():
    slept = []
    with pytest.raises(Broken):
        retries.call(Failing(1), retries.DATABASE, Broken, gives_up=lambda error: True, sleep=slept.append)
    assert slept == []


@pytest.mark.parametrize('failures', [0, 1])
def test_other_errors_pass(failures):
    def work():
        calls.append(None)
        raise Other if len(calls) > failures else Broken

    calls = []
    with pytest.raises(Other):
        retries.call(work, retries.DATABASE, Broken, sleep=lambda seconds: None)
    assert len(calls) == failures + 1


def test_the_pauses_are_those_of_the_runtime():
    class Clock(GreenRuntime):
        time = 0.0

        def sleep(self, seconds):
            self.time += seconds

    before, clock = runtime.current(), Clock()
    runtime.use(clock)
    try:
        assert retries.call(Failing(4), retries.CONNECTION, Broken) == 5
    finally:
        runtime.use(before)
    assert clock.time == 7.5
