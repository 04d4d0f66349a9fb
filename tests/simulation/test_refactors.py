"""Refactors: resources get other names and go to other stacks. The cloud is not asked, and all is done or nothing."""

from __future__ import annotations

import json

import pytest

from heatlite.common import exception
from heatlite.db import alarms, stack_trees, templates
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, kill_engines_in, lose_database_in, outputs, wait


def template(outputs=(), parameters=(), **resources):
    return {'heat_template_version': '2021-04-16',
            'parameters': {name: {'type': 'string'} for name in parameters},
            'resources': {name: {'type': 'Sim::Thing', **more} for name, more in resources.items()},
            'outputs': {name: {'value': value} for name, value in dict(outputs).items()}}


def thing(value='', **more):
    return {'properties': {'value': value}, **more}


REF = {'get_resource': 'a'}
BOTH = template(outputs={'ident': REF, 'said': {'get_attr': ['a', 'show']}}, a=thing('one'), b=thing(REF),
                c=thing('three', depends_on='a'))


def move(stack, name, to_stack, to_name=None):
    return {'from': {'stack': stack, 'resource': name}, 'to': {'stack': to_stack, 'resource': to_name or name}}


def existing(stack_id, wanted, **more):
    return {'stack_id': stack_id, 'template': wanted, **more}


def rows(cluster, stack_id):
    """Resource -> physical id."""
    found = cluster.states(stack_id)
    assert all(len(each) == 1 for each in found.values())
    return {name: each[0][2] for name, each in found.items()}


def refactor(cluster, stacks, moves=(), allowed=(), kind=messages.Refactor):
    """A refactor, in which the cloud is not asked anything."""
    points, calls = len(cluster.cloud.requests), list(cluster.cloud.calls)
    answer = cluster.ask(kind(tuple(stacks), tuple(moves)), allowed)
    assert (len(cluster.cloud.requests), cluster.cloud.calls) == (points, calls)
    return answer


def delete_all(cluster, *stack_ids):
    """Deletes the stacks; nothing is left in the cloud."""
    for each in stack_ids:
        cluster.delete(each)
        cluster.settle(each)
    assert cluster.cloud.objects == {}


def changes_nothing(cluster, stack_id, wanted, **more):
    """An update with the same template does nothing; it visits nested stacks."""
    before, calls = cluster.states(stack_id), list(cluster.cloud.calls)
    cluster.update(stack_id, wanted, **more)
    done(cluster, stack_id, 'UPDATE')
    found = cluster.states(stack_id)
    if 'files' in more:
        found, before = ({name: [row[2] for row in each] for name, each in one.items()} for one in (found, before))
    assert found == before and cluster.cloud.calls == calls


@pytest.fixture
def cluster():
    with Cluster() as found:
        yield found


def made(cluster, name, wanted, **more):
    stack_id = cluster.create(name, wanted, **more)
    done(cluster, stack_id, 'CREATE')
    wait(cluster, 1)
    return stack_id


RENAMED_OUTPUTS = {'ident': {'get_resource': 'first'}, 'said': {'get_attr': ['first', 'show']}}
RENAMED = template(outputs=RENAMED_OUTPUTS, first=thing('one'), b=thing({'get_resource': 'first'}),
                   c=thing('three', depends_on='first'))


def test_a_resource_is_renamed(cluster):
    stack_id = made(cluster, 's', BOTH)
    before, generation = rows(cluster, stack_id), cluster.row(stack_id).generation
    answer = refactor(cluster, [existing(stack_id, RENAMED)], [move(stack_id, 'a', stack_id, 'first')])
    assert answer == {'stacks': [{'id': stack_id, 'stack_name': 's', 'is_new': False}], 'differences': [],
                      'moves': [{'from': {'stack': 's', 'resource': 'a'}, 'to': {'stack': 's', 'resource': 'first'}}]}
    assert rows(cluster, stack_id) == {'first': before['a'], 'b': before['b'], 'c': before['c']}
    row = cluster.row(stack_id)
    assert (row.action, row.status, row.generation, row.revision) == ('UPDATE', 'COMPLETE', generation + 1, 2)
    assert outputs(row)['ident'] == before['a']
    assert [event[1:3] for event in cluster.events(stack_id)[-2:]] == [('UPDATE', 'IN_PROGRESS'),
                                                                       ('UPDATE', 'COMPLETE')]
    changes_nothing(cluster, stack_id, RENAMED)
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert cluster.cloud.objects == {}


def test_references_follow_a_rename_without_a_new_template(cluster):
    environment = {'resource_registry': {'resources': {'a': {'restricted_actions': 'replace'}}}}
    stack_id = made(cluster, 's', BOTH, environment=environment)
    before = rows(cluster, stack_id)
    refactor(cluster, [{'stack_id': stack_id, 'existing': True, 'environment': {}}],
             [move(stack_id, 'a', stack_id, 'first'), move(stack_id, 'b', stack_id, 'a')])
    assert rows(cluster, stack_id) == {'first': before['a'], 'a': before['b'], 'c': before['c']}
    renamed = template(outputs=RENAMED_OUTPUTS, first=thing('one'), a=thing({'get_resource': 'first'}),
                       c=thing('three', depends_on='first'))
    with cluster.database.reader() as tx:
        stored = templates.get(tx, cluster.row(stack_id).template_id)
    assert stored.document == renamed
    assert stored.environment['resource_registry']['resources'] == {'first': {'restricted_actions': 'replace'}}
    changes_nothing(cluster, stack_id, renamed)


def test_two_resources_swap_their_names(cluster):
    stack_id = made(cluster, 's', BOTH)
    before = rows(cluster, stack_id)
    swapped = template(outputs={'ident': {'get_resource': 'b'}}, b=thing('one'), a=thing({'get_resource': 'b'}),
                       c=thing('three', depends_on='b'))
    refactor(cluster, [existing(stack_id, swapped)], [move(stack_id, 'a', stack_id, 'b'),
                                                      move(stack_id, 'b', stack_id, 'a')])
    assert rows(cluster, stack_id) == {'b': before['a'], 'a': before['b'], 'c': before['c']}
    changes_nothing(cluster, stack_id, swapped)


REST = template(parameters=['from'], b=thing({'get_param': 'from'}), c=thing('three'))


def test_a_resource_goes_to_another_stack(cluster):
    stack_id, other = made(cluster, 's', BOTH), made(cluster, 't', template(x=thing('x')))
    before, theirs = rows(cluster, stack_id), rows(cluster, other)
    ours = existing(stack_id, REST, environment={'parameters': {'from': before['a']}})
    both = template(outputs={'ident': {'get_resource': 'y'}}, x=thing('x'), y=thing('one'))
    refactor(cluster, [ours, existing(other, both)], [move(stack_id, 'a', other, 'y')])
    assert rows(cluster, stack_id) == {'b': before['b'], 'c': before['c']}
    assert rows(cluster, other) == {**theirs, 'y': before['a']}
    assert outputs(cluster.row(other)) == {'ident': before['a']}
    changes_nothing(cluster, stack_id, REST, environment=ours['environment'])
    changes_nothing(cluster, other, both)
    delete_all(cluster, stack_id, other)


def test_a_stack_is_split_and_merged_again(cluster):
    stack_id = made(cluster, 's', BOTH)
    before = rows(cluster, stack_id)
    ours = existing(stack_id, REST, environment={'parameters': {'from': before['a']}})
    answer = refactor(cluster, [ours, {'stack_name': 'new', 'template': template(a=thing('one'))}],
                      [move(stack_id, 'a', 'new')])
    new = answer['stacks'][1]['id']
    assert answer['stacks'][1]['is_new'] and rows(cluster, new) == {'a': before['a']}
    row = cluster.row(new)
    assert (row.name, row.action, row.status, row.revision) == ('new', 'CREATE', 'COMPLETE', 1)
    changes_nothing(cluster, new, template(a=thing('one')))
    wait(cluster, 10)
    refactor(cluster, [existing(stack_id, BOTH), existing(new, template())], [move(new, 'a', stack_id)])
    assert rows(cluster, stack_id) == before and rows(cluster, new) == {}
    changes_nothing(cluster, stack_id, BOTH)
    delete_all(cluster, new, stack_id)


def test_a_stack_is_renamed(cluster):
    stack_id = made(cluster, 's', BOTH)
    before = rows(cluster, stack_id)
    answer = refactor(cluster, [existing(stack_id, BOTH, rename='t')])
    assert answer['stacks'] == [{'id': stack_id, 'stack_name': 't', 'is_new': False}]
    assert cluster.row(stack_id).name == 't' and rows(cluster, stack_id) == before
    changes_nothing(cluster, stack_id, BOTH)
    again = made(cluster, 's', template(x=thing('x')))
    assert isinstance(refactor(cluster, [existing(again, template(x=thing('x')), rename='t')],
                               allowed=[exception.StackExists]), exception.StackExists)


INNER = """
heat_template_version: 2021-04-16
parameters: {value: {type: string}}
resources:
  x: {type: Sim::Thing, properties: {value: {get_param: value}}}
  deep: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: Sim::Thing}}}
outputs:
  ident: {value: {get_resource: x}}
"""
FILES = {'inner.yaml': INNER}


def nested(value='in', **more):
    return {'type': 'inner.yaml', 'properties': {'value': value}, **more}


def child(cluster, stack_id, name):
    with cluster.database.reader() as tx:
        return stack_trees.child(tx, stack_id, name)


def test_a_nested_stack_goes_with_its_resource(cluster):
    with_nested = template(outputs={'ident': {'get_attr': ['n', 'ident']}}, n=nested(), a=thing('one'))
    stack_id = made(cluster, 's', with_nested, files=FILES)
    other = made(cluster, 't', template(x=thing('x')))
    wait(cluster, 10)
    before, inside = rows(cluster, stack_id), child(cluster, stack_id, 'n')
    members, deep = rows(cluster, inside.id), child(cluster, inside.id, 'deep')
    renamed = template(outputs={'ident': {'get_attr': ['m', 'ident']}}, m=nested(), a=thing('one'))
    refactor(cluster, [existing(stack_id, renamed, files=FILES)], [move(stack_id, 'n', stack_id, 'm')])
    assert rows(cluster, stack_id) == {'m': before['n'], 'a': before['a']}
    assert child(cluster, stack_id, 'm').id == inside.id and rows(cluster, inside.id) == members
    changes_nothing(cluster, stack_id, renamed, files=FILES)
    wait(cluster, 10)
    both = template(outputs={'ident': {'get_attr': ['m', 'ident']}}, m=nested(), x=thing('x'))
    refactor(cluster, [existing(stack_id, template(a=thing('one'))), existing(other, both, files=FILES)],
             [move(stack_id, 'm', other)])
    found = child(cluster, other, 'm')
    assert (found.id, found.root_id, found.depth) == (inside.id, other, 1)
    assert cluster.row(deep.id).root_id == other and child(cluster, inside.id, 'deep').id == deep.id
    changes_nothing(cluster, other, both, files=FILES)
    assert rows(cluster, inside.id) == members
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert len(cluster.cloud.objects) == 4
    cluster.delete(other)
    cluster.settle(other)
    assert cluster.cloud.objects == {}


def inner(**resources):
    """A nested template with these resources, which may use the parameter `p`; it tells what refers to each."""
    return json.dumps({'heat_template_version': '2021-04-16', 'parameters': {'p': {'type': 'string', 'default': ''}},
                       'resources': {name: {'type': 'Sim::Thing', **more} for name, more in resources.items()},
                       'outputs': {name: {'value': {'get_resource': name}} for name in resources}})


def holder(name, **properties):
    return {'type': name, 'properties': properties}


NESTED = template(outputs={'x': {'get_attr': ['n', 'x']}}, n=holder('n.yaml'), a=thing('one'),
                  b=thing({'get_resource': 'a'}))
N = inner(x=thing('x'), y=thing({'get_resource': 'x'}, depends_on='x'))


def test_a_resource_goes_into_a_nested_stack_and_out_of_it(cluster):
    stack_id = made(cluster, 's', NESTED, files={'n.yaml': N})
    wait(cluster, 10)
    before, inside = rows(cluster, stack_id), child(cluster, stack_id, 'n')
    members = rows(cluster, inside.id)
    into = template(outputs={'x': {'get_attr': ['n', 'x']}}, n=holder('n.yaml'), b=thing({'get_attr': ['n', 'z']}))
    files = {'n.yaml': inner(x=thing('x'), y=thing({'get_resource': 'x'}, depends_on=['x', 'z']), z=thing('one'))}
    answer = refactor(cluster, [existing(stack_id, into, files=files)], [move(stack_id, 'a', stack_id, 'n/z')])
    assert answer['moves'][0]['to'] == {'stack': 's', 'resource': 'n/z'}
    assert rows(cluster, stack_id) == {'n': before['n'], 'b': before['b']}
    assert rows(cluster, inside.id) == {**members, 'z': before['a']}
    row = cluster.row(inside.id)
    assert (row.action, row.status, outputs(row)) == ('UPDATE', 'COMPLETE', {**members, 'z': before['a']})
    assert [event[1:3] for event in cluster.events(inside.id)[-2:]] == [('UPDATE', 'IN_PROGRESS'),
                                                                        ('UPDATE', 'COMPLETE')]
    changes_nothing(cluster, stack_id, into, files=files)
    assert rows(cluster, inside.id) == {**members, 'z': before['a']}
    wait(cluster, 10)
    out = template(outputs={'x': {'get_resource': 'x'}}, n=holder('n.yaml', p={'get_resource': 'x'}), x=thing('x'),
                   a=thing('one'), b=thing({'get_resource': 'a'}))
    files = {'n.yaml': inner(y=thing({'get_param': 'p'}))}
    refactor(cluster, [existing(stack_id, out, files=files)],
             [move(stack_id, 'n/z', stack_id, 'a'), move(stack_id, 'n/x', stack_id, 'x')])
    assert rows(cluster, stack_id) == {**before, 'x': members['x']}
    assert rows(cluster, inside.id) == {'y': members['y']}
    changes_nothing(cluster, stack_id, out, files=files)
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert cluster.cloud.objects == {}


def test_between_nested_stacks_of_two_trees_with_other_names(cluster):
    stack_id = made(cluster, 's', NESTED, files={'n.yaml': N})
    other = made(cluster, 't', template(m=holder('m.yaml')), files={'m.yaml': inner(w=thing('w'))})
    wait(cluster, 10)
    here, there = child(cluster, stack_id, 'n'), child(cluster, other, 'm')
    members, theirs = rows(cluster, here.id), rows(cluster, there.id)
    ours = template(k=holder('n.yaml', p=members['x']), a=thing('one'), b=thing({'get_resource': 'a'}))
    files = {'n.yaml': inner(y=thing({'get_param': 'p'}))}
    both, more = template(l=holder('m.yaml')), {'m.yaml': inner(w=thing('w'), x2=thing('x'))}
    refactor(cluster, [existing(stack_id, ours, files=files), existing(other, both, files=more)], [
        move(stack_id, 'n/x', other, 'l/x2'), move(other, 'm', other, 'l'), move(stack_id, 'n', stack_id, 'k')])
    assert child(cluster, stack_id, 'k').id == here.id and child(cluster, other, 'l').id == there.id
    assert rows(cluster, here.id) == {'y': members['y']}
    assert rows(cluster, there.id) == {**theirs, 'x2': members['x']}
    changes_nothing(cluster, stack_id, ours, files=files)
    changes_nothing(cluster, other, both, files=more)
    assert rows(cluster, there.id) == {**theirs, 'x2': members['x']}
    delete_all(cluster, stack_id, other)


def test_into_a_nested_stack_deep_in_a_renamed_one(cluster):
    def files(**deep):
        return {'d.yaml': inner(**deep), 'n.yaml': json.dumps({
            'heat_template_version': '2021-04-16', 'resources': {'d': holder('d.yaml')}})}

    both, before_files = template(n=holder('n.yaml'), a=thing('one')), files(x=thing('x'))
    stack_id = made(cluster, 's', both, files=before_files)
    wait(cluster, 10)
    before, outer = rows(cluster, stack_id), child(cluster, stack_id, 'n')
    deep = child(cluster, outer.id, 'd')
    members = rows(cluster, deep.id)
    wanted, after_files = template(m=holder('n.yaml')), files(x=thing('x'), z=thing('one'))
    refactor(cluster, [existing(stack_id, wanted, files=after_files)],
             [move(stack_id, 'a', stack_id, 'm/d/z'), move(stack_id, 'n', stack_id, 'm')])
    assert rows(cluster, deep.id) == {**members, 'z': before['a']}
    assert child(cluster, stack_id, 'm').id == outer.id
    changes_nothing(cluster, stack_id, wanted, files=after_files)
    assert rows(cluster, deep.id) == {**members, 'z': before['a']}


def test_a_resource_becomes_the_next_member_of_a_group(cluster):
    group = {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {'type': 'Sim::Thing'}}}
    both = {**template(a=thing()), 'resources': {'g': group, 'a': {'type': 'Sim::Thing'}}}
    stack_id = made(cluster, 's', both)
    wait(cluster, 10)
    before, members = rows(cluster, stack_id), child(cluster, stack_id, 'g').id
    first = rows(cluster, members)
    grown = {**template(), 'resources': {'g': {**group, 'properties': {**group['properties'], 'count': 2}}}}
    refactor(cluster, [existing(stack_id, grown)], [move(stack_id, 'a', stack_id, 'g/1')])
    assert rows(cluster, members) == {**first, '1': before['a']}
    changes_nothing(cluster, stack_id, grown, files={})
    assert rows(cluster, members) == {**first, '1': before['a']}


# --- refused -------------------------------------------------------------------------------------------------

def refused(cluster, stacks, moves=(), kind=exception.NotARefactor):
    """The error of a refactor, of which nothing is stored."""
    ids = [each['stack_id'] for each in stacks if 'stack_id' in each]
    before = [(cluster.row(each), cluster.states(each)) for each in ids]
    error = refactor(cluster, stacks, moves, [exception.HeatException])
    assert isinstance(error, kind), error
    assert [(cluster.row(each), cluster.states(each)) for each in ids] == before
    return str(error)


def test_what_would_change_something_is_named(cluster):
    stack_id, other = made(cluster, 's', BOTH), made(cluster, 't', template(x=thing('x')))
    wanted = template(outputs={'ident': {'get_resource': 'b'}}, a2=thing('two'), b=thing('elsewhere'),
                      c=thing('three', deletion_policy='retain'))
    found = refused(cluster, [existing(stack_id, wanted)], [move(stack_id, 'a', stack_id, 'a2')])
    assert 's/a2: update of value ("one" -> "two")' in found
    assert 's/b: update of value ("obj-1" -> "elsewhere")' in found
    assert 's/c: update' in found and 's: output of ident ("obj-1" -> ' in found
    shown = refactor(cluster, [existing(stack_id, wanted)], [move(stack_id, 'a', stack_id, 'a2')],
                     kind=messages.PreviewRefactor)
    assert {(*each['path'], *(each['property'] or ())) for each in shown['differences']} == {
        ('s', 'a2', 'value'), ('s', 'b', 'value'), ('s', 'c'), ('s', 'ident')}
    fixed = template(x={'properties': {'value': 'x', 'fixed': 'other'}})
    assert 't/x: replace of fixed' in refused(cluster, [existing(other, fixed)])


def test_what_would_be_made_or_deleted_is_named(cluster):
    stack_id = made(cluster, 's', BOTH)
    found = refused(cluster, [existing(stack_id, template(first=thing('one'), d=thing()))],
                    [move(stack_id, 'a', stack_id, 'first')])
    assert 's/d: create' in found and 's/b: delete' in found and 's/c: delete' in found


@pytest.mark.parametrize('moves, wanted', [
    ([('s', 'zz', 's', 'y')], 's/zz: there is no such resource'),
    ([('s', 'a', 's', 'b')], 's/b: there is a resource of this name already'),
    ([('s', 'a', 's', 'y'), ('s', 'a', 't', 'y')], 's/a: it is moved more than once'),
    ([('s', 'a', 's', 'y'), ('s', 'b', 's', 'y')], 's/y: several resources are moved to it'),
    ([('s', 'a', 's', 'a')], 's/a: it is there already'),
    ([('s', 'a', 'elsewhere', 'a')], 'elsewhere')])
def test_impossible_moves(cluster, moves, wanted):
    ids = {'s': made(cluster, 's', BOTH), 't': made(cluster, 't', template(x=thing()))}
    stacks = [existing(ids['s'], BOTH), existing(ids['t'], template(x=thing()))]
    found = refused(cluster, stacks, [move(ids.get(a, a), b, ids.get(c, c), d) for a, b, c, d in moves],
                    exception.HTTPBadRequest)
    assert wanted in found


def test_what_is_inside_is_compared(cluster):
    stack_id = made(cluster, 's', NESTED, files={'n.yaml': N})
    wait(cluster, 10)
    renamed = template(outputs={'x': {'get_attr': ['m', 'x']}}, m=holder('n.yaml'), a=thing('one'),
                       b=thing({'get_resource': 'a'}))
    files = {'n.yaml': inner(x=thing('x'), y=thing('other'))}
    assert 's/m/y: update of value' in refused(cluster, [existing(stack_id, renamed, files=files)],
                                               [move(stack_id, 'n', stack_id, 'm')])
    files = {'n.yaml': inner(x=thing('x'), y=thing({'get_resource': 'x'}), z=thing('one'), more=thing())}
    into = template(outputs={'x': {'get_attr': ['n', 'y']}}, n=holder('n.yaml'), b=thing({'get_attr': ['n', 'x']}))
    found = refused(cluster, [existing(stack_id, into, files=files)], [move(stack_id, 'a', stack_id, 'n/z')])
    assert 's/n/more: create' in found and 's/b: update of value' in found and 's: output of x' in found
    gone = template(b=thing({'get_param': 'q'}), x=thing('x'), y=thing({'get_resource': 'x'}), parameters=['q'])
    assert 's/n: delete' in refused(
        cluster, [existing(stack_id, gone, environment={'parameters': {'q': rows(cluster, stack_id)['a']}})],
        [move(stack_id, 'n/x', stack_id, 'x'), move(stack_id, 'n/y', stack_id, 'y')])
    assert 's/zz: there is no nested stack' in refused(
        cluster, [existing(stack_id, into, files=files)], [move(stack_id, 'a', stack_id, 'zz/z')],
        exception.HTTPBadRequest)
    nested_id = child(cluster, stack_id, 'n').id
    assert isinstance(refactor(cluster, [existing(nested_id, into, files=files)], allowed=[exception.NotSupported]),
                      exception.NotSupported)


def test_another_type_and_a_failed_resource(cluster):
    stack_id = made(cluster, 's', template(a=thing()))
    wanted = template(b={'type': 'OS::Heat::None'})
    assert 's/b: replace' in refused(cluster, [existing(stack_id, wanted)], [move(stack_id, 'a', stack_id, 'b')])
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'felt so'))
    found = refused(cluster, [existing(stack_id, template(b=thing()))], [move(stack_id, 'a', stack_id, 'b')],
                    exception.HTTPBadRequest)
    assert 's/a: it is CHECK_FAILED, not complete' in found


def test_a_stack_in_progress_locked_or_protected(cluster):
    stack_id, other = made(cluster, 's', BOTH), made(cluster, 't', template(x=thing()))
    rename = ([existing(stack_id, RENAMED)], [move(stack_id, 'a', stack_id, 'first')])
    cluster.ask(messages.LockStack(stack_id, 'not now'))
    assert 'not now' in refused(cluster, *rename, kind=exception.StackLocked)
    cluster.ask(messages.UnlockStack(stack_id))
    cluster.ask(messages.SetProtections(stack_id, ({'path': 'a', 'deny': ['delete'], 'reason': 'data'},)))
    assert 's/first: protection' in refused(cluster, *rename)
    cluster.ask(messages.SetProtections(stack_id, (
        {'path': 'a', 'deny': ['delete'], 'reason': ''}, {'path': 'f*', 'deny': ['delete', 'update'], 'reason': ''})))
    cluster.update(stack_id, template(a=thing('one'), b=thing(REF), c=thing('four')))
    assert isinstance(refactor_in_progress(cluster, *rename), exception.ActionInProgress)
    done(cluster, stack_id, 'UPDATE')
    cluster.update(stack_id, BOTH)
    done(cluster, stack_id, 'UPDATE')
    refactor(cluster, *rename)
    assert 'first' in rows(cluster, stack_id)
    assert isinstance(refactor(cluster, [existing('nowhere', BOTH)], allowed=[exception.EntityNotFound]),
                      exception.EntityNotFound)
    assert rows(cluster, other).keys() == {'x'}


def refactor_in_progress(cluster, stacks, moves):
    return cluster.ask(messages.Refactor(tuple(stacks), tuple(moves)), [exception.ActionInProgress])


def test_a_snapshot_from_before_is_not_restored(cluster):
    stack_id = made(cluster, 's', BOTH)
    snapshot = cluster.ask(messages.SnapshotStack(stack_id, 'then'))['id']
    done(cluster, stack_id, 'SNAPSHOT')
    wait(cluster, 10)
    refactor(cluster, [existing(stack_id, RENAMED)], [move(stack_id, 'a', stack_id, 'first')])
    error = cluster.ask(messages.RestoreSnapshot(stack_id, snapshot), [exception.Conflict])
    assert 'a -> s/first' in str(error)
    later = cluster.ask(messages.SnapshotStack(stack_id, 'now'))['id']
    done(cluster, stack_id, 'SNAPSHOT')
    cluster.ask(messages.RestoreSnapshot(stack_id, later))
    done(cluster, stack_id, 'RESTORE')
    cluster.ask(messages.DeleteSnapshot(stack_id, snapshot))


def test_what_gives_its_place_to_others_stays(cluster):
    handle = {'type': 'OS::Heat::WaitConditionHandle'}
    wanted = {**template(a=thing()), 'resources': {'h': handle, 'a': {'type': 'Sim::Thing'}}}
    stack_id = made(cluster, 's', wanted)
    renamed = {**wanted, 'resources': {'g': handle, 'a': {'type': 'Sim::Thing'}}}
    found = refused(cluster, [existing(stack_id, renamed)], [move(stack_id, 'h', stack_id, 'g')])
    assert 's/g: move: the address to which signals are sent' in found
    assert 't/h: move: the address' in refused(cluster, [existing(stack_id, wanted, rename='t')])


def test_a_moved_resource_keeps_its_physical_name(cluster):
    """The name with which it was made: its user is deleted by it."""
    wanted = {**template(), 'resources': {'a': {'type': 'Sim::Thing', 'properties': {'user': True}}}}
    stack_id = made(cluster, 's', wanted)
    assert len(cluster.cloud.users) == 1
    for name in ('b', 'c'):
        wait(cluster, 10)
        renamed = {**template(), 'resources': {name: wanted['resources']['a']}}
        refactor(cluster, [existing(stack_id, renamed, rename=f't{name}')], [move(
            stack_id, 'a' if name == 'b' else 'b', stack_id, name)])
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert cluster.cloud.users == {} and cluster.cloud.objects == {}


def test_a_renamed_resource_is_replaced_under_its_new_name(cluster):
    stack_id = made(cluster, 's', template(a=thing('one')))
    refactor(cluster, [existing(stack_id, template(b=thing('one')))], [move(stack_id, 'a', stack_id, 'b')])
    cluster.update(stack_id, template(b={'properties': {'value': 'one', 'fixed': 'x'}}))
    done(cluster, stack_id, 'UPDATE')
    assert cluster.cloud.made[0].startswith('s-a-') and cluster.cloud.made[1].startswith('s-b-')


# --- crashes -------------------------------------------------------------------------------------------------

def life(cluster):
    """Split a stack; then all of it is done or nothing, and the same request brings it about."""
    cluster.chaos.enabled = False
    stack_id = made(cluster, 's', BOTH)
    wait(cluster, 10)
    before = rows(cluster, stack_id)
    ours = existing(stack_id, REST, environment={'parameters': {'from': before['a']}})
    cluster.chaos.enabled = True
    try:
        cluster.ask(messages.Refactor((ours, {'stack_name': 'new', 'template': template(a=thing('one'))}),
                                      (move(stack_id, 'a', 'new'),)), [exception.HTTPBadRequest, exception.StackExists])
    finally:
        cluster.chaos.enabled = False
    wait(cluster, 10)
    new = cluster.user_stack('new')
    assert new is not None and rows(cluster, new) == {'a': before['a']}
    assert rows(cluster, stack_id) == {'b': before['b'], 'c': before['c']}
    changes_nothing(cluster, stack_id, REST, environment=ours['environment'])
    delete_all(cluster, new, stack_id)


def test_all_of_it_is_stored_or_nothing():
    assert kill_engines_in(life, 1, from_the_start=False) >= 1


# --- alarms --------------------------------------------------------------------------------------------------

def test_an_alarm_goes_with_its_resource(cluster):
    def wanted(name, threshold='80', **more):
        return {**template(), 'resources': {name: {'type': 'AWS::CloudWatch::Alarm', 'properties': {
            'MetricName': 'm', 'Namespace': 'n', 'Statistic': 'Sum', 'Period': '60', 'EvaluationPeriods': '1',
            'Threshold': threshold, 'ComparisonOperator': 'GreaterThanThreshold'}}, **more}}

    def stored():
        with cluster.database.reader() as tx:
            return alarms.get(tx, cluster.context.project_id, 's-a')

    stack_id, other = made(cluster, 's', wanted('a')), made(cluster, 't', template(x=thing()))
    refactor(cluster, [existing(stack_id, wanted('b'))], [move(stack_id, 'a', stack_id, 'b')])
    assert (stored().stack_id, stored().resource_name) == (stack_id, 'b')
    cluster.update(stack_id, wanted('b', a=wanted('a')['resources']['a']))       # another one would have its name
    row = cluster.settle(stack_id)
    assert row.status == 'FAILED' and 'that of resource b' in row.reason and stored().rule.threshold == 80
    cluster.update(stack_id, wanted('b', '90'))
    done(cluster, stack_id, 'UPDATE')
    assert (stored().rule.threshold, stored().resource_name) == (90, 'b')
    wait(cluster, 10)
    both = wanted('c', '90', x={'type': 'Sim::Thing', **thing()})
    refactor(cluster, [existing(stack_id, template()), existing(other, both)], [move(stack_id, 'b', other, 'c')])
    assert (stored().stack_id, stored().resource_name) == (other, 'c')
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert stored() is not None
    cluster.delete(other)
    cluster.settle(other)
    assert stored() is None


def test_what_looks_others_up_stays_with_them(cluster):
    alarm = {'type': 'OS::Heat::CWLiteAlarm', 'properties': {
        'MetricName': 'm', 'Namespace': 'n', 'Statistic': 'Sum', 'Period': '60', 'EvaluationPeriods': '1',
        'Threshold': '80', 'ComparisonOperator': 'GreaterThanThreshold', 'AlarmActions': [{'get_resource': 'x'}]}}
    wanted = {**template(), 'resources': {'x': {'type': 'Sim::Thing'}, 'w': alarm}}
    stack_id, other = made(cluster, 's', wanted), made(cluster, 't', template())
    ours = {**template(parameters=['x']), 'resources': {'w': {**alarm, 'properties': {
        **alarm['properties'], 'AlarmActions': [{'get_param': 'x'}]}}}}
    found = refused(cluster, [
        existing(stack_id, ours, environment={'parameters': {'x': rows(cluster, stack_id)['x']}}),
        existing(other, template(x={}))], [move(stack_id, 'x', other)])
    assert found.endswith('s/w: move: it needs what it refers to in its own stack.')


# --- at once -------------------------------------------------------------------------------------------------

def at_once(cluster, *requests):
    """The answers, or errors, of requests that two engines handle at the same time."""
    answers = {}

    def call(service, number, message):
        try:
            answers[number] = service.endpoint.handle(cluster.context, message)
        except exception.HeatException as error:
            answers[number] = error

    for number, message in enumerate(requests):
        runtime, service = cluster.engines[number]
        runtime.spawn(call, service, number, message)
    assert cluster.universe.run(lambda: len(answers) == len(requests))
    return [answers[number] for number in range(len(requests))]


@pytest.mark.parametrize('seed', range(6))
def test_of_two_refactors_one_is_done(seed):
    with Cluster(seed) as cluster:
        stack_id, other = made(cluster, 's', template(a=thing())), made(cluster, 't', template(a=thing()))
        before = rows(cluster, stack_id), rows(cluster, other)
        empty = template()
        answers = at_once(
            cluster, messages.Refactor((existing(stack_id, empty), existing(other, template(a=thing(), b=thing()))),
                                       (move(stack_id, 'a', other, 'b'),)),
            messages.Refactor((existing(other, empty), existing(stack_id, template(a=thing(), c=thing()))),
                              (move(other, 'a', stack_id, 'c'),)))
        failed = [each for each in answers if isinstance(each, Exception)]
        assert len(failed) == 1 and isinstance(
            failed[0], exception.Conflict | exception.HTTPBadRequest | exception.NotARefactor), answers
        found = rows(cluster, stack_id), rows(cluster, other)
        assert found in [({}, {'a': before[1]['a'], 'b': before[0]['a']}),
                         ({'a': before[0]['a'], 'c': before[1]['a']}, {})]


@pytest.mark.parametrize('seed', range(6))
def test_a_refactor_and_an_update(seed):
    with Cluster(seed) as cluster:
        stack_id = made(cluster, 's', BOTH)
        before, changed = rows(cluster, stack_id), template(a=thing('one'), b=thing(REF), c=thing('four'))
        refactored, updated = at_once(
            cluster, messages.Refactor((existing(stack_id, RENAMED),), (move(stack_id, 'a', stack_id, 'first'),)),
            messages.UpdateStack(stack_id=stack_id, template=changed))
        row = cluster.settle(stack_id)
        assert not isinstance(updated, Exception) and row.status == 'COMPLETE'
        found = rows(cluster, stack_id)
        if isinstance(refactored, Exception):
            # NotARefactor: the update has ended before, and the refactor would undo it.
            assert isinstance(refactored, exception.ActionInProgress | exception.Conflict | exception.NotARefactor)
            assert found == before
        else:                                       # the update has the old name in its template
            assert found.keys() == before.keys() and found['c'] == before['c'] and found['a'] != before['a']


def test_the_database_goes_away():
    assert lose_database_in(life, 3, from_the_start=False) >= 1


def nested_life(cluster):
    cluster.chaos.enabled = False
    stack_id = made(cluster, 's', NESTED, files={'n.yaml': N})
    wait(cluster, 10)
    before, inside = rows(cluster, stack_id), child(cluster, stack_id, 'n')
    members = rows(cluster, inside.id)
    into = template(outputs={'x': {'get_attr': ['m', 'x']}}, m=holder('n.yaml'), b=thing({'get_attr': ['m', 'z']}))
    files = {'n.yaml': inner(x=thing('x'), y=thing({'get_resource': 'x'}), z=thing('one'))}
    cluster.chaos.enabled = True
    try:
        cluster.ask(messages.Refactor((existing(stack_id, into, files=files),), (
            move(stack_id, 'n', stack_id, 'm'), move(stack_id, 'a', stack_id, 'm/z'))), [exception.HTTPBadRequest])
    finally:
        cluster.chaos.enabled = False
    wait(cluster, 10)
    assert rows(cluster, stack_id) == {'m': before['n'], 'b': before['b']}
    assert rows(cluster, inside.id) == {**members, 'z': before['a']}
    changes_nothing(cluster, stack_id, into, files=files)
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert cluster.cloud.objects == {}


def test_a_tree_is_stored_or_nothing():
    assert kill_engines_in(nested_life, 1, from_the_start=False) >= 1
