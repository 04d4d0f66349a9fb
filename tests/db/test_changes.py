import threading

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from heatlite.common import crypt
from heatlite.db import (
    changes,
    codec,
    events,
    leases,
    resource_data,
    resources,
    settled_stacks,
    signals,
    sqlite_connections,
    stacks,
)
from heatlite.db.changes import Written
from heatlite.db.connection import Database, certifies
from heatlite.db.errors import Contention
from heatlite.db.tables import stack as table
from heatlite.planning.states import NO_HANDLE, Action, Datum, StackChange, Status
from tests.db.rows import NOW, Wanted, change, engine, event, finished, later, leased, stack, state

FINE = Written()


@pytest.fixture
def two(db):
    """Two engines; s1 and s2 belong to e1, epoch 1."""
    with db.writer() as tx:
        engine(tx, 'e1')
        engine(tx, 'e2', host='h2')
        leased(tx, stack('s1'), stack('s2'))
    return db


def write(db, *batch, **options):
    with db.writer() as tx:
        return changes.write(tx, batch, **options)


def told(db, *stack_ids):
    """Events, oldest first."""
    with db.reader() as tx:
        return [each.uuid for each in events.page(tx, stack_ids or ('s1',), Wanted(sort_dir='asc'))]


def stored(db, stack_id='s1'):
    with db.reader() as tx:
        return resources.light(tx, stack_id)


def test_a_row_is_inserted_then_overwritten(two):
    first = state(1, action=Action.CREATE, status=Status.IN_PROGRESS, requires={'a': 3}, template_id='t1',
                  reason='ünder way 🎈')
    assert write(two, change(row=first, events=(event('v1'),))) == FINE
    assert stored(two) == [first]
    second = state(1, action=Action.CREATE, status=Status.COMPLETE, physical_id='x', handle=None, replaces=7,
                   replaced_by=8, fingerprint='f', updated_at=later(1), reason='a\0b')
    assert write(two, change(row=second, events=(event('v2'),))) == FINE
    (row,) = stored(two)
    assert (row.status, row.physical_id, row.handle, row.reason) == (Status.COMPLETE, 'x', None, 'a\ufffdb')
    assert (row.replaces, row.replaced_by, row.fingerprint, row.requires, row.updated_at) == (7, 8, 'f', {}, later(1))
    assert told(two) == ['v1', 'v2']


def test_handles(two):
    handles = [NO_HANDLE, None, False, 'id', {'server': ['a', 1]}]
    write(two, *(change(row=state(number, handle=handle)) for number, handle in enumerate(handles)))
    assert [row.handle for row in stored(two)] == handles
    assert stored(two)[0].handle is NO_HANDLE


def test_the_last_change_of_a_row_counts_and_every_event_is_kept(two):
    assert write(two, *(change(row=state(1, status=status, action=Action.CREATE), columns=columns,
                               events=(event(uuid),))
                        for uuid, status, columns in [
                            ('v1', Status.IN_PROGRESS, {'properties': {'a': 1}}),
                            ('v2', Status.IN_PROGRESS, {'attributes': {'b': 2}}),
                            ('v3', Status.COMPLETE, {'properties': {'a': 3}})])) == FINE
    assert [row.status for row in stored(two)] == [Status.COMPLETE]
    assert told(two) == ['v1', 'v2', 'v3']
    with two.reader() as tx:
        assert resources.columns(tx, 's1', [1], ('properties', 'attributes', 'metadata')) == {
            1: {'properties': {'a': 3}, 'attributes': {'b': 2}, 'metadata': None}}


def test_columns_that_are_not_given_stay(two):
    write(two, change(row=state(1), columns={'properties': {'a': 1}, 'metadata': {'m': 1}, 'definition': {'d': 1}}))
    write(two, change(row=state(1), columns={'properties': None}), change(row=state(2), columns={'metadata': {}}))
    with two.reader() as tx:
        assert resources.columns(tx, 's1', None, ('properties', 'metadata', 'definition')) == {
            1: {'properties': None, 'metadata': {'m': 1}, 'definition': {'d': 1}},
            2: {'properties': None, 'metadata': {}, 'definition': None}}


def test_metadata_written_here_spoils_a_swap(two):
    write(two, change(row=state(1), columns={'metadata': {'n': 1}}))
    with two.writer() as tx:
        value, version = resources.metadata(tx, 's1', 1)
        assert value == {'n': 1}
    write(two, change(row=state(1), columns={'metadata': {'n': 2}}))
    with two.writer() as tx:
        assert not resources.set_metadata(tx, 's1', 1, {'n': 3}, version)
        value, version = resources.metadata(tx, 's1', 1)
        assert resources.set_metadata(tx, 's1', 1, {**value, 'o': 4}, version)
        assert resources.metadata(tx, 's1', 1)[0] == {'n': 2, 'o': 4}


def test_data(two):
    cfg.CONF.register_opts([cfg.StrOpt('auth_encryption_key')]) if 'auth_encryption_key' not in cfg.CONF else None
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    try:
        write(two, change(row=state(1), data=(Datum('a', '1'), Datum('secret', 'hush', redact=True), Datum('c', '3'))))
        write(two, change(row=state(1), data=(Datum('a', '2'), Datum('c', None))),
              change(row=state(1), data=(Datum('d', '4'),)), change(row=state(1), data=(Datum('d', None),)))
        with two.reader() as tx:
            plain, hidden = resource_data.data(tx, 's1', 1)
            assert resource_data.names_with_datum(tx, 's1', 'secret', 'hush') == {'r1'}
            assert resource_data.names_with_datum(tx, 's1', 'secret', 'loud') == set()
        assert (plain.key, plain.value, plain.redact) == ('a', '2', False)
        assert hidden.redact
        assert 'hush' not in hidden.value
        assert hidden.clear() == crypt.decrypt(hidden.method, hidden.value) == 'hush'
    finally:
        cfg.CONF.clear_override('auth_encryption_key')


def test_removal(two):
    write(two, *(change(row=state(number), data=(Datum('k', 'v'),)) for number in (1, 2, 3)))
    write(two, change(row=state(2, reason='going')), change(remove=2, events=(event('gone', 2),)),
          change(remove=3), change('s2', row=state(2)))
    assert [row.id for row in stored(two)] == [1]
    assert [row.id for row in stored(two, 's2')] == [2]
    assert told(two) == ['gone']
    with two.reader() as tx:
        assert [bool(resource_data.data(tx, 's1', number)) for number in (1, 2, 3)] == [True, False, False]


# --- the fence ---------------------------------------------------------------------------------------------

def test_an_old_owner_writes_nothing(two, clock):
    clock.seconds += 6
    with two.writer() as tx:
        assert leases.claim(tx, 's1', 'e2').epoch == 2
    written = write(two, change('s1', row=state(1), events=(event('v1'),), stack=finished()),
                    change('s2', row=state(1), events=(event('v2'),)))
    assert written.lost == {'s1'}
    assert written.superseded == ()
    assert stored(two) == []
    assert [row.id for row in stored(two, 's2')] == [1]
    assert told(two, 's1', 's2') == ['v2']
    with two.reader() as tx:
        assert stacks.get(tx, 's1').status == 'IN_PROGRESS'
        assert leases.owner(tx, 's1') is None
    assert write(two, change('s1', epoch=2, row=state(1))) == FINE


def test_an_expired_lease_that_nobody_took_is_still_good(two, clock):
    clock.seconds += 60
    assert write(two, change(row=state(1))) == FINE


def test_a_lease_that_was_given_back_is_not(two):
    with two.writer() as tx:
        leases.hand_over(tx, 'e1')
    assert write(two, change(row=state(1)), change('nobody', row=state(1))).lost == {'s1', 'nobody'}
    assert stored(two) == stored(two, 'nobody') == []


def test_old_and_new_changes_of_one_stack_in_one_batch(two):
    with two.writer() as tx:
        leases.release(tx, 's1', 'e1', 1)
        assert leases.claim(tx, 's1', 'e1').epoch == 2
    old, new = change(epoch=1, row=state(1)), change(epoch=2, row=state(2))
    written = write(two, old, new)
    assert (written.is_refused(old), written.is_refused(new)) == (True, False)
    assert [row.id for row in stored(two)] == [2]


def test_a_writer_and_a_new_owner_never_overlap(two, clock):
    """Whatever e1 wrote before e2 had the lease is seen by e2, and nothing is written afterwards."""
    clock.seconds += 6
    seen, counts, start = [], [], threading.Barrier(2)

    def old_owner():
        start.wait()
        for number in range(1, 1000):
            written = two.retry(lambda tx, number=number: changes.write(tx, [change(row=state(number))]))
            if written.lost:
                return
            counts.append(number)

    def new_owner():
        start.wait()
        while len(counts) < 3:
            pass
        assert two.retry(lambda tx: leases.claim(tx, 's1', 'e2')).epoch == 2
        with two.reader() as tx:
            seen.append(len(resources.light(tx, 's1')))

    threads = [threading.Thread(target=each) for each in (old_owner, new_owner)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [len(counts)] == [len(stored(two))]


def test_nobody_takes_a_stack_over_while_its_owner_writes(two, kind, clock, monkeypatch):
    if kind == 'galera':
        pytest.skip('locks are those of one node; test_galera.py has what holds between nodes')
    monkeypatch.setattr(sqlite_connections, 'LOCK_TIMEOUT', 0.01)
    clock.seconds += 6
    other = Database(two.url.render_as_string(hide_password=False), now=clock)
    with two.writer() as tx:
        assert changes.write(tx, [change(row=state(1), stack=finished())]) == FINE
        for taking in (lambda tx: leases.claim(tx, 's1', 'e2'),
                       lambda tx: stacks.accept(tx, 's1', action='UPDATE', reason='', now=NOW)):
            with pytest.raises(Contention), other.writer() as late:
                late.exec_driver_sql({'mysql': 'SET innodb_lock_wait_timeout = 1', 'sqlite': 'SELECT 1',
                                      'postgresql': "SET LOCAL lock_timeout = '100ms'"}[two.dialect])
                taking(late)
        if two.dialect != 'sqlite':                                     # which has but one lock
            with other.writer() as sweeping:                            # a sweep does not wait, it skips
                assert [lease.stack_id for lease in leases.claim_expired(sweeping, 'e2', 9)] == ['s2']
    other.close()


# --- the stack's own row -----------------------------------------------------------------------------------

def own(uuid, **changed):
    return event(uuid, None, **changed)


def test_a_stack_is_finished_and_given_back(two):
    written = write(two, change(stack=finished(outputs='[{"output_key": "k"}]', release=True), events=(own('done'),)))
    assert written == FINE
    with two.writer() as tx:
        row = stacks.get(tx, 's1')
        assert (row.action, row.status, row.reason, row.outputs) == ('CREATE', 'COMPLETE', 'done',
                                                                     [{'output_key': 'k'}])
        assert leases.owner(tx, 's1') is None
        assert leases.claim_expired(tx, 'e2', 9) == []                  # nobody is wanted
    assert told(two) == ['done']


def test_a_signal_that_waits_keeps_a_stack_wanted(two):
    with two.writer() as tx:
        signals.insert(tx, 's1', 'r1', {'a': 1}, NOW)
    write(two, change('s1', stack=finished(release=True)), change('s2', stack=finished(release=True)))
    with two.writer() as tx:
        assert [lease.stack_id for lease in leases.claim_expired(tx, 'e2', 9)] == ['s1']


def test_a_repeated_write_removes_no_later_signal(two):
    """An engine that cannot know whether its write was committed repeats it."""
    with two.writer() as tx:
        first = signals.insert(tx, 's1', 'r1', {'a': 1}, NOW)
    handled = change('s1', signals=(first,))
    write(two, handled)
    with two.writer() as tx:
        second = signals.insert(tx, 's1', 'r1', {'a': 2}, NOW)
    write(two, handled)
    with two.reader() as tx:
        assert [each.id for each in signals.pending(tx, 's1')] == [second]


def test_a_handled_signal_unsettles_its_stack(two):
    settled = StackChange(1, settled=settled_stacks.settling(1, 0, 'digest'))
    write(two, change('s1', stack=settled), change('s2', stack=settled))
    with two.writer() as tx:
        number = signals.insert(tx, 's1', 'r1', {'a': 1}, NOW)
    write(two, change('s1', signals=(number,)))
    with two.reader() as tx:
        found = dict(tx.execute(sa.select(table.c.id, table.c.settled)).tuples().all())
    assert found == {'s1': None, 's2': '1:0:digest'}


def test_a_newer_request_wins(two):
    with two.writer() as tx:
        stacks.accept(tx, 's1', action='UPDATE', reason='again', now=later(1))
    outdated = finished(release=True)
    written = write(two, change(row=state(1), events=(event('row'),)),
                    change(stack=outdated, events=(own('done'), event('other', 2))),
                    change('s2', stack=finished(), events=(own('other-done'),)))
    assert (written.lost, written.superseded) == (frozenset(), (outdated,))
    assert [row.id for row in stored(two)] == [1]
    assert told(two, 's1', 's2') == ['row', 'other', 'other-done']
    with two.reader() as tx:
        row = stacks.get(tx, 's1')
        assert (row.action, row.status, row.reason, row.generation) == ('UPDATE', 'IN_PROGRESS', 'again', 2)
        assert leases.owner(tx, 's1') == 'e1'


def test_the_owner_starts_a_request_itself(two):
    rollback = StackChange(1, action=Action.ROLLBACK, status=Status.IN_PROGRESS, reason='back', template_id='t0',
                           previous_template_id='t-s1', next_generation=2, updated_at=later(5))
    assert write(two, change(stack=StackChange(1, status=Status.FAILED, reason='no')),
                 change(stack=rollback, events=(own('back'),)),
                 change(stack=StackChange(2, reason='still going'))) == FINE
    with two.reader() as tx:
        row = stacks.get(tx, 's1')
    assert (row.action, row.status, row.reason, row.generation) == ('ROLLBACK', 'IN_PROGRESS', 'still going', 2)
    assert (row.template_id, row.previous_template_id) == ('t0', 't-s1')
    assert row.updated_at == row.started_at == later(5)
    outdated, of_the_rollback = change(stack=finished(1)), change(stack=finished(2))
    written = write(two, outdated, of_the_rollback)
    assert (written.is_superseded(outdated), written.is_superseded(of_the_rollback)) == (True, False)


def test_a_deleted_stack_frees_its_name(two):
    write(two, change(stack=finished(deleted_at=later(3), release=True), events=(own('gone'),)))
    with two.writer() as tx:
        assert stacks.get(tx, 's1') is None
        assert stacks.get(tx, 's1', deleted=True).deleted_at == later(3)
        stacks.insert(tx, stack('s3', 'name-s1'))
    assert told(two) == ['gone']


# --- a commit whose answer was lost ------------------------------------------------------------------------

def test_the_same_batch_again_changes_nothing(two):
    batch = [change(row=state(1), data=(Datum('k', 'v'),), events=(event('v1'),)),
             change(row=state(2), events=(event('v2', 2),)), change(remove=2, events=(event('v3', 2),)),
             change(stack=StackChange(1, action=Action.ROLLBACK, status=Status.IN_PROGRESS, next_generation=2,
                                      template_id='t0', updated_at=later(5))),
             change('s2', stack=finished(release=True), events=(own('done'),))]
    assert write(two, *batch) == FINE
    with two.reader() as tx:
        before = [stacks.get(tx, stack_id) for stack_id in ('s1', 's2')]
    assert write(two, *batch, again=True) == FINE
    assert told(two, 's1', 's2') == ['v1', 'v2', 'v3', 'done']
    assert [row.id for row in stored(two)] == [1]
    with two.reader() as tx:
        assert [stacks.get(tx, stack_id) for stack_id in ('s1', 's2')] == before


def test_trying_again_does_not_overrule_a_request_that_came_between(two):
    with two.writer() as tx:
        stacks.accept(tx, 's1', action='UPDATE', reason='', now=later(1))
    rollback = StackChange(1, action=Action.ROLLBACK, next_generation=2, template_id='t0', updated_at=later(5))
    assert write(two, change(stack=rollback), again=True).superseded == (rollback,)


def test_trying_again_does_not_overrule_a_row_that_was_changed_between(two):
    """By a request that changes rows itself, such as one that marks a resource as unhealthy."""
    last = [change(row=state(1, action=Action.CREATE)), change(stack=finished(release=True))]
    assert write(two, *last) == FINE
    with two.writer() as tx:
        leases.start_over(tx, 's1')
        resources.set_state(tx, 's1', state(1, action=Action.CHECK, status=Status.FAILED))
    assert write(two, *last, again=True).lost == {'s1'}
    with two.reader() as tx:
        assert [row.action for row in resources.light(tx, 's1')] == ['CHECK']


# --- cost --------------------------------------------------------------------------------------------------

def test_few_statements_for_many_changes(two, counted):
    batch = [change(stack_id, row=state(number), columns={'properties': {}}, events=(event(f'{stack_id}-{number}'),))
             for stack_id in ('s1', 's2') for number in range(200)]
    with two.writer() as tx, counted(tx) as statements:
        fence = 2 if certifies(tx) else 1
        assert changes.write(tx, batch) == FINE
        assert len(statements) == fence + 2                             # rows, events
        statements.clear()
        assert changes.write(tx, [change(remove=number) for number in range(200)]) == FINE
        assert len(statements) == fence + 2                             # rows, data
        statements.clear()
        assert changes.write(tx, [change('s1', stack=finished(release=True)),
                                  change('s2', stack=finished(release=True))]) == FINE
        assert len(statements) == fence + 3                             # generations, stacks, leases
        assert [stacks.get(tx, stack_id).status for stack_id in ('s1', 's2')] == ['COMPLETE', 'COMPLETE']
    assert stored(two) == []
    assert len(stored(two, 's2')) == 200


def test_values_are_encoded_once_before_the_transaction(two, monkeypatch):
    """Properties are those of a row and of its event."""
    properties, handle = {'size': 7}, ['token']
    encoded = changes.encoded(change(
        row=state(handle=handle), columns={'properties': properties, 'attributes': None, 'metadata': {}},
        events=(event('e1', properties=properties),), data=(Datum('key', 'value'),), stack=finished(outputs='[1]')))
    assert sorted(encoded.texts.values()) == ['["token"]', '{"size":7}', '{}']
    assert encoded.size == len('["token"]{"size":7}{}value[1]')
    monkeypatch.setattr(changes, 'encode', None)
    monkeypatch.setattr(codec, 'encode', lambda value: pytest.fail(f'encoded: {value}'))
    assert write(two, encoded.change, texts_of_values=encoded.texts) == FINE
    monkeypatch.undo()
    with two.reader() as tx:
        stored = resources.columns(tx, 's1', [1], ('properties', 'attributes', 'metadata'))[1]
        assert {name: value for name, value in stored.items() if value is not None} == {
            'properties': properties, 'metadata': {}}
        assert [found.handle for found in resources.light(tx, 's1')] == [handle]


def test_a_value_that_cannot_be_encoded_is_left_to_the_transaction():
    endless = []
    endless.append(endless)
    encoded = changes.encoded(change(row=state(), columns={'properties': endless, 'metadata': {}}))
    assert [*encoded.texts.values()] == ['{}']
