"""Snapshots, credentials and signals."""

from dataclasses import replace

import pytest

from heatlite.common import exception
from heatlite.db import credentials, leases, signals, snapshots, stack_trees, stacks
from heatlite.db.credentials import Credentials
from heatlite.db.snapshots import Snapshot
from tests.db.rows import NOW, engine, later, leased, nested, stack

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
        assert snapshots.is_complete(tx, 'n1') and not snapshots.is_complete(tx, 'n0')
        assert snapshots.set_state(tx, 'n1', status='IN_PROGRESS', reason=None, action='DELETE')
        assert not snapshots.is_complete(tx, 'n1') and not snapshots.is_complete(tx, 'nothing')
        assert not snapshots.set_state(tx, 'nothing', status='COMPLETE', reason=None)
        with counted(tx) as statements:
            first, second = snapshots.page(tx, 's1', 'p1')
        assert len(statements) == 1
        assert (first.id, first.action, first.status, first.data) == ('n1', 'DELETE', 'IN_PROGRESS', None)
        assert snapshots.show(tx, 'n1') == replace(first, data={'resources': {'a': {}}})
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
        credentials.delete_retired(tx, [credentials.get(tx, 'c1')])
        assert credentials.get(tx, 'c1') is None
    assert 'token' not in repr(CREDENTIALS)


def test_a_tree_has_the_credentials_of_its_root(db):
    other = replace(CREDENTIALS, id='c2', user_id='other', trust_id='second')
    with db.writer() as tx:
        credentials.insert(tx, CREDENTIALS)
        stacks.insert(tx, stack('s1', credentials_id='c1'))
        stacks.insert(tx, stack('s2', credentials_id='c0', owner_id='s1', root_id='s1', depth=1))
        assert credentials.of_tree(tx, 's1') == CREDENTIALS and credentials.of_tree(tx, 's2') is None
        assert credentials.replace(tx, 'c1', other, later(5)) == 'c1'
        assert credentials.of_tree(tx, 's1') == replace(other, id='c1', created_at=later(5))
        waiting, = credentials.replaced(tx, 'c1')
        assert waiting == replace(CREDENTIALS, id=waiting.id, token=None)
        for number in range(1, credentials.MOST_REPLACED):
            credentials.replace(tx, 'c1', replace(other, trust_id=f'trust-{number}'), NOW)
        with pytest.raises(exception.Conflict):
            credentials.replace(tx, 'c1', other, NOW)
        assert len(credentials.all_of_tree(tx, 's1', 'c1')) == 1 + credentials.MOST_REPLACED
        credentials.insert(tx, replace(CREDENTIALS, id='c0'))
        assert len(credentials.all_of_tree(tx, 's1', 'c1')) == 2 + credentials.MOST_REPLACED
        credentials.delete_retired(tx, [waiting, replace(CREDENTIALS, id='c0', trust_id='newer')])
        assert not any(each.id == waiting.id for each in credentials.replaced(tx, 'c1'))
        assert credentials.get(tx, 'c0') is not None


def test_a_tree_is_busy_with_what_began_before(db):
    root = stack('s1', status='COMPLETE', started_at=later(5))
    inner = nested('s2', root, 'r', status='COMPLETE')
    with db.writer() as tx:
        engine(tx)
        leased(tx, root, inner)
        assert stack_trees.is_busy(tx, 's1', later(1)) and not stack_trees.is_busy(tx, 's1', NOW)
        assert leases.release(tx, 's2', 'e1', 1)
        assert not stack_trees.is_busy(tx, 's1', later(1))
        signals.insert(tx, 's2', 'r1', None, NOW)
        assert stack_trees.is_busy(tx, 's1', NOW)
        signals.clear(tx, 's2')
        assert not stack_trees.is_busy(tx, 's1', NOW)
        stacks.insert(tx, nested('s3', root, 'other'))
        assert stack_trees.is_busy(tx, 's1', NOW)


def test_credentials_without_a_trust_are_replaced_for_good(db):
    with db.writer() as tx:
        credentials.insert(tx, replace(CREDENTIALS, trust_id=None))
        assert credentials.replace(tx, None, replace(CREDENTIALS, id='c2'), NOW) == 'c2'
        assert credentials.replace(tx, 'c1', replace(CREDENTIALS, id='c3'), NOW) == 'c1'
        assert not credentials.replaced(tx, 'c1') and credentials.get(tx, 'c3') is None
        assert credentials.get(tx, 'c1') == CREDENTIALS


def test_signals_wait_in_their_order(db):
    with db.writer() as tx:
        first = signals.insert(tx, 's1', 'r1', {'a': [1]}, NOW)
        second = signals.insert(tx, 's1', 'r0', None, NOW)
        signals.insert(tx, 's2', 'r1', 'text', NOW)
    with db.writer() as tx:
        found = signals.pending(tx, 's1')
        assert [(each.id, each.resource_name, each.details, each.created_at) for each in found] == [
            (first, 'r1', {'a': [1]}, NOW), (second, 'r0', None, NOW)]
        assert [each.id for each in signals.pending(tx, 's1', {first})] == [second]
        assert signals.pending(tx, 's1', {first, second}) == []
        assert signals.numbers(tx, 's1') == [first, second]
        signals.clear(tx, 's1')
        assert signals.pending(tx, 's1') == []
        assert len(signals.pending(tx, 's2')) == 1


def test_a_signal_wakes_a_stack_that_nobody_drives(db):
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'), stack('s2'), by='e1')
        leases.release(tx, 's1', 'e1', 1)
        signals.insert(tx, 's1', 'r1', None, NOW)
        signals.insert(tx, 's2', 'r1', None, NOW)
        leases.release(tx, 's2', 'e1', 1)                   # the signal came while it was finished
        assert {lease.stack_id for lease in leases.claim_expired(tx, 'e1', 9)} == {'s1', 's2'}
