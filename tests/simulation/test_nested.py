"""Stacks in stacks, through whole lives and killed at every point."""

from __future__ import annotations

import contextlib
import json
import traceback

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.db import stacks, tables
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, kill_engines_in, lose_database_in, outputs

CHILD = '''
heat_template_version: 2018-08-31
parameters:
  value: {type: string, default: plain}
  fail: {type: boolean, default: false}
resources:
  a: {type: "Sim::Thing", properties: {value: {get_param: value}}}
  b: {type: "Sim::Thing", properties: {value: {get_resource: a}, fail: {get_param: fail}}}
outputs:
  ident: {value: {get_resource: a}}
'''
FILES = {'child.yaml': CHILD}


def template(resources, **outputs):
    return {'heat_template_version': '2018-08-31', 'resources': resources,
            'outputs': {name: {'value': value} for name, value in outputs.items()}}


def nested(value='one', fail=False, fail_after=False):
    """A template resource, and a thing that needs what it tells."""
    return template(
        {'c': {'type': 'child.yaml', 'properties': {'value': value, 'fail': fail}},
         'd': {'type': 'Sim::Thing', 'properties': {'value': {'get_attr': ['c', 'ident']}, 'fail': fail_after}}},
        ident={'get_attr': ['c', 'ident']}, reference={'get_resource': 'c'}, inner={'get_attr': ['c', 'resource.b']},
        every={'get_attr': ['c']})


def group(count, value='v-%index%', policy=None, member=None, **properties):
    found = {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': count, 'resource_def': {'type': 'Sim::Thing', 'properties': {'value': value, **(member or {})}},
        **properties}}
    if policy:
        found['update_policy'] = policy
    return template({'g': found}, refs={'get_attr': ['g', 'refs']}, map={'get_attr': ['g', 'refs_map']},
                    second={'get_attr': ['g', 'resource.1']}, removed={'get_attr': ['g', 'removed_rsrc_list']})


def child_of(cluster, stack_id, name):
    with cluster.database.reader() as tx:
        return stacks.get(tx, cluster.states(stack_id)[name][-1][2])


def values(cluster):
    return sorted(each['value'] for each in cluster.cloud.objects.values())


def rows_of_files(cluster):
    with cluster.database.reader() as tx:
        return tx.execute(sa.select(sa.func.count()).select_from(tables.files)).scalar()


def sizes_of(cluster, stack_id):
    """How many members the nested stack of g had after each of its actions, from its events."""
    child = child_of(cluster, stack_id, 'g')
    members, sizes = set(), []
    for name, action, status, _reason in cluster.events(child.id):
        if name == child.name and status == 'COMPLETE':
            sizes.append(len(members))
        elif (action, status) == ('CREATE', 'COMPLETE'):
            members.add(name)
        elif (action, status) == ('DELETE', 'COMPLETE'):
            members.discard(name)
    return sizes


@pytest.mark.parametrize('made', [nested(), group(2)], ids=['template', 'group'])
def test_a_create_that_another_engine_completes_updates_nothing(made):
    """Not even a nested stack that was complete already, or that is completed by the next engine."""
    def life(cluster):
        stack_id = cluster.create('s', {**made, 'resources': {
            **made['resources'], 'last': {'type': 'Sim::Thing', 'depends_on': list(made['resources'])}}}, files=FILES)
        done(cluster, stack_id, 'CREATE')
        with cluster.database.reader() as tx:
            tree = tx.execute(sa.select(tables.stack.c.id)).scalars().all()
        assert len(tree) == 2
        assert {event[1] for each in tree for event in cluster.events(each)} == {'CREATE'}

    kill_engines_in(life, 7)


@contextlib.contextmanager
def broken_query():
    """The first shared query for the states of nested stacks fails with an error that no code knows. Yields the
    texts of the queries."""
    seen = []

    def refuse(_connection, _cursor, statement, *_rest):
        if 'WHERE stack.id IN' in statement and traceback_has('_read', 'nesting.py'):
            seen.append(statement)
            if len(seen) == 1:
                raise db_exception.DBError(Exception('an unknown error'))

    sa.event.listen(sa.Engine, 'before_cursor_execute', refuse)
    try:
        yield seen
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', refuse)


def traceback_has(function, file):
    """Whether the present call comes from that function."""
    return any(each.name == function and each.filename.endswith(file) for each in traceback.extract_stack())


def test_an_error_of_the_shared_query_does_not_say_that_a_nested_stack_is_gone():
    with Cluster(engines=1) as cluster:
        with broken_query() as asked:
            stack_id = cluster.create('s', group(3))
            row = cluster.settle(stack_id)
        assert asked and (row.action, row.status) == ('CREATE', 'FAILED')
        assert 'gone' not in row.reason and 'Internal error: DBError' in row.reason


def test_an_error_of_the_shared_query_does_not_end_a_delete():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', group(3))
        done(cluster, stack_id, 'CREATE')
        with broken_query() as asked:
            cluster.delete(stack_id)
            row = cluster.settle(stack_id)
        assert asked and (row.action, row.status) == ('DELETE', 'FAILED')
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
        assert cluster.cloud.objects == {}


# --- template resources ------------------------------------------------------------------------------------

def test_a_tree_has_its_files_once():
    outer = template({'inner': {'type': 'child.yaml'}, 'twin': {'type': 'child.yaml'}})
    deep = {**FILES, 'outer.yaml': json.dumps(outer)}
    tree = template({'o': {'type': 'outer.yaml'}, 'c': {'type': 'child.yaml'}})
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree, files=deep)
        done(cluster, stack_id, 'CREATE')
        assert rows_of_files(cluster) == 1
        cluster.update(stack_id, {**tree, 'description': 'new'}, files=deep)
        done(cluster, stack_id, 'UPDATE')
        assert rows_of_files(cluster) == 1

        changed = {**deep, 'child.yaml': CHILD.replace('plain', 'other')}
        cluster.update(stack_id, tree, files=changed)
        done(cluster, stack_id, 'UPDATE')
        assert values(cluster).count('other') == 3 and 'plain' not in values(cluster)
        assert rows_of_files(cluster) == 2            # those of before are kept with the templates of before
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert not cluster.cloud.objects


def test_a_template_resource_lives():
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested(), files=FILES)
        row = done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        assert (child.owner_id, child.parent_resource, child.depth) == (stack_id, 'c', 1)
        assert child.name.startswith('s-c-') and child.root_id == stack_id
        inside = cluster.states(child.id)
        assert outputs(row) == {
            'ident': inside['a'][0][2], 'inner': inside['b'][0][2], 'every': {'ident': inside['a'][0][2]},
            'reference': f'arn:openstack:heat::p:stacks/{child.name}/{child.id}'}

        cluster.update(stack_id, nested('two'), files=FILES)
        done(cluster, stack_id, 'UPDATE')
        assert 'two' in values(cluster)
        assert cluster.states(child.id) == {name: [('UPDATE', 'COMPLETE', inside[name][0][2])] if name == 'a' else
                                          inside[name] for name in inside}

        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}
        assert cluster.row(child.id).deleted_at is not None


def test_an_update_that_converges_reaches_the_members():
    """Even if it changes nothing. One that does not converge leaves such a nested stack alone (test_settled.py)."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested(), files=FILES)
        done(cluster, stack_id, 'CREATE')
        before = child_of(cluster, stack_id, 'c').generation
        cluster.update(stack_id, nested(), files=FILES, converge=True)
        done(cluster, stack_id, 'UPDATE')
        child = child_of(cluster, stack_id, 'c')
        assert (child.action, child.generation) == ('UPDATE', before + 1)
        assert len(cluster.cloud.made) == 3


def test_a_failure_inside_is_told_with_its_path():
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested(fail=True), files=FILES)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert row.reason == 'Resource CREATE failed: Error: resources.c.resources.b: told to fail'
        assert child_of(cluster, stack_id, 'c').reason == 'Resource CREATE failed: Error: resources.b: told to fail'
        cluster.update(stack_id, nested(), files=FILES)       # not replaced: it goes on from where it is
        done(cluster, stack_id, 'UPDATE')
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}


def test_a_rollback_takes_nested_stacks_back():
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested('one'), files=FILES)
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        cluster.update(stack_id, nested('two', fail_after=True), files=FILES, disable_rollback=False)
        done(cluster, stack_id, 'ROLLBACK')
        assert 'one' in values(cluster) and 'two' not in values(cluster)
        assert child_of(cluster, stack_id, 'c').id == child.id


def test_a_nested_stack_that_vanished_is_replaced():
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested(), files=FILES)
        done(cluster, stack_id, 'CREATE')
        gone = child_of(cluster, stack_id, 'c')
        cluster.delete(gone.id)
        cluster.settle(gone.id)
        cluster.update(stack_id, nested(), files=FILES)
        done(cluster, stack_id, 'UPDATE')
        assert child_of(cluster, stack_id, 'c').id != gone.id
        assert len(cluster.cloud.objects) == 3


@pytest.mark.parametrize('action, undo', [('suspend', 'resume'), ('check', None)])
def test_actions_reach_the_members(action, undo):
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested(), files=FILES)
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        for each in filter(None, [action, undo]):
            cluster.ask(messages.StackAction(stack_id, each))
            done(cluster, stack_id, each.upper())
            assert {rows[0][:2] for rows in cluster.states(child.id).values()} == {(each.upper(), 'COMPLETE')}


def test_deleted_while_it_is_being_made():
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested(), files=FILES)
        assert cluster.universe.run(lambda: bool(cluster.cloud.made), limit=100)
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}


def test_a_type_mapped_to_a_template_stands_for_it_only_outside():
    """The entry that led to the template is not seen inside it, so it may use the type it stands for."""
    inside = '''
heat_template_version: 2018-08-31
parameters:
  value: {type: string, default: x}
  fixed: {type: string, default: ''}
  fail: {type: boolean, default: false}
resources: {thing: {type: "Sim::Thing", properties: {value: {get_param: value}}}}
outputs: {"OS::stack_id": {value: {get_resource: thing}}}
'''
    with Cluster() as cluster:
        found = cluster.ask(messages.CreateStack(
            stack_name='s', template=template({'t': {'type': 'Sim::Thing', 'properties': {'value': 'v'}}},
                                              reference={'get_resource': 't'}),
            environment={'resource_registry': {'Sim::Thing': 'thing.yaml'}}, files={'thing.yaml': inside}))
        row = done(cluster, found['stack_id'], 'CREATE')
        assert outputs(row)['reference'] in cluster.cloud.objects
        assert values(cluster) == ['v']


def test_a_nested_stack_too_deep_is_refused():
    """Recursion ends at the limit, with an error and not with a full database."""
    endless = 'heat_template_version: 2018-08-31\nresources: {again: {type: endless.yaml}}\n'
    with Cluster() as cluster, pytest.raises(Exception, match='Recursion depth exceeds'):
        cluster.create('s', template({'r': {'type': 'endless.yaml'}}), files={'endless.yaml': endless})


# --- groups ------------------------------------------------------------------------------------------------

def test_a_group_lives():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(3))
        row = done(cluster, stack_id, 'CREATE')
        members = {name: rows[0][2] for name, rows in cluster.states(child_of(cluster, stack_id, 'g').id).items()}
        assert sorted(members) == ['0', '1', '2']
        assert outputs(row) == {'refs': [members[name] for name in '012'], 'map': members, 'second': members['1'],
                                'removed': []}
        assert values(cluster) == ['v-0', 'v-1', 'v-2']

        cluster.update(stack_id, group(2))
        done(cluster, stack_id, 'UPDATE')
        assert values(cluster) == ['v-0', 'v-1']
        cluster.update(stack_id, group(0))
        row = done(cluster, stack_id, 'UPDATE')
        assert cluster.cloud.objects == {} and outputs(row)['refs'] == [] and outputs(row)['map'] == {}


@pytest.mark.parametrize('named', ['0', 0, 'reference'])
def test_removed_members_never_come_again(named):
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(3))
        row = done(cluster, stack_id, 'CREATE')
        entry = outputs(row)['map']['0'] if named == 'reference' else named
        cluster.update(stack_id, group(3, removal_policies=[{'resource_list': [entry, 'unknown']}]))
        row = done(cluster, stack_id, 'UPDATE')
        assert list(outputs(row)['map']) == ['1', '2', '3'] and outputs(row)['removed'] == ['0']
        cluster.update(stack_id, group(3))
        assert list(outputs(done(cluster, stack_id, 'UPDATE'))['map']) == ['1', '2', '3']
        cluster.update(stack_id, group(3, removal_policies=[{'resource_list': ['2']}], removal_policies_mode='update'))
        assert list(outputs(done(cluster, stack_id, 'UPDATE'))['map']) == ['0', '1', '3']


def test_names_left_out_from_the_beginning():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(2, removal_policies=[{'resource_list': ['0']}]))
        assert list(outputs(done(cluster, stack_id, 'CREATE'))['map']) == ['1', '2']


def test_a_removed_member_is_not_found():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(1))
        row = done(cluster, stack_id, 'CREATE')
        second = next(output for output in row.outputs if output['output_key'] == 'second')
        assert second['output_error'] == "Member '1' not found in group resource 'g'."


def test_attributes_of_members():
    wanted = group(2)
    wanted['resources']['g']['properties']['resource_def'] = {'type': 'OS::Heat::Value', 'properties': {
        'value': {'n': '%index%', 'list': ['a', 'b-%index%']}}}
    wanted['outputs'] = {name: {'value': {'get_attr': path}} for name, path in {
        'all': ['g', 'value'], 'part': ['g', 'value', 'list', 1], 'mapped': ['g', 'attributes', 'value', 'n'],
        'one': ['g', 'resource.1', 'value', 'n'], 'dotted': ['g', 'resource.0.value', 'n']}.items()}
    with Cluster() as cluster:
        row = done(cluster, cluster.create('s', wanted), 'CREATE')
        assert outputs(row) == {
            'all': [{'n': '0', 'list': ['a', 'b-0']}, {'n': '1', 'list': ['a', 'b-1']}], 'part': ['b-0', 'b-1'],
            'mapped': {'0': '0', '1': '1'}, 'one': '1', 'dotted': '0'}


def test_a_member_that_fails_is_told_by_its_number():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(2, member={'fail': True}))
        row = cluster.settle(stack_id)
        assert row.reason in [f'Resource CREATE failed: Error: resources.g.resources[{n}]: told to fail' for n in '01']


def test_a_creation_in_batches():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(5, policy={'batch_create': {'max_batch_size': 2, 'pause_time': 10}}))
        done(cluster, stack_id, 'CREATE')
        assert sizes_of(cluster, stack_id) == [0, 2, 4, 5]
        assert cluster.universe.time >= 30


def rolling(largest=2, in_service=3, pause=0):
    return {'rolling_update': {'max_batch_size': largest, 'min_in_service': in_service, 'pause_time': pause}}


def test_a_rolling_update():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(4))
        done(cluster, stack_id, 'CREATE')
        before = child_of(cluster, stack_id, 'g').generation
        cluster.update(stack_id, group(4, 'w-%index%', rolling(pause=7)))
        done(cluster, stack_id, 'UPDATE')
        assert values(cluster) == ['w-0', 'w-1', 'w-2', 'w-3']
        assert child_of(cluster, stack_id, 'g').generation == before + 3
        assert cluster.cloud.made[-1].split('-')[-2] == '4', 'a spare member'
        assert cluster.universe.time >= 14


def test_pauses_longer_than_the_stack_may_take():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(3, policy={'batch_create': {'pause_time': 4000}}))
        assert cluster.settle(stack_id).reason == (
            'Resource CREATE failed: ValueError: resources.g: '
            'The current update policy will result in stack update timeout.')


def test_a_failed_batch_stops_the_rest():
    with Cluster() as cluster:
        stack_id = cluster.create('s', group(4))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, group(4, 'w-%index%', rolling(largest=1, in_service=0), member={'fail': True}))
        row = cluster.settle(stack_id)
        assert row.reason == 'Resource UPDATE failed: Error: resources.g.resources[3]: told to fail'
        assert values(cluster)[:3] == ['v-0', 'v-1', 'v-2']
        cluster.update(stack_id, group(4, 'x-%index%', rolling(largest=1, in_service=0)))
        done(cluster, stack_id, 'UPDATE')
        assert values(cluster) == ['x-0', 'x-1', 'x-2', 'x-3']


def test_a_chain():
    wanted = template({'c': {'type': 'OS::Heat::ResourceChain', 'properties': {
        'resources': ['Sim::Thing', 'Sim::Thing', 'Sim::Thing'], 'resource_properties': {'value': 'v'}}}},
        refs={'get_attr': ['c', 'refs']})
    with Cluster() as cluster:
        stack_id = cluster.create('s', wanted)
        row = done(cluster, stack_id, 'CREATE')
        assert [name.split('-')[-2] for name in cluster.cloud.made] == ['0', '1', '2']
        assert outputs(row)['refs'] == list(cluster.cloud.objects)


# --- killed ------------------------------------------------------------------------------------------------

def nested_life(cluster):
    stack_id = cluster.create('s', nested(), files=FILES)
    done(cluster, stack_id, 'CREATE')
    assert len(cluster.cloud.made) == len(set(cluster.cloud.made)) == 3
    cluster.update(stack_id, nested('two'), files=FILES)
    done(cluster, stack_id, 'UPDATE')
    assert 'two' in values(cluster) and len(cluster.cloud.made) == 3
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert cluster.cloud.objects == {}


def rolling_life(cluster):
    stack_id = cluster.create('s', group(2, policy={'batch_create': {}}))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, group(3, 'w-%index%', rolling(largest=1, in_service=2, pause=1),
                                 removal_policies=[{'resource_list': ['0']}]))
    row = done(cluster, stack_id, 'UPDATE')
    assert list(outputs(row)['map']) == ['1', '2', '3']
    assert values(cluster) == ['w-1', 'w-2', 'w-3']
    assert sorted(outputs(row)['refs']) == sorted(cluster.cloud.objects)
    with cluster.database.reader() as tx:
        assert tx.exec_driver_sql('SELECT count(*) FROM stack').scalar() == 2, 'a nested stack was made twice'


def deleted_in_the_middle(cluster):
    stack_id = cluster.create('s', group(3))
    cluster.universe.run(lambda: len(cluster.cloud.made) > 1, limit=50)
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert cluster.cloud.objects == {}
    with cluster.database.reader() as tx:
        assert not tx.exec_driver_sql('SELECT name FROM stack WHERE deleted_at IS NULL').all()


def rolled_back(cluster):
    cluster.chaos.enabled = False
    stack_id = cluster.create('s', nested('one'), files=FILES)
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    cluster.update(stack_id, nested('two', fail_after=True), files=FILES, disable_rollback=False)
    done(cluster, stack_id, 'ROLLBACK')
    assert 'one' in values(cluster) and 'two' not in values(cluster) and len(cluster.cloud.objects) == 3


LIVES = {life.__name__: life for life in (nested_life, rolling_life, deleted_in_the_middle, rolled_back)}


@pytest.mark.parametrize('name', LIVES)
def test_killed_at_any_point(name):
    """Every ninth by default; the rest with HEATLITE_TEST_STRIDE=1."""
    assert kill_engines_in(LIVES[name], 9) > 10


def test_killed_while_the_last_batch_begins():
    """Its nested update was accepted, and the group did not hear of it before the pause was over."""
    with Cluster() as cluster:
        cluster.chaos.enabled = True
        rolling_life(cluster)
        points = cluster.chaos.count
    for point in range(points - 30, points):
        with Cluster(seed=point, kill_at=[point]) as cluster:
            cluster.chaos.enabled = True
            rolling_life(cluster)


def test_what_still_runs_after_a_cancel_ends_in_time():
    slow = template({'slow': {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 100000}}})
    with Cluster() as cluster:
        stack_id = cluster.create('s', template({'c': {'type': 'slow.yaml'}}), files={'slow.yaml': json.dumps(slow)},
                                timeout_mins=1)
        assert cluster.universe.run(lambda: 'c' in cluster.states(stack_id) and cluster.states(stack_id)['c'][0][2])
        child = child_of(cluster, stack_id, 'c')
        cluster.ask(messages.CancelStack(stack_id, rollback=False))
        cluster.ask(messages.CancelStack(child.id, rollback=False))
        assert cluster.row(child.id).reason == 'Stack CREATE cancelled'
        assert cluster.universe.run(lambda: cluster.states(child.id)['slow'][0][:2] == ('CREATE', 'FAILED'), limit=65)


@pytest.mark.parametrize('name', LIVES)
def test_the_database_away_at_any_time(name):
    lose_database_in(LIVES[name], 43)


def test_the_error_of_a_member_that_is_wrong_only_when_it_is_known():
    """It names the member and its property, although only the engine could find it."""
    tree = template({
        'a': {'type': 'Sim::Thing', 'properties': {'value': 'a'}},
        'g': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {
            'type': 'Sim::Thing', 'properties': {'fail': {'get_resource': 'a'}}}}}})
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert 'resources.g' in row.reason and 'Property error: resources' in row.reason
