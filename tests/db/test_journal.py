"""The journal over real databases: what can never be written must not keep anything else waiting."""

import threading
from contextlib import contextmanager
from functools import partial

import pytest

from heatlite.common.green_threads import GreenRuntime
from heatlite.db import resources, stacks
from heatlite.engine.durability.journal import (
    EACH,
    MOST_CHARACTERS,
    SHARED_CHARACTERS,
    Journal,
    LeaseLost,
    NotStored,
    StopsDriving,
)
from heatlite.planning.states import Action, Status
from tests.db.rows import change, engine, event, finished, leased, stack, state


class Threads(GreenRuntime):
    """With threads of the operating system: the tests of the database are not patched for green ones."""

    def spawn(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        return thread

    def flag(self):
        return threading.Event()

    def sleep(self, seconds):
        threading.Event().wait(seconds)


@pytest.mark.parametrize('company', [0, 5])
def test_what_ends_its_connection_does_not_hold_the_others(db, company):
    if db.dialect != 'mysql':
        pytest.skip('others take values of any size')
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'), stack('s2'))
    given_up = []
    journal = Journal(Threads(), db, largest=100, refused=lambda stack_id, error: given_up.append(stack_id))
    with pytest.raises(NotStored, match='s1 cannot be stored'):
        for number in range(company):
            journal.submit(change('s2', row=state(number + 1, action=Action.CREATE, status=Status.COMPLETE)))
        # More than the largest packet that the server takes by default, 16 MiB: it ends the connection.
        journal.write(change('s1', row=state(1, action=Action.CREATE, status=Status.COMPLETE),
                             columns={'metadata': {'large': 'z' * 20_000_000}}))
    journal.write(change('s2', row=state(9, action=Action.CREATE, status=Status.COMPLETE)))
    assert given_up == ['s1']
    with db.reader() as tx:
        assert len(resources.light(tx, 's2')) == company + 1
        assert resources.light(tx, 's1') == []


def wrong(stack_id):
    """A change that no database stores."""
    return change(stack_id, row=state(1, action=Action.DELETE, status=Status.COMPLETE), columns={'no_such_column': {}})


@pytest.mark.parametrize('in_one_batch', [True, False])
def test_a_stack_is_not_complete_without_all_its_changes(db, in_one_batch):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'), stack('s2'))
    journal, ends = Journal(Starting() if in_one_batch else Threads(), db, largest=100), {}
    for number, each in enumerate((wrong('s1'), change('s2', stack=finished()),
                                   change('s1', stack=finished(status=Status.FAILED)),
                                   change('s1', row=state(2, action=Action.CREATE, status=Status.COMPLETE)),
                                   change('s1', stack=finished(release=True)))):
        if not in_one_batch:
            journal.flush()
        journal.submit(each, partial(ends.__setitem__, number))
    journal.flush()
    assert [type(ends[number]) for number in range(5)] == [NotStored, type(None), type(None), type(None), NotStored]
    with db.reader() as tx:
        assert [stacks.get(tx, each).status for each in ('s1', 's2')] == [Status.FAILED, Status.COMPLETE]
        assert [each.id for each in resources.light(tx, 's1')] == [2]
    with pytest.raises(NotStored, match='missing'):
        journal.check('s1', 1)
    journal.begin('s1', 1)                          # the engine reads it again, and makes up for what is missing
    journal.check('s1', 1)
    journal.write(change('s1', stack=finished(release=True)))
    with db.reader() as tx:
        assert stacks.get(tx, 's1').status is Status.COMPLETE


def test_what_cannot_be_stored_is_handed_over_before_its_runner_ends(db):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'))
    calls = []
    journal = Journal(Threads(), db, largest=100, refused=lambda stack_id, error: calls.append(error))
    journal.submit(wrong('s1'), calls.append)
    journal.flush()
    error, why_not = calls
    assert isinstance(why_not, NotStored) and why_not.cause is error


class Slow(Journal):
    """Lets others run in each transaction, as the round trips to a server do."""

    def _write(self, batch, is_part):
        self._runtime.sleep(0.01)
        return super()._write(batch, is_part)


@pytest.mark.parametrize('wait', [lambda journal: journal.flush(60.0), lambda journal: journal.settle(change('s1'))])
def test_others_that_go_on_writing_are_not_waited_for(db, wait):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'), *(stack(f'other{number}') for number in range(5)))
    runtime = Threads()
    journal, ends, stopped = Slow(runtime, db, largest=100), [], []

    def work(stack_id):
        while not stopped:
            journal.write(change(stack_id))

    for number in range(5):
        runtime.spawn(work, f'other{number}')
    journal.submit(change('s1'), ends.append)
    wait(journal)
    was_written = bool(ends)
    stopped.append(True)
    journal.flush()
    assert was_written


@pytest.mark.parametrize('kind, other', [(LeaseLost, NotStored), (NotStored, LeaseLost)])
def test_each_reason_stops_a_runner_and_is_no_other(kind, other):
    assert issubclass(kind, StopsDriving) and not issubclass(kind, other)
    assert not issubclass(kind, Exception)          # resource types catch those


class Full:
    """SQLite on a disk that is full for some transactions; what needs no space is stored."""

    def __init__(self, database, times):
        self._database = database
        self.times = times

    @contextmanager
    def writer(self):
        with self._database.writer() as tx:
            pages = tx.exec_driver_sql('PRAGMA page_count').scalar() if self.times > 0 else 2 ** 30
            tx.exec_driver_sql(f'PRAGMA max_page_count = {pages}')
            self.times -= 1
            yield tx


class Hasty(Threads):
    def sleep(self, seconds):
        pass


def test_a_full_disk_is_waited_for(db):
    if db.dialect != 'sqlite':
        pytest.skip('the disk of a server has other users')
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'))
        free = tx.exec_driver_sql(
            'SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size').scalar()
    given_up, full = [], Full(db, 4 * Journal.TRIES)
    journal = Journal(Hasty(), full, largest=100, refused=lambda stack_id, error: given_up.append(stack_id))
    journal.write(change('s1', row=state(1, action=Action.CREATE, status=Status.COMPLETE),
                         columns={'metadata': {'large': 'z' * (free + 200_000)}}))
    assert not given_up and full.times < 0
    with db.reader() as tx:
        assert len(resources.light(tx, 's1')) == 1


class Starting(Threads):
    """The thread begins once another one waits for it."""

    def spawn(self, function, *arguments):
        self.thread = threading.Thread(target=function, args=arguments, daemon=True)
        return self.thread

    def flag(self):
        return StartingFlag(self)


class StartingFlag(threading.Event):
    def __init__(self, runtime):
        super().__init__()
        self._runtime = runtime

    def wait(self, timeout=None):
        if self._runtime.thread.ident is None:
            self._runtime.thread.start()
        return super().wait(timeout)


@pytest.mark.parametrize('count, taken', [(4, 0), (5, 1), (9, 3)])
def test_who_submits_faster_than_is_written_waits_for_room(db, count, taken):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'))
    runtime = Starting()
    journal = Journal(runtime, db, largest=2)
    for number in range(1, count + 1):
        journal.submit(change('s1', row=state(number, action=Action.CREATE, status=Status.COMPLETE)))
    journal.make_room()                             # for two transactions of two changes
    with db.reader() as tx:
        assert len(resources.light(tx, 's1')) >= 2 * (taken - 1)   # what is taken last may not be written yet
    assert (runtime.thread.ident is not None) == (taken > 0)
    journal.flush()
    with db.reader() as tx:
        assert len(resources.light(tx, 's1')) == count


def test_a_change_of_another_tree_waits_for_few_of_a_large_one(db):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('large'), stack('small'))
    journal = Journal(Starting(), db, largest=100, owners=lambda stack_id: ('project', stack_id))
    for number in range(1, 5 * EACH + 1):
        journal.submit(change('large', row=state(number, action=Action.CREATE, status=Status.COMPLETE)))
    left = []
    journal.submit(change('small', row=state(1, action=Action.CREATE, status=Status.COMPLETE)),
                   lambda why_not: left.append((why_not, len(journal))))
    journal.flush()
    assert left == [(None, 3 * EACH + 1)]
    with db.reader() as tx:
        assert len(resources.light(tx, 'large')) == 5 * EACH


@pytest.mark.parametrize('each, before', [(SHARED_CHARACTERS // 4, 4), (2 * SHARED_CHARACTERS, 2)])
def test_a_change_of_another_tree_waits_for_few_characters_of_a_large_one(db, each, before):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('large'), stack('small'))
    journal = Journal(Starting(), db, largest=100, owners=lambda stack_id: ('project', stack_id))
    count = 8
    for number in range(1, count + 1):
        journal.submit(change('large', row=state(number, action=Action.CREATE, status=Status.COMPLETE),
                              columns={'properties': {'value': 'x' * each}}))
    left = []
    journal.submit(change('small', row=state(1, action=Action.CREATE, status=Status.COMPLETE)),
                   lambda why_not: left.append((why_not, len(journal))))
    journal.flush()
    [(why_not, waiting)] = left
    assert why_not is None
    assert count - waiting == before
    with db.reader() as tx:
        assert len(resources.light(tx, 'large')) == count


def test_who_submits_many_characters_waits_for_room(db):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'))
    runtime = Starting()
    journal = Journal(runtime, db, largest=100)
    for number in range(1, 6):
        journal.submit(change('s1', row=state(number, action=Action.CREATE, status=Status.COMPLETE),
                              columns={'properties': {'value': 'x' * (MOST_CHARACTERS // 2)}}))
        journal.make_room()
        assert (runtime.thread.ident is not None) == (number > 3), number
    journal.flush()
    with db.reader() as tx:
        assert len(resources.light(tx, 's1')) == 5


def test_an_error_of_what_follows_keeps_nothing_else_back(db):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'), stack('s2'))
    refused = []

    def fail(why_not):
        raise KeyError(why_not)

    journal = Journal(Threads(), db, largest=100, refused=lambda *found: refused.append(found))
    journal.submit(change('s1', row=state(1, action=Action.CREATE, status=Status.COMPLETE)), fail)
    journal.write(change('s2', row=state(1, action=Action.CREATE, status=Status.COMPLETE)))
    journal.write(change('s2', row=state(2, action=Action.CREATE, status=Status.COMPLETE)))
    (stack_id, error), = refused                    # its runner is stopped: what followed is not done
    assert (stack_id, type(error)) == ('s1', KeyError)


def test_an_error_of_a_reader_of_events_keeps_nothing_else_back(db):
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('s1'))

    def fail(stack_id):
        raise KeyError(stack_id)

    journal = Journal(Threads(), db, largest=100, noted=fail)
    journal.write(change('s1', events=(event('u1'),)))
    journal.write(change('s1', events=(event('u2'),)))
