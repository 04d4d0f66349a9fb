"""A service with more requests than it can answer gets fewer of them, so that it answers some in time."""

import pytest

from heatlite.common import exception
from heatlite.common.adaptive_limit import AdaptiveLimit
from heatlite.testing.runtime import Universe

DEADLINE = 10.0                 # seconds, of each request


class Service:
    """Answers its requests one after the other, each in `seconds`."""

    def __init__(self, runtime, seconds):
        self._runtime = runtime
        self.seconds = seconds
        self._is_free_at = 0.0
        self.asked = 0

    def call(self):
        self.asked += 1
        now = self._runtime.monotonic()
        self._is_free_at = max(self._is_free_at, now) + self.seconds
        self._runtime.sleep(self._is_free_at - now)


class Callers:
    """Each sends a request, and another one as soon as it is answered or ten seconds have passed."""

    def __init__(self, universe, number, seconds, limit):
        self.runtime = universe.process('engine')
        self.service = Service(self.runtime, seconds)
        self.limit = limit(self.runtime)
        self.in_time = self.late = 0
        for _ in range(number):
            self.runtime.spawn(self._work)

    def _work(self):
        while True:
            begin = self.runtime.monotonic()
            try:
                with self.limit.room(DEADLINE), self.limit.measured():
                    self.service.call()
            except exception.TooLate:
                self.late += 1
                continue
            if self.runtime.monotonic() - begin <= DEADLINE:
                self.in_time += 1
            else:
                self.late += 1


@pytest.fixture
def universe():
    made = Universe(1)
    yield made
    made.close()


def served(universe, seconds, limit, callers=50):
    """Callers after 1 000 seconds of their service."""
    made = Callers(universe, callers, seconds, limit)
    assert universe.run(lambda: made.runtime.monotonic() >= 1000)
    return made


def adaptive(runtime):
    return AdaptiveLimit(runtime, most=16, slow=2.0)


def test_an_overloaded_service_answers_in_time_what_it_can(universe):
    """One request a second, fifty callers: without a limit each answer comes 50 seconds after its request."""
    found = served(universe, 1.0, adaptive)
    assert found.in_time > 900
    assert found.service.asked - found.in_time < 30                 # while the limit falls, and as it is tried again


def test_without_it_no_answer_is_in_time(universe):
    found = served(universe, 1.0, lambda runtime: AdaptiveLimit(runtime, most=1000, slow=float('inf')))
    assert found.in_time < 30


def test_a_quick_service_gets_all_its_requests_at_once(universe):
    found = served(universe, 0.01, adaptive, callers=16)
    assert found.limit.limit == 16 and found.late == 0


def test_the_limit_rises_again_once_the_service_is_quick(universe):
    found = served(universe, 1.0, adaptive)
    assert found.limit.limit <= 3
    found.service.seconds = 0.01
    assert universe.run(lambda: found.runtime.monotonic() >= 1100)
    assert found.limit.limit == 16


def test_a_thread_that_is_killed_leaves_its_place(universe):
    runtime = universe.process('engine')
    limit = AdaptiveLimit(runtime, most=1, slow=2.0)
    passed = []

    def holds():
        with limit.room(1.0):
            runtime.sleep(5.0)

    def waits():
        with limit.room(60.0):
            passed.append(runtime.monotonic())
    runtime.spawn(holds)
    other = runtime.spawn(waits)
    runtime.spawn(waits)
    assert universe.run(lambda: runtime.monotonic() >= 1.0)
    other.kill()
    assert universe.run(lambda: bool(passed))
    assert len(passed) == 1 and limit.has_room()
