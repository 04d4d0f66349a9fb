"""Snapshots, credentials and signals."""

from dataclasses import replace

from heatlite.db import credentials, leases, signals, snapshots, stacks
from heatlite.db.credentials import Credentials
from heatlite.db.snapshots import Snapshot
from tests.db.rows import NOW, engine, later, leased, stack

SNAPSHOT = Snapshot('n1', 's1', 'p1', None, 'CREATE', 'IN_PROGRESS', None, {'resources': {}}, NOW)
CREDENTIALS = Credentials('c1', 'p1', 'project', 'u1', 'ann', 'http://identity', 'R1', 'encrypted', 'u1', None,
                          'token', 'method', NOW)


def test_snapshots(db, counted):
    with db.writer() as tx:
        snapshots.insert(tx, SNAPSHOT)
        snapshots.insert(tx, replace(SNAPSHOT, id='n0', name='second', created_at=later(1)))
        snapshots.insert(tx, replace(SNAPSHOT, id='n2', stack_id='s2'))
        assert snapshots.show(tx, 'n1') == SNAPSHOT
        assert snapshots.show(tx, 'nothing') is None
        assert snapshots.set_state(tx, 'n1', status='COMPLETE', reason='done', data={'resources': {'a': {}}})
        assert snapshots.set_state(tx, 'n1', status='IN_PROGRESS', reason=None, action='DELETE')
        assert not snapshots.set_state(tx, 'nothing', status='COMPLETE', reason=None)
        with counted(tx) as statements:
            first, second = snapshots.page(tx, 's1', 'p1')
        assert len(statements) == 1
        assert (first.id, first.action, first.status, first.data) == (
            'n1', 'DELETE', 'IN_PROGRESS', {'resources': {'a': {}}})
        assert second.name == 'second'
        assert snapshots.page(tx, 's1', 'p2') == []
        assert snapshots.count(tx, 's1') == 2
        assert snapshots.delete(tx, 'n0')
        assert not snapshots.delete(tx, 'n0')
        assert snapshots.delete_all(tx, 's1') == 1
        assert [each.id for each in snapshots.page(tx, 's2')] == ['n2']


def test_credentials(db):
    with db.writer() as tx:
        credentials.insert(tx, CREDENTIALS)
        assert credentials.get(tx, 'c1') == CREDENTIALS
        credentials.forget_token(tx, 'c1', 'ended')
        assert credentials.get(tx, 'c1') == replace(CREDENTIALS, token=None)
        assert credentials.update(tx, 'c1', trust_id='other')
        assert credentials.get(tx, 'c1').trust_id == 'other'
        for stack_id in ('s1', 's2'):
            stacks.insert(tx, stack(stack_id, credentials_id='c1'))
        assert credentials.is_shared(tx, 'c1', 's1')
        stacks.delete_soft(tx, 's2', later(1))
        assert not credentials.is_shared(tx, 'c1', 's1')
        assert credentials.delete(tx, 'c1')
        assert credentials.get(tx, 'c1') is None
    assert 'token' not in repr(CREDENTIALS)


def test_signals_wait_in_their_order(db):
    with db.writer() as tx:
        first = signals.insert(tx, 's1', 'r1', {'a': [1]}, NOW)
        second = signals.insert(tx, 's1', 'r0', None, NOW)
        signals.insert(tx, 's2', 'r1', 'text', NOW)
    with db.writer() as tx:
        found = signals.pending(tx, 's1')
        assert [(each.id, each.resource_name, each.details, each.created_at) for each in found] == [
            (first, 'r1', {'a': [1]}, NOW), (second, 'r0', None, NOW)]
        assert signals.remove(tx, [first, second]) == 2
        assert signals.pending(tx, 's1') == []
        assert len(signals.pending(tx, 's2')) == 1
        assert signals.remove(tx, []) == 0


def test_a_signal_wakes_a_stack_that_nobody_drives(db):
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'), stack('s2'), by='e1')
        leases.release(tx, 's1', 'e1', 1)
        signals.insert(tx, 's1', 'r1', None, NOW)
        signals.insert(tx, 's2', 'r1', None, NOW)
        leases.release(tx, 's2', 'e1', 1)                   # the signal came while it was finished
        assert {lease.stack_id for lease in leases.claim_expired(tx, 'e1', 9)} == {'s1', 's2'}
