"""Groups that are made larger and smaller by signals, and updated member by member."""

from __future__ import annotations

import copy

import pytest

from heatlite.common import exception
from heatlite.db import resource_lists, stacks
from heatlite.engine import attributes, constraints, properties
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation import planned
from tests.simulation.cluster import Cluster, done, kill_engines_in, lose_database_in, outputs, strike
from tests.simulation.test_requests_at_any_moment import interrupts


def scaled(value='v', least=1, most=5, policy=None, member=None, rolling=None, **more):
    group = {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': least, 'max_size': most,
        'resource': {'type': 'Sim::Thing', 'properties': {'value': value, 'fixed': None, **(member or {})}}, **more}}
    if rolling is not None:
        group['properties']['rolling_updates'] = rolling
    found = {'group': group, 'policy': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
        'auto_scaling_group_id': {'get_resource': 'group'}, 'adjustment_type': 'change_in_capacity',
        'scaling_adjustment': 1, **(policy or {})}}}
    return {'heat_template_version': '2018-08-31', 'resources': found, 'outputs': {
        name: {'value': {'get_attr': ['group', *path]}} for name, path in {
            'size': ['current_size'], 'refs': ['refs'], 'first': ['resource.0']}.items()}}


def signal(cluster, stack_id, name='policy', details=None):
    return cluster.ask(messages.SignalResource(stack_id, name, details, False))


def handled(cluster):
    def is_handled():
        with cluster.database.reader() as tx:
            return not tx.exec_driver_sql('SELECT count(*) FROM "signal"').scalar()
    assert cluster.universe.run(is_handled, limit=300)


def scale(cluster, stack_id, **more):
    signal(cluster, stack_id, **more)
    handled(cluster)
    return cluster.settle(stack_id)


def values(cluster):
    return sorted(each['value'] for each in cluster.cloud.objects.values())


def child(cluster, stack_id):
    with cluster.database.reader() as tx:
        return stacks.get(tx, cluster.states(stack_id)['group'][-1][2])


def metadata(cluster, stack_id):
    with cluster.database.reader() as tx:
        return resource_lists.by_name(tx, stack_id, 'group')[-1].metadata


def signals_told(cluster, stack_id):
    return [event[1:] for event in cluster.events(stack_id) if event[1] == 'SIGNAL']


def test_a_signal_makes_the_group_larger():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(desired_capacity=2))
        row = done(cluster, stack_id, 'CREATE')
        assert outputs(row)['size'] == 2 and len(cluster.cloud.objects) == 2
        told = cluster.events(stack_id)
        row = scale(cluster, stack_id, details={'previous': 'ok', 'current': 'alarm', 'reason': 'hot'})
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), 'the stack itself stays as it is'
        assert outputs(row)['size'] == len(cluster.cloud.objects) == 3
        assert sorted(outputs(row)['refs']) == sorted(cluster.cloud.objects)
        assert cluster.events(stack_id)[len(told):] == [
            ('policy', 'SIGNAL', 'COMPLETE', 'alarm state changed from ok to alarm (hot)')]
        assert child(cluster, stack_id).action == 'UPDATE'
        why, = metadata(cluster, stack_id)['cooldown_end'].values()
        assert (why, metadata(cluster, stack_id)['scaling_in_progress']) == ('change_in_capacity : 1', False)


def test_the_oldest_go_first():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(policy={'scaling_adjustment': -1}, desired_capacity=1))
        first = outputs(done(cluster, stack_id, 'CREATE'))['refs']
        cluster.update(stack_id, scaled(policy={'scaling_adjustment': -1}, desired_capacity=3))
        assert outputs(done(cluster, stack_id, 'UPDATE'))['first'] == first[0]
        scale(cluster, stack_id)
        assert first[0] not in cluster.cloud.objects and len(cluster.cloud.objects) == 2


@pytest.mark.parametrize('policy, size', [
    ({'scaling_adjustment': 9}, 5), ({'scaling_adjustment': -9}, 1),
    ({'adjustment_type': 'exact_capacity', 'scaling_adjustment': 4}, 4),
    ({'adjustment_type': 'percent_change_in_capacity', 'scaling_adjustment': 10}, 4),
    ({'adjustment_type': 'percent_change_in_capacity', 'scaling_adjustment': -10, 'min_adjustment_step': 2}, 1)])
def test_adjustments(policy, size):
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(policy=policy, desired_capacity=3))
        done(cluster, stack_id, 'CREATE')
        assert outputs(scale(cluster, stack_id))['size'] == size


def test_it_cools_down():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(policy={'cooldown': 60}))
        done(cluster, stack_id, 'CREATE')
        assert outputs(scale(cluster, stack_id))['size'] == 2
        assert outputs(scale(cluster, stack_id))['size'] == 2
        assert len(signals_told(cluster, stack_id)) == 1, 'what is ignored leaves no event'
        cluster.user.spawn(cluster.user.sleep, 70)
        cluster.universe.run(lambda: False, limit=65)
        assert outputs(scale(cluster, stack_id))['size'] == 3


def test_signals_while_it_is_being_resized_are_ignored():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled())
        done(cluster, stack_id, 'CREATE')
        for _ in range(4):
            signal(cluster, stack_id)
        handled(cluster)
        assert outputs(cluster.settle(stack_id))['size'] == 2


def test_nothing_to_do():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(most=1))
        done(cluster, stack_id, 'CREATE')
        before = child(cluster, stack_id).generation
        assert outputs(scale(cluster, stack_id))['size'] == 1
        assert child(cluster, stack_id).generation == before and signals_told(cluster, stack_id) == []


def test_a_policy_of_something_else_says_that_it_is_no_group():
    with Cluster() as cluster:
        template = scaled(policy={'auto_scaling_group_id': {'get_resource': 'other'}})
        template['resources']['other'] = {'type': 'Sim::Thing', 'properties': {'value': 'v', 'fixed': None}}
        stack_id = cluster.create('s', template)
        done(cluster, stack_id, 'CREATE')
        refused = cluster.ask(messages.SignalResource(stack_id, 'policy', None, wait=True), [exception.NotFound])
        assert 'could not find scaling group' in str(refused)


def test_a_resize_that_fails_leaves_no_flag():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled())
        done(cluster, stack_id, 'CREATE')
        cluster.cloud.create = None                           # from now on nothing can be made
        scale(cluster, stack_id)
        assert metadata(cluster, stack_id)['scaling_in_progress'] is False
        del cluster.cloud.create
        assert len(cluster.cloud.objects) == 1
        assert outputs(scale(cluster, stack_id))['size'] == 2
        assert len(cluster.states(child(cluster, stack_id).id)) == 2, 'the failed one went first'


@pytest.mark.parametrize('properties, message', [
    ({'least': 3, 'most': 2}, 'MinSize can not be greater than MaxSize'),
    ({'desired_capacity': 9}, 'DesiredCapacity must be between MinSize and MaxSize'),
    ({'policy': {'min_adjustment_step': 1}}, 'min_adjustment_step property should only be specified for '
                                             'adjustment_type with value percent_change_in_capacity.')])
def test_refused(properties, message):
    with Cluster() as cluster, pytest.raises(Exception, match=message):
        cluster.create('s', scaled(**properties))


def test_a_changed_definition_is_rolled_out():
    """One by one when nothing is said; whose size is not fixed stays as large as it is."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled())
        done(cluster, stack_id, 'CREATE')
        scale(cluster, stack_id)
        before = child(cluster, stack_id).generation
        cluster.update(stack_id, scaled('w'))
        row = done(cluster, stack_id, 'UPDATE')
        assert values(cluster) == ['w', 'w'] and outputs(row)['size'] == 2
        assert child(cluster, stack_id).generation == before + 2
        assert metadata(cluster, stack_id)['cooldown_end'].popitem()[1] == 'ExactCapacity : 2'


def test_a_fixed_size_comes_back_with_every_update():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(desired_capacity=2))
        done(cluster, stack_id, 'CREATE')
        scale(cluster, stack_id)
        cluster.update(stack_id, scaled(desired_capacity=2))
        assert outputs(done(cluster, stack_id, 'UPDATE'))['size'] == 2


SERVERS = {
    'HeatTemplateFormatVersion': '2012-12-12', 'Resources': {
        'config': {'Type': 'AWS::AutoScaling::LaunchConfiguration', 'Metadata': {'m': 1}, 'Properties': {
            'ImageId': 'i', 'InstanceType': 'f', 'UserData': 'one'}},
        'group': {'Type': 'AWS::AutoScaling::AutoScalingGroup', 'UpdatePolicy': {
            'AutoScalingRollingUpdate': {'MinInstancesInService': 1, 'MaxBatchSize': 1, 'PauseTime': 'PT2S'}},
            'Properties': {'AvailabilityZones': ['nova'], 'LaunchConfigurationName': {'Ref': 'config'},
                           'MinSize': 1, 'MaxSize': 3, 'DesiredCapacity': 2, 'Tags': [{'Key': 'k', 'Value': 'v'}]}},
        'policy': {'Type': 'AWS::AutoScaling::ScalingPolicy', 'Properties': {
            'AutoScalingGroupName': {'Ref': 'group'}, 'AdjustmentType': 'ChangeInCapacity', 'ScalingAdjustment': 1}}},
    'Outputs': {'Addresses': {'Value': {'Fn::GetAtt': ['group', 'InstanceList']}}}}


class Machine(clouds.Thing):
    """Stands for a server."""

    properties_schema = {name: properties.Schema(properties.Schema.STRING, update_allowed=True)
                         for name in ('ImageId', 'InstanceType', 'UserData')} | {
        'Tags': properties.Schema(properties.Schema.LIST)}
    attributes_schema = {'PublicIp': attributes.Schema()}

    def handle_create(self):
        self.resource_id_set(clouds.CLOUD.create(self.runtime, self.physical_resource_name(),
                                                 [self.properties['UserData'], self.metadata_get()]))

    def _resolve_attribute(self, name):
        return self.resource_id


class Anything(constraints.BaseCustomConstraint):
    def validate(self, value, context):
        return True


class Broken(Machine):
    """The second object of the cloud comes up broken, long after the others are ready."""

    def check_create_complete(self, *args):
        is_ready = super().check_create_complete(*args)
        if self.resource_id != 'obj-2':
            return is_ready
        if clouds.CLOUD.objects['obj-2']['polls'] > 9:
            raise ValueError('broken')
        return False


def created_with_a_failed_member(cluster, template):
    """Return the outputs and the references of the members that did not fail."""
    for _runtime, service in cluster.engines:
        for name in ('glance.image', 'nova.flavor'):
            service.registry.register_constraint(name, Anything)
        service.registry.register('Sim::Machine', Broken)
    stack_id = cluster.ask(messages.CreateStack(
        template=template, stack_name='s',
        environment={'resource_registry': {'OS::Heat::ScaledResource': 'Sim::Machine'}}))['stack_id']
    row = cluster.settle(stack_id)
    left = {name: rows[0][2] for name, rows in cluster.states(child(cluster, stack_id).id).items()
            if rows[0][1] == 'COMPLETE'}
    assert row.status == 'FAILED' and len(left) == 2
    return outputs(row), left


def test_attributes_leave_out_members_that_failed():
    template = scaled(desired_capacity=3)
    template['resources']['group']['properties']['resource'] = {'type': 'Sim::Machine', 'properties': {
        'UserData': 'v'}}
    template['outputs'] = {name: {'value': {'get_attr': ['group', *path]}} for name, path in {
        'size': ['current_size'], 'refs': ['refs'], 'map': ['refs_map'], 'addresses': ['outputs', 'PublicIp'],
        'list': ['outputs_list', 'PublicIp'], 'last': ['resource.1']}.items()}
    with Cluster() as cluster:
        found, left = created_with_a_failed_member(cluster, template)
        assert found['size'] == 2 and found['map'] == found['addresses'] == left
        assert found['refs'] == found['list'] == list(found['map'].values()) and found['last'] == found['refs'][1]


def test_addresses_leave_out_servers_that_failed():
    template = copy.deepcopy(SERVERS)
    template['Resources']['group']['Properties']['DesiredCapacity'] = 3
    with Cluster() as cluster:
        found, left = created_with_a_failed_member(cluster, template)
        assert sorted(found['Addresses'].split(',')) == sorted(left.values())


def test_groups_of_servers():
    """Images and flavours are nobody's here, so they are not checked."""
    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            for name in ('glance.image', 'nova.flavor'):
                service.registry.register_constraint(name, Anything)
            service.registry.register('Sim::Machine', Machine)
        stack_id = cluster.ask(messages.CreateStack(
            template=SERVERS, stack_name='s',
            environment={'resource_registry': {'OS::Heat::ScaledResource': 'Sim::Machine'}}))['stack_id']
        row = done(cluster, stack_id, 'CREATE')
        assert sorted(row.outputs[0]['output_value'].split(',')) == sorted(cluster.cloud.objects)
        assert values(cluster) == [['one', {'m': 1}]] * 2
        scale(cluster, stack_id)
        assert len(cluster.cloud.objects) == 3


def test_members_get_block_devices_without_what_is_not_given():
    class WithDisks(Machine):
        properties_schema = {**Machine.properties_schema, 'BlockDeviceMappings': properties.Schema(
            properties.Schema.LIST)}

        def handle_create(self):
            self.resource_id_set(clouds.CLOUD.create(
                self.runtime, self.physical_resource_name(), self.properties['BlockDeviceMappings']))

    given = [{'DeviceName': 'vdb', 'Ebs': {'VolumeSize': '2', 'DeleteOnTermination': True}}]
    wanted = copy.deepcopy(SERVERS)
    wanted['Resources']['config']['Properties']['BlockDeviceMappings'] = given
    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            for name in ('glance.image', 'nova.flavor'):
                service.registry.register_constraint(name, Anything)
            service.registry.register('Sim::Machine', WithDisks)
        done(cluster, cluster.ask(messages.CreateStack(
            template=wanted, stack_name='s',
            environment={'resource_registry': {'OS::Heat::ScaledResource': 'Sim::Machine'}}))['stack_id'], 'CREATE')
        assert values(cluster) == [given, given]


def life(cluster):
    stack_id = cluster.create('s', scaled(rolling={'max_batch_size': 1, 'min_in_service': 1}))
    done(cluster, stack_id, 'CREATE')
    assert outputs(scale(cluster, stack_id))['size'] == 2
    cluster.update(stack_id, scaled('w', rolling={'max_batch_size': 1, 'min_in_service': 1}))
    row = done(cluster, stack_id, 'UPDATE')
    assert values(cluster) == ['w', 'w'], 'one by one'
    assert outputs(row)['size'] == 2 and sorted(outputs(row)['refs']) == sorted(cluster.cloud.objects)
    assert metadata(cluster, stack_id)['scaling_in_progress'] is False
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    assert cluster.cloud.objects == {}


def test_killed_at_any_point():
    kill_engines_in(life, 9)


def twice(cluster):
    """Two policies of one group are signalled at once: an engine that dies heeds no signal twice."""
    template = scaled(most=9)
    template['resources']['other'] = {**template['resources']['policy'], 'properties': {
        **template['resources']['policy']['properties'], 'scaling_adjustment': 3}}
    stack_id = cluster.create('s', template)
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    for name in ('policy', 'other'):
        signal(cluster, stack_id, name)
    handled(cluster)
    size = outputs(cluster.settle(stack_id))['size']
    assert size in (2, 4, 5) and len(cluster.cloud.objects) == size, 'one of the two may have been told to wait'


def test_no_signal_is_heeded_twice():
    kill_engines_in(twice, 2, from_the_start=False)


def notified(cluster):
    """What was sent to the message bus about groups."""
    return [each[4] for each in cluster.notified if len(each) == 5 and each[4] is not None]


def test_the_bus_is_told_of_a_groups_new_size():
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(most=2))
        done(cluster, stack_id, 'CREATE')
        scale(cluster, stack_id)
        scale(cluster, stack_id)                      # as large as it may be: nothing happens
        sent = notified(cluster)
        assert [(each.phase, each.adjustment_type, each.adjustment, each.capacity) for each in sent] == [
            ('start', 'change_in_capacity', 1, 1), ('end', 'change_in_capacity', 1, 2)]
        assert sent[0].message == f'Start resizing the group {sent[0].groupname}'


def test_the_database_away_at_any_time():
    lose_database_in(life, 29)


def resized(cluster):
    stack_id = cluster.create('s', scaled())
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    assert outputs(scale(cluster, stack_id))['size'] == 2
    assert [each.phase for each in notified(cluster)] == ['start', 'end']


def test_an_outage_of_the_database_is_no_error_of_a_group():
    assert lose_database_in(resized, 4, from_the_start=False, engines=1) > 40


def test_an_update_that_changes_nothing_leaves_members_in_their_order():
    """They are all of one age, so their names decide; whoever stands on the list would be changed otherwise."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', scaled(least=5))
        before = outputs(done(cluster, stack_id, 'CREATE'))['refs']
        cluster.update(stack_id, scaled(least=5))
        assert outputs(done(cluster, stack_id, 'UPDATE'))['refs'] == before


MEMBER_FILE = """
heat_template_version: 2018-08-31
parameters:
  value: {type: string}
resources:
  one: {type: "Sim::Thing", properties: {value: WRITTEN}}
  two: {type: "Sim::Thing", properties: {value: {get_param: value}}}
"""
BATCHES = {'OS::Heat::AutoScalingGroup': {'rolling_updates': {'max_batch_size': 1, 'min_in_service': 0}},
           'OS::Heat::ResourceGroup': {}}


def nested_members(kind, value):
    member = {'type': 'member.yaml', 'properties': {'value': value}}
    entry = {'type': kind, 'properties': {
        'OS::Heat::AutoScalingGroup': {'min_size': 3, 'max_size': 3, 'resource': member},
        'OS::Heat::ResourceGroup': {'count': 3, 'resource_def': member}}[kind] | BATCHES[kind]}
    if kind == 'OS::Heat::ResourceGroup':
        entry['update_policy'] = {'rolling_update': {'max_batch_size': 1, 'min_in_service': 0}}
    return {'heat_template_version': '2018-08-31', 'resources': {'group': entry}}


def roll_with_files(kind):
    """A rolling update of three members of two objects each, in which the members' file changes, too."""
    def life(cluster):
        stack_id = cluster.create('s', nested_members(kind, 'a'), files={
            'member.yaml': MEMBER_FILE.replace('WRITTEN', 'x')})
        done(cluster, stack_id, 'CREATE')
        before = len(cluster.cloud.calls)
        cluster.chaos.enabled = True
        cluster.update(stack_id, nested_members(kind, 'b'), files={
            'member.yaml': MEMBER_FILE.replace('WRITTEN', '{get_param: value}')})
        done(cluster, stack_id, 'UPDATE')
        assert values(cluster) == ['b'] * 6
        cluster.called = cluster.cloud.calls[before:]
    return life


@pytest.mark.parametrize('kind', BATCHES)
def test_a_member_that_waits_for_its_batch_stays_as_it_is(kind):
    with Cluster(engines=1) as cluster:
        roll_with_files(kind)(cluster)
        assert len(cluster.called) == len(set(cluster.called)) == 6     # each object once
        members = [name.rsplit('-', 2)[0] for _kind, name in cluster.called]
        assert members == [member for number in range(3) for member in [members[2 * number]] * 2], members


@pytest.mark.parametrize('kind', BATCHES)
def test_killed_while_members_wait_for_their_batch(kind):
    assert kill_engines_in(roll_with_files(kind), 7, from_the_start=False) > 20


def with_slow(value, adjustment=1):
    """Return a template with a group of two and a resource whose update takes a while."""
    found = scaled(desired_capacity=2, policy={'scaling_adjustment': adjustment})
    found['resources']['slow'] = {'type': 'OS::Heat::TestResource', 'properties': {
        'value': value, 'action_wait_secs': {'create': 0, 'update': 60}}}
    return found


def scale_during(cluster, stack_id):
    """Send a signal to the policy while the slow resource is being updated. Return the size at the end."""
    assert cluster.universe.run(lambda: cluster.states(stack_id)['slow'][0][1] == 'IN_PROGRESS', limit=20)
    scale(cluster, stack_id)
    return outputs(done(cluster, stack_id, 'UPDATE'))['size']


def test_a_fixed_size_comes_back_after_a_signal_during_an_action():
    """The signal does not belong to the action, which had been through with the group."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', with_slow('one'))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, with_slow('two'))
        assert scale_during(cluster, stack_id) == 3
        cluster.update(stack_id, with_slow('two'))
        assert outputs(done(cluster, stack_id, 'UPDATE'))['size'] == len(cluster.cloud.objects) == 2


def test_a_signal_is_not_held_to_a_plan_that_is_being_applied():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', with_slow('one', -1))
        done(cluster, stack_id, 'CREATE')
        planned.applied(cluster, planned.plan(cluster, action='update', stack_id=stack_id,
                                              template=with_slow('two', -1)).id)
        assert scale_during(cluster, stack_id) == len(cluster.cloud.objects) == 1
        assert child(cluster, stack_id).status == 'COMPLETE'


def checked_while_it_is_adjusted(cluster):
    """A check of the stack is a check of its group, too: of those members that there are."""
    stack_id = cluster.create('stack', scaled())
    done(cluster, stack_id, 'CREATE')
    cluster.chaos.enabled = True
    signal(cluster, stack_id)
    handled(cluster)
    cluster.settle(stack_id)
    cluster.chaos.enabled = False
    cluster.settle(child(cluster, stack_id).id)
    if signals_told(cluster, stack_id):                     # else the group was not COMPLETE any more
        assert len(cluster.cloud.objects) == 2


def test_a_check_does_not_take_the_place_of_an_adjustment():
    strike(checked_while_it_is_adjusted, 3, False, lambda chaos: chaos.visits, interrupts('check'), str, engines=1)
