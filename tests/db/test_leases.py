import threading
from dataclasses import replace

import pytest
import sqlalchemy as sa

from heatlite.common import limits
from heatlite.db import changes, engines, events, leases, signals, stacks
from heatlite.db.connection import certifies
from heatlite.db.leases import Lease, Place
from heatlite.db.server_connections import CERTIFIES
from heatlite.db.tables import engine as table
from heatlite.db.tables import lease
from heatlite.planning.states import Action, Change, Status
from tests.db.rows import NOW, engine, event, later, leased, stack


@pytest.fixture
def two(db):
    """Two engines alive for five seconds, and four stacks: a, b are e1's, c waits for anybody, d is done with."""
    with db.writer() as tx:
        engine(tx, 'e1')
        engine(tx, 'e2', host='h2')
        leased(tx, stack('a'), stack('b'))
        leased(tx, stack('c'), by=None)
        leased(tx, stack('d'))
        leases.release(tx, 'd', 'e1', 1)
    return db


def test_the_maker_of_a_stack_owns_it(two):
    with two.writer() as tx:
        assert leases.insert(tx, 'x', 'e1') == Lease('x', 'e1', 1)
        assert leases.insert(tx, 'y', None) is None
        assert leases.owner(tx, 'a') == 'e1'
        assert leases.owner(tx, 'c') is leases.owner(tx, 'd') is leases.owner(tx, 'nobody') is None


def test_claim(two, clock):
    with two.writer() as tx:
        assert leases.claim(tx, 'a', 'e2') is None                      # held
        assert leases.claim(tx, 'a', 'e1') == Lease('a', 'e1', 1)       # own
        assert leases.claim(tx, 'c', 'e2') == Lease('c', 'e2', 2)       # free
        assert leases.claim(tx, 'd', 'e1') == Lease('d', 'e1', 2)       # free again: what was under way then is void
        assert leases.claim(tx, 'nobody', 'e1') is None
    clock.seconds += 5.1
    with two.writer() as tx:
        assert leases.claim(tx, 'a', 'e2') == Lease('a', 'e2', 2)       # its holder has expired
        assert leases.owner(tx, 'a') is None                            # and so has e2
        assert leases.claim(tx, 'a', 'e1') == Lease('a', 'e1', 3)


def test_an_engine_that_dies_executing_a_stack_gives_it_a_strike(two):
    with two.writer() as tx:
        assert engines.remove_dead(tx, 'e1', 'a', NOW)
        assert not engines.remove_dead(tx, 'e1', 'a', NOW)       # by the sibling, and by the successor
        claimed = {lease.stack_id: lease.strikes for lease in leases.claim_expired(tx, 'e2', 9)}
        assert claimed == {'a': 1, 'b': 0, 'c': 0}
        assert leases.claim(tx, 'a', 'e2').strikes == 1
        assert {lease.stack_id: lease.strikes for lease in leases.held(tx, 'e2')} == claimed


def test_three_strikes_without_progress_are_enough(two):
    with two.writer() as tx:
        assert [(leases.strike(tx, 'a'), leases.excessive_strikes(tx, 'a')) for _ in range(4)] == [
            (1, 0), (2, 0), (3, 3), (4, 4)]
        assert leases.excessive_strikes(tx, 'b') == leases.excessive_strikes(tx, 'nobody') == 0
        assert leases.strike(tx, 'nobody') == 0


def test_progress_and_a_newer_request_end_a_row_of_strikes(two):
    with two.writer() as tx:
        leases.strike(tx, 'a')
        leases.strike(tx, 'a')
        events.insert_many(tx, 'a', [event('begun'), event('interrupted', status=Status.FAILED),
                                     event('removed', status=Status.COMPLETE, action=Action.DELETE)])    # no progress
        assert (leases.strike(tx, 'a'), leases.excessive_strikes(tx, 'a')) == (3, 3)
        events.insert_many(tx, 'a', [event('ended', status=Status.COMPLETE)])
        assert leases.excessive_strikes(tx, 'a') == 0
        assert leases.strike(tx, 'a') == 1
        leases.strike(tx, 'a')
        stacks.accept(tx, 'a', action='DELETE', reason='', now=NOW)
        assert (leases.strike(tx, 'a'), leases.excessive_strikes(tx, 'a')) == (1, 0)


def test_one_request_may_not_end_engines_for_ever(two):
    with two.writer() as tx:
        for number in range(limits.MOST_ENDED_ENGINES):
            assert leases.excessive_strikes(tx, 'a') == 0
            events.insert_many(tx, 'a', [event(f'ended{number}', status=Status.COMPLETE)])
            assert leases.strike(tx, 'a') == 1
        assert leases.excessive_strikes(tx, 'a') == limits.MOST_ENDED_ENGINES


def test_an_engine_without_a_row_holds_nothing(two):
    with two.writer() as tx:
        leases.insert(tx, 'x', 'stranger')
        assert leases.claim(tx, 'x', 'e1') == Lease('x', 'e1', 2)
        leases.insert(tx, 'y', 'stranger')
        engine(tx, 'e3', host='h3')                                     # frees what belongs to nobody
        assert [lease.stack_id for lease in leases.claim_expired(tx, 'e3', 9) if lease.stack_id == 'y'] == ['y']


def test_a_claimed_stack_is_wanted_until_it_is_released(two, clock):
    with two.writer() as tx:
        leases.claim(tx, 'd', 'e2')
    clock.seconds += 6
    with two.writer() as tx:
        engine(tx, 'e1')
        assert {lease.stack_id for lease in leases.claim_expired(tx, 'e1', 9)} == {'c', 'd'}


def test_sweep(two, clock):
    with two.writer() as tx:
        assert leases.claim_expired(tx, 'e2', 9) == [Lease('c', 'e2', 2)]
        assert leases.claim_expired(tx, 'e2', 9) == []
    clock.seconds += 4
    with two.writer() as tx:
        assert engines.renew(tx, 'e2', 5, later(4))
    clock.seconds += 2
    with two.writer() as tx:
        assert leases.claim_expired(tx, 'e1', 9) == []                  # one's own are not up for taking
        first = leases.claim_expired(tx, 'e2', 1)
        second = leases.claim_expired(tx, 'e2', 9)
    assert sorted(first + second, key=lambda lease: lease.stack_id) == [Lease('a', 'e2', 2), Lease('b', 'e2', 2)]


@pytest.mark.parametrize('held', [None, 'e1'], ids=['free', 'of an engine that is silent'])
def test_a_sweep_leaves_stacks_of_depths_without_room(two, clock, held):
    with two.writer() as tx:
        for number, depth in enumerate([0, 1, 2, 1]):
            stacks.insert(tx, stack(f'n{number}', depth=depth))
            leases.insert(tx, f'n{number}', held)
        leases.insert(tx, 'shard', held)                                # has no row in the table of stacks
    clock.seconds += 6

    def claimed(*depths):
        with two.writer() as tx:
            engine(tx, 'e9')
            found = leases.claim_expired(tx, 'e9', 99, except_depths=depths)
            return {lease.stack_id for lease in found} & {'n0', 'n1', 'n2', 'n3', 'shard'}

    assert claimed(0, 1) == {'n2'}
    assert claimed(0) == {'n1', 'n3'}
    assert claimed(1, 2) == {'n0', 'shard'}


@pytest.mark.parametrize('held', [None, 'e1'], ids=['free', 'of an engine that is silent'])
def test_a_sweep_leaves_stacks_of_projects_without_room(two, clock, held):
    with two.writer() as tx:
        for number, (project, depth) in enumerate([('full', 0), ('full', 1), ('other', 0), ('other', 1)]):
            stacks.insert(tx, replace(stack(f'n{number}', depth=depth), project_id=project))
            leases.insert(tx, f'n{number}', held)
        leases.insert(tx, 'shard', held)                                # has no row in the table of stacks
    clock.seconds += 6

    def claimed(**exceptions):
        with two.writer() as tx:
            engine(tx, 'e9')
            found = leases.claim_expired(tx, 'e9', 99, **exceptions)
            return {lease.stack_id: lease.place for lease in found
                    if lease.stack_id in {'n0', 'n1', 'n2', 'n3', 'shard'}}

    assert claimed(except_depths=[1], except_projects={0: ['full', 'unknown']}) == {
        'n2': Place('other', 'n2', 0), 'shard': None}
    assert claimed(except_projects={0: ['full'], 1: ['full', 'other']}) == {}
    assert claimed(except_projects={0: ['full'], 1: ['other']}) == {'n1': Place('full', 'n1', 1)}
    assert {*claimed()} == {'n0', 'n3'}


def test_a_sweep_takes_stacks_of_others_behind_those_that_are_refused(two):
    """Whatever the order in which the database reads them."""
    with two.writer() as tx:
        for number in range(9):
            stacks.insert(tx, replace(stack(f'n{number}'), project_id='full' if number not in (4, 8) else 'other'))
            leases.insert(tx, f'n{number}', None)
    left = {'full': 2}

    def may_take(place):
        left[place.project_id] = left.get(place.project_id, 9) - 1
        return left[place.project_id] >= 0

    with two.writer() as tx:
        taken = [lease.place.project_id for lease in leases.claim_expired(tx, 'e2', 5, may_take=may_take)]
    assert len(taken) == 5                                              # 'c' belongs to p1
    assert sorted(taken) == ['full', 'full', 'other', 'other', 'p1']


def test_two_statements_when_nothing_is_left(two, counted):
    with two.writer() as tx, counted(tx) as statements:
        leases.claim_expired(tx, 'e2', 9)
        statements.clear()
        assert leases.claim_expired(tx, 'e2', 9) == []
        assert len(statements) == 2


def test_engines_that_have_ended_cost_a_sweep_nothing(two, counted):
    """Each restart leaves a row: one statement for each sweep, and an id in it for each row, added up over a year."""
    with two.writer() as tx:
        for number in range(20):
            engines.remove(tx, engine(tx, f'former{number}'), NOW)
        leases.claim_expired(tx, 'e2', 9)
    with two.writer() as tx, counted(tx) as statements:
        assert leases.claim_expired(tx, 'e2', 9) == []
        assert len(statements) == 2
    with two.writer() as tx:                        # a process that has woken up late, and takes a stack
        leases.insert(tx, 'late', 'former7')
        assert leases.claim_expired(tx, 'e2', 9) == [Lease('late', 'e2', 2)]


def test_renewal_saves_all_at_once(two, clock, counted):
    clock.seconds += 4
    with two.writer() as tx, counted(tx) as statements:
        assert engines.renew(tx, 'e1', 5, later(4))
        assert len(statements) == 1
    clock.seconds += 4
    with two.writer() as tx:
        assert leases.claim(tx, 'a', 'e2') is None
        assert leases.claim(tx, 'b', 'e2') is None


def test_release(two):
    with two.writer() as tx:
        assert not leases.release(tx, 'a', 'e2', 1)
        assert not leases.release(tx, 'a', 'e1', 2)
        assert leases.release(tx, 'a', 'e1', 1)
        assert not leases.release(tx, 'a', 'e1', 1)
        assert leases.release(tx, 'b', 'e1', 1, wanted=True)
        assert {lease.stack_id for lease in leases.claim_expired(tx, 'e2', 9)} == {'b', 'c'}


def test_hand_over(two):
    with two.writer() as tx:
        assert leases.hand_over(tx, 'e1') == 2
        assert {lease.stack_id for lease in leases.claim_expired(tx, 'e2', 9)} == {'a', 'b', 'c'}


def test_some_leases_are_freed_and_the_others_stay(two):
    with two.writer() as tx:
        ours = sorted(each.stack_id for each in leases.held(tx, 'e1'))
        leases.free(tx, 'e1', [])
        assert sorted(each.stack_id for each in leases.held(tx, 'e1')) == ours
        leases.free(tx, 'e1', [ours[0], 'no-such-stack'])
        leases.free(tx, 'e2', ours)                 # of another engine
        assert [each.stack_id for each in leases.held(tx, 'e1')] == ours[1:]
        freed = next(each for each in leases.claim_expired(tx, 'e2', 9) if each.stack_id == ours[0])
        assert freed.epoch == 2 and freed.former == ''


def test_engines_that_sweep_at_once_never_get_the_same_stack(db, places):
    wanted = 60
    with db.writer() as tx:
        for number in range(3):
            engine(tx, f'e{number}', host=f'h{number}')
        for number in range(wanted):
            stacks.insert(tx, stack(f's{number}'))
            leases.insert(tx, f's{number}', None)
    found, start = [], threading.Barrier(3)

    def sweep(place, engine_id):
        start.wait()
        while True:
            taken = place.retry(lambda tx: leases.claim_expired(tx, engine_id, 7))
            if not taken:
                return
            found.extend(taken)

    threads = [threading.Thread(target=sweep, args=(place, f'e{number}')) for number, place in enumerate(places)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lease.stack_id for lease in found) == sorted(f's{number}' for number in range(wanted))
    with db.writer() as tx:
        assert all(leases.owner(tx, lease.stack_id) == lease.engine_id for lease in found)
        assert {lease.epoch for lease in found} == {2}


def test_two_claims_at_once_have_one_winner(db, places):
    with db.writer() as tx:
        for number in range(2):
            engine(tx, f'e{number}', host=f'h{number}')
        leased(tx, stack('a'), by=None)
    found, start = [], threading.Barrier(2)

    def claim(place, engine_id):
        start.wait()
        found.append(place.retry(lambda tx: leases.claim(tx, 'a', engine_id)))

    threads = [threading.Thread(target=claim, args=(place, f'e{number}')) for number, place in enumerate(places[:2])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = [lease for lease in found if lease is not None]
    assert len(winners) == 1
    assert winners[0].epoch == 2


def test_engines(db, clock):
    with db.writer() as tx:
        engine(tx, 'e1')
        engine(tx, 'e2', host='h2', now=later(1))
        assert [(each.id, each.is_up, each.report_interval) for each in engines.page(tx)] == [
            ('e1', True, 2), ('e2', True, 2)]
    clock.seconds += 6
    with db.writer() as tx:
        assert engines.renew(tx, 'e2', 5, later(6))
        assert [(each.id, each.is_up, each.updated_at) for each in engines.page(tx)] == [
            ('e1', False, None), ('e2', True, later(6))]
        assert (engines.left(tx, 'e1'), engines.left(tx, 'e2'), engines.left(tx, 'nobody')) == (-1.0, 5.0, None)
        assert engines.clean(tx, later(7), {}) == []
        assert engines.clean(tx, later(7), engines.silent(tx)) == ['e1']
        assert engines.left(tx, 'e1') is None
        assert [each.id for each in engines.page(tx)] == ['e2']
        assert not engines.renew(tx, 'e1', 5, later(8))                 # must register again
        engine(tx, 'e1', now=later(9))
        assert [(each.id, each.is_up, each.created_at) for each in engines.page(tx)] == [
            ('e1', True, NOW), ('e2', True, later(1))]
        assert engines.remove(tx, 'e1', later(10))
        assert not engines.remove(tx, 'e1', later(10))
        assert engines.silent(tx) == {}


def test_a_new_process_clears_away_the_silent_one_before_it_once_others_have_its_stacks(db, clock):
    """Not before: it may only seem silent, when the database's clock has just been set forward."""
    with db.writer() as tx:
        engine(tx, 'old')
        leased(tx, stack('a'), by='old')
        engine(tx, 'elsewhere', host='h2')
    clock.seconds += 5 + 3 * 2 + 1
    with db.writer() as tx:
        engine(tx, 'new')
        assert {each.id for each in engines.page(tx)} == {'old', 'elsewhere', 'new'}
        assert [held.stack_id for held in leases.held(tx, 'old')] == ['a']
        assert leases.claim_expired(tx, 'new', 9) == [Lease('a', 'new', 2, former='old')]
        engine(tx, 'next')
        assert {each.id for each in engines.page(tx)} == {'elsewhere', 'new', 'next'}


def test_a_new_process_removes_the_rows_of_those_that_ended_long_ago(db):
    with db.writer() as tx:
        engines.remove(tx, engine(tx, 'long ago'), NOW)
        engines.remove(tx, engine(tx, 'lately'), later(2))
        engine(tx, 'alive', host='h2')
        engine(tx, 'new', now=later(24 * 3600 + 1))
        assert set(tx.execute(sa.select(table.c.id)).scalars()) == {'lately', 'alive', 'new'}


def test_a_removed_engine_holds_nothing(two):
    with two.writer() as tx:
        engines.remove(tx, 'e1', NOW)
        assert leases.owner(tx, 'a') is None
        assert {lease.stack_id for lease in leases.claim_expired(tx, 'e2', 9)} == {'a', 'b', 'c'}


def test_whoever_relies_on_a_lease_writes_to_it_where_nodes_certify(db):
    """Nodes of a Galera cluster compare what transactions write, not what they lock."""
    def writes():
        with db.reader() as tx:
            return tx.execute(sa.select(lease.c.writes).where(lease.c.stack_id == 's1')).scalar_one()

    with db.writer() as tx:
        stacks.insert(tx, stack('s1'))
        leases.insert(tx, 's1', 'e1')
    relying = [lambda tx: changes.write(tx, [Change('s1', 1)]), lambda tx: leases.lock(tx, 's1'),
               lambda tx: signals.insert(tx, 's1', 'r', None, NOW), lambda tx: leases.claim(tx, 's1', 'e1'),
               lambda tx: leases.lock_shared(tx, Lease('s1', 'e1', 1))]
    for rely in relying:
        before = writes()
        with db.writer() as tx:
            known = tx.info.get(CERTIFIES)
            tx.info[CERTIFIES] = True
            rely(tx)
            tx.info[CERTIFIES] = known
        assert writes() == before + 1
    with db.writer() as tx:                         # elsewhere the lock is enough, and nothing is written for it
        before = writes()
        changes.write(tx, [Change('s1', 1)])
        told = certifies(tx)
    assert writes() == before + told
