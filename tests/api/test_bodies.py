"""From what a client sent to a message: templates, environments, options, and the words of the refusals."""

import json

import pytest

from heatlite.api import bodies, masking
from heatlite.common import config, exception, limits  # noqa: F401 - `config` declares the limits of fetching
from heatlite.common.limits import Limits
from heatlite.rpc import messages

LIMITS = Limits(max_size=500)
HOT = {'heat_template_version': '2018-08-31'}
NAMED = {'stack_name': 's', 'template': HOT}


def create(**body):
    return bodies.create_stack({**NAMED, **body}, LIMITS)


def update(existing=False, **body):
    return bodies.update_stack(body, 'id', LIMITS, existing)


def refusal(error, function, *args, **kwargs):
    with pytest.raises(error) as refused:
        function(*args, **kwargs)
    return str(refused.value)


def test_the_least_one_can_send():
    assert create() == messages.CreateStack(template=HOT, stack_name='s', disable_rollback=True)


@pytest.mark.parametrize('body, field, value', [
    ({'timeout_mins': 5}, 'timeout_mins', 5),
    ({'timeout_mins': '60'}, 'timeout_mins', 60),
    ({'timeout_mins': None}, 'timeout_mins', None),
    ({'disable_rollback': False}, 'disable_rollback', False),
    ({'disable_rollback': 'False'}, 'disable_rollback', False),
    ({'tags': 'a,b'}, 'tags', ('a', 'b')),
    ({'tags': ['a', 'b']}, 'tags', ('a', 'b')),
    ({'tags': None}, 'tags', None),
    ({'files': None}, 'files', {}),
    ({'files': {'f': 'x'}}, 'files', {'f': 'x'}),
    ({'environment': None}, 'environment', {}),
    ({'environment': 'parameters: {a: 1}'}, 'environment', {'parameters': {'a': 1}}),
    ({'environment': {'parameters': {'a': 1, 'b': 2}}, 'parameters': {'a': 3}}, 'environment',
     {'parameters': {'a': 3, 'b': 2}}),
    ({'parameters': {'a': 3}}, 'environment', {'parameters': {'a': 3}}),
    ({'files': {'e': ''}, 'environment_files': ['e'], 'environment': {'parameters': {'a': 1}},
      'parameters': {'b': 2}}, 'environment', {'parameters': {'b': 2}}),
    ({'files': {'e': ''}, 'environment_files': ['e', 'e']}, 'environment_files', ('e', 'e')),
    ({'files_container': 'c', 'environment_files': ['e']}, 'environment_files', ('e',)),
    ({'unknown': 1}, 'stack_name', 's'),
])
def test_fields(body, field, value):
    assert getattr(create(**body), field) == value


@pytest.mark.parametrize('body, words', [
    ({'template': None}, 'No template specified'),
    ({'template': 5}, 'The template is neither a text nor a map.'),
    ({'template': [1]}, 'The template is neither a text nor a map.'),
    ({'template': '- a'}, 'Template not in valid format: The template is not a JSON object or YAML mapping.'),
    ({'template': ''}, 'Template not in valid format: Template format version not found.'),
    ({'template': 'resources: {}'}, 'Template not in valid format: Template format version not found.'),
    ({'template': 'a: [1'}, 'Template not in valid format: Error parsing template [root stack]'),
    ({'environment': 'foo: {}'}, 'Environment not in valid format: environment has wrong section "foo"'),
    ({'environment': {'foo': {}}}, 'Environment not in valid format: environment has wrong section "foo"'),
    ({'environment': {'parameters': None}},
     'Environment not in valid format: environment has empty section "parameters"'),
    ({'environment': 'text'},
     'Environment not in valid format: The environment is not a valid YAML mapping data type.'),
    ({'environment': 5}, 'Environment not in valid format: The environment is not a valid YAML mapping data type.'),
    ({'environment': 'a: [1'}, 'Environment not in valid format: '),
    ({'parameters': None}, 'Invalid value for "parameters"'),
    ({'parameters': [['a', 1]]}, 'Invalid value for "parameters"'),
    ({'files': ['a']}, 'Invalid value for "files"'),
    ({'files': {'a': 5}}, 'Invalid value for "files"'),
    ({'files': {f'f{number}': '' for number in range(limits.MOST_FILES + 1)}},
     'Invalid value for "files": expected at most 10000 files, found 10001.'),
    ({'environment_files': 'e'}, 'Invalid value for "environment_files"'),
    ({'environment_files': ['e']}, 'Environment files are missing in "files": e'),
    ({'files': {'e': ''}, 'environment_files': ['e'] * (limits.MOST_ENVIRONMENT_FILES + 1)},
     'Invalid value for "environment_files": expected at most 200 names, found 201.'),
    ({'files_container': 5}, 'Invalid value for "files_container"'),
    ({'timeout_mins': 'x'}, "Only integer is acceptable by 'timeout_mins'."),
    ({'timeout_mins': -1}, "Value '-1' is invalid for 'timeout_mins' which only accepts non-negative integer."),
    ({'timeout_mins': 10 ** 12}, "is too large for 'timeout_mins'"),
    ({'disable_rollback': None}, 'Unrecognized value "None" for "disable_rollback"'),
    ({'disable_rollback': 'x'}, 'Unrecognized value "x" for "disable_rollback"'),
    ({'disable_rollback': 1}, 'Unrecognized value "1" for "disable_rollback"'),
    ({'tags': {'a': 1}}, '"tags" must be a text'),
    ({'tags': 'x' * 81}, 'is longer than 80 characters'),
    ({'converge': True}, 'converge flag only supported in stack update (or update preview) request.'),
    ({'adopt_stack_data': {}}, 'adopt_stack_data is not a text.'),
    ({'adopt_stack_data': '{}'}, "Invalid adopt data: 'template'"),
    ({'adopt_stack_data': '{"template": 5}'}, 'Invalid adopt data: the template is not a map'),
    ({'adopt_stack_data': '[1'}, 'Invalid adopt data: '),
    ({'template': None, 'template_url': 'file:///etc/passwd'}, 'Could not retrieve template: Invalid URL scheme file'),
    ({'template': None, 'template_url': '/etc/passwd'}, 'Could not retrieve template: Invalid URL scheme'),
    ({'template': None, 'template_url': 'http://127.0.0.1:1/'}, 'Could not retrieve template: Failed to retrieve'),
    ({'template': None, 'template_url': 5}, 'template_url is not a text.'),
])
def test_refusals(body, words):
    assert words in refusal(exception.HTTPBadRequest, create, **body)


@pytest.mark.parametrize('patch', [True, False])
def test_environment_files_of_an_update_may_be_stored_ones(patch):
    body = {'template': HOT, 'environment_files': ['e'], 'files': {}}
    if patch:
        assert update(existing=True, **body).environment_files == ('e',)
    else:
        assert 'Environment files are missing in "files": e' in refusal(exception.HTTPBadRequest, update, **body)


@pytest.mark.parametrize('name', [123, None, ['a']])
def test_a_name_that_is_no_text(name):
    assert refusal(exception.StackValidationFailed, create, stack_name=name) == (
        f'Invalid stack name {name}, must be a string')


def test_no_name():
    with pytest.raises(exception.HTTPBadRequest, match='No stack name specified'):
        bodies.create_stack({'template': HOT}, LIMITS)


@pytest.mark.parametrize('template', [json.dumps({**HOT, 'description': 'x' * 500}),
                                      {**HOT, 'description': 'x' * 500}])
def test_long_templates(template):
    assert 'exceeds maximum allowed size (500 bytes).' in refusal(
        exception.RequestLimitExceeded, create, template=template)


def test_text_travels_for_the_sake_of_line_numbers():
    text = 'heat_template_version: 2018-08-31\n'
    made = create(template=text)
    assert (made.template, made.template_text) == (HOT, text)


def test_adopt_data_brings_what_the_body_leaves_out():
    data = {'template': HOT, 'files': {'n.yaml': 'x'}, 'resources': {'r': {'resource_id': 'i'}},
            'environment': {'parameters': {'a': 1, 'b': 2}, 'event_sinks': [], 'resource_registry': {'X': 'n.yaml'}}}
    made = create(template=None, adopt_stack_data=json.dumps(data), parameters={'a': 5})
    assert made.adopt == data
    assert made.template == HOT
    assert made.files == {'n.yaml': 'x'}
    assert made.environment == {'parameters': {'a': 5, 'b': 2}, 'resource_registry': {'X': 'n.yaml'}}
    made = create(template=None, adopt_stack_data=json.dumps(data), files={'m.yaml': 'y'},
                  environment={'parameters': {'b': 6}})
    assert made.files == {'m.yaml': 'y'}
    assert made.environment['parameters'] == {'a': 1, 'b': 6}


def test_put():
    made = update(template=HOT, disable_rollback=True, converge='true', tags='a', clear_parameters=['x'])
    assert made == messages.UpdateStack(template=HOT, stack_id='id', disable_rollback=True, converge=True,
                                        tags=('a',))
    assert refusal(exception.HTTPBadRequest, update, parameters={}) == 'No template specified'
    with pytest.raises(exception.HTTPBadRequest, match='Unrecognized value "maybe" for "existing"'):
        bodies.update_stack({'existing': 'maybe', 'template': HOT}, 'id', LIMITS, existing=False)


def test_put_of_parts():
    made = bodies.update_stack({'template': HOT, 'existing': True, 'clear_parameters': ['x']}, 'id', LIMITS, False)
    assert (made.existing, made.clear_parameters) == (True, ('x',))


def test_patch():
    assert update(existing=True) == messages.UpdateStack(stack_id='id', existing=True)
    with pytest.raises(exception.HTTPBadRequest, match='clear_parameters'):
        bodies.update_stack({'clear_parameters': 'x'}, 'id', LIMITS, True)


@pytest.mark.parametrize('body, nothing', [
    ({}, True), ({'environment': {}}, True), ({'files': {}}, True), ({'environment': {'parameters': {}}}, True),
    ({'template': None}, True), ({'existing': True}, True),
    ({'template': None, 'parameters': {}, 'files': {}, 'environment': {}}, True), ({'environment': '{}'}, True),
    ({'stack_name': 's', 'parameters': {}}, True), ({'parameters': {'a': ''}}, False), ({'files': {'a': ''}}, False),
    ({'template': HOT}, False), ({'tags': 'a'}, False), ({'tags': None}, False),
    ({'environment': {'parameters': {'a': 1}}}, False), ({'environment': 'parameters: {}'}, False),
    ({'files': {'a': 'b'}}, False), ({'files_container': 'c'}, False), ({'timeout_mins': 5}, False)])
def test_which_patch_changes_nothing(body, nothing):
    assert bodies.changes_nothing(body) is nothing


def test_codes_to_ignore():
    assert bodies.ignored_errors(None) == ()
    assert bodies.ignored_errors('99001') == ('99001',)
    assert "['x']" in refusal(exception.HTTPBadRequest, bodies.ignored_errors, '99001,x')


def test_hidden_parameters_are_masked():
    template = {'parameters': {'a': {'type': 'string', 'hidden': True}, 'b': {'type': 'string'},
                               'c': {'type': 'string', 'hidden': 'true'}}}
    stored = {'parameters': {'a': 's', 'b': 'v', 'c': 's'}, 'parameter_defaults': {'a': 's', 'd': 'v', 'e': 's'},
              'encrypted_param_names': ['e'], 'resource_registry': {'X': 'Y'}}
    assert masking.environment(stored, template) == {
        'parameters': {'a': '******', 'b': 'v', 'c': '******'},
        'parameter_defaults': {'a': '******', 'd': 'v', 'e': '******'},
        'resource_registry': {'resources': {}, 'X': 'Y'}, 'event_sinks': [], 'encrypted_param_names': ['e']}


def test_what_is_stored_encrypted_is_named():
    template = {'parameters': {name: {'type': 'string', 'hidden': True} for name in ('given', 'by_default')}}
    shown = masking.environment({'parameters': {'given': 's'}}, template, is_sealed=True)
    assert (shown['encrypted_param_names'], shown['parameters']) == (['given'], {'given': '******'})


def test_export_documents_are_masked_to_the_last_level():
    inner = {'template': {'Parameters': {'p': {'NoEcho': 'true'}}}, 'environment': {'parameters': {'p': 's'}}}
    outer = {'template': {}, 'environment': {'parameters': {'p': 'v'}},
             'resources': {'n': inner, 'r': {'name': 'r'}}, 'name': 'x'}
    shown = masking.export(outer)
    assert shown['resources']['n']['environment'] == {'parameters': {'p': '******'}}
    assert shown['environment'] == {'parameters': {'p': 'v'}}
    assert (shown['resources']['r'], shown['name']) == ({'name': 'r'}, 'x')


@pytest.mark.parametrize('template, left', [
    ({**HOT, 'resources': {'a': {}}}, {**HOT, 'resources': {}}),
    ({'AWSTemplateFormatVersion': '2010-09-09', 'Resources': {'a': {}}, 'Parameters': {}},
     {'AWSTemplateFormatVersion': '2010-09-09', 'Resources': {}})])
def test_the_template_of_a_deleted_stack(template, left):
    assert masking._emptied(template) == left


@pytest.mark.parametrize('body, converge', [
    ({}, None), ({'refresh': True}, True), ({'refresh': 'false'}, False), ({'converge': True}, True),
    ({'converge': True, 'refresh': True}, True), ({'refresh': None}, None)])
def test_a_plan_with_refresh_is_one_of_an_update_that_converges(body, converge):
    assert bodies.plan_change({'template': HOT, **body}, 'id', LIMITS).converge is converge


@pytest.mark.parametrize('body, words', [
    ({'refresh': 'x'}, 'refresh'), ({'refresh': True, 'converge': False}, 'may not differ'),
    ({'refresh': True, 'action': 'delete'}, 'only for the plan of an update')])
def test_what_a_plan_cannot_refresh(body, words):
    assert words in refusal(exception.HTTPBadRequest, bodies.plan_change, {'template': HOT, **body}, 'id', LIMITS)
    assert 'only for' in refusal(exception.HTTPBadRequest, bodies.plan_create, {**NAMED, 'refresh': True}, LIMITS)


def test_existing_may_be_null():
    body = {'template': HOT, 'existing': None}
    assert not bodies.update_stack(body, 'id', LIMITS, False).existing
    assert not bodies.preview_update_stack(body, 'id', LIMITS, False, False).existing
    assert not bodies.plan_change(body, 'id', LIMITS).existing
    assert bodies.update_stack(body, 'id', LIMITS, True).existing


def test_the_file_that_is_no_text_is_named():
    with pytest.raises(exception.HTTPBadRequest, match='expected a text for the file "b", found \'dict\''):
        bodies.files({'files': {'a': 'text', 'b': {}}})
    with pytest.raises(exception.HTTPBadRequest, match="expected a map of names and texts, found 'list'"):
        bodies.files({'files': ['a']})
