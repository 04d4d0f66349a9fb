"""Each statement that runs often uses the index its docstring names, on every database."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from heatlite.db import (
    alarms,
    events,
    leases,
    metrics,
    resource_data,
    resource_lists,
    resources,
    revisions,
    settled_stacks,
    shards,
    software_configs,
    software_deployments,
    stack_lists,
    stack_trees,
    stacks,
    templates,
    upkeep,
)
from heatlite.db.tables import metadata
from heatlite.monitoring.alarms import Datapoint, Metric
from heatlite.planning.states import Action
from tests.db.rows import NOW, Wanted, engine, event, later, leased, nested, stack, state
from tests.db.test_alarms import alarm, entry, webhook
from tests.db.test_revisions import FIRST

PRIMARY = {'sqlite': 'sqlite_autoindex_{}', 'mysql': 'PRIMARY', 'postgresql': '{}_pkey'}

CASES = [
    (lambda tx: stacks.show(tx, 's7'), 'stack'),
    (lambda tx: stacks.identity(tx, 's7'), 'stack'),
    (lambda tx: stacks.get(tx, 's7', 'p3'), 'stack'),
    # Either reads no more than a page: the one by skipping what is nested or deleted, the other has none of it.
    (lambda tx: stack_lists.page(tx, 'p1', Wanted(limit=20)), 'ix_stack_roots', 'ix_stack_project_id_created_at_id'),
    (lambda tx: stack_lists.page(tx, 'p3', Wanted(limit=20, marker='s303')), 'ix_stack_roots',
     'ix_stack_project_id_created_at_id'),
    (lambda tx: stack_lists.page(tx, 'p1', Wanted(limit=20, show_deleted=True, show_nested=True)),
     'ix_stack_project_id_created_at_id'),
    (lambda tx: stack_lists.page(tx, None, Wanted(limit=5, show_deleted=True, show_nested=True)),
     'ix_stack_created_at_id'),
    (lambda tx: stack_lists.count_live_roots(tx, 'p1'), 'ix_stack_roots'),
    (lambda tx: stacks.by_name(tx, 'p1', 'name-s7'), 'uq_stack_project_id_name_live'),
    (lambda tx: stack_trees.tree(tx, 's7'), 'ix_stack_root_id_depth'),
    (lambda tx: stack_trees.descendants(tx, 's7', 's7', 2), 'ix_stack_root_id_depth'),
    (lambda tx: stack_trees.descendants(tx, 's7', 's8'), 'ix_stack_owner_id'),
    (lambda tx: settled_stacks.settled_below(tx, 's7', 's7'), 'ix_stack_root_id_depth'),
    (lambda tx: settled_stacks.settled_below(tx, 's7', 's8'), 'ix_stack_owner_id'),
    (lambda tx: stack_trees.with_descendants(tx, 's7', 1), 'ix_stack_owner_id'),
    (lambda tx: stack_trees.with_descendants(tx, 's7', 2), 'ix_stack_root_id_depth'),
    (lambda tx: stack_trees.child(tx, 's7', 'r1'), 'ix_stack_owner_id'),
    (lambda tx: stack_trees.children(tx, ['s7', 's8']), 'stack'),
    (lambda tx: resources.light(tx, 's7'), 'resource'),
    (lambda tx: resources.light_in_parts(tx, 's7', 5), 'resource'),
    (lambda tx: resources.columns(tx, 's7', [1, 2], ('properties',)), 'resource'),
    (lambda tx: resources.named(tx, 's7', 'r1'), 'ix_resource_stack_id_name_id'),
    (lambda tx: resources.names_with_physical_id(tx, 's7', 'ph7-1'), 'ix_resource_physical_id'),
    (lambda tx: resources.has_in_progress(tx, 's7'), 'resource'),
    (lambda tx: resource_lists.page(tx, ['s7', 's8']), 'resource'),
    (lambda tx: resource_lists.page(tx, ['s7']), 'resource'),
    (lambda tx: resource_lists.with_few(tx, 's7', 1), 'ix_stack_owner_id'),
    (lambda tx: resource_lists.with_few(tx, 's7', 2), 'ix_stack_root_id_depth'),
    (lambda tx: resource_lists.by_name(tx, 's7', 'r1'), 'ix_resource_stack_id_name_id'),
    (lambda tx: resource_lists.in_place(tx, 's7', 'r1'), 'ix_resource_stack_id_name_id'),
    (lambda tx: resource_lists.by_physical_id(tx, 'ph7-1', 'p3'), 'ix_resource_physical_id'),
    (lambda tx: resource_lists.oldest_holders(tx, 'ph7-1', 'p3', 8), 'ix_resource_physical_id'),
    (lambda tx: resource_data.data(tx, 's7', 1), 'resource_data'),
    (lambda tx: events.page(tx, ['s7'], Wanted(limit=20)), 'ix_event_stack_id_id'),
    (lambda tx: events.page(tx, ['s7'], Wanted(limit=20, marker='v7-3')), 'ix_event_stack_id_id'),
    (lambda tx: events.show(tx, 's7', 'v7-3'), 'ix_event_stack_id_id'),
    (lambda tx: leases.claim(tx, 's7', 'e1'), 'lease'),
    (lambda tx: leases._take(tx, 'engine_id IS NULL', (), 5, ('', ())), 'ix_lease_wanted_engine_id'),
    (lambda tx: leases.hand_over(tx, 'e9'), 'ix_lease_engine_id'),
    (lambda tx: software_configs.page(tx, 'p1', 20), 'ix_software_config_project_id_created_at_id'),
    (lambda tx: software_deployments.configs_of_server(tx, 'p1', 'v7'), 'ix_software_deployment_server_id'),
    (lambda tx: revisions.page(tx, 's7', 20, 9), 'revision'),
    (lambda tx: revisions.show(tx, 's7', 9), 'revision'),
    (lambda tx: revisions.insert(tx, replace(FIRST, stack_id='s7', number=99)), 'revision'),
    (lambda tx: revisions.remove_until(tx, 's7', 1), 'revision'),
    (lambda tx: templates.prune(tx, 's7'), 'revision'),
    (lambda tx: upkeep.purge(tx, NOW, batch=5), 'ix_stack_deleted_at'),
    (lambda tx: metrics.find(tx, 'p1', [Metric('n', 'm7')]), 'uq_metric_project_id_digest'),
    (lambda tx: metrics.page(tx, 'p1', namespace='n', name='m7'), 'ix_metric_project_id_namespace_name'),
    (lambda tx: metrics.statistics(tx, [7, 8], 0, 10 ** 10, 300), 'metric_period'),
    (lambda tx: metrics.fold(tx, 60, 1000.0, 5), 'ix_metric_period_length_start'),
    (lambda tx: metrics.purge(tx, 1.0, 5), 'ix_metric_seen_at'),
    (lambda tx: alarms.get(tx, 'p1', 'a7'), 'uq_alarm_project_id_name'),
    (lambda tx: alarms.page(tx, 'p1', marker='a7', limit=5), 'uq_alarm_project_id_name'),
    (lambda tx: alarms.for_metric(tx, 'p1', Metric('n', 'm7')), 'ix_alarm_project_id_digest'),
    (lambda tx: alarms.due(tx, 3, 5.0, 5), 'ix_alarm_shard_due_at'),
    (lambda tx: alarms.history(tx, 'p1', 'a7', limit=5), 'ix_alarm_history_project_id_name_id'),
    (lambda tx: alarms.purge_history(tx, NOW, 5), 'ix_alarm_history_created_at'),
    (lambda tx: alarms.remove(tx, [alarm('a7', 'p1')]), 'ix_alarm_webhook_shard_due_at'),
]


@pytest.fixture(scope='module')
def full(databases, clock):
    """Enough rows that the planners care."""
    from heatlite.db import sync
    with databases() as make:
        database = make(now=clock)
        sync.up(database)
        fill(database)
        yield database


def fill(database):
    with database.writer() as tx:
        engine(tx)
        for number in range(600):
            leased(tx, stack(f's{number}', project_id=f'p{number % 4}', created_at=later(number),
                             deleted_at=later(number) if number % 10 == 9 else None))
            if number % 3 == 0:
                leased(tx, nested(f'c{number}', stack(f's{number}'), 'r1', project_id=f'p{number % 4}'), by='e9')
            resources.insert_many(tx, f's{number}', [
                state(row, action=Action.CREATE, physical_id=f'ph{number}-{row}')
                for row in range(1, 2000 if number == 7 else 6)])
            events.insert_many(tx, f's{number}', [event(f'v{number}-{row}', row) for row in range(1, 6)])
        tx.execute(metadata.tables['revision'].insert(), [
            {'stack_id': f's{number}', 'number': revision, 'template_id': 't', 'created_at': NOW}
            for number in range(600) for revision in range(1, 11)])
        configs, deployments = metadata.tables['software_config'], metadata.tables['software_deployment']
        tx.execute(configs.insert(), [{'id': f'c{number}', 'project_id': f'p{number % 50}', 'config': '{}',
                                       'created_at': NOW} for number in range(2000)])
        tx.execute(deployments.insert(), [{'id': f'd{number}', 'project_id': 'p1', 'server_id': f'v{number // 3}',
                                           'config_id': f'c{number}', 'created_at': NOW} for number in range(2000)])
        points = [Datapoint(Metric('n', f'm{number}'), 60.0 * minute, 'None', 1.0, 1.0, 1.0, 1.0)
                  for number in range(300) for minute in range(1, 30)]
        for project in ('p1', 'p2'):
            metrics.store(tx, project, points, 1000.0)
        tx.execute(metadata.tables['lease'].delete().where(metadata.tables['lease'].c.stack_id == shards.METRICS))
        for project in ('p1', 'p2'):
            for number in range(300):
                alarms.put(tx, alarm(f'a{number}', project, stack_id=f's{number}', due_at=float(number)))
        alarms.remember(tx, [entry(f'a{number % 300}', at=number) for number in range(2000)])
        alarms.queue(tx, [webhook(alarm(f'a{number}', f'p{number % 300}')) for number in range(2000)], 5.0, NOW)
    if database.dialect != 'sqlite':                # which nobody asks to gather figures
        with database.engine.connect().execution_options(isolation_level='AUTOCOMMIT') as connection:
            for table in metadata.tables:
                quoted = connection.dialect.identifier_preparer.quote(table)
                connection.exec_driver_sql({'mysql': 'ANALYZE TABLE {}',
                                            'postgresql': 'VACUUM ANALYZE {}'}[database.dialect].format(quoted))


def plans(tx, dialect, look):
    """What the database means to do for each statement of `look`."""
    found = []

    def note(_connection, _cursor, statement, parameters, _context, _many):
        found.append((statement, parameters))

    sa.event.listen(tx, 'before_cursor_execute', note)
    look(tx)
    sa.event.remove(tx, 'before_cursor_execute', note)
    if dialect == 'postgresql':                     # small tables are read whole unless that is forbidden
        tx.exec_driver_sql('SET LOCAL enable_seqscan = off')
        tx.exec_driver_sql('SET LOCAL enable_bitmapscan = off')
    explain = {'sqlite': 'EXPLAIN QUERY PLAN ', 'mysql': 'EXPLAIN ', 'postgresql': 'EXPLAIN '}[dialect]
    return '\n'.join(str(tuple(row)) for statement, parameters in found
                     for row in tx.exec_driver_sql(explain + statement, parameters))


def _called(kind, index):
    kind = 'mysql' if kind == 'galera' else kind
    if index.startswith('ix_'):
        return index
    if index.startswith('uq_'):
        return f'sqlite_autoindex_{index.split("_")[1]}' if kind == 'sqlite' else index
    return PRIMARY[kind].format(index)


@pytest.mark.parametrize('case', CASES, ids=[case[1] for case in CASES])
def test_plan(full, kind, case):
    look, *indexes = case
    with pytest.raises(ZeroDivisionError), full.writer() as tx:
        found = plans(tx, 'mysql' if kind == 'galera' else kind, look)
        assert any(_called(kind, index) in found for index in indexes), found
        raise ZeroDivisionError                     # nothing of it is kept
