"""An update does not visit nested stacks in which nothing can have changed, at any depth; it visits all others."""

from __future__ import annotations

import pytest
import yaml

from heatlite.db import stack_trees
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait

LEAF = '''
heat_template_version: 2018-08-31
parameters:
  value: {type: string, default: plain}
resources:
  a: {type: "Sim::Thing", properties: {value: {get_param: value}}}
outputs:
  ident: {value: {get_resource: a}}
'''
MIDDLE = '''
heat_template_version: 2018-08-31
parameters:
  value: {type: string, default: plain}
resources:
  l1: {type: leaf.yaml, properties: {value: {get_param: value}}}
  l2: {type: other.yaml, properties: {value: {get_attr: [l1, ident]}}}
outputs:
  ident: {value: {get_attr: [l1, ident]}}
'''
FILES = {'leaf.yaml': LEAF, 'other.yaml': LEAF, 'middle.yaml': MIDDLE, 'apart.yaml': LEAF}


def tree(value='one', members=2, **resources):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'm': {'type': 'middle.yaml', 'properties': {'value': value}},
        'apart': {'type': 'apart.yaml'},
        'g': {'type': 'OS::Heat::ResourceGroup', 'properties': {
            'count': members, 'resource_def': {'type': 'Sim::Thing', 'properties': {'value': 'member'}}}},
        **resources}}


def generations(cluster, stack_id):
    """{path: generation} of all live stacks of a tree."""
    with cluster.database.reader() as tx:
        return {'/'.join(stack_trees.path(tx, each)): each.generation for each in stack_trees.tree(tx, stack_id)}


def id_of(cluster, stack_id, path):
    with cluster.database.reader() as tx:
        return next(each.id for each in stack_trees.tree(tx, stack_id) if '/'.join(stack_trees.path(tx, each)) == path)


@pytest.fixture
def made():
    """A cluster, and the id of a tree in which nothing has happened since it was made."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree(), files=FILES)
        done(cluster, stack_id, 'CREATE')
        yield cluster, stack_id


def visited(cluster, stack_id, template, files=FILES, **options):
    """Update; the paths of the nested stacks that were updated, too."""
    before = generations(cluster, stack_id)
    cluster.update(stack_id, template, files=files, **options)
    done(cluster, stack_id, 'UPDATE')
    after = generations(cluster, stack_id)
    assert before.keys() == after.keys()
    return {path for path in after if after[path] != before[path]} - {''}


ALL = {'m', 'm/l1', 'm/l2', 'apart', 'g'}


def test_an_update_without_a_change_visits_nothing(made):
    cluster, stack_id = made
    events = len(cluster.events(id_of(cluster, stack_id, 'm/l1')))
    assert visited(cluster, stack_id, tree()) == set()
    assert visited(cluster, stack_id, tree()) == set()
    assert len(cluster.events(id_of(cluster, stack_id, 'm/l1'))) == events
    assert not [each for each in cluster.events(stack_id) if each[0] in ('m', 'apart', 'g') and each[1] == 'UPDATE']


def test_another_value_visits_what_it_reaches(made):
    cluster, stack_id = made
    assert visited(cluster, stack_id, tree('two')) == {'m', 'm/l1'}     # the id of the leaf's thing is as before
    assert visited(cluster, stack_id, tree('two')) == set()


def test_another_file_visits_the_stacks_that_it_leads_to(made):
    cluster, stack_id = made
    files = {**FILES, 'other.yaml': LEAF.replace('plain', 'new')}
    assert visited(cluster, stack_id, tree(), files) == {'m', 'm/l2'}
    assert visited(cluster, stack_id, tree(), {**files, 'unused.yaml': LEAF}) == set()


def test_another_environment_visits_all(made):
    cluster, stack_id = made
    assert visited(cluster, stack_id, tree(), environment={'parameter_defaults': {'value': 'x'}}) == ALL


def test_another_size_visits_the_group(made):
    cluster, stack_id = made
    assert visited(cluster, stack_id, tree(members=3)) == {'g'}


def test_converge_visits_all(made):
    cluster, stack_id = made
    assert visited(cluster, stack_id, tree(), converge=True) == ALL


def test_a_marked_resource_is_replaced(made):
    cluster, stack_id = made
    leaf = id_of(cluster, stack_id, 'm/l1')
    cluster.ask(messages.MarkUnhealthy(leaf, 'a', True, 'felt so'))
    assert {'m', 'm/l1'} <= visited(cluster, stack_id, tree())
    assert len(cluster.cloud.made) == 6         # five things, and one in the place of that
    assert visited(cluster, stack_id, tree()) == set()


def test_a_signal_inside_has_the_stack_visited(made):
    cluster, stack_id = made
    cluster.ask(messages.SignalResource(id_of(cluster, stack_id, 'm/l1'), 'a', {'word': 'x'}))
    wait(cluster, 30)
    assert visited(cluster, stack_id, tree()) == {'m', 'm/l1'}
    assert visited(cluster, stack_id, tree()) == set()


def test_a_nested_stack_that_its_user_updated_is_brought_back(made):
    cluster, stack_id = made
    leaf = id_of(cluster, stack_id, 'm/l1')
    mine = {**yaml.safe_load(LEAF), 'heat_template_version': '2018-08-31'}
    cluster.update(leaf, mine, {'parameters': {'value': 'mine'}}, files=FILES)
    done(cluster, leaf, 'UPDATE')
    assert 'mine' in [each['value'] for each in cluster.cloud.objects.values()]
    assert {'m', 'm/l1'} <= visited(cluster, stack_id, tree())
    assert 'mine' not in [each['value'] for each in cluster.cloud.objects.values()]


@pytest.mark.parametrize('action', ['suspend', 'check'])
def test_a_nested_stack_with_another_action_is_visited(made, action):
    cluster, stack_id = made
    leaf = id_of(cluster, stack_id, 'm/l2')
    for name in ([action, 'resume'] if action == 'suspend' else [action]):
        cluster.ask(messages.StackAction(leaf, name))
        done(cluster, leaf, name.upper())
    assert visited(cluster, stack_id, tree()) == {'m', 'm/l2'}


def test_a_nested_stack_that_was_deleted_is_made_again(made):
    cluster, stack_id = made
    leaf = id_of(cluster, stack_id, 'm/l2')
    cluster.delete(leaf)
    cluster.settle(leaf)
    cluster.update(stack_id, tree(), files=FILES)
    done(cluster, stack_id, 'UPDATE')
    assert id_of(cluster, stack_id, 'm/l2') != leaf
    assert visited(cluster, stack_id, tree()) == set()


def test_after_a_rollback_all_is_as_before():
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree(), files=FILES, disable_rollback=False)
        done(cluster, stack_id, 'CREATE')
        failing = tree('two', x={'type': 'Sim::Thing', 'depends_on': 'm', 'properties': {'fail': True}})
        cluster.update(stack_id, failing, files={**FILES, 'other.yaml': LEAF.replace('plain', 'new')})
        done(cluster, stack_id, 'ROLLBACK')
        assert sorted(each['value'] for each in cluster.cloud.objects.values())[-1] == 'plain'
        assert visited(cluster, stack_id, tree()) == set()
        assert visited(cluster, stack_id, tree('two')) == {'m', 'm/l1'}


def test_a_live_attribute_inside_has_the_stack_visited():
    """Its value may be another one at each update, as in every stack."""
    files = {**FILES, 'leaf.yaml': LEAF.replace('outputs:', '''
  b: {type: "Sim::Thing", properties: {value: {list_join: [',', [{get_attr: [a, show, value]}]]}}}
outputs:''')}
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree(), files=files)
        done(cluster, stack_id, 'CREATE')
        assert visited(cluster, stack_id, tree(), files) == {'m', 'm/l1'}


def test_a_breakpoint_inside_is_reached():
    environment = {'resource_registry': {'resources': {'m': {'l1': {'a': {'hooks': 'pre-update'}}}}}}
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree(), environment, files=FILES)
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, tree(), environment, files=FILES)
        wait(cluster, 30)
        leaf = id_of(cluster, stack_id, 'm/l1')
        assert cluster.row(leaf).status == 'IN_PROGRESS'
        cluster.ask(messages.SignalResource(leaf, 'a', {'unset_hook': 'pre-update'}))
        done(cluster, stack_id, 'UPDATE')
