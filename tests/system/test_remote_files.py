"""A remote stack gets the files of the stack that it is in: a changed file is a change, an unchanged one is none."""

import pytest

from tests.system.processes import eventually
from tests.system.test_simulated import demo, login, send, service  # noqa: F401 - fixtures

REMOTE = """
heat_template_version: 2018-08-31
resources:
  inner: {type: inner.yaml}
outputs:
  text: {value: {get_attr: [inner, text]}}
"""
OUTER = {'heat_template_version': '2018-08-31', 'resources': {
    'remote': {'type': 'OS::Heat::Stack', 'properties': {'template': REMOTE}},
    'more': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'other'}}}},
    'parameters': {'other': {'type': 'string', 'default': ''}},
    'outputs': {'text': {'value': {'get_attr': ['remote', 'outputs', 'text']}}}}


def inner(text):
    return {'inner.yaml': f"""
heat_template_version: 2018-08-31
resources:
  kept: {{type: OS::Heat::Value, properties: {{value: {text}}}}}
outputs:
  text: {{value: {{get_attr: [kept, value]}}}}
"""}


def act(method, url, token, body, action):
    status, _headers, found = send(method, url, body, token)
    assert status in (201, 202), found
    if method == 'POST':
        url = f"{url}/{body['stack_name']}/{found['stack']['id']}"

    def ended():
        stack = send('GET', url, token=token)[2]['stack']
        return None if stack['stack_status'].endswith('IN_PROGRESS') else stack

    stack = eventually(f'the end of {action}', ended)
    assert stack['stack_status'] == f'{action}_COMPLETE', stack['stack_status_reason']
    return url, {each['output_key']: each['output_value'] for each in stack['outputs']}


@pytest.mark.parametrize('more', [{}, {'parameters': {'other': 'changed'}}], ids=['files-alone', 'beside-another'])
def test_a_changed_file_reaches_the_remote_stack(demo, more):       # noqa: F811
    base, token = demo
    name = f'outer-{len(more)}'
    url, outputs = act('POST', f'{base}/stacks', token, {
        'stack_name': name, 'template': OUTER, 'files': inner('one')}, 'CREATE')
    assert outputs['text'] == 'one'

    def updates():
        return [each['id'] for each in send('GET', f'{url}/events?limit=1000', token=token)[2]['events']
                if (each['resource_name'], each['resource_status']) == ('remote', 'UPDATE_COMPLETE')]

    body = {'template': OUTER, 'files': inner('two'), **more}
    changes = send('PUT', f'{url}/preview', body, token)[2]['resource_changes']
    assert 'remote' in [each['resource_name'] for each in changes['updated']]
    _url, outputs = act('PUT', url, token, body, 'UPDATE')
    assert (outputs['text'], len(updates())) == ('two', 1)
    act('PUT', url, token, body, 'UPDATE')
    assert len(updates()) == 1
    assert send('DELETE', url, token=token)[0] == 204
