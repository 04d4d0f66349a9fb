"""The statements of alarms, of their history and of the requests that follow from them."""

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from heatlite.common import crypt
from heatlite.db import alarms, leases, metrics, shards
from heatlite.db.alarms import Alarm, HistoryEntry, Webhook
from heatlite.db.leases import Lease
from heatlite.db.server_connections import CERTIFIES
from heatlite.db.tables import SEALED, alarm_webhook, lease
from heatlite.db.tables import alarm as table
from heatlite.monitoring.alarms import AlarmRule, Datapoint, Metric
from tests.db.rows import NOW, Clock, engine, later, leased, stack

CPU = Metric('system/linux', 'CPU', (('host', 'a'),))
RULE = AlarmRule(CPU, 'Average', 60, 1, 'GreaterThanThreshold', 50.0, alarm_actions=('https://hooks.example/secret',))
SECONDS = Clock.START


def alarm(name='a1', project='p1', **changed):
    return Alarm(**{
        'id': f'{project}-{name}', 'project_id': project, 'name': name, 'stack_id': None, 'resource_name': None,
        'rule': RULE, 'actions_enabled': True, 'state': 'NODATA', 'reason': 'new', 'reason_data': None,
        'state_at': NOW, 'updated_at': NOW, 'version': 1, 'evaluated': int(SECONDS), 'due_at': SECONDS + 70, **changed})


@pytest.fixture
def three(db):
    with db.writer() as tx:
        for each in (alarm('b_1', state='ALARM', stack_id='s1', resource_name='up'), alarm('a1'), alarm('b%2'),
                     alarm('a1', 'p2')):
            alarms.put(tx, each)
    return db


def test_an_alarm_is_read_as_it_was_stored(db):
    stored = alarm(reason_data={'x': [1.5]}, actions_enabled=False, reason='nul \0 \ud800')
    with db.writer() as tx:
        alarms.put(tx, stored)
    with db.reader() as tx:
        assert alarms.get(tx, 'p1', 'a1') == replace(stored, reason='nul \ufffd ?')
        assert alarms.get(tx, 'p2', 'a1') is alarms.get(tx, 'p1', 'A1') is alarms.get(tx, 'p1', 'a1 ') is None
    changed = replace(stored, rule=replace(RULE, period=300), version=2, reason='changed')
    with db.writer() as tx:
        alarms.put(tx, changed)
        assert alarms.get(tx, 'p1', 'a1') == changed
        assert alarms.count(tx, 'p1') == 1
        assert tx.execute(sa.select(table.c.period)).scalar() == 300


@pytest.mark.parametrize('asked, expected', [
    ({}, ['a1', 'b%2', 'b_1']), ({'prefix': 'b'}, ['b%2', 'b_1']), ({'prefix': 'b_'}, ['b_1']),
    ({'state': 'ALARM'}, ['b_1']), ({'marker': 'a1'}, ['b%2', 'b_1']), ({'limit': 1}, ['a1']),
    ({'prefix': 'B'}, [])])
def test_page(three, asked, expected):
    with three.reader() as tx:
        assert [each.name for each in alarms.page(tx, 'p1', **asked)] == expected


def test_lookups(three):
    with three.reader() as tx:
        assert [each.name for each in alarms.named(tx, 'p1', ['b_1', 'nobody', 'a1'])] == ['a1', 'b_1']
        assert len(alarms.for_metric(tx, 'p1', CPU)) == 3
        assert alarms.for_metric(tx, 'p1', CPU, statistic='Sum') == []
        assert alarms.for_metric(tx, 'p1', CPU, period=300) == alarms.for_metric(tx, 'p1', CPU, unit='Percent') == []
        assert len(alarms.for_metric(tx, 'p1', CPU, 'Average', 60)) == 3
        assert alarms.for_metric(tx, 'p1', Metric('system/linux', 'CPU')) == []
        assert alarms.count(tx, 'p1') == 3


def test_the_project_of_a_user_inside_a_stack(db):
    with db.writer() as tx:
        leased(tx, stack('s1', project_id='p1', user_project_id='inner'),
               stack('s2', project_id='p9', user_project_id='gone', deleted_at=later(1)))
        assert alarms.project_of(tx, 'inner') == 'p1'
        assert alarms.project_of(tx, 'p1') == 'p1'
        assert alarms.project_of(tx, 'gone') == 'gone'


def test_removal_takes_what_was_to_be_sent(three):
    with three.writer() as tx:
        found = alarms.get(tx, 'p1', 'a1')
        alarms.queue(tx, [webhook(found), webhook(alarms.get(tx, 'p2', 'a1'))], SECONDS, NOW)
        alarms.remove(tx, [found])
        assert alarms.get(tx, 'p1', 'a1') is None
        assert alarms.count(tx, 'p1') == 2
        assert tx.execute(sa.select(alarm_webhook.c.project_id)).scalars().all() == ['p2']


def test_secrets_are_sealed(make_database):
    from heatlite.db import sync
    database = make_database(seal=lambda text: crypt.seal(text, 'k' * 32))
    sync.up(database)
    with database.writer() as tx:
        alarms.put(tx, alarm())
        alarms.queue(tx, [webhook(alarm())], SECONDS, NOW)
        alarms.remember(tx, [entry(data={'url': 'https://hooks.example/secret'})])
        for sealed, columns in SEALED.items():
            for row in tx.execute(sa.select(*(sealed.c[name] for name in columns))):
                assert all(value is None or crypt.is_sealed(value) for value in row)


# --- history -----------------------------------------------------------------------------------------------

def entry(name='a1', kind='StateUpdate', at=0, project='p1', **changed):
    return HistoryEntry(**{'alarm_id': 'i', 'project_id': project, 'name': name, 'kind': kind,
                           'summary': f'{kind} {at}',
                           'data': None, 'created_at': later(at), **changed})


@pytest.mark.parametrize('asked, expected', [
    ({}, [3, 2, 1, 0]), ({'ascending': True}, [0, 1, 2, 3]), ({'name': 'a1'}, [3, 1, 0]), ({'kind': 'Action'}, [3]),
    ({'begin': later(1), 'end': later(2)}, [2, 1]), ({'limit': 1}, [3]), ({'name': 'A1'}, [])])
def test_history(db, asked, expected):
    with db.writer() as tx:
        alarms.remember(tx, [entry(), entry(at=1, data={'x': 1}), entry('a2', at=2), entry(kind='Action', at=3)])
        alarms.remember(tx, [entry(project='p2')])
    with db.reader() as tx:
        found = alarms.history(tx, 'p1', **asked)
        assert [(each.created_at - NOW) // timedelta(seconds=1) for each in found] == expected
        if found and 'limit' not in asked:
            assert alarms.history(tx, 'p1', marker=found[0].id, **asked) == found[1:]


def test_old_history_goes(db):
    with db.writer() as tx:
        alarms.remember(tx, [entry(at=at) for at in range(5)])
        assert alarms.purge_history(tx, later(3), 2) == 2
        assert alarms.purge_history(tx, later(3), 2) == 1
        assert alarms.purge_history(tx, later(3), 2) == 0
        assert len(alarms.history(tx, 'p1')) == 2


def test_the_history_of_one_alarm_is_trimmed(db):
    with db.writer() as tx:
        alarms.remember(tx, [entry(at=at) for at in range(6)])
        alarms.remember(tx, [entry('a2', at=9), entry('a1 ', at=1), entry(project='p2')])
        assert alarms.trim_history(tx, 'p1', 'a1', 6, 2) == 0
        assert alarms.trim_history(tx, 'p1', 'a1', 3, 2) == 2
        assert alarms.trim_history(tx, 'p1', 'a1', 3, 2) == 1
        assert alarms.trim_history(tx, 'p1', 'a1', 3, 2) == 0
        assert [each.created_at for each in alarms.history(tx, 'p1', 'a1')] == [later(5), later(4), later(3)]
        for each in (('p1', 'a2'), ('p1', 'a1 '), ('p2',)):
            assert len(alarms.history(tx, *each)) == 1


# --- evaluation --------------------------------------------------------------------------------------------

def test_what_is_due(three):
    shard = shards.of_project('p1')
    with three.writer() as tx:
        assert alarms.next_due(tx, shard) == SECONDS + 70
        assert alarms.next_due(tx, (shard + 1) % 16 if shards.of_project('p2') != (shard + 1) % 16 else shard) in (
            None, SECONDS + 70)
        assert alarms.due(tx, shard, SECONDS + 69, 10) == []
        ids = metrics.store(tx, 'p1', [Datapoint(CPU, None, 'Percent', 1.0, 1.0, 1.0, 1.0)], SECONDS)
        found = [(each.name, number) for each, number in alarms.due(tx, shard, SECONDS + 70, 10)
                 if each.project_id == 'p1']
        assert sorted(found) == [(name, ids[CPU.digest].id) for name in ('a1', 'b%2', 'b_1')]
        assert len(alarms.due(tx, shard, SECONDS + 70, 2)) == 2


def test_an_alarm_without_data_has_no_metric(db):
    with db.writer() as tx:
        alarms.put(tx, alarm())
        assert alarms.due(tx, shards.of_project('p1'), SECONDS + 70, 1) == [(alarm(), None)]


def test_an_evaluation_is_stored_once(three):
    with three.writer() as tx:
        found = alarms.named(tx, 'p1', ['a1', 'b_1'])
        assert alarms.advance(tx, found, int(SECONDS) + 60, SECONDS + 130) == 2
        assert alarms.advance(tx, found, int(SECONDS) + 60, SECONDS + 130) == 0
        assert [(each.evaluated, each.due_at) for each in alarms.named(tx, 'p1', ['a1', 'b_1'])] == [
            (int(SECONDS) + 60, SECONDS + 130)] * 2
        old = alarms.get(tx, 'p1', 'b%2')
        new = replace(old, state='ALARM', reason='because', reason_data={'a': 1}, evaluated=int(SECONDS) + 60,
                      state_at=later(9), due_at=SECONDS + 130)
        assert not alarms.change_state(tx, new, replace(old, version=0))
        assert alarms.change_state(tx, new, old)
        assert not alarms.change_state(tx, new, old)
        assert alarms.get(tx, 'p1', 'b%2') == new


def test_alarms_that_are_due_too_late(db):
    shard = shards.of_project('p1')
    with db.writer() as tx:
        for name, due_at in (('soon', SECONDS + 350), ('late', SECONDS + 400), ('never', alarms.NEVER)):
            alarms.put(tx, alarm(name, due_at=due_at, state='SUSPENDED' if name == 'never' else 'NORMAL'))
        tx.exec_driver_sql("UPDATE alarm SET rule = '{'")       # need not be readable for that
        assert alarms.ahead(tx, shard, SECONDS, 300, 10) == [alarms.Ahead('p1-late', int(SECONDS), RULE.period)]


# --- requests ----------------------------------------------------------------------------------------------

def webhook(of, **changed):
    return Webhook(**{'id': 0, 'alarm_id': of.id, 'project_id': of.project_id, 'name': of.name,
                      'url': 'https://hooks.example/secret', 'body': {'AlarmName': of.name}, 'attempts': 0, **changed})


def test_requests_wait_until_they_are_sent(db):
    shard = shards.of_project('p1')
    with db.writer() as tx:
        alarms.queue(tx, [webhook(alarm()), webhook(alarm('a2'))], SECONDS, NOW)
        assert alarms.next_due(tx, shard) == SECONDS
        assert alarms.requests_by_project(tx, shard) == {'p1': 2}
        assert alarms.waiting(tx, shard, SECONDS - 1, 9) == []
        assert alarms.waiting(tx, shard, SECONDS, 9, ['p1', 'p2']) == []
        first, second = alarms.waiting(tx, shard, SECONDS, 9, ['p2'])
        assert (first.name, first.url, first.body) == ('a1', 'https://hooks.example/secret', {'AlarmName': 'a1'})
        assert alarms.postpone(tx, first, SECONDS + 5)
        assert alarms.waiting(tx, shard, SECONDS, 9) == [second]
        assert alarms.sent(tx, second)
        assert not alarms.sent(tx, second)
        assert alarms.waiting(tx, shard, SECONDS + 5, 9) == [replace(first, attempts=1)]


# --- leases of shards --------------------------------------------------------------------------------------

def test_shards():
    assert {shards.of_project(f'p{number}') for number in range(1000)} == set(range(shards.COUNT))
    assert shards.number(shards.lease_id(7)) == 7
    assert shards.number(shards.METRICS) is None
    assert shards.is_shard(shards.lease_id(15))
    assert shards.is_shard(shards.METRICS)
    assert not shards.is_shard('0a7c5c9e-5a5e-4a8e-9f0b-1a4b8f0d7c11')
    assert len({shards.lease_id(number) for number in range(shards.COUNT)}) == shards.COUNT


def test_a_change_of_an_alarm_makes_its_shard_wanted(db):
    name = shards.lease_id(shards.of_project('p1'))
    with db.writer() as tx:
        engine(tx)
        alarms.lock(tx, 'p1')
        assert leases.claim_expired(tx, 'e1', 9) == [Lease(name, 'e1', 2)]
        assert leases.release(tx, name, 'e1', 2)
        assert leases.claim_expired(tx, 'e1', 9) == []
        alarms.lock(tx, 'p1')
        assert leases.claim_expired(tx, 'e1', 9) == [Lease(name, 'e1', 3)]
        alarms.lock(tx, 'p1')                                           # it has an owner, who stays
        assert leases.claim_expired(tx, 'e1', 9) == []
        assert leases.held(tx, 'e1') == [Lease(name, 'e1', 3)]


def test_an_old_lease_is_refused(db):
    name = shards.lease_id(3)
    with db.writer() as tx:
        shards.want(tx, name)
        assert not shards.lock_exclusive(tx, Lease(name, 'e1', 1))
        tx.execute(lease.update().values(engine_id='e1', epoch=4))
        writes = tx.execute(sa.select(lease.c.writes)).scalar()
        assert shards.lock_exclusive(tx, Lease(name, 'e1', 4))
        assert not shards.lock_exclusive(tx, Lease(name, 'e1', 3))
        assert not shards.lock_exclusive(tx, Lease(name, 'e2', 4))
        assert not shards.lock_exclusive(tx, Lease(shards.lease_id(4), 'e1', 1))
        assert tx.execute(sa.select(lease.c.writes)).scalar() == writes + bool(tx.info.get(CERTIFIES))
        tx.info[CERTIFIES] = True
        assert shards.lock_exclusive(tx, Lease(name, 'e1', 4))
        assert tx.execute(sa.select(lease.c.writes)).scalar() > writes
