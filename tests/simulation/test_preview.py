"""What a preview says is what the update does: over random definitions the calls are the ones foretold."""

import json
import os
import random
from collections import Counter

import pytest

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.rpc import messages
from tests.simulation import foretold as foretold_trees
from tests.simulation.cluster import Cluster, done
from tests.simulation.histories import definition
from tests.simulation.openstack import stack as services
from tests.simulation.openstack import template as of_services
from tests.simulation.test_nested import FILES, child_of, group, nested
from tests.simulation.test_nested import template as of_resources

TREES = int(os.environ.get('HEATLITE_TEST_PREVIEWS', 40))       # random trees of stacks, each updated three times


def foretold(preview):
    """(verb, resource) of every call to the cloud that the preview promises."""
    calls = Counter()
    for kind, verbs in (('added', ['create']), ('updated', ['update']), ('replaced', ['create', 'delete']),
                        ('deleted', ['delete'])):
        for entry in preview[kind]:
            calls.update((verb, entry['resource_name']) for verb in verbs)
    return calls


def made(calls):
    return Counter((verb, name.split('-')[1]) for verb, name in calls)


@pytest.mark.parametrize('first', range(0, 60, 10))
def test_an_update_does_what_its_preview_says(first):
    for seed in range(first, first + 10):
        randomness = random.Random(seed)
        with Cluster(seed, engines=1) as cluster:
            stack_id = cluster.create('s', definition(randomness, may_fail=False))
            cluster.settle(stack_id)
            for _ in range(3):
                wanted = definition(randomness, may_fail=False)
                preview = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=wanted, environment={}))
                names = [entry['resource_name'] for entries in preview.values() for entry in entries]
                assert len(names) == len(set(names)), 'each resource is in one list'
                unknown = {entry['resource_name'] for entry in preview['unknown']}
                cluster.cloud.calls.clear()
                cluster.update(stack_id, wanted)
                row = cluster.settle(stack_id)
                assert row.status == 'COMPLETE', row.reason
                calls = {call: count for call, count in made(cluster.cloud.calls).items() if call[1] not in unknown}
                assert calls == foretold(preview), (seed, preview)


@pytest.mark.parametrize('first', range(0, TREES, 10))
def test_an_update_of_a_tree_does_what_its_preview_says(first):
    """More by `python -m tests.simulation.foretold`, on the production profile by `python -m tests.system.foretold`."""
    told = [foretold_trees.live(seed) for seed in range(first, first + 10)]
    assert sum(entries for entries, _unknown in told) > 10 * sum(unknown for _entries, unknown in told)


def test_a_preview_names_what_differs_and_why_something_is_replaced():
    with Cluster(engines=1) as cluster:
        def template(value, fixed):
            return {'heat_template_version': '2018-08-31', 'resources': {
                'a': {'type': 'Sim::Thing', 'properties': {'value': value, 'fixed': fixed}},
                'b': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'a'}}}}}
        stack_id = cluster.create('s', template('1', ''))
        cluster.settle(stack_id)
        calls = list(cluster.cloud.calls)
        in_place = cluster.ask(
            messages.PreviewUpdateStack(stack_id=stack_id, template=template('2', ''), environment={}))
        assert [entry['changed_properties'] for entry in in_place['updated']] == [['value']]
        assert [entry['resource_name'] for entry in in_place['unchanged']] == ['b']
        anew = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=template('1', 'x'), environment={}))
        assert [entry['replace_reason'] for entry in anew['replaced']] == [
            'The Resource a requires replacement. (fixed: template resources.a.properties.fixed)']
        assert [(entry['resource_name'], entry['reason']) for entry in anew['unknown']] == [
            ('b', 'Known only when what it depends on is done: value')]
        assert anew['replaced'][0]['property_changes'] == {'fixed': {'old': '', 'new': 'x', 'forces_replacement': True}}
        assert anew['unknown'][0]['property_changes'] == {
            'value': {'old': 'obj-1', 'unknown': True, 'forces_replacement': False}}
        assert cluster.cloud.calls == calls, 'a preview touches nothing'


def test_a_volume_with_one_unknown_value_is_updated(cloud):
    """Its type decides nothing from that value."""
    def wanted(name, of):
        return of_services({
            'key': ('OS::Heat::RandomString', {'length': of}),
            'it': ('OS::Cinder::Volume', {'size': 1, 'name': name, 'description': {'get_attr': ['key', 'value']}})})

    with services(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted('a', 8))
        done(it.cluster, it.id, 'CREATE')
        preview = it.cluster.ask(messages.PreviewUpdateStack(stack_id=it.id, template=wanted('b', 9), environment={}))
        assert {action: [entry['resource_name'] for entry in entries]
                for action, entries in preview.items() if entries} == {'replaced': ['key'], 'updated': ['it']}


def test_what_others_had_to_say_is_not_asked_again():
    """Here a service would have to tell the config's text, and nobody reaches it."""
    parts = [{'config': {'get_attr': ['inner', 'config']}, 'type': 'multipart'}]
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'inner': {'type': 'OS::Heat::MultipartMime', 'properties': {'parts': [{'config': 'a text'}]}},
        'outer': {'type': 'OS::Heat::MultipartMime', 'properties': {'parts': parts}}}}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template)
        assert cluster.settle(stack_id).status == 'COMPLETE'
        preview = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=template, environment={}))
        assert [entry['resource_name'] for entry in preview['unchanged']] == ['inner', 'outer']


def test_what_cannot_be_decided_is_unknown_and_so_is_what_comes_behind_it():
    """Also when the trouble is the preview's own: nothing is called unchanged that was not looked at."""
    def template(text, value):
        return {'heat_template_version': '2018-08-31', 'resources': {
            'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'config': text}},
            'locked': {'type': 'Sim::Thing', 'properties': {'value': value}},
            'behind': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'locked'}}}}}

    environment = {'resource_registry': {'resources': {'locked': {'restricted_actions': 'update'}}}}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template('date', '1'))
        cluster.settle(stack_id)
        cluster.update(stack_id, template('date', '1'), converge=True)
        assert cluster.settle(stack_id).status == 'COMPLETE'

        def preview(wanted, **more):
            found = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=wanted, **more))
            return {entry['resource_name']: kind for kind, entries in found.items() for entry in entries}, found

        kinds, _ = preview(template('date', '2'), environment={})
        assert kinds == {'config': 'unchanged', 'locked': 'updated', 'behind': 'unchanged'}
        kinds, found = preview(template('date', '2'), environment=environment)
        assert kinds == {'config': 'unchanged', 'locked': 'unknown', 'behind': 'unknown'}
        assert all('locked' in entry['reason'] for entry in found['unknown'])


# --- trees of stacks ---------------------------------------------------------------------------------------------

def preview_of(cluster, stack_id, wanted, show_nested=True, **more):
    """{kind: {(parent resource, name)}} and the whole answer."""
    found = cluster.ask(messages.PreviewUpdateStack(
        stack_id=stack_id, template=wanted, show_nested=show_nested, **{'environment': {}, **more}))
    return {kind: {(entry.get('parent_resource'), entry['resource_name']) for entry in entries}
            for kind, entries in found.items() if entries}, found


def test_what_is_inside_is_listed_on_request():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', nested('one'), files=FILES)
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        kinds, found = preview_of(cluster, stack_id, nested('two'), files=FILES)
        assert kinds == {'updated': {(None, 'c'), ('c', 'a')}, 'unchanged': {('c', 'b'), (None, 'd')}}
        inner = next(entry for entry in found['updated'] if entry['resource_name'] == 'a')
        assert inner['stack_name'] == child.name and inner['stack_identity']['stack_id'] == child.id
        assert inner['resource_identity']['path'] == '/resources/a'
        assert inner['property_changes'] == {'value': {'old': 'one', 'new': 'two', 'forces_replacement': False}}
        outer = next(entry for entry in found['updated'] if entry['resource_name'] == 'c')
        assert outer['nested_stack_id']['stack_id'] == child.id
        kinds, _ = preview_of(cluster, stack_id, nested('two'), show_nested=False, files=FILES)
        assert kinds == {'updated': {(None, 'c')}, 'unchanged': {(None, 'd')}}

        kinds, found = preview_of(cluster, stack_id, of_resources({'n': {'type': 'child.yaml'}}), files=FILES)
        assert kinds == {'added': {(None, 'n'), ('n', 'a'), ('n', 'b')},
                         'deleted': {(None, 'c'), ('c', 'a'), ('c', 'b'), (None, 'd')}}
        assert {entry['stack_name'] for entry in found['added']} == {'s', 's-n'}


def test_what_needs_an_output_of_a_nested_stack_that_changes_is_unknown():
    replaced = {'child.yaml': FILES['child.yaml'].replace('{value: {get_param: value}}', '{value: x, fixed: y}')}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', nested('one'), files=FILES)
        done(cluster, stack_id, 'CREATE')
        kinds, found = preview_of(cluster, stack_id, nested('one'), files=replaced)
        assert kinds == {'updated': {(None, 'c')}, 'replaced': {('c', 'a')}, 'unknown': {('c', 'b'), (None, 'd')}}
        assert all(entry['reason'].endswith(': value') for entry in found['unknown'])


def test_members_of_groups_are_listed():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', group(3))
        done(cluster, stack_id, 'CREATE')
        kinds, _ = preview_of(cluster, stack_id, group(3, removal_policies=[{'resource_list': ['1']}]))
        assert kinds == {'updated': {(None, 'g')}, 'added': {('g', '3')}, 'deleted': {('g', '1')},
                         'unchanged': {('g', '0'), ('g', '2')}}


@pytest.mark.parametrize('seed', [101052, 101474, 102434])
def test_what_is_not_visited_is_as_it_was(seed):
    """A group that an update does not visit keeps a member that its removal policies name, which a visit would take
    away; and one whose definition has a value that is known only later is not visited if it is the former value."""
    foretold_trees.live(seed)


def test_a_group_whose_value_is_known_later_may_stay_as_it_is():
    def template(value, member):
        return {'heat_template_version': '2018-08-31', 'resources': {
            'value': {'type': 'OS::Heat::Value', 'properties': {'type': 'string', 'value': value}},
            'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {
                'type': 'Sim::Thing', 'properties': {'value': member}}}}}}

    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template('a', 'b'))
        cluster.settle(stack_id)
        preview = cluster.ask(messages.PreviewUpdateStack(
            stack_id=stack_id, template=template('b', {'get_attr': ['value', 'value']}), environment={}))
    assert [(entry['resource_name'], entry['reason']) for entry in preview['unknown']] == [
        ('group', 'Known only when what it depends on is done: resource_def')]


def test_a_size_that_is_not_known_leaves_all_members_unknown():
    def sized(value, count):
        made = group(2)
        made['resources']['size'] = {'type': 'OS::Heat::Value', 'properties': {'value': value, 'type': 'number'}}
        made['resources']['g']['properties']['count'] = count
        return made

    later = {'get_attr': ['size', 'value']}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', sized(2, later))
        done(cluster, stack_id, 'CREATE')
        kinds, _found = preview_of(cluster, stack_id, sized(2, later))
        assert kinds['unchanged'] == {(None, 'size'), (None, 'g'), ('g', '0'), ('g', '1')}
        kinds, found = preview_of(cluster, stack_id, sized(1, later))
        assert kinds == {'updated': {(None, 'size')}, 'unknown': {(None, 'g'), ('g', '0'), ('g', '1')}}
        assert 'Known only when what it depends on is done: count' in next(
            entry['reason'] for entry in found['unknown'] if entry['resource_name'] == 'g')


def test_a_mistake_inside_fails_the_preview_as_it_fails_the_update():
    broken = {'child.yaml': json.dumps(of_resources({'a': {'type': 'Sim::Nothing'}}))}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', nested('one'), files=FILES)
        done(cluster, stack_id, 'CREATE')
        wanted = of_resources({'c': {'type': 'child.yaml'}})
        answers = [cluster.ask(kind(stack_id=stack_id, template=wanted, environment={}, files=broken),
                             [exception.HeatException])
                   for kind in (messages.PreviewUpdateStack, messages.UpdateStack)]
        assert isinstance(answers[0], exception.HeatException) and str(answers[0]) == str(answers[1])


def test_a_tree_is_counted_before_it_is_shown():
    with Cluster(engines=1, max_resources_per_stack=20) as cluster:
        stack_id = cluster.create('s', group(2))
        done(cluster, stack_id, 'CREATE')
        wanted = of_resources({f'g{n}': group(8)['resources']['g'] for n in range(3)})
        answer = cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=wanted, environment={}),
                           [exception.RequestLimitExceeded])
        assert isinstance(answer, exception.RequestLimitExceeded)


def test_a_breakpoint_is_passed_and_work_under_way_is_unknown():
    hooks = {'resource_registry': {'resources': {'a': {'hooks': 'pre-update'}}}}

    def things(value, seconds=0):
        return of_resources({
            'a': {'type': 'Sim::Thing', 'properties': {'value': value}},
            't': {'type': 'OS::Heat::TestResource', 'properties': {'value': value, 'wait_secs': seconds}}})

    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', things('1'))
        done(cluster, stack_id, 'CREATE')
        kinds, _ = preview_of(cluster, stack_id, things('2'), environment=hooks)
        assert kinds == {'updated': {(None, 'a'), (None, 't')}}
        cluster.update(stack_id, things('2', 1000))
        assert cluster.universe.run(lambda: cluster.states(stack_id)['t'][0][1] == 'IN_PROGRESS', limit=100)
        kinds, found = preview_of(cluster, stack_id, things('3'))
        assert (None, 't') in kinds['unknown'] and 'UPDATE of it is under way' in found['unknown'][-1]['reason']


def test_an_administrator_without_a_project_may_validate_and_preview():
    """A token for the whole system names no project; the ARN of the stack to be was made from it all the same."""
    template = {'heat_template_version': '2018-08-31', 'resources': {'a': {'type': 'Sim::Thing'}},
                'outputs': {'whose': {'value': {'get_param': 'OS::project_id'}}}}
    with Cluster(engines=1) as cluster:
        cluster.context = RequestContext(roles=['admin'], is_admin=True, overwrite=False)
        assert cluster.ask(messages.ValidateTemplate(template=template, environment={}))['Parameters'] == {}
        preview = cluster.ask(messages.PreviewStack(stack_name='s', template=template, environment={}))
        assert preview['stack_name'] == 's'


def test_a_definition_that_cannot_be_resolved_fails_in_the_preview_as_in_the_update():
    """Of a nested stack the preview ended with a TypeError; of any other resource it said that it would be added."""
    first = {'type': 'child.yaml', 'properties': {'value': '1'}}
    no_list = {'list_join': ['', {'get_attr': ['a', 'ident']}]}         # a text, which only the stack's values tell
    for kind in ('child.yaml', 'Sim::Thing'):
        wanted = of_resources({'a': first, 'b': {'type': kind, 'properties': {'value': no_list}}})
        with Cluster(engines=1) as cluster:
            stack_id = cluster.create('s', of_resources({'a': first}), files=FILES)
            done(cluster, stack_id, 'CREATE')
            kinds, found = preview_of(cluster, stack_id, wanted, show_nested=False, files=FILES)
            assert (None, 'b') in kinds['unknown'], found
            assert all('list_join' in entry['reason'] for entry in found['unknown'])
            cluster.update(stack_id, wanted, files=FILES)
            row = cluster.settle(stack_id)
            assert row.status == 'FAILED' and 'list_join' in row.reason
