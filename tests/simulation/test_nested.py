"""Stacks in stacks, through whole lives and killed at every point."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.db import stacks, tables
from heatlite.rpc import messages
from tests.simulation.house import House, done, kill_engines_in, lose_database_in, outputs

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


def child_of(house, stack_id, name):
    with house.database.reader() as tx:
        return stacks.get(tx, house.states(stack_id)[name][-1][2])


def values(house):
    return sorted(each['value'] for each in house.cloud.objects.values())


def rows_of_files(house):
    with house.database.reader() as tx:
        return tx.execute(sa.select(sa.func.count()).select_from(tables.files)).scalar()


def sizes_of(house, stack_id):
    """How many members the nested stack of g had after each of its actions, from its events."""
    child = child_of(house, stack_id, 'g')
    members, sizes = set(), []
    for name, action, status, _reason in house.events(child.id):
        if name == child.name and status == 'COMPLETE':
            sizes.append(len(members))
        elif (action, status) == ('CREATE', 'COMPLETE'):
            members.add(name)
        elif (action, status) == ('DELETE', 'COMPLETE'):
            members.discard(name)
    return sizes


# --- template resources ------------------------------------------------------------------------------------

def test_a_tree_has_its_files_once():
    outer = template({'inner': {'type': 'child.yaml'}, 'twin': {'type': 'child.yaml'}})
    deep = {**FILES, 'outer.yaml': json.dumps(outer)}
    tree = template({'o': {'type': 'outer.yaml'}, 'c': {'type': 'child.yaml'}})
    with House() as house:
        stack_id = house.create('s', tree, files=deep)
        done(house, stack_id, 'CREATE')
        assert rows_of_files(house) == 1
        house.update(stack_id, {**tree, 'description': 'new'}, files=deep)
        done(house, stack_id, 'UPDATE')
        assert rows_of_files(house) == 1

        changed = {**deep, 'child.yaml': CHILD.replace('plain', 'other')}
        house.update(stack_id, tree, files=changed)
        done(house, stack_id, 'UPDATE')
        assert values(house).count('other') == 3 and 'plain' not in values(house)
        assert rows_of_files(house) == 2            # those of before are kept with the templates of before
        house.delete(stack_id)
        done(house, stack_id, 'DELETE')
        assert not house.cloud.objects


def test_a_template_resource_lives():
    with House() as house:
        stack_id = house.create('s', nested(), files=FILES)
        row = done(house, stack_id, 'CREATE')
        child = child_of(house, stack_id, 'c')
        assert (child.owner_id, child.parent_resource, child.depth) == (stack_id, 'c', 1)
        assert child.name.startswith('s-c-') and child.root_id == stack_id
        inside = house.states(child.id)
        assert outputs(row) == {
            'ident': inside['a'][0][2], 'inner': inside['b'][0][2], 'every': {'ident': inside['a'][0][2]},
            'reference': f'arn:openstack:heat::p:stacks/{child.name}/{child.id}'}

        house.update(stack_id, nested('two'), files=FILES)
        done(house, stack_id, 'UPDATE')
        assert 'two' in values(house)
        assert house.states(child.id) == {name: [('UPDATE', 'COMPLETE', inside[name][0][2])] if name == 'a' else
                                          inside[name] for name in inside}

        house.delete(stack_id)
        done(house, stack_id, 'DELETE')
        assert house.cloud.objects == {}
        assert house.row(child.id).deleted_at is not None


def test_an_update_always_reaches_the_members():
    """Even one that changes nothing: the nested stack is what decides."""
    with House() as house:
        stack_id = house.create('s', nested(), files=FILES)
        done(house, stack_id, 'CREATE')
        before = child_of(house, stack_id, 'c').generation
        house.update(stack_id, nested(), files=FILES)
        done(house, stack_id, 'UPDATE')
        child = child_of(house, stack_id, 'c')
        assert (child.action, child.generation) == ('UPDATE', before + 1)
        assert len(house.cloud.made) == 3


def test_a_failure_inside_is_told_with_its_path():
    with House() as house:
        stack_id = house.create('s', nested(fail=True), files=FILES)
        row = house.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert row.reason == 'Resource CREATE failed: Error: resources.c.resources.b: told to fail'
        assert child_of(house, stack_id, 'c').reason == 'Resource CREATE failed: Error: resources.b: told to fail'
        house.update(stack_id, nested(), files=FILES)       # not replaced: it goes on from where it is
        done(house, stack_id, 'UPDATE')
        house.delete(stack_id)
        done(house, stack_id, 'DELETE')
        assert house.cloud.objects == {}


def test_a_rollback_takes_nested_stacks_back():
    with House() as house:
        stack_id = house.create('s', nested('one'), files=FILES)
        done(house, stack_id, 'CREATE')
        child = child_of(house, stack_id, 'c')
        house.update(stack_id, nested('two', fail_after=True), files=FILES, disable_rollback=False)
        done(house, stack_id, 'ROLLBACK')
        assert 'one' in values(house) and 'two' not in values(house)
        assert child_of(house, stack_id, 'c').id == child.id


def test_a_nested_stack_that_vanished_is_replaced():
    with House() as house:
        stack_id = house.create('s', nested(), files=FILES)
        done(house, stack_id, 'CREATE')
        gone = child_of(house, stack_id, 'c')
        house.delete(gone.id)
        house.settle(gone.id)
        house.update(stack_id, nested(), files=FILES)
        done(house, stack_id, 'UPDATE')
        assert child_of(house, stack_id, 'c').id != gone.id
        assert len(house.cloud.objects) == 3


@pytest.mark.parametrize('action, undo', [('suspend', 'resume'), ('check', None)])
def test_actions_reach_the_members(action, undo):
    with House() as house:
        stack_id = house.create('s', nested(), files=FILES)
        done(house, stack_id, 'CREATE')
        child = child_of(house, stack_id, 'c')
        for each in filter(None, [action, undo]):
            house.ask(messages.StackAction(stack_id, each))
            done(house, stack_id, each.upper())
            assert {rows[0][:2] for rows in house.states(child.id).values()} == {(each.upper(), 'COMPLETE')}


def test_deleted_while_it_is_being_made():
    with House() as house:
        stack_id = house.create('s', nested(), files=FILES)
        assert house.universe.run(lambda: bool(house.cloud.made), limit=100)
        house.delete(stack_id)
        done(house, stack_id, 'DELETE')
        assert house.cloud.objects == {}


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
    with House() as house:
        found = house.ask(messages.CreateStack(
            stack_name='s', template=template({'t': {'type': 'Sim::Thing', 'properties': {'value': 'v'}}},
                                              reference={'get_resource': 't'}),
            environment={'resource_registry': {'Sim::Thing': 'thing.yaml'}}, files={'thing.yaml': inside}))
        row = done(house, found['stack_id'], 'CREATE')
        assert outputs(row)['reference'] in house.cloud.objects
        assert values(house) == ['v']


def test_a_nested_stack_too_deep_is_refused():
    """Recursion ends at the limit, with an error and not with a full database."""
    endless = 'heat_template_version: 2018-08-31\nresources: {again: {type: endless.yaml}}\n'
    with House() as house, pytest.raises(Exception, match='Recursion depth exceeds'):
        house.create('s', template({'r': {'type': 'endless.yaml'}}), files={'endless.yaml': endless})


# --- groups ------------------------------------------------------------------------------------------------

def test_a_group_lives():
    with House() as house:
        stack_id = house.create('s', group(3))
        row = done(house, stack_id, 'CREATE')
        members = {name: rows[0][2] for name, rows in house.states(child_of(house, stack_id, 'g').id).items()}
        assert sorted(members) == ['0', '1', '2']
        assert outputs(row) == {'refs': [members[name] for name in '012'], 'map': members, 'second': members['1'],
                                'removed': []}
        assert values(house) == ['v-0', 'v-1', 'v-2']

        house.update(stack_id, group(2))
        done(house, stack_id, 'UPDATE')
        assert values(house) == ['v-0', 'v-1']
        house.update(stack_id, group(0))
        row = done(house, stack_id, 'UPDATE')
        assert house.cloud.objects == {} and outputs(row)['refs'] == [] and outputs(row)['map'] == {}


@pytest.mark.parametrize('named', ['0', 0, 'reference'])
def test_removed_members_never_come_again(named):
    with House() as house:
        stack_id = house.create('s', group(3))
        row = done(house, stack_id, 'CREATE')
        entry = outputs(row)['map']['0'] if named == 'reference' else named
        house.update(stack_id, group(3, removal_policies=[{'resource_list': [entry, 'unknown']}]))
        row = done(house, stack_id, 'UPDATE')
        assert list(outputs(row)['map']) == ['1', '2', '3'] and outputs(row)['removed'] == ['0']
        house.update(stack_id, group(3))
        assert list(outputs(done(house, stack_id, 'UPDATE'))['map']) == ['1', '2', '3']
        house.update(stack_id, group(3, removal_policies=[{'resource_list': ['2']}], removal_policies_mode='update'))
        assert list(outputs(done(house, stack_id, 'UPDATE'))['map']) == ['0', '1', '3']


def test_names_left_out_from_the_beginning():
    with House() as house:
        stack_id = house.create('s', group(2, removal_policies=[{'resource_list': ['0']}]))
        assert list(outputs(done(house, stack_id, 'CREATE'))['map']) == ['1', '2']


def test_a_removed_member_is_not_found():
    with House() as house:
        stack_id = house.create('s', group(1))
        row = done(house, stack_id, 'CREATE')
        second = next(output for output in row.outputs if output['output_key'] == 'second')
        assert second['output_error'] == "Member '1' not found in group resource 'g'."


def test_attributes_of_members():
    wanted = group(2)
    wanted['resources']['g']['properties']['resource_def'] = {'type': 'OS::Heat::Value', 'properties': {
        'value': {'n': '%index%', 'list': ['a', 'b-%index%']}}}
    wanted['outputs'] = {name: {'value': {'get_attr': path}} for name, path in {
        'all': ['g', 'value'], 'part': ['g', 'value', 'list', 1], 'mapped': ['g', 'attributes', 'value', 'n'],
        'one': ['g', 'resource.1', 'value', 'n'], 'dotted': ['g', 'resource.0.value', 'n']}.items()}
    with House() as house:
        row = done(house, house.create('s', wanted), 'CREATE')
        assert outputs(row) == {
            'all': [{'n': '0', 'list': ['a', 'b-0']}, {'n': '1', 'list': ['a', 'b-1']}], 'part': ['b-0', 'b-1'],
            'mapped': {'0': '0', '1': '1'}, 'one': '1', 'dotted': '0'}


def test_a_member_that_fails_is_told_by_its_number():
    with House() as house:
        stack_id = house.create('s', group(2, member={'fail': True}))
        row = house.settle(stack_id)
        assert row.reason in [f'Resource CREATE failed: Error: resources.g.resources[{n}]: told to fail' for n in '01']


def test_a_creation_in_batches():
    with House() as house:
        stack_id = house.create('s', group(5, policy={'batch_create': {'max_batch_size': 2, 'pause_time': 10}}))
        done(house, stack_id, 'CREATE')
        assert sizes_of(house, stack_id) == [0, 2, 4, 5]
        assert house.universe.time >= 30


def rolling(largest=2, in_service=3, pause=0):
    return {'rolling_update': {'max_batch_size': largest, 'min_in_service': in_service, 'pause_time': pause}}


def test_a_rolling_update():
    with House() as house:
        stack_id = house.create('s', group(4))
        done(house, stack_id, 'CREATE')
        before = child_of(house, stack_id, 'g').generation
        house.update(stack_id, group(4, 'w-%index%', rolling(pause=7)))
        done(house, stack_id, 'UPDATE')
        assert values(house) == ['w-0', 'w-1', 'w-2', 'w-3']
        assert child_of(house, stack_id, 'g').generation == before + 3
        assert house.cloud.made[-1].split('-')[-2] == '4', 'a spare member'
        assert house.universe.time >= 14


def test_pauses_longer_than_the_stack_may_take():
    with House() as house:
        stack_id = house.create('s', group(3, policy={'batch_create': {'pause_time': 4000}}))
        assert house.settle(stack_id).reason == (
            'Resource CREATE failed: ValueError: resources.g: '
            'The current update policy will result in stack update timeout.')


def test_a_failed_batch_stops_the_rest():
    with House() as house:
        stack_id = house.create('s', group(4))
        done(house, stack_id, 'CREATE')
        house.update(stack_id, group(4, 'w-%index%', rolling(largest=1, in_service=0), member={'fail': True}))
        row = house.settle(stack_id)
        assert row.reason == 'Resource UPDATE failed: Error: resources.g.resources[3]: told to fail'
        assert values(house)[:3] == ['v-0', 'v-1', 'v-2']
        house.update(stack_id, group(4, 'x-%index%', rolling(largest=1, in_service=0)))
        done(house, stack_id, 'UPDATE')
        assert values(house) == ['x-0', 'x-1', 'x-2', 'x-3']


def test_a_chain():
    wanted = template({'c': {'type': 'OS::Heat::ResourceChain', 'properties': {
        'resources': ['Sim::Thing', 'Sim::Thing', 'Sim::Thing'], 'resource_properties': {'value': 'v'}}}},
        refs={'get_attr': ['c', 'refs']})
    with House() as house:
        stack_id = house.create('s', wanted)
        row = done(house, stack_id, 'CREATE')
        assert [name.split('-')[-2] for name in house.cloud.made] == ['0', '1', '2']
        assert outputs(row)['refs'] == list(house.cloud.objects)


# --- killed ------------------------------------------------------------------------------------------------

def nested_life(house):
    stack_id = house.create('s', nested(), files=FILES)
    done(house, stack_id, 'CREATE')
    assert len(house.cloud.made) == len(set(house.cloud.made)) == 3
    house.update(stack_id, nested('two'), files=FILES)
    done(house, stack_id, 'UPDATE')
    assert 'two' in values(house) and len(house.cloud.made) == 3
    house.delete(stack_id)
    done(house, stack_id, 'DELETE')
    assert house.cloud.objects == {}


def rolling_life(house):
    stack_id = house.create('s', group(2, policy={'batch_create': {}}))
    done(house, stack_id, 'CREATE')
    house.update(stack_id, group(3, 'w-%index%', rolling(largest=1, in_service=2, pause=1),
                                 removal_policies=[{'resource_list': ['0']}]))
    row = done(house, stack_id, 'UPDATE')
    assert list(outputs(row)['map']) == ['1', '2', '3']
    assert values(house) == ['w-1', 'w-2', 'w-3']
    assert sorted(outputs(row)['refs']) == sorted(house.cloud.objects)
    with house.database.reader() as tx:
        assert tx.exec_driver_sql('SELECT count(*) FROM stack').scalar() == 2, 'a nested stack was made twice'


def deleted_in_the_middle(house):
    stack_id = house.create('s', group(3))
    house.universe.run(lambda: len(house.cloud.made) > 1, limit=50)
    house.delete(stack_id)
    done(house, stack_id, 'DELETE')
    assert house.cloud.objects == {}
    with house.database.reader() as tx:
        assert not tx.exec_driver_sql('SELECT name FROM stack WHERE deleted_at IS NULL').all()


def rolled_back(house):
    house.chaos.enabled = False
    stack_id = house.create('s', nested('one'), files=FILES)
    done(house, stack_id, 'CREATE')
    house.chaos.enabled = True
    house.update(stack_id, nested('two', fail_after=True), files=FILES, disable_rollback=False)
    done(house, stack_id, 'ROLLBACK')
    assert 'one' in values(house) and 'two' not in values(house) and len(house.cloud.objects) == 3


LIVES = {life.__name__: life for life in (nested_life, rolling_life, deleted_in_the_middle, rolled_back)}


@pytest.mark.parametrize('name', LIVES)
def test_killed_at_any_point(name):
    """Every ninth by default; the rest with HEATLITE_TEST_STRIDE=1."""
    assert kill_engines_in(LIVES[name], 9) > 10


def test_what_still_runs_after_a_cancel_ends_in_time():
    slow = template({'slow': {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 100000}}})
    with House() as house:
        stack_id = house.create('s', template({'c': {'type': 'slow.yaml'}}), files={'slow.yaml': json.dumps(slow)},
                                timeout_mins=1)
        assert house.universe.run(lambda: 'c' in house.states(stack_id) and house.states(stack_id)['c'][0][2])
        child = child_of(house, stack_id, 'c')
        house.ask(messages.CancelStack(stack_id, rollback=False))
        house.ask(messages.CancelStack(child.id, rollback=False))
        assert house.row(child.id).reason == 'Stack CREATE cancelled'
        assert house.universe.run(lambda: house.states(child.id)['slow'][0][:2] == ('CREATE', 'FAILED'), limit=65)


@pytest.mark.parametrize('name', LIVES)
def test_the_database_away_at_any_time(name):
    lose_database_in(LIVES[name], 43)
