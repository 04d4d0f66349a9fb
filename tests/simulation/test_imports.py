"""Imports: what exists becomes a resource, without a write; what cannot is refused before anything is stored."""

from __future__ import annotations

import contextlib
import os

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from heatlite.testing.crash import every
from tests.simulation.cluster import done
from tests.simulation.openstack import stack, template

NOWHERE = '00000000-0000-0000-0000-000000000000'
NET = ('OS::Neutron::Net', {'name': 'n', 'tags': ['blue']})
RESOURCES = {
    'net': NET,
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.7.0.0/24', 'name': 's'}),
    'port': ('OS::Neutron::Port', {'network': {'get_resource': 'net'}, 'name': 'p'}),
    'disk': ('OS::Cinder::Volume', {'size': 1, 'name': 'd'})}


@pytest.fixture
def it(cloud):
    with stack(cloud, engines=1) as found:
        yield found


def released(it, resources=None):
    """Make objects, and forget them: resource -> physical id."""
    it.create(RESOURCES if resources is None else resources)
    ids = {name: it.physical_id(name) for name in resources or RESOURCES}
    it.cluster.ask(messages.ReleaseStack(it.id))
    it.cluster.settle(it.id)
    it.id = ''
    return ids


def imports(wanted):
    return {'resource_registry': {'resources': {name: {'import': how} for name, how in wanted.items()}}}


def by_id(ids):
    return imports({name: {'id': each} for name, each in ids.items()})


def writes(it):
    return it.cloud.writes()


def test_a_stack_of_imports_is_made_without_a_write(it):
    ids = released(it)
    before, asked = writes(it), it.count_requests()
    plan = it.planned(action='create', stack_name='taken', template=template(RESOURCES), environment=by_id(ids))
    assert {change['path'][0]: (change['action'], change['physical_resource_id'], change['values'])
            for change in plan.document['changes']} == {name: ('import', each, []) for name, each in ids.items()}
    assert plan.document['findings'] == [] and plan.document['summary']['import'] == len(ids)
    stack_id = it.apply(plan)['stack_id']
    assert it.cluster.settle(stack_id).status == 'COMPLETE'
    assert writes(it) == before and it.count_requests() > asked
    assert it.cluster.states(stack_id) == {name: [('ADOPT', 'COMPLETE', each)] for name, each in ids.items()}
    assert {(name, action, status) for name, action, status, _why in it.cluster.events(stack_id)
            if name != 'taken'} == {(name, 'ADOPT', status) for name in ids for status in ('IN_PROGRESS', 'COMPLETE')}


def test_what_refers_to_an_imported_object_is_planned_with_its_id(it):
    ids = released(it, {'net': NET})
    plan = it.planned(action='create', stack_name='taken', template=template(RESOURCES), environment=by_id(ids))
    subnet = next(change for change in plan.document['changes'] if change['path'] == ['subnet'])
    assert subnet['action'] == 'create'
    assert next(value['after'] for value in subnet['values'] if value['path'] == ['network']) == ids['net']


def test_another_value_in_the_cloud_is_drift_in_the_plan_and_afterwards(it):
    ids = released(it)
    wanted = {**RESOURCES, 'net': ('OS::Neutron::Net', {'name': 'other', 'tags': ['blue']}),
              'disk': ('OS::Cinder::Volume', {'size': 1, 'name': 'e'})}
    before = writes(it)
    plan = it.planned(action='create', stack_name='taken', template=template(wanted), environment=by_id(ids))
    found = {(*change['path'], *value['path']): value for change in plan.document['changes']
             for value in change['values']}
    assert {place: (value['live'], value['after'], value['cause']['kind']) for place, value in found.items()} == {
        ('net', 'name'): ('n', 'other', 'cloud'), ('disk', 'name'): ('d', 'e', 'cloud')}
    it.id = it.apply(plan)['stack_id']
    assert it.cluster.settle(it.id).status == 'COMPLETE' and writes(it) == before
    report = it.cluster.ask(messages.LookForDrift(it.id))
    assert {(each['path'][0], each['properties'][0]['actual']) for each in report['resources']} == {
        ('net', 'n'), ('disk', 'd')}
    it.cluster.update(it.id, template(wanted), converge=True)
    done(it.cluster, it.id, 'UPDATE')
    assert it.request('neutron', 'GET', f"/networks/{ids['net']}")['network']['name'] == 'other'
    assert it.physical_id('net') == ids['net']


def test_into_an_existing_stack_by_name_and_tag(it):
    ids = released(it)
    it.create({'mine': ('OS::Neutron::Net', {'name': 'mine'})})
    before = writes(it)
    wanted = {'mine': ('OS::Neutron::Net', {'name': 'mine'}), **RESOURCES}
    it.cluster.update(it.id, template(wanted), imports={
        'net': {'name': 'n', 'tag': 'blue'}, 'subnet': {'name': 's'}, 'port': {'name': 'p'}, 'disk': {'name': 'd'}})
    done(it.cluster, it.id, 'UPDATE')
    assert writes(it) == before
    assert {name: it.physical_id(name) for name in ids} == ids
    it.cluster.update(it.id, template(wanted), by_id(ids))          # an import of what is there has no effect
    done(it.cluster, it.id, 'UPDATE')
    assert writes(it) == before
    it.cluster.delete(it.id)
    it.cluster.settle(it.id)
    assert it.request('neutron', 'GET', '/networks?name=n')['networks'] == []


def test_inside_a_group(it):
    ids = released(it, {'net': NET})
    group = {'group': ('OS::Heat::ResourceGroup', {
        'count': 1, 'resource_def': {'type': NET[0], 'properties': NET[1]}})}
    before = writes(it)
    plan = it.planned(action='create', stack_name='taken', template=template(group),
                      imports={'group/0': {'id': ids['net']}})
    assert [change['action'] for change in plan.document['changes']] == ['create', 'import']
    it.id = it.apply(plan)['stack_id']
    done(it.cluster, it.id, 'CREATE')
    assert writes(it) == before
    wrong = it.cluster.ask(messages.CreateStack(
        template=template(group), stack_name='wrong', imports={'group/0': {'id': NOWHERE}}),
        allowed=[exception.StackValidationFailed])
    assert 'group/0' in str(wrong) and NOWHERE in str(wrong)
    assert it.cluster.user_stack('wrong') is None


# --- bad input -----------------------------------------------------------------------------------------------

def refused(it, wanted, resources=None, **fields):
    """The error of a create, of which nothing is stored; an update of another stack is refused, too."""
    source = {'template': template(resources or {name: RESOURCES[name] for name in wanted}),
              'environment': imports(wanted), **fields}
    before = writes(it)
    found = it.cluster.ask(messages.CreateStack(stack_name='refused', **source), [exception.HeatException])
    assert isinstance(found, exception.StackValidationFailed), found
    assert it.cluster.user_stack('refused') is None and writes(it) == before
    again = it.cluster.ask(messages.CreatePlan(action='create', stack_name='refused', **source),
                           [exception.HeatException])
    assert str(again) == str(found)
    return str(found)


def test_an_object_that_does_not_exist(it):
    assert f'there is no object with the id {NOWHERE}' in refused(it, {'net': {'id': NOWHERE}})


def test_an_object_of_another_type(it):
    ids = released(it)
    for name, other in (('net', 'disk'), ('disk', 'net'), ('port', 'subnet')):
        assert f'there is no object with the id {ids[other]}' in refused(
            it, {name: {'id': ids[other]}}, {name: (RESOURCES[name][0], {
                'network': ids['net']} if name == 'port' else RESOURCES[name][1])})


def test_an_object_of_another_project(it):
    foreign = it.request('neutron', 'POST', '/networks', {'network': {'name': 'n', 'project_id': 'another'}})['network']
    assert foreign['project_id'] != it.cloud.project_id
    assert f"the object {foreign['id']} belongs to another project" in refused(it, {'net': {'id': foreign['id']}})


def test_an_object_in_another_stack_and_in_the_same_one(it):
    it.create({'net': NET})
    taken = it.physical_id('net')
    assert f'the object {taken} is in the stack s ({it.id})' in refused(it, {'net': {'id': taken}})
    it.cluster.ask(messages.ReleaseStack(it.id))
    it.cluster.settle(it.id)
    assert f'the object {taken} is that of resource' in refused(
        it, {'a': {'id': taken}, 'b': {'id': taken}}, {'a': NET, 'b': NET})


@pytest.mark.parametrize('seed', range(1, 7))
def test_of_two_stacks_at_once_at_most_one_gets_the_object(cloud, seed):
    with stack(cloud, seed=seed, engines=2) as it:
        ids = released(it, {'net': NET})
        names = 'one', 'two'
        for name, (runtime, service) in zip(names, it.cluster.engines, strict=True):
            runtime.spawn(attempt, service, it.cluster.context, messages.CreateStack(
                template=template({'net': NET}), stack_name=name, environment=by_id(ids)))
        assert it.cluster.universe.run(lambda: any(map(it.cluster.user_stack, names)))
        it.cluster.universe.run(lambda: False, limit=5.0)
        made = [stack_id for stack_id in map(it.cluster.user_stack, names) if stack_id is not None]
        states = [(it.cluster.settle(each).status, it.cluster.states(each)['net'][0][2]) for each in made]
        assert sum(physical_id is not None for _status, physical_id in states) <= 1, states
        assert all((status == 'COMPLETE') == (physical_id == ids['net']) for status, physical_id in states), states
        for each in made:
            it.cluster.delete(each)
            it.cluster.settle(each)
        gone = it.request('neutron', 'GET', '/networks?name=n')['networks'] == []
        assert gone is any(physical_id is not None for _status, physical_id in states)


def attempt(service, context, message):
    with contextlib.suppress(exception.StackValidationFailed):
        service.endpoint.handle(context, message)


def test_a_query_without_a_hit_and_one_with_several(it):
    released(it, {'a': NET, 'b': NET})
    assert 'there is no object with name x' in refused(it, {'net': {'name': 'x'}})
    assert 'there is no object with name n, tag red' in refused(it, {'net': {'name': 'n', 'tag': 'red'}})
    assert 'there are 2 objects with name n' in refused(it, {'net': {'name': 'n'}})
    assert 'there are 2 objects with tag blue' in refused(it, {'net': {'tag': 'blue'}})


def test_types_without_objects_and_groups(it):
    assert 'The import of resources of type OS::Heat::RandomString is not supported' in refused(
        it, {'a': {'id': 'x'}}, {'a': ('OS::Heat::RandomString', {})})
    assert 'The import of resources of type OS::Heat::ResourceGroup is not supported' in refused(
        it, {'a': {'id': 'x'}}, {'a': ('OS::Heat::ResourceGroup', {
            'count': 0, 'resource_def': {'type': 'OS::Heat::None'}})})


def test_all_that_is_wrong_is_named_at_once(it):
    text = refused(it, {'net': {'id': NOWHERE}, 'disk': {'id': NOWHERE}})
    assert 'net (OS::Neutron::Net)' in text and 'disk (OS::Cinder::Volume)' in text


@pytest.mark.parametrize('wrong', [
    {}, {'id': ''}, {'id': 'x', 'name': 'y'}, {'uuid': 'x'}, {'id': 5}, 'x', ['x'], {'name': 'x' * 256}, None])
def test_words_of_an_import(it, wrong):
    found = it.cluster.ask(messages.CreateStack(
        template=template({'net': NET}), stack_name='w', environment=imports({'net': wrong})),
        [exception.StackValidationFailed])
    assert 'import' in str(found)


def test_one_object_into_many_resources(it):
    found = it.cluster.ask(messages.CreateStack(
        template=template({'net': NET}), stack_name='w', environment=imports({'n*': {'id': 'x'}})),
        [exception.StackValidationFailed])
    assert 'imports one object into many resources' in str(found)


def test_a_caller_without_the_right(it):
    ids = released(it, {'net': NET})
    it.cluster.context.roles[:] = ['reader']
    found = it.cluster.ask(messages.CreateStack(
        template=template({'net': NET}), stack_name='w', environment=by_id(ids)), [exception.Forbidden])
    assert 'stacks:import' in str(found) and it.cluster.user_stack('w') is None


# --- what follows a failure ------------------------------------------------------------------------------------

def test_a_rollback_keeps_what_was_imported(it):
    ids = released(it, {'net': NET})
    it.fault(kind='error', service='block-storage', method='POST', path='*/volumes', status=400, count=0)
    inside = {'group': ('OS::Heat::ResourceGroup', {
        'count': 1, 'resource_def': {'type': NET[0], 'properties': NET[1]}})}
    disk = {'disk': RESOURCES['disk']}
    for resources, how in (({'net': NET}, {'net': {'id': ids['net']}}), (inside, {'group/0': {'id': ids['net']}})):
        stack_id = it.cluster.create('s', template({**resources, **disk}), imports=how, disable_rollback=False)
        row = it.cluster.settle(stack_id)
        assert (row.action, row.status) == ('ROLLBACK', 'COMPLETE'), row.reason
        assert it.request('neutron', 'GET', f"/networks/{ids['net']}")['network']['name'] == 'n'
        assert it.cluster.states(stack_id) == {}
        it.cluster.delete(stack_id)
        it.cluster.settle(stack_id)


def test_a_failed_import_is_tried_again_and_nothing_is_created_instead(it):
    ids = released(it, {'net': NET})
    it.create({})
    it.fault(kind='error', service='network', method='GET', path=f"*/networks/{ids['net']}", status=400, nth=2)
    before = writes(it)
    it.cluster.update(it.id, template({'net': NET}), by_id(ids))
    row = it.cluster.settle(it.id)
    assert row.status == 'FAILED', 'the check before has passed'
    assert it.cluster.states(it.id) == {'net': [('ADOPT', 'FAILED', None)]}
    it.cluster.update(it.id, template({'net': NET}), by_id(ids))
    row = it.cluster.settle(it.id)
    assert row.status == 'COMPLETE' and writes(it) == before
    assert [state[2] for state in it.cluster.states(it.id)['net']] == [ids['net']]


def test_a_replacement_is_an_object_of_its_own(it):
    ids = released(it, {'net': NET})
    it.create({})
    it.cluster.update(it.id, template({'net': NET}), by_id(ids))
    done(it.cluster, it.id, 'UPDATE')
    it.cluster.ask(messages.MarkUnhealthy(it.id, 'net', True, ''))
    it.cluster.settle(it.id)
    it.cluster.update(it.id, template({'net': NET}), by_id(ids))
    done(it.cluster, it.id, 'UPDATE')
    assert it.physical_id('net') != ids['net']


def test_an_engine_killed_at_any_point_imports_all_the_same(cloud):
    with stack(cloud, engines=2) as it:
        ids = released(it)
        before = writes(it)

        def life(points=()):
            it.cluster.chaos.begin(points)
            stack_id = it.cluster.create('taken', template(RESOURCES), by_id(ids))
            row = it.cluster.settle(stack_id)
            ended = it.cluster.chaos.end()
            assert (row.action, row.status) == ('CREATE', 'COMPLETE'), (points, row.reason)
            assert it.cluster.states(stack_id) == {
                name: [('ADOPT', 'COMPLETE', each)] for name, each in ids.items()}, points
            assert writes(it) == before, points
            it.cluster.ask(messages.ReleaseStack(stack_id))
            it.cluster.settle(stack_id)
            return ended

        points = life()
        assert len(points) > 10
        stride = every(os.environ.get('HEATLITE_TEST_CRASH', '7'))
        for point in points[::stride]:
            life({point})
