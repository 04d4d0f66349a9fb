"""What an engine does with a stack that was taken over: the first update, or the work that Heat had begun."""

import json
import uuid

import pytest

from heatlite.engine import properties
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.rpc import messages
from heatlite.takeover import schema
from heatlite.takeover.source import HeatDatabase
from heatlite.takeover.transfer import Transfer, TransferOptions
from tests.simulation.cluster import PROJECT, Cluster, done, outputs
from tests.takeover.heats import KEY, NOW, Heat

STACK = 's1'


@pytest.fixture
def heat(tmp_path):
    made = Heat(f'sqlite:///{tmp_path}/heat.sqlite')
    yield made
    made.close()


@pytest.fixture
def cluster():
    with Cluster(engines=1) as made:
        yield made


def take(heat, cluster):
    """The switch: everything is taken over, and engines go on with it."""
    assert transfer(heat, cluster, switch=True).problems == []


def transfer(heat, cluster, **options):
    source = HeatDatabase(heat.url)
    try:
        return Transfer(source, KEY, cluster.database, cluster.user, cluster.engines[0][1].registry,
                        TransferOptions(**options)).run()
    finally:
        source.close()


def template(outputs=None, **members):
    return {'heat_template_version': '2018-08-31', 'resources': members, 'outputs': {
        name: {'value': value} for name, value in (outputs or {}).items()}}


def resource(heat, name, properties, physical_id, **columns):
    return heat.resource(STACK, name, properties, nova_instance=physical_id, uuid=str(uuid.UUID(int=heat.number())),
                         **columns)


def thing(cluster, physical_id, value=''):
    """An object of Sim::Thing that Heat has made."""
    cluster.cloud.objects[physical_id] = {'name': physical_id, 'value': value, 'polls': 9}
    return physical_id


# --- updates that Heat did not complete ---------------------------------------------------------------------

def changed(heat, wanted, of_a, status, of_stack='FAILED'):
    """An update of a stack of two: Heat has applied it to `a`, and stored the new template, but not the properties,
    with `b`. Returns the rows of a and b."""
    before, after = heat.template(wanted('1')), heat.template(wanted('2'))
    heat.stack(STACK, tenant=PROJECT, action='UPDATE', status=of_stack, template=after, prev_raw_template_id=before)
    first = of_a(before, after)
    return first, resource(heat, 'b', {'value': 'old' if len(first) > 1 else '1'}, 'of-b', action='UPDATE',
                           status=status, current_template_id=after, requires=json.dumps(first))


def test_a_failed_update_is_repeated_with_a_value_that_changed(heat, cluster):
    def wanted(value):
        return template({'a': {'get_attr': ['a', 'value']}},
                        a={'type': 'OS::Heat::Value', 'properties': {'value': value}},
                        b={'type': 'Sim::Thing', 'properties': {'value': {'get_attr': ['a', 'value']}}})

    changed(heat, wanted, lambda before, after: [resource(
        heat, 'a', {'value': '2'}, 'of-a', action='UPDATE', current_template_id=after)], 'FAILED')
    thing(cluster, 'of-b', '1')
    take(heat, cluster)
    assert outputs(cluster.row(STACK)) == {'a': '2'}
    cluster.update(STACK, wanted('2'))
    assert outputs(done(cluster, STACK, 'UPDATE')) == {'a': '2'}
    assert [each['value'] for each in cluster.cloud.objects.values()] == ['2']


@pytest.mark.parametrize('status, of_stack', [('FAILED', 'FAILED'), ('FAILED', 'IN_PROGRESS'),
                                              ('IN_PROGRESS', 'IN_PROGRESS')])
def test_an_update_goes_on_with_a_reference_that_changed(heat, cluster, status, of_stack):
    """`a` was replaced."""
    def wanted(value):
        return template({'a': {'get_resource': 'a'}}, a={'type': 'Sim::Thing', 'properties': {'fixed': value}},
                        b={'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'a'}}})

    def replaced(before, after):
        old = resource(heat, 'a', {'fixed': '1'}, thing(cluster, 'old'), current_template_id=before)
        new = resource(heat, 'a', {'fixed': '2'}, thing(cluster, 'new'), current_template_id=after, replaces=old)
        heat.change(schema.resource, old, replaced_by=new)
        return [old, new]

    changed(heat, wanted, replaced, status, of_stack)
    thing(cluster, 'of-b', 'old')
    take(heat, cluster)
    assert outputs(cluster.row(STACK)) == {'a': 'new'}
    if of_stack == 'FAILED':
        cluster.update(STACK, wanted('2'))
    assert outputs(done(cluster, STACK, 'UPDATE')) == {'a': 'new'}
    assert 'old' not in cluster.cloud.objects
    assert {ident: each['value'] for ident, each in cluster.cloud.objects.items() if ident != 'new'} == {
        cluster.states(STACK)['b'][0][2]: 'new'}


def test_a_rollback_goes_on_with_the_values_before(heat, cluster):
    """Heat gives the stack its old template again: `b` has it still, `a` has not yet."""
    def wanted(value):
        return template({'a': {'get_attr': ['a', 'value']}},
                        a={'type': 'OS::Heat::Value', 'properties': {'value': value}},
                        b={'type': 'Sim::Thing', 'properties': {'value': {'get_attr': ['a', 'value']}}})

    before, after = heat.template(wanted('1')), heat.template(wanted('2'))
    heat.stack(STACK, tenant=PROJECT, action='ROLLBACK', status='FAILED', template=before, prev_raw_template_id=after)
    first = resource(heat, 'a', {'value': '2'}, 'of-a', action='UPDATE', current_template_id=after)
    resource(heat, 'b', {'value': '1'}, thing(cluster, 'of-b', '1'), current_template_id=before,
             requires=json.dumps([first]))
    take(heat, cluster)
    assert outputs(cluster.row(STACK)) == {'a': '2'}
    cluster.update(STACK, wanted('3'))
    assert outputs(done(cluster, STACK, 'UPDATE')) == {'a': '3'}
    assert cluster.cloud.objects['of-b']['value'] == '3'


# --- an update in place that was under way ------------------------------------------------------------------

def under_way(heat, cluster, action='UPDATE'):
    """Heat stores the new template with a resource when it has updated it."""
    before, after = (heat.template(template(a={'type': 'Sim::Thing', 'properties': {'value': value}}))
                     for value in '12')
    if action == 'ROLLBACK':
        before, after = after, before
    heat.stack(STACK, tenant=PROJECT, action=action, status='IN_PROGRESS', template=after, prev_raw_template_id=before,
               disable_rollback=False)
    resource(heat, 'a', {'value': '1' if action == 'UPDATE' else '2'}, thing(cluster, 'of-a', 'some'), action='UPDATE',
             status='IN_PROGRESS', current_template_id=before)


@pytest.mark.parametrize('action, value', [('UPDATE', '2'), ('ROLLBACK', '1')])
def test_an_update_in_place_goes_on_in_place(heat, cluster, action, value):
    under_way(heat, cluster, action)
    take(heat, cluster)
    done(cluster, STACK, action)
    assert cluster.cloud.calls == [('update', 'of-a')]
    assert {ident: each['value'] for ident, each in cluster.cloud.objects.items()} == {'of-a': value}


def test_an_update_in_place_of_a_resource_that_gets_another_type(heat, cluster):
    """It was left by an update before: the present one replaces it."""
    before, after = (heat.template(template(a={'type': kind, 'properties': {'value': '1'}}))
                     for kind in ('Sim::Thing', 'OS::Heat::Value'))
    heat.stack(STACK, tenant=PROJECT, action='UPDATE', status='IN_PROGRESS', template=after,
               prev_raw_template_id=before)
    resource(heat, 'a', {'value': '0'}, thing(cluster, 'of-a'), action='UPDATE', status='IN_PROGRESS',
             current_template_id=before)
    take(heat, cluster)
    done(cluster, STACK, 'UPDATE')
    assert cluster.cloud.calls == [('delete', 'of-a')]


# --- values that change without an update -------------------------------------------------------------------

def scaled(heat):
    """A group of three, and a value that was applied when it had one. Returns the template."""
    group = {'min_size': 1, 'max_size': 5, 'resource': {'type': 'OS::Heat::RandomString'}}
    wanted = template(
        {'size': {'get_attr': ['group', 'current_size']}, 'applied': {'get_attr': ['it', 'value']}},
        group={'type': 'OS::Heat::AutoScalingGroup', 'properties': group},
        it={'type': 'OS::Heat::Value', 'properties': {'value': {'get_attr': ['group', 'current_size']}}})
    number = heat.template(wanted)
    heat.stack(STACK, tenant=PROJECT, template=number)
    of_group = resource(heat, 'group', group, 'child', current_template_id=number)
    resource(heat, 'it', {'value': 1}, 'of-it', current_template_id=number, requires=json.dumps([of_group]))
    heat.stack('child', owner_id=STACK, parent_resource_name='group', nested_depth=1, tenant=PROJECT,
               template=heat.template(template(**{
                   name: {'type': 'OS::Heat::RandomString', 'properties': {}} for name in 'abc'})))
    for name in 'abc':
        member = heat.resource('child', name, {})
        heat.datum(member, 'value', 'x' * 32, redact=True)
    return wanted


def test_a_group_that_was_scaled_has_its_present_size(heat, cluster):
    wanted = scaled(heat)
    take(heat, cluster)
    assert outputs(cluster.row(STACK)) == {'size': 3, 'applied': 1}
    cluster.update(STACK, wanted)
    assert outputs(done(cluster, STACK, 'UPDATE')) == {'size': 3, 'applied': 3}



# --- objects that Heat has deleted already ------------------------------------------------------------------

def test_what_heat_has_deleted_is_not_deleted_again(heat, cluster):
    """Heat removes such rows when the action ends; until then, something else may have taken the name of the object."""
    full, empty = heat.template(template(a={'type': 'Sim::Thing'}, b={'type': 'Sim::Thing'})), heat.template(template())
    heat.stack(STACK, tenant=PROJECT, action='DELETE', status='IN_PROGRESS', template=empty, prev_raw_template_id=full)
    first = resource(heat, 'a', {}, thing(cluster, 'of-a'), current_template_id=full)
    resource(heat, 'b', {}, thing(cluster, 'successor'), action='DELETE', current_template_id=full,
             requires=json.dumps([first]))
    take(heat, cluster)
    cluster.until_deleted(STACK)
    assert cluster.cloud.calls == [('delete', 'of-a')]
    assert [event[:3] for event in cluster.events(STACK) if event[0] == 'b'] == []


def test_a_replaced_object_that_heat_has_deleted_is_not_deleted_again(heat, cluster):
    before, after = (heat.template(template(a={'type': 'Sim::Thing', 'properties': {'fixed': value}}))
                     for value in '12')
    heat.stack(STACK, tenant=PROJECT, action='UPDATE', status='IN_PROGRESS', template=after,
               prev_raw_template_id=before)
    old = resource(heat, 'a', {'fixed': '1'}, thing(cluster, 'old'), action='DELETE', current_template_id=before)
    new = resource(heat, 'a', {'fixed': '2'}, thing(cluster, 'new'), current_template_id=after, replaces=old)
    heat.change(schema.resource, old, replaced_by=new)
    take(heat, cluster)
    done(cluster, STACK, 'UPDATE')
    assert cluster.cloud.calls == []
    assert cluster.states(STACK) == {'a': [('CREATE', 'COMPLETE', 'new')]}


def test_a_nested_stack_is_deleted_with_a_resource_that_is_deleted(heat, cluster):
    """Heat was stopped when the nested stack had no objects any more, and its row was still there."""
    heat.stack(STACK, tenant=PROJECT, action='DELETE', status='IN_PROGRESS', template=heat.template(template()))
    resource(heat, 'group', {}, 'child', action='DELETE', current_template_id=heat.template(template(
        group={'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 0, 'resource_def': {'type': 'Sim::Thing'}}})))
    heat.stack('child', owner_id=STACK, parent_resource_name='group', nested_depth=1, tenant=PROJECT, action='DELETE',
               template=heat.template(template()))
    take(heat, cluster)
    cluster.until_deleted(STACK)
    assert cluster.row('child').deleted_at is not None


# --- the way back -------------------------------------------------------------------------------------------

@pytest.mark.parametrize('of', [STACK, 'child'])
def test_a_stack_without_a_snapshot_that_heat_has_is_named(heat, cluster, of):
    """The copies that belong to the snapshot are gone from the cloud."""
    scaled(heat)
    heat.add(schema.snapshot, id='snap', stack_id=of, name='first', tenant=PROJECT, action='CREATE',
             status='COMPLETE', created_at=NOW, data=json.dumps({'resources': {}}))
    take(heat, cluster)
    assert transfer(heat, cluster, dry=True).trees == {'unchanged': 1}
    cluster.ask(messages.DeleteSnapshot(of, 'snap'))
    report = transfer(heat, cluster, dry=True)
    assert (report.trees, len(report.problems)) == ({'changed in heatlite': 1}, 1)


# --- nested stacks of other types ---------------------------------------------------------------------------

def making(name):
    """A type that makes a nested stack of one resource."""
    class Made(StackResource):
        properties_schema = {'value': properties.Schema(properties.Schema.STRING, update_allowed=True)}
        own_names = (name,)

        def child_template(self):
            return template(**{name: {'type': 'Sim::Thing', 'properties': {'value': self.properties['value']}}})

    return Made


def test_a_type_replaces_nothing_in_a_nested_stack_that_it_did_not_make(cluster):
    """One that a release before took over, with another type of this name in Heat."""
    def wanted(value):
        return template(it={'type': 'Sim::Made', 'properties': {'value': value}})

    def use(kind):
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Made', kind)

    use(making('first'))
    stack_id = cluster.create('outer', wanted('1'))
    done(cluster, stack_id, 'CREATE')
    before = list(cluster.cloud.calls)
    use(making('second'))
    cluster.update(stack_id, wanted('2'))
    row = cluster.settle(stack_id)
    assert row.status == 'FAILED' and 'Another type named Sim::Made' in row.reason
    assert cluster.cloud.calls == before
    use(making('first'))
    cluster.update(stack_id, wanted('2'))
    done(cluster, stack_id, 'UPDATE')
    assert [each['value'] for each in cluster.cloud.objects.values()] == ['2']
