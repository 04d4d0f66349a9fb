"""What the writer of metrics remembers, and for how long."""

from heatlite.db.metrics import COARSE, FINE, MetricPlace
from heatlite.engine.alarms import metric_writer
from heatlite.engine.alarms.metric_writer import MetricPlaces
from heatlite.testing.runtime import Universe


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
