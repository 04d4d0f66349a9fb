"""A project is moved between two databases: every row arrives, and no other project is touched."""

import itertools
from collections import Counter
from datetime import timedelta

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import belongings, engines, leases, moving, presence, project_cells, shards, stacks, sync
from heatlite.db.belongings import TABLES
from heatlite.db.moving import CellMove, MoveDelays
from heatlite.db.project_cells import HOME, Numbers, ProjectPlace
from heatlite.db.tables import (
    alarm,
    engine,
    event,
    lease,
    metadata,
    metric,
    metric_period,
    plan,
    plan_permission,
    project_cell,
    project_presence,
    resource,
    signal,
    stack,
    take_over_switch,
    taken_over,
    template,
)
from tests.db.rows import NOW
from tests.db.rows import engine as engine_row
from tests.db.rows import stack as stack_row

# The tables whose rows belong to no project.
OF_CELLS = (engine, lease, project_cell, project_presence, take_over_switch, taken_over)
AT_ONCE = MoveDelays(0.0, 0.0, 0.0)
OURS, THEIRS = 'p1', 'p2'
STACKS = 3
EACH = 4                                    # rows of a stack in each table
ARE_GIVEN = ('event', 'signal', 'metric', 'alarm_history', 'alarm_webhook')
IDLE_STACK = 1


class Hurried(GreenRuntime):
    """No pauses, and a clock that does not stand still."""

    def sleep(self, seconds):
        pass


class Ended(Exception):
    """Stands for SIGKILL."""


@pytest.fixture
def cells(make_database):
    found = {HOME: make_database(), 'east': make_database()}
    for each in found.values():
        sync.up(each)
    return found


def value(column, project_id, number):
    """Some value of a column that no other row has."""
    kind = column.type
    if isinstance(kind, sa.Boolean):
        return bool(number % 2)
    if isinstance(kind, sa.Double):
        return number + 0.25
    if isinstance(kind, sa.Integer):
        return number % 30_000
    if isinstance(kind, sa.DateTime):
        return NOW + timedelta(seconds=number)
    return f'{project_id}-{number}'[:getattr(kind, 'length', None) or 99]


def fill(database, project_id):
    """Rows of a project in all tables, several of each."""
    numbers = itertools.count(1 if project_id == OURS else 10_000)
    ids = [f'{project_id}-s{number}' for number in range(STACKS)]
    with database.writer() as tx:
        for index, stack_id in enumerate(ids):
            stacks.insert(tx, stack_row(
                stack_id, project_id=project_id, root_id=ids[0], owner_id=None if index == 0 else ids[0],
                template_id=f'{stack_id}-t0', credentials_id=f'{stack_id}-c', tags=['a', 'b']))
            leases.insert(tx, stack_id, 'e1', wanted=index != IDLE_STACK)
        for belonging in TABLES:
            table = belonging.table
            if table.name in ('stack', 'stack_tag', 'metric_period', 'plan_permission'):
                continue
            for stack_id, index in itertools.product(ids, range(EACH)):
                number = next(numbers)
                row = {column.name: value(column, project_id, number) for column in table.c}
                row |= {'id': f'{stack_id}-{index}'} if 'id' in row and not belonging.is_numbered else {}
                row |= {'stack_id': stack_id} if 'stack_id' in row else {}
                row |= {'project_id': project_id} if 'project_id' in row else {}
                row |= {'shard': shards.of_project(project_id)} if 'shard' in row else {}
                if belonging.is_numbered:
                    del row['id']
                if table.name in ('resource', ):
                    row['id'] = index
                if table.name == 'template':
                    row |= {'id': f'{stack_id}-t{index}', 'files_id': f'{stack_id}-f{index}'}
                if table.name == 'files':
                    row['id'] = f'{stack_id}-f{index}'
                if table.name == 'credentials':
                    row['id'] = f'{stack_id}-c'
                if index and belonging.table.primary_key.columns.keys() in (['stack_id'], ['id']) and (
                        belonging.owner in ('credentials',) or ('id' not in row and not belonging.is_numbered)):
                    continue
                tx.execute(table.insert().values(**row))
        for number in tx.execute(sa.select(metric.c.id).where(metric.c.project_id == project_id)).scalars().all():
            for start in range(EACH):
                tx.execute(metric_period.insert().values(
                    metric_id=number, length=60, start=start, unit='None', samples=number, total=1.0, smallest=start,
                    largest=2.0))
        for plan_id in tx.execute(sa.select(plan.c.id)).scalars().all():
            if plan_id.startswith(project_id):
                tx.execute(plan_permission.insert().values(plan_id=plan_id, place='x', permissions='y'))


def rows(database, project_id):
    """All rows of a project by table, without the numbers that a database gives, in their order."""
    found = {}
    with database.reader() as tx:
        own = belongings.Belongings(tx, project_id)
        digests = dict(tx.execute(sa.select(metric.c.id, metric.c.digest)).all())
        for belonging in TABLES:
            table, keys = belonging.table, list(belonging.table.primary_key.columns)
            every = []
            for group in own.groups(belonging):
                for row in tx.execute(sa.select(table).where(group).order_by(*keys)).mappings():
                    every.append(dict(row))
            for row in every:
                if belonging.is_numbered:
                    del row['id']
                if table is metric_period:
                    row['metric_id'] = digests[row['metric_id']]
                    del row['samples']
            found[table.name] = every if belonging.is_numbered else sorted(every, key=repr)
    return found


def lease_states(database, project_id):
    with database.reader() as tx:
        return {row.stack_id: (row.engine_id, row.wanted) for row in tx.execute(sa.select(lease).join(
            stack, stack.c.id == lease.c.stack_id).where(stack.c.project_id == project_id))}


def place_of(cells):
    with cells[HOME].reader() as tx:
        return project_cells.find(tx, OURS)


def move(cells, target='east', reached=lambda step: None):
    return CellMove(cells, OURS, target, Hurried(), AT_ONCE, reached).run()


@pytest.fixture
def filled(cells):
    for project_id in (OURS, THEIRS):
        fill(cells[HOME], project_id)
    return cells


def test_every_table_is_of_a_project_or_of_a_cell():
    named = Counter(each.table.name for each in TABLES) + Counter(table.name for table in OF_CELLS)
    assert named == Counter(list(metadata.tables))
    for each in TABLES:
        key = list(each.table.primary_key.columns)
        has_number = len(key) == 1 and key[0].autoincrement is True
        assert each.is_numbered == has_number, each.table.name


def test_every_row_arrives_and_no_other_project_is_touched(filled):
    before, others = rows(filled[HOME], OURS), rows(filled[HOME], THEIRS)
    assert all(before.values()), [name for name, found in before.items() if not found]
    report = move(filled)
    assert rows(filled['east'], OURS) == before
    assert rows(filled[HOME], THEIRS) == others
    assert not any(rows(filled[HOME], OURS).values())
    assert not any(rows(filled['east'], THEIRS).values())
    assert sum(report.rows.values()) == sum(map(len, before.values()))
    place = place_of(filled)
    assert (place.cell, place.moving_to, place.leaving) == ('east', None, None)
    with filled[HOME].reader() as tx:                       # nothing in any other table, either
        left = {table.name: tx.execute(sa.select(sa.func.count()).select_from(table)).scalar()
                for table in (template, event, signal, metric_period, alarm)}
    assert left == {name: len(others[name]) for name in left}


def test_stacks_with_work_wait_for_an_engine_of_the_new_cell(filled):
    with filled[HOME].reader() as tx:
        former = tx.execute(sa.select(lease.c.epoch).where(lease.c.stack_id == f'{OURS}-s0')).scalar()
    move(filled)
    assert lease_states(filled['east'], OURS) == {
        f'{OURS}-s{number}': (None, number != IDLE_STACK) for number in range(STACKS)}
    assert lease_states(filled[HOME], OURS) == {}
    with filled['east'].reader() as tx:
        assert tx.execute(sa.select(lease.c.epoch).where(lease.c.stack_id == f'{OURS}-s0')).scalar() > former
        shard = shards.lease_id(shards.of_project(OURS))
        assert tx.execute(sa.select(lease.c.wanted).where(lease.c.stack_id == shard)).scalar()


def test_events_have_numbers_that_no_stream_has_passed(filled):
    with filled['east'].writer() as tx:
        tx.execute(event.insert().values(id=70_000, uuid='u', stack_id='x', resource_name='', resource_type='',
                                         action='', status='', reason='', created_at=NOW))
    with filled[HOME].reader() as tx:
        former = tx.execute(sa.select(event.c.id).where(event.c.stack_id.like(f'{OURS}-%')).order_by(event.c.id)
                            ).scalars().all()
        top = tx.execute(sa.select(sa.func.max(event.c.id))).scalar()
    move(filled)
    with filled['east'].writer() as tx:
        numbers = tx.execute(sa.select(event.c.id).where(event.c.stack_id.like(f'{OURS}-%')).order_by(event.c.id)
                             ).scalars().all()
        next_one = tx.execute(event.insert().values(uuid='v', stack_id='x', resource_name='', resource_type='',
                                                    action='', status='', reason='', created_at=NOW))
        assert next_one.inserted_primary_key[0] > numbers[-1]
    assert numbers[0] > max(top, 70_000)
    found = place_of(filled).numbers
    for seen in range(top + 1):
        expected = [new for old, new in zip(former, numbers, strict=True) if old > seen]
        assert [new for new in numbers if new > found.translated(seen)] == expected
    assert found.translated(numbers[3]) == numbers[3]


def test_old_positions_of_streams_give_all_events_again():
    found = Numbers(top=100, first=1000, count=5, last=(40, 60, 80))        # 10 and 20 are not remembered
    assert [found.translated(seen) for seen in (0, 39, 40, 79, 80, 100, 101)] == [999, 999, 1002, 1003, 1004, 1004, 101]


def test_a_move_that_is_ended_after_any_step_goes_on(filled):
    """After the first and the last of each kind of steps."""
    before, others = rows(filled[HOME], OURS), rows(filled[HOME], THEIRS)
    states = {f'{OURS}-s{number}': (None, number != IDLE_STACK) for number in range(STACKS)}
    seen = []
    move(filled, 'east', seen.append)
    ends = {seen.index(step) for step in seen} | {len(seen) - 1 - seen[::-1].index(step) for step in seen}
    assert len(ends) > 8
    source, target = 'east', HOME
    for end in sorted(ends):
        count = itertools.count()

        def reached(step, count=count, end=end):
            if next(count) == end:
                raise Ended(step)

        with pytest.raises(Ended):
            move(filled, target, reached)
        move(filled, target)
        assert rows(filled[target], OURS) == before, seen[end]
        assert lease_states(filled[target], OURS) == states, seen[end]
        assert not any(rows(filled[source], OURS).values()), seen[end]
        source, target = target, source
    assert rows(filled[HOME], THEIRS) == others


def test_it_says_where_a_project_is_already(filled):
    assert move(filled, HOME).waited is None
    move(filled)
    assert move(filled).waited is None


def test_a_project_is_moved_to_one_cell_at_a_time(filled, make_database):
    cells = {**filled, 'west': make_database()}
    sync.up(cells['west'])
    with cells[HOME].writer() as tx:
        project_cells.put(tx, OURS, ProjectPlace(HOME, 'east'), NOW)
    with pytest.raises(exception.Conflict):
        move(cells, 'west')
    with pytest.raises(exception.Error):
        move(cells, 'north')


def test_a_cell_that_has_stacks_of_the_project_is_not_overwritten(filled):
    fill(filled['east'], OURS)
    with pytest.raises(exception.Error):
        move(filled)
    assert place_of(filled).moving_to is None


# --- the fence ---------------------------------------------------------------------------------------------

def test_nothing_is_accepted_in_a_cell_that_the_project_has_left(filled):
    home = filled[HOME]
    with home.writer() as tx:
        presence.become_cell(tx, NOW)
        presence.enter(tx, OURS)
        presence.leave(tx, OURS, NOW)
    with home.reader() as tx:
        assert stacks.get(tx, f'{OURS}-s0') is not None     # reads go on
    for accept in (lambda tx: presence.enter(tx, OURS), lambda tx: stacks.get(tx, f'{OURS}-s0'),
                   lambda tx: stacks.get(tx, f'{OURS}-s1', for_update=True)):
        with pytest.raises(exception.ProjectMoves), home.writer() as tx:
            accept(tx)
    with home.writer() as tx:
        assert leases.claim(tx, f'{OURS}-s0', 'e2') is None
        assert all(each.stack_id.startswith(THEIRS) for each in leases.claim_expired(tx, 'e2', 100))
        presence.enter(tx, THEIRS)
        assert stacks.get(tx, f'{THEIRS}-s0', for_update=True) is not None


def test_a_database_that_is_no_cell_is_asked_once(cells, counted):
    with cells[HOME].writer() as tx:
        presence.enter(tx, OURS)
        with counted(tx) as statements:
            presence.enter(tx, OURS)
        assert not statements
        assert tx.execute(sa.select(sa.func.count()).select_from(project_presence)).scalar() == 0


def test_a_project_leaves_after_the_requests_that_have_entered(filled, kind):
    if kind != 'mysql':
        pytest.skip('needs writers of several connections')
    home = filled[HOME]
    with home.writer() as tx:
        presence.become_cell(tx, NOW)
    with home.writer() as first:
        presence.enter(first, OURS)
        with pytest.raises(exception.DatabaseUnavailable), home.writer() as second:
            second.exec_driver_sql('SET SESSION innodb_lock_wait_timeout = 1')
            presence.leave(second, OURS, NOW)


def test_paces_are_those_of_the_engines():
    assert moving.SETTLED > presence.KNOWN_SECONDS
    assert MoveDelays().map_seconds > moving.MAP_SECONDS


def test_a_move_waits_until_the_engines_have_read_their_leases_again(db, clock):
    with db.writer() as tx:
        for engine_id in ('e1', 'e2'):
            engine_row(tx, engine_id, ttl=3.0)
        deadlines = engines.doubt(tx)
        assert engines.standing(tx, 'e1') == (3.0, 1)
        assert engines.unsure(tx, deadlines) == 2
        clock.seconds += 1
        engines.renew(tx, 'e1', 3.0, NOW)
        assert engines.unsure(tx, deadlines) == 1           # e2 may stand still
        clock.seconds += 2.5
        assert engines.unsure(tx, deadlines) == 0           # and is past its deadline


class Watched(Hurried):
    """Pauses take the seconds that they are meant to take; `passed(seconds)`: called in each."""

    def __init__(self, passed):
        super().__init__()
        self.seconds = 0.0
        self._passed = passed

    def monotonic(self):
        return self.seconds

    def sleep(self, seconds):
        self.seconds += seconds
        self._passed(self.seconds)


def updating(database, status):
    """Whether a resource of ours is being updated, from now on."""
    with database.writer() as tx:
        tx.execute(stack.update().where(stack.c.id == f'{OURS}-s1').values(status=status))
        tx.execute(resource.update().where(resource.c.stack_id == f'{OURS}-s1', resource.c.id == 1).values(
            action='UPDATE', status=status))


@pytest.mark.parametrize('ends_after', [3.0, 1000.0], ids=['ends', 'does not end'])
def test_updates_of_resources_may_end_before_they_are_interrupted(filled, ends_after):
    updating(filled[HOME], 'IN_PROGRESS')
    left = []

    def passed(seconds):
        with filled[HOME].reader() as tx:
            if presence.has_left(tx, OURS):
                left.append(seconds)
        if seconds >= ends_after:
            updating(filled[HOME], 'COMPLETE')

    pace = MoveDelays(map_seconds=1.0, settled=0.0, updates=5.0)
    CellMove(filled, OURS, 'east', Watched(passed), pace).run()
    assert place_of(filled).cell == 'east'
    assert left[0] - pace.map_seconds == pytest.approx(min(ends_after, pace.map_seconds + pace.updates), abs=0.2)
