"""What becomes known only while a stack is driven gets the checks of a request: limits, rules for types, and ranges."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db.tables import stack
from tests.simulation.cluster import Cluster, wait
from tests.simulation.test_hooks import kill_the_owner

HOT = {'heat_template_version': '2018-08-31'}
VALUE = {'get_attr': ['v', 'value']}
LATE = {'v': {'type': 'OS::Heat::Value', 'properties': {'value': 'inner.yaml'}},
        'a': {'type': 'AWS::CloudFormation::Stack', 'properties': {'TemplateURL': VALUE}}}


def aliases(levels):
    """A template of few characters that expands to 9 ** (levels - 1) values."""
    lines = ['- &a0 [x]', *(f'- &a{level} [{",".join([f"*a{level - 1}"] * 9)}]' for level in range(1, levels))]
    return ('heat_template_version: 2018-08-31\nresources:\n  r:\n    type: Sim::Thing\n    metadata:\n      m:\n'
            + ''.join(f'        {line}\n' for line in lines))


def brackets(depth):
    return ('heat_template_version: 2018-08-31\nresources:\n  r:\n    type: Sim::Thing\n    metadata: {m: '
            f'{"[" * depth}{"]" * depth}}}\n')


def nested_rows(cluster, stack_id):
    with cluster.database.reader() as tx:
        return tx.execute(sa.select(stack.c.id).where(stack.c.owner_id == stack_id)).all()


def member(cluster):
    cluster.context = RequestContext(project_id=cluster.context.project_id, user_id='u', roles=['member'],
                                     overwrite=False)


@pytest.mark.parametrize('text, option', [
    (aliases(8), 'max_template_expansion'), (aliases(20), 'max_template_expansion'),
    (brackets(4000), 'max_template_depth')])
def test_a_template_that_only_an_attribute_names_has_the_limits_of_a_request(text, option):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': LATE}, files={'inner.yaml': text})
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED') and option in row.reason
        assert not nested_rows(cluster, stack_id)


@pytest.mark.parametrize('most, status', [(1_000, 'FAILED'), (100_000, 'COMPLETE')])
def test_the_limits_are_those_of_the_operator(most, status):
    with Cluster(engines=1, max_template_expansion=most) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': LATE}, files={'inner.yaml': aliases(5)})
        assert cluster.settle(stack_id).status == status


def test_it_has_them_after_another_engine_has_loaded_the_stack():
    slow = {'type': 'OS::Heat::Delay', 'properties': {'min_wait': 30}}
    late = {**LATE, 'slow': slow, 'a': {**LATE['a'], 'depends_on': 'slow'}}
    with Cluster(engines=2) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': late}, files={'inner.yaml': aliases(8)})
        wait(cluster, 10.0)
        kill_the_owner(cluster, stack_id)
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and 'max_template_expansion' in row.reason


@pytest.mark.parametrize('group', ['OS::Heat::ResourceGroup', 'OS::Heat::AutoScalingGroup'])
@pytest.mark.parametrize('part', ['metadata', 'properties'])
def test_what_the_members_of_a_group_share_counts_for_each_of_them(group, part):
    member = {'type': 'Sim::Thing', part: {'value': {'get_param': 'p'}}}
    sizes = ({'count': 40, 'resource_def': member} if group.endswith('ResourceGroup')
             else {'min_size': 40, 'max_size': 40, 'resource': member})
    template = {**HOT, 'parameters': {'p': {'type': 'string'}},
                'resources': {'a': {'type': group, 'properties': sizes}}}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template, {'parameters': {'p': 'x' * 600_000}})
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and 'max_template_expansion' in row.reason
        assert not nested_rows(cluster, stack_id)


FLAVOR = {'type': 'OS::Nova::Flavor', 'properties': {'ram': 1, 'vcpus': 1, 'disk': 0}}


def test_a_type_that_the_user_may_not_use_is_refused_in_it():
    with Cluster(engines=1) as cluster:
        member(cluster)
        stack_id = cluster.create('s', {**HOT, 'resources': LATE}, files={
            'inner.yaml': json.dumps({**HOT, 'resources': {'f': FLAVOR}})})
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and 'resource_types:OS::Nova::Flavor' in row.reason
        assert not nested_rows(cluster, stack_id)


MINIMUMS = [{'sequence': 'ab', 'min': 512}] * 600


def test_minimums_that_come_later_make_no_text_longer_than_its_length():
    resources = {'v': {'type': 'OS::Heat::Value', 'properties': {'value': MINIMUMS}},
                 'r': {'type': 'OS::Heat::RandomString', 'properties': {
                     'length': 8, 'character_sequences': VALUE}}}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': resources})
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and 'cannot be smaller than combined' in row.reason


@pytest.mark.parametrize('minutes', [-5, 2 ** 31, 10 ** 11])
@pytest.mark.parametrize('is_late', [False, True])
def test_a_timeout_of_a_nested_stack_that_is_none_is_refused(minutes, is_late):
    resources = {'v': {'type': 'OS::Heat::Value', 'properties': {'value': minutes}},
                 'a': {'type': 'AWS::CloudFormation::Stack', 'properties': {
                     'TemplateURL': 'inner.yaml', 'TimeoutInMinutes': VALUE if is_late else minutes}}}
    inner = {'inner.yaml': json.dumps({**HOT, 'resources': {'r': {'type': 'Sim::Thing'}}})}
    with Cluster(engines=1) as cluster:
        if not is_late:
            with pytest.raises(exception.StackValidationFailed, match='TimeoutInMinutes'):
                cluster.create('s', {**HOT, 'resources': resources}, files=inner)
            return
        stack_id = cluster.create('s', {**HOT, 'resources': resources}, files=inner)
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and 'TimeoutInMinutes' in row.reason
        assert not nested_rows(cluster, stack_id)


def test_a_stack_with_the_longest_timeout_can_be_deleted():
    resources = {'a': {'type': 'AWS::CloudFormation::Stack', 'properties': {
        'TemplateURL': 'inner.yaml', 'TimeoutInMinutes': 2 ** 31 - 1}}}
    inner = {'inner.yaml': json.dumps({**HOT, 'resources': {'r': {'type': 'Sim::Thing'}}})}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {**HOT, 'resources': resources}, files=inner, timeout_mins=2 ** 31 - 1)
        assert cluster.settle(stack_id).status == 'COMPLETE'
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
