"""What the writer of metrics remembers, and for how long; whose metric data waits, and in which order it is stored."""

import pytest

from heatlite.common import exception
from heatlite.db import sync
from heatlite.db.connection import Database
from heatlite.db.metrics import COARSE, FINE, MetricPlace
from heatlite.engine.alarms import metric_writer
from heatlite.engine.alarms.metric_writer import MetricPlaces, MetricWriter
from heatlite.monitoring.alarms import Datapoint, Metric
from heatlite.testing.runtime import Universe

POINTS = [Datapoint(Metric('n', 'm'), None, 'None', 1, 1, 1, 1)] * 10         # of one request


def places():
    universe = Universe(0)
    return universe, MetricPlaces(universe.process('engine'))


def test_a_place_is_remembered():
    _universe, found = places()
    found.put('p1', 'd1', MetricPlace(7, COARSE))
    found.put('p1', 'd2', MetricPlace(8, FINE))
    assert found.get('p1', 'd1') == MetricPlace(7, COARSE)
    assert found.get('p1', 'd2') == MetricPlace(8, FINE)
    assert found.get('p2', 'd1') is None
    found.remove('p1', 'd1')
    assert found.get('p1', 'd1') is None


def test_it_is_forgotten_after_a_while_however_often_it_is_asked_for():
    universe, found = places()
    found.put('p1', 'd1', MetricPlace(7, COARSE))
    seconds = 0.0
    while found.get('p1', 'd1') is not None:
        universe.time += 10.0
        seconds += 10.0
        found.rotate()
    assert metric_writer.REMEMBERED_SECONDS / 2 < seconds <= metric_writer.REMEMBERED_SECONDS + 20.0


def test_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(metric_writer, 'REMEMBERED', 10)
    _universe, found = places()
    for number in range(1, 101):
        found.put('p1', f'd{number}', MetricPlace(number, COARSE))
    left = [number for number in range(1, 101) if found.get('p1', f'd{number}') is not None]
    assert 5 <= len(left) <= 10
    assert left[-1] == 100


@pytest.fixture
def database(tmp_path):
    made = Database(f'sqlite:///{tmp_path}/db.sqlite')
    sync.up(made)
    yield made
    made.close()


def stored(database, before, last):
    """(projects, in the order in which their requests are stored; projects of those that are refused). The request of
    `last` comes after those of `before`, and all come before the first ones are stored."""
    universe = Universe(0)
    runtime = universe.process('engine')
    writer = MetricWriter(runtime, database, 100)
    found, refused, begun, comes_last = [], [], [], runtime.flag()

    def put(project_id):
        begun.append(project_id)
        if len(begun) == len(before):
            comes_last.set()
        try:
            writer.put(project_id, POINTS)
            found.append(project_id)
        except exception.RequestLimitExceeded:
            refused.append(project_id)

    def put_last():
        comes_last.wait()
        put(last)

    runtime.spawn(put_last)
    for project_id in before:
        runtime.spawn(put, project_id)
    assert universe.run(lambda: len(found) + len(refused) == len(before) + 1)
    universe.close()
    return found, refused


def test_projects_take_turns(database):
    at_once = metric_writer.MOST_AT_ONCE // len(POINTS)
    found, refused = stored(database, ['many'] * at_once * 3, 'one')
    assert len(found) == 3 * at_once + 1 and not refused
    assert 'one' in found[:at_once]                     # of the first transaction


def test_projects_with_much_data_leave_room_for_another_one(database, monkeypatch):
    monkeypatch.setattr(metric_writer, 'MOST_WAITING', 100 * len(POINTS))
    found, refused = stored(database, ['a', 'b', 'c'] * 100, 'one')
    assert 'one' in found and set(refused) == {'a', 'b', 'c'} and len(found) <= 100
    assert all(found.count(each) > 10 for each in 'abc')


def test_the_room_of_a_project_is_free_again_once_its_data_is_stored(database, monkeypatch):
    monkeypatch.setattr(metric_writer, 'MOST_WAITING', 2 * len(POINTS))
    runtime = Universe(0).process('engine')
    writer, done = MetricWriter(runtime, database, 100), []

    def one_after_the_other():
        for _number in range(5):
            writer.put('a', POINTS)
        done.append(True)

    runtime.spawn(one_after_the_other)
    assert runtime.universe.run(lambda: bool(done))
    runtime.universe.close()
