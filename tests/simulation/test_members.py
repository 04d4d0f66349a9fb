"""Members of groups are counted against the quota of their tree before anything of them is built.

Each size here is one that nobody could build: code that names the members first never returns.
"""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.common.limits import Limits
from heatlite.engine.requests import sources, validation
from heatlite.engine.resources.stack_resource import StackResource
from heatlite.language import describe
from heatlite.language.definition import StackIdentity
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_crashes import thing

HUGE = 10 ** 9
TOO_MANY = (exception.RequestLimitExceeded, exception.StackValidationFailed)    # the second with the first in it
MEMBER = {'type': 'Sim::Thing'}
CONFIGURATION = {'type': 'AWS::AutoScaling::LaunchConfiguration', 'properties': {'ImageId': 'i', 'InstanceType': 't'}}
ZONES = {'AvailabilityZones': ['here']}


def of_heat(size):
    return {'g': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': size, 'max_size': HUGE, 'resource': MEMBER}}}


def desired(size):
    return {'g': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 0, 'desired_capacity': size, 'max_size': HUGE, 'resource': MEMBER}}}


def rolling(size):
    found = of_heat(size)
    found['g']['properties']['rolling_updates'] = {'max_batch_size': 1, 'min_in_service': HUGE, 'pause_time': 1}
    return found


def resource_group(size):
    return {'g': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': size, 'resource_def': MEMBER}}}


def batches(size):
    found = resource_group(size)
    found['g']['update_policy'] = {
        'batch_create': {'max_batch_size': 1, 'pause_time': 1},
        'rolling_update': {'max_batch_size': 1, 'min_in_service': HUGE, 'pause_time': 1}}
    return found


def removing(size):
    found = resource_group(size)
    found['g']['properties']['removal_policies'] = [{'resource_list': ['0', '1']}]
    return found


def chain(size):
    return {'g': {'type': 'OS::Heat::ResourceChain', 'properties': {'resources': ['Sim::Thing'] * min(size, 3000)}}}


def deployments(size):
    return {'g': {'type': 'OS::Heat::SoftwareDeploymentGroup', 'properties': {
        'config': 'c', 'servers': {str(number): 's' for number in range(min(size, 3000))}}}}


def old_deployments(size):
    return {'g': {**deployments(size)['g'], 'type': 'OS::Heat::SoftwareDeployments'}}


def structured(size):
    return {'g': {**deployments(size)['g'], 'type': 'OS::Heat::StructuredDeploymentGroup'}}


def old_structured(size):
    return {'g': {**deployments(size)['g'], 'type': 'OS::Heat::StructuredDeployments'}}


def instances(size):
    return {'c': CONFIGURATION, 'g': {'type': 'OS::Heat::InstanceGroup', 'properties': {
        **ZONES, 'LaunchConfigurationName': {'get_resource': 'c'}, 'Size': size}}}


def of_aws(size):
    return {'c': CONFIGURATION, 'g': {'type': 'AWS::AutoScaling::AutoScalingGroup', 'properties': {
        **ZONES, 'LaunchConfigurationName': {'get_resource': 'c'}, 'MinSize': size, 'MaxSize': HUGE}}}


SIZED = (of_heat, desired, rolling, resource_group, batches, removing, chain, deployments, old_deployments, structured,
         old_structured, instances, of_aws)
BOUNDED = {'OS::Heatlite::StackSet'}           # its schema allows no more than 200 members
GROWING = (of_heat, desired, rolling, resource_group, batches, removing, chain)


def template(resources, **parameters):
    return {'heat_template_version': '2018-08-31', 'resources': resources,
            'parameters': {name: {'type': 'number', 'default': value} for name, value in parameters.items()}}


def later(group, size=HUGE):
    """The same with a size that is known only once another resource is there."""
    def hidden(value):
        if isinstance(value, dict):
            return {key: hidden(each) for key, each in value.items()}
        return {'get_attr': ['size', 'value']} if value == 7 and not isinstance(value, bool) else value

    return {'size': {'type': 'OS::Heat::Value', 'properties': {'value': size, 'type': 'number'}}, **hidden(group(7))}


def test_the_table_has_every_type_with_a_size():
    with Cluster(engines=1) as cluster:
        registry = cluster.engines[0][1].registry
        wait(cluster, 5.0)
        sized = {name for name in registry.list_types(cluster.context, messages.ListResourceTypes())
                 if isinstance(name, str) and _has_size(registry, name)}
    assert sized and sized <= {each['type'] for group in SIZED for each in group(1).values()} | BOUNDED


def _has_size(registry, name):
    kind = registry.resolve(name, '', registry.operator)
    return issubclass(kind, StackResource) and hasattr(kind, 'get_size')


@pytest.mark.parametrize('group', SIZED)
def test_every_type_tells_its_size_before_it_is_built(group):
    with Cluster(engines=1) as cluster:
        registry = cluster.engines[0][1].registry
        message = messages.CreateStack(template=template(group(HUGE)), stack_name='s')
        definition = sources.define(message, StackIdentity('s', None, 'p'), registry.operator, Limits())
        with pytest.raises(exception.StackResourceLimitExceeded):
            validation.check_sizes(definition, registry, cluster.context, 50, 100_000)
        with pytest.raises(exception.RequestLimitExceeded, match='max_members_per_group'):
            validation.check_sizes(definition, registry, cluster.context, -1, 2000)


@pytest.mark.parametrize('group', [each for each in SIZED if each not in (instances, of_aws)])     # these ask a cloud
@pytest.mark.parametrize('quota', [50, -1])
def test_a_known_size_is_refused_at_once(group, quota):
    with Cluster(engines=1, max_resources_per_stack=quota, max_members_per_group=2000) as cluster:
        for message in (
                messages.CreateStack(template=template(group(HUGE)), stack_name='s'),
                *([] if quota == -1 else [messages.PreviewStack(template=template(group(HUGE)), stack_name='s')])):
            refused = cluster.ask(message, TOO_MANY)
            assert isinstance(refused, TOO_MANY) and 'Request limit exceeded' in str(refused)


@pytest.mark.parametrize('group', GROWING)
def test_an_update_to_a_known_size_is_refused_at_once(group):
    with Cluster(engines=1, max_resources_per_stack=50) as cluster:
        stack_id = cluster.create('s', template(group(2)))
        done(cluster, stack_id, 'CREATE')
        refused = cluster.ask(messages.UpdateStack(stack_id=stack_id, template=template(group(HUGE))), TOO_MANY)
        assert isinstance(refused, TOO_MANY) and 'Request limit exceeded' in str(refused)
        assert len(cluster.cloud.objects) == 2


@pytest.mark.parametrize('quota', [50, -1])
@pytest.mark.parametrize('group', [of_heat, desired, rolling, resource_group, batches, removing])
def test_a_size_that_is_known_later_fails_the_stack_before_members_are_named(group, quota):
    with Cluster(engines=1, max_resources_per_stack=quota, max_members_per_group=2000) as cluster:
        stack_id = cluster.create('s', template(later(group)))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert 'Request limit exceeded' in row.reason or 'timeout' in row.reason
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')


@pytest.mark.parametrize('group', [of_heat, desired, rolling, resource_group, batches, removing])
def test_an_update_to_a_size_that_is_known_later_fails_and_keeps_the_members(group):
    with Cluster(engines=1, max_resources_per_stack=50) as cluster:
        stack_id = cluster.create('s', template(later(group, 2)))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, template(later(group)))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'FAILED')
        assert 'Request limit exceeded' in row.reason
        assert len(cluster.cloud.objects) == 2


@pytest.mark.parametrize('kind, adjustment', [
    ('exact_capacity', HUGE), ('change_in_capacity', HUGE), ('percent_change_in_capacity', HUGE)])
def test_a_policy_does_not_name_what_the_tree_has_no_room_for(kind, adjustment):
    with Cluster(engines=1, max_resources_per_stack=50) as cluster:
        resources = {**of_heat(2), 'p': {'type': 'OS::Heat::ScalingPolicy', 'properties': {
            'auto_scaling_group_id': {'get_resource': 'g'}, 'adjustment_type': kind,
            'scaling_adjustment': adjustment}}}
        stack_id = cluster.create('s', template(resources))
        done(cluster, stack_id, 'CREATE')
        cluster.ask(messages.SignalResource(stack_id, 'p', {}), (exception.HeatException,))
        wait(cluster, 10.0)
        assert len(cluster.cloud.objects) == 2
        cluster.update(stack_id, template({**of_heat(3), 'p': resources['p']}))
        done(cluster, stack_id, 'UPDATE')
        assert len(cluster.cloud.objects) == 3


def test_nested_templates_are_counted_before_they_are_defined():
    """The part of the tree that has room is made, the rest is refused; nothing stays behind."""
    level = 'heat_template_version: 2018-08-31\nresources:\n' + '\n'.join(
        f'  r{number}: {{type: BELOW}}' for number in range(30))
    files = {'a.yaml': level.replace('BELOW', 'b.yaml'), 'b.yaml': level.replace('BELOW', 'c.yaml'),
             'c.yaml': level.replace('BELOW', 'Sim::Thing')}
    with Cluster(engines=1, max_resources_per_stack=100) as cluster:
        stack_id = cluster.create('s', template({'a': {'type': 'a.yaml'}}), files=files)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert 'Maximum resources per stack exceeded' in row.reason
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}


def test_the_nested_stacks_of_a_validation_are_counted_before_they_are_shown(monkeypatch):
    level = 'heat_template_version: 2018-08-31\nresources:\n' + '\n'.join(
        f'  r{number}: {{type: BELOW}}' for number in range(30))
    files = {f'{number}.yaml': level.replace('BELOW', f'{number + 1}.yaml' if number < 4 else 'OS::Heat::None')
             for number in range(5)}
    shown = []
    described = describe.described
    monkeypatch.setattr(describe, 'described', lambda definition: shown.append(definition) or described(definition))
    message = messages.ValidateTemplate(template=template({'a': {'type': '0.yaml'}}), files=files, show_nested=True)
    with Cluster(engines=1, max_resources_per_stack=100) as cluster:
        refused = cluster.ask(message, TOO_MANY)
        assert isinstance(refused, TOO_MANY) and 'Maximum resources per stack exceeded' in str(refused)
        assert len(shown) <= 4


def test_a_group_may_fill_the_quota():
    with Cluster(engines=1, max_resources_per_stack=6) as cluster:
        stack_id = cluster.create('s', template({**resource_group(4), 'more': thing()}))
        done(cluster, stack_id, 'CREATE')
        assert len(cluster.cloud.objects) == 5
        for count in (4, 5):                        # what an update removes counts until it is gone
            cluster.update(stack_id, template(resource_group(count)))
            done(cluster, stack_id, 'UPDATE')
        assert len(cluster.cloud.objects) == 5
