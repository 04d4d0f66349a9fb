"""One error ends the requests of many threads: none adds its frames to what the others raise and log."""

import traceback

import pytest

from heatlite.common import allowance, exception
from heatlite.db.connection import Database
from heatlite.engine.alarms.metric_writer import MetricWriter
from heatlite.engine.durability.group_commit import GroupCommit
from heatlite.monitoring.alarms import Datapoint, Metric
from heatlite.testing.runtime import Universe

THREADS = 20
POINT = Datapoint(Metric('n', 'm'), None, 'None', 1, 1, 1, 1)


@pytest.fixture
def database(tmp_path):
    """Without tables: it counts as one that cannot be reached."""
    made = Database(f'sqlite:///{tmp_path}/empty.sqlite')
    yield made
    made.close()


@pytest.fixture
def runtime():
    universe = Universe(1)
    yield universe.process('engine')
    universe.close()


def raised(runtime, request):
    """(error, frames of its traceback when it arrives) of each of many threads that make the request."""
    found = []

    def run():
        try:
            request()
        except exception.DatabaseUnavailable as error:
            found.append((error, len(traceback.extract_tb(error.__traceback__))))

    for _number in range(THREADS):
        runtime.spawn(run)
    assert runtime.universe.run(lambda: len(found) == THREADS)
    return found


def is_shared(found):
    """Whether the error is that of all, and each has only its own frames besides those of where it arose."""
    assert len({id(error) for error, _frames in found}) == 1
    frames = [frames for _error, frames in found]
    return max(frames) <= min(frames) + 3           # those of the thread that has met it, and of the others


def test_of_metric_data(runtime, database):
    writer = MetricWriter(runtime, database, 10)
    assert is_shared(raised(runtime, lambda: writer.put('p', [POINT])))


def test_of_a_group_commit(runtime, database):
    group = GroupCommit(runtime, database)

    def away(_tx):
        raise exception.DatabaseUnavailable(reason='gone')

    def request():
        runtime.sleep(0.1)
        group.commit(away)

    runtime.spawn(group.commit, lambda _tx: runtime.sleep(0.2))         # meanwhile all others wait for the next one
    assert is_shared(raised(runtime, request))


def test_of_a_template_that_cannot_be_fetched(runtime):
    found = []

    def fetch(_seconds):
        raise exception.DatabaseUnavailable(reason='gone')

    request = allowance.Allowance(runtime, 60.0)
    for _number in range(THREADS):
        with pytest.raises(exception.DatabaseUnavailable) as error:
            request.fetched('http://x', fetch, 1.0)
        found.append((error.value, len(traceback.extract_tb(error.value.__traceback__))))
    assert is_shared(found)
