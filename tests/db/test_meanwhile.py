"""What other transactions commit between two statements of one: each decision holds when it is stored, or is not made.

Servers only: the transactions of SQLite that write run one after the other.
"""

import threading
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import (
    engines,
    forced_deletes,
    leases,
    plans,
    project_limits,
    resources,
    software_configs,
    software_deployments,
    stack_trees,
    stacks,
    tables,
    upkeep,
)
from heatlite.db.leases import Lease
from heatlite.db.plans import StoredPlan
from heatlite.db.software_configs import Config
from heatlite.engine.requests.health import Health
from heatlite.engine.requests.server_metadata import ProjectServer, ServerMetadata
from heatlite.engine.requests.software import Software
from heatlite.planning.plan import Permissions
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages
from tests.db.rows import NOW, engine, ids, later, leased, nested, stack, state

SECONDS = 1.0           # that a transaction stands still for another one, which may wait for its locks

PLAN = StoredPlan('plan', 'p1', 's1', 'name-s1', 'update', plans.READY, 1, 'd', None, None, None, None, {}, {}, {}, NOW,
                  later(60), None, None)


@pytest.fixture(autouse=True)
def servers_only(kind):
    if kind == 'sqlite':
        pytest.skip('a transaction that writes excludes all others')


@contextmanager
def meanwhile(tx, statement, act):
    """Stop `tx` after the first statement with this text until another thread has done `act()`, or waits for `tx`.
    Yields a function that returns the result of `act()`, to be called after the end of `tx`."""
    results = []
    thread = threading.Thread(target=lambda: results.append(act()))

    def note(_connection, _cursor, text, _parameters, _context, _many):
        if statement in text and thread.ident is None:
            thread.start()
            thread.join(SECONDS)

    def result():
        thread.join()
        return results[0]

    sa.event.listen(tx, 'after_cursor_execute', note)
    try:
        yield result
    finally:
        sa.event.remove(tx, 'after_cursor_execute', note)


@pytest.fixture
def planned(db):
    """A plan that can be applied until a minute from NOW."""
    with db.writer() as tx:
        plans.insert(tx, PLAN, {(): Permissions()})
    return db


def permitted(db):
    """Whether there is what the plan allows."""
    with db.reader() as tx:
        return tx.execute(sa.text('SELECT count(*) FROM plan_permission')).scalar_one() > 0


@pytest.mark.parametrize('removal', [
    lambda tx: plans.delete(tx, 'plan'),
    lambda tx: bool(plans.remove_expired(tx, later(61)))], ids=['delete', 'expired'])
def test_a_plan_is_applied_or_removed_and_not_both(planned, removal):
    with planned.writer() as tx, meanwhile(tx, 'FROM plan', lambda: planned.retry(
            lambda other: plans.apply(other, 'plan', 's1', later(59)))) as is_applied:
        is_removed = removal(tx)
    assert is_removed is not is_applied()
    assert permitted(planned) is is_applied()


@pytest.mark.parametrize('removal', [
    lambda tx: plans.delete(tx, 'plan'),
    lambda tx: bool(plans.remove_expired(tx, later(61)))], ids=['delete', 'expired'])
def test_a_plan_that_is_being_applied_is_not_removed(planned, removal):
    with planned.writer() as tx, meanwhile(tx, 'UPDATE plan', lambda: planned.retry(removal)) as is_removed:
        assert plans.apply(tx, 'plan', 's1', later(59))
    assert not is_removed()
    assert permitted(planned)


@pytest.fixture
def silent(db, clock):
    """Engine e1, which has not renewed the lease of its stack in time, and e2, which sweeps."""
    with db.writer() as tx:
        engine(tx, 'e1')
        leased(tx, stack('a'))
    clock.seconds += 6
    with db.writer() as tx:
        engine(tx, 'e2', host='h2')
    return db


def comes_back(db):
    """Do what an engine does that finds that it has renewed too late. Returns whether it goes on with its stack."""
    assert db.retry(lambda tx: engines.renew(tx, 'e1', 5, NOW))
    return db.retry(lambda tx: leases.lock_shared(tx, Lease('a', 'e1', 1)))


@pytest.mark.parametrize('claim', [
    lambda tx: bool(leases.claim_expired(tx, 'e2', 9)), lambda tx: leases.claim(tx, 'a', 'e2') is not None],
    ids=['sweep', 'request'])
@pytest.mark.parametrize('statement', ['FROM engine', 'FROM lease', 'UPDATE lease'])
def test_an_engine_that_comes_back_keeps_its_stack_or_knows_that_it_is_lost(silent, statement, claim):
    with silent.writer() as tx, meanwhile(tx, statement, lambda: comes_back(silent)) as goes_on:
        is_taken = claim(tx)
    assert is_taken is not goes_on()


@pytest.mark.parametrize('removal', [
    lambda tx, deadlines: bool(engines.clean(tx, later(30), deadlines)),
    lambda tx, _deadlines: engine(tx, 'successor') and not engines.left(tx, 'e1')], ids=['clean', 'register'])
def test_an_engine_that_renews_its_leases_is_not_removed(db, clock, removal):
    with db.writer() as tx:
        engine(tx, 'e1')
    clock.seconds += 30
    with db.reader() as tx:
        deadlines = engines.silent(tx)
    with db.writer() as tx, meanwhile(tx, 'FROM engine', lambda: db.retry(
            lambda other: engines.renew(other, 'e1', 5, NOW))) as is_renewed:
        is_removed = removal(tx, deadlines)
    assert is_removed is not is_renewed()


@pytest.fixture
def server(db):
    """A resource that a check has found broken."""
    with db.writer() as tx:
        leased(tx, stack('a', status=Status.COMPLETE))
        resources.insert_many(tx, 'a', [state(1, physical_id='server', action=Action.CHECK, status=Status.FAILED)])
    return db


def delete_resources(db):
    return db.retry(lambda tx: tx.execute(tables.resource.delete()).rowcount)


def test_a_server_whose_resource_is_deleted_gets_no_deployments(server):
    def work(tx):
        return ProjectServer('p1', 'server')

    changed = []
    metadata = ServerMetadata(server, lambda *_place: None, lambda *place: changed.append(place))
    metadata.write_after(work)
    with meanwhile(server.engine, 'FROM resource', lambda: delete_resources(server)) as deleted:
        metadata.write_after(work)
    assert deleted() == 1
    assert changed == [('a', 1)]


def test_a_resource_that_is_deleted_is_not_marked_as_healthy(server):
    health = Health(GreenRuntime(), server, None, None, None)           # what is not there is not used
    message = messages.MarkUnhealthy('a', 'r1', unhealthy=False, reason='')
    with meanwhile(server._reading, 'FROM resource', lambda: delete_resources(server)) as deleted, \
            pytest.raises(exception.ResourceNotFound):
        health.mark(RequestContext(project_id='p1'), message)
    assert deleted() == 1


@pytest.fixture
def parent(db):
    """A root stack with a nested one, in which an engine makes another one."""
    root = stack('root', action=Action.DELETE)
    with db.writer() as tx:
        engine(tx)
        leased(tx, root, nested('inner', root, 'r1'))
    return db


def makes_a_nested_stack(db):
    """Do what an engine does that makes the stack of a resource. Returns whether it is made."""
    def store(tx):
        if not leases.lock_shared(tx, Lease('inner', 'e1', 1)):
            return False
        leased(tx, nested('innermost', stacks.get(tx, 'inner'), 'r2'))
        return True

    return db.retry(store)


def reset(tx):
    return upkeep.reset(tx, 'root', NOW)


def remove(tx):
    below = stack_trees.lock(tx, stacks.identity(tx, 'root'))
    forced_deletes.remove(tx, ['root', *ids(below)], '', NOW)


@pytest.mark.parametrize('work', [reset, remove])
@pytest.mark.parametrize('statement', ['stack.root_id =', 'UPDATE lease'])
def test_no_nested_stack_is_left_that_was_made_meanwhile(parent, work, statement):
    with parent.writer() as tx, meanwhile(tx, statement, lambda: makes_a_nested_stack(parent)) as is_made:
        work(tx)
    with parent.reader() as tx:
        assert [each.id for each in stack_trees.tree(tx, 'root') if each.status == Status.IN_PROGRESS] == []
        assert leases.owner(tx, 'innermost') is None
    assert is_made() is (statement != 'UPDATE lease')


@pytest.mark.parametrize('statement', ['count(', 'INSERT INTO software_config'])
def test_two_transactions_do_not_exceed_a_limit_together(db, statement):
    def make(tx, config_id):
        if not project_limits.has_room(tx, 'p1', 1, lambda: software_configs.count(tx, 'p1')):
            return False
        software_configs.insert(tx, Config(config_id, 'p1', None, None, {}, NOW))
        return True

    with db.writer() as tx, meanwhile(tx, statement, lambda: db.retry(lambda tx: make(tx, 'later'))) as is_second_made:
        is_first_made = make(tx, 'first')
    assert is_first_made is not is_second_made()


def test_a_deployment_that_is_deleted_while_it_is_deployed_anew(db):
    software = Software(GreenRuntime(), db, -1, -1, ServerMetadata(db, lambda *_place: None, lambda *_place: None))
    context, config = RequestContext(project_id='p1'), {'name': 'c', 'group': 'script', 'config': 'echo'}
    software.deploy(context, 'd', 'server', config, action='CREATE', status='IN_PROGRESS')
    with meanwhile(db.engine, 'FROM software_deployment', lambda: db.retry(
            lambda tx: software_deployments.delete(tx, 'd'))) as is_deleted:
        shown = software.deploy(context, 'd', 'server', config, action='UPDATE', status='IN_PROGRESS')
    assert is_deleted()
    with db.reader() as tx:
        assert [shown['config_id']] == ids(software_configs.page(tx, 'p1'))
