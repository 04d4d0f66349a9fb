import pytest

from heatlite.db import changes, engines, leases, load, shards, signals
from heatlite.planning.states import Action, Status
from heatlite.planning.waiting import Wait
from tests.db.rows import NOW, change, engine, later, leased, nested, stack, state


@pytest.fixture
def two(db):
    """Two engines; e1 drives a and b, which is inside a, e2 drives d, c waits for an engine, and f has no work."""
    with db.writer() as tx:
        engine(tx, 'e1')
        engine(tx, 'e2', host='h2')
        above = stack('a')
        leased(tx, above, nested('b', above, 'inner'))
        leased(tx, stack('c', started_at=later(-60)), by=None)
        leased(tx, stack('d', action='UPDATE'), by='e2')
        leased(tx, stack('f', status='COMPLETE'))
        leases.release(tx, 'f', 'e1', 1)
        shards.want(tx, shards.lease_id(3))
    return db


def read(db):
    with db.reader() as tx:
        return load.read(tx)


def test_work_by_engine_and_by_action(two):
    found = read(two)
    assert found.driven == {'e1': 2, 'e2': 1}
    assert (found.free, found.silent, found.struck, found.signals, found.oldest_signal) == (1, 0, 0, 0, None)
    assert found.running == [load.RunningActions('CREATE', 2, later(-60)), load.RunningActions('UPDATE', 1, NOW)]


def test_stacks_of_silent_engines_are_to_be_taken_over(two, clock):
    clock.seconds += 4.0
    with two.writer() as tx:
        engines.renew(tx, 'e2', 5.0, NOW)
    clock.seconds += 2.0
    assert read(two).silent == 2
    with two.writer() as tx:
        leases.strike(tx, 'a')
        leases.claim_expired(tx, 'e2', 10)
    found = read(two)
    assert found.driven == {'e2': 4}
    assert (found.free, found.silent, found.struck) == (0, 0, 1)


def test_signals_wait(two):
    with two.writer() as tx:
        for seconds in (5, 9):
            signals.insert(tx, 'a', 'r1', {}, later(seconds))
    found = read(two)
    assert (found.signals, found.oldest_signal) == (2, later(5))


def test_services_that_take_long(two):
    def waits(number, service, status, row_at=NOW, at=NOW, of=Status.IN_PROGRESS):
        answer = None if service is None else {'service': service, 'status': status, 'said': 'BUILD'}
        return state(number, status=of, created_at=at)._replace(
            action=Action.CREATE), Wait('check_create_complete', 1.0, later(20), row_at, answer)

    rows = [waits(1, 'compute', 200), waits(2, 'compute', 503, later(-30), later(-30)), waits(3, 'network', None),
            waits(4, None, None), waits(5, 'image', 200, later(-90)), waits(6, 'image', 200, of=Status.COMPLETE)]
    with two.writer() as tx:
        changes.write(tx, [change('a', row=row, columns={'waits': wait.to_json()}) for row, wait in rows])
    assert read(two).waits == [load.Waits('compute', 2, 1, later(-30)), load.Waits('network', 1, 1, NOW)]
