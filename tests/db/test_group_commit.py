"""Requests that are committed together: each has its own outcome, and none waits for another for ever."""

import threading
from concurrent.futures import ThreadPoolExecutor

import greenlet
import pytest

from heatlite.common import commits, exception
from heatlite.db import events as event_rows
from heatlite.db import leases, resources, stacks, templates
from heatlite.engine.durability import group_commit
from heatlite.engine.durability.group_commit import GroupCommit
from tests.db.rows import NOW, event, stack, state
from tests.db.test_journal import Threads

PATIENCE = 30               # seconds until a test that hangs fails


def new(stack_id, name=None, tags=None):
    """Stores what a new stack consists of."""
    row = stack(stack_id, name, tags=tags)

    def store(tx):
        lease = leases.insert(tx, row.id, 'e1')
        stacks.insert(tx, row)
        templates.insert(tx, row.template_id, {'outputs': {}}, {}, {'f': stack_id}, NOW, stack_id=row.id)
        resources.insert_many(tx, row.id, [state(1), state(2)])
        event_rows.insert_many(tx, row.id, [event(f'event-of-{stack_id}', None)])
        return lease
    return store


@pytest.fixture
def pool():
    with ThreadPoolExecutor(40) as found:
        yield found


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(group_commit, 'COMMIT_WAIT_SECONDS', PATIENCE)


def together(group, pool, stores):
    """The results of `stores`, which all wait for the same transaction."""
    began, goes_on, found = threading.Event(), threading.Event(), []

    def hold(tx):
        began.set()
        assert goes_on.wait(PATIENCE)
    pool.submit(group.commit, hold)
    assert began.wait(PATIENCE)
    for number, store in enumerate(stores, 1):
        found.append(pool.submit(group.commit, store))
        while group.waiting < number:
            threading.Event().wait(0.001)
    goes_on.set()
    return found


def inserts(db, counted, table):
    return [each for each in counted if each.startswith(f'INSERT INTO {table} ')]


@pytest.fixture
def statements(db, counted):
    with counted(db) as found:
        yield found


def test_requests_that_wait_share_the_statements(db, pool, statements):
    group = GroupCommit(Threads(), db)
    found = together(group, pool, [new(f's{number}', tags=['a']) for number in range(8)])
    assert [each.result(PATIENCE).stack_id for each in found] == [f's{number}' for number in range(8)]
    for table in ('lease', 'stack', 'template', 'resource', 'event'):
        assert len(inserts(db, statements, table)) == 1
    with db.reader() as tx:
        assert [len(resources.light(tx, f's{number}')) for number in range(8)] == [2] * 8
        assert all(stacks.get(tx, f's{number}') for number in range(8))


def test_one_that_fails_fails_alone(db, pool):
    group = GroupCommit(Threads(), db)
    group.commit(new('s9', 'taken'))
    found = together(group, pool, [new('s0'), new('s1', 'taken'), new('s2')])
    assert [found[number].result(PATIENCE).stack_id for number in (0, 2)] == ['s0', 's2']
    with pytest.raises(exception.StackExists):
        found[1].result(PATIENCE)
    with db.reader() as tx:
        assert [stacks.get(tx, each) is not None for each in ('s0', 's1', 's2')] == [True, False, True]


def test_the_first_one_that_fails_fails_alone(db, pool):
    def late(tx):
        raise exception.TooLate()
    group = GroupCommit(Threads(), db)
    found = together(group, pool, [late, new('s1'), new('s2')])
    assert [each.result(PATIENCE).stack_id for each in found[1:]] == ['s1', 's2']
    with pytest.raises(exception.TooLate):
        found[0].result(PATIENCE)


def test_without_the_database_all_fail_once(db, pool):
    """The outcome of a commit is unknown then: none is repeated."""
    attempts = []

    def away(tx):
        attempts.append(1)
        raise exception.DatabaseUnavailable(reason='gone')
    group = GroupCommit(Threads(), db)
    found = together(group, pool, [new('s0'), away, new('s2')])
    for each in found:
        with pytest.raises(exception.DatabaseUnavailable):
            each.result(PATIENCE)
    assert attempts == [1]


class Counted(GroupCommit):
    """`counts`: the commits that each request has counted in its thread."""

    def __init__(self, runtime, database):
        super().__init__(runtime, database)
        self.counts = []

    def commit(self, store):
        before = commits.begun()
        try:
            return super().commit(store)
        finally:
            self.counts.append(commits.begun() - before)


def test_a_commit_counts_for_each_request_that_shares_it(db, pool):
    """What follows in the thread of a request knows that something is stored."""
    group = Counted(Threads(), db)
    for each in together(group, pool, [new('s0'), new('s1'), new('s2')]):
        each.result(PATIENCE)
    assert group.counts == [1, 1, 1, 1]


def test_no_more_than_the_largest_group(db, pool, statements, monkeypatch):
    monkeypatch.setattr(group_commit, 'LARGEST', 3)
    group = GroupCommit(Threads(), db)
    for each in together(group, pool, [new(f's{number}') for number in range(7)]):
        each.result(PATIENCE)
    assert len(inserts(db, statements, 'stack')) == 3


def test_a_request_does_not_wait_for_long_for_one_that_waits_for_a_lock(db, pool, monkeypatch):
    if db.dialect == 'sqlite':
        pytest.skip('SQLite has one writer at a time')
    monkeypatch.setattr(group_commit, 'COMMIT_WAIT_SECONDS', 0.0)
    group, began, goes_on = GroupCommit(Threads(), db), threading.Event(), threading.Event()

    def hold(tx):
        began.set()
        assert goes_on.wait(PATIENCE)
        return 'held'
    held = pool.submit(group.commit, hold)
    assert began.wait(PATIENCE)
    assert [group.commit(new(f's{number}')).stack_id for number in range(3)] == ['s0', 's1', 's2']
    assert not held.done() and group.waiting == 0
    goes_on.set()
    assert held.result(PATIENCE) == 'held'


def test_a_request_that_refuses_itself_is_executed_once(db):
    seen = []

    def refuse(tx):
        seen.append(tx)
        raise exception.TooLate()
    with pytest.raises(exception.TooLate):
        GroupCommit(Threads(), db).commit(refuse)
    assert len(seen) == 1


class Killed(greenlet.GreenletExit):
    pass


class Mortal(Threads):
    """The thread whose flag is the first one dies when it is woken."""

    def __init__(self):
        super().__init__()
        self._flags = iter([Deadly()])

    def flag(self):
        return next(self._flags, None) or threading.Event()


class Deadly(threading.Event):
    def wait(self, timeout=None):
        super().wait(timeout)
        raise Killed()


def test_a_thread_that_is_killed_holds_no_other(db, pool):
    """The first one that waits has to commit for the others, and dies before it does."""
    group = GroupCommit(Mortal(), db)
    found = together(group, pool, [new(f's{number}') for number in range(3)])
    with pytest.raises(Killed):
        found[0].result(PATIENCE)
    assert [each.result(PATIENCE).stack_id for each in found[1:]] == ['s1', 's2']
    assert group.commit(new('s3')).stack_id == 's3'
