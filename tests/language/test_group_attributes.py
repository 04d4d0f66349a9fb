"""What is asked of groups: a create fails for no attribute that the check of the request lets pass."""

import pytest

from heatlite.common import exception
from tests.language import run_cases

VALUE = {'type': 'OS::Heat::Value', 'properties': {'value': {'a': 'x'}}}
GROUPS = {
    'resource group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 2, 'resource_def': VALUE}},
    'empty group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 0, 'resource_def': VALUE}},
    'chain': {'type': 'OS::Heat::ResourceChain', 'properties': {
        'resources': ['OS::Heat::Value'] * 2, 'resource_properties': {'value': {'a': 'x'}}}},
    'scaling group': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 1, 'max_size': 2, 'resource': VALUE}}}
ALONE = ('refs', 'refs_map', 'attributes', 'outputs', 'outputs_list', 'current_size', 'removed_rsrc_list', 'value',
         'nope', 'resource.0', 'resource.0.value', 'resource.1.nope', 'resource.0.value.x', 'resource.x.nope', 'show')
ATTRIBUTES = [[name] for name in ALONE] + [
    ['attributes', 'value'], ['attributes', 'nope'], ['outputs', 'value'], ['outputs', 'nope'],
    ['outputs_list', 'value'], ['outputs_list', 'nope'], ['current_size', 'value'], ['value', 'a'], ['nope', 'a'],
    ['resource.0', 'value'], ['resource.0', 'nope'], ['resource.0', 'value', 'a'], ['refs', 0], ['refs_map', '0'],
    ['attributes', 0], ['value', 0]]


@pytest.mark.parametrize('path', ATTRIBUTES, ids=lambda path: '-'.join(map(str, path)))
@pytest.mark.parametrize('group', GROUPS)
def test_what_the_check_lets_pass_can_be_created(group, path):
    template = {'heat_template_version': '2021-04-16', 'resources': {'g': GROUPS[group]},
                'outputs': {'o': {'value': {'get_attr': ['g', *path]}}}}
    try:
        run_cases.OPERATIONS['validate']({'name': group, 'op': 'validate', 'template': template})
    except exception.HeatException as error:
        assert 'is incorrect' in str(error)
        found = run_cases.OPERATIONS['create']({'name': group, 'op': 'create', 'template': template})
        assert found['error']['status'] == 400
    else:
        found = run_cases.OPERATIONS['create']({'name': group, 'op': 'create', 'template': template})
        assert found['state'] == 'CREATE_COMPLETE', found


@pytest.mark.parametrize('group, path', [
    ('resource group', ['resource.0.nope']), ('resource group', ['resource.0', 'nope']), ('chain', ['refs_map']),
    ('resource group', ['outputs_list', 'value']), ('resource group', ['current_size']), ('chain', ['resource.1.nope']),
    ('scaling group', ['outputs', 'nope'])])
def test_a_wrong_attribute_of_the_members_is_refused(group, path):
    template = {'heat_template_version': '2021-04-16', 'resources': {'g': GROUPS[group]},
                'outputs': {'o': {'value': {'get_attr': ['g', *path]}}}}
    with pytest.raises(exception.StackValidationFailed, match='is incorrect'):
        run_cases.OPERATIONS['validate']({'name': group, 'op': 'validate', 'template': template})
