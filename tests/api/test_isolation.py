"""Route by route: who belongs to another project gets nothing, and cannot tell what exists from what does not.

The cases are made from the route table, so a new route cannot be forgotten. No engine runs here: a change that got
past the check would be answered with 503 instead of 404.
"""

import re

import pytest

from heatlite.api import routes
from heatlite.api.handlers import actions
from heatlite.common import policy
from tests.api import in_process, rows

UNKNOWN = rows.number(99, 99)
TEMPLATE = {'heat_template_version': '2018-08-31'}
BODIES = {'actions': {'check': None}, 'signal': {}, 'resources': {'mark_unhealthy': True}}

# What a path can name: value of the other project, value of nobody.
NAMES = {'stack_name': ('web', 'web'), 'stack_id': (rows.WEB, UNKNOWN), 'resource_name': ('net', 'net'),
         'event_id': (rows.number(2, 3), rows.number(2, 3)), 'snapshot_id': (rows.number(3, 1), rows.number(3, 1)),
         'plan_id': (rows.number(11, 1), rows.number(11, 1)), 'number': ('1', '1'), 'stack_set': (rows.WEB, UNKNOWN),
         'output_key': ('url', 'url'), 'config_id': (rows.number(4, 1), UNKNOWN),
         'deployment_id': (rows.number(5, 1), UNKNOWN)}
LOOKUP = {'stack_name': (rows.WEB, UNKNOWN), 'path': ('resources', 'resources')}


def fields(path):
    return re.findall(r'{(\w+)', path)


def fill(route, choice):
    values = dict(NAMES, tenant_id=(in_process.OTHER, in_process.OTHER))
    if 'stack_id' not in fields(route.path):
        values.update(LOOKUP)
    if 'path' in fields(route.path):
        values['path'] = ('template', 'template') if 'template' in route.path else ('environment', 'environment')
    return '/v1' + re.sub(r'{(\w+)[^}]*}', lambda match: values[match[1]][choice], route.path)


def body(route):
    if route.body is routes.NONE:
        return None
    last = route.path.rsplit('/', 1)[1]
    return BODIES.get(last) or (BODIES['resources'] if route.path == routes.R else {'template': TEMPLATE, 'name': 'n'})


NAMING = [route for route in routes.TABLE
          if set(fields(route.path)) & {'stack_name', 'config_id', 'deployment_id'} and route.path != routes.ARN]


@pytest.mark.parametrize('route', NAMING, ids=lambda route: f'{route.method} {route.path}')
@pytest.mark.parametrize('roles', ['member,reader', 'reader', 'heat_stack_user', 'nobody'])
def test_what_is_not_yours_does_not_exist(api, route, roles):
    answers = []
    for choice in (0, 1):
        answer = in_process.ask(api, route.method, fill(route, choice), body(route), project=in_process.OTHER,
                                roles=roles)
        text = answer.text.replace(rows.WEB, 'ID').replace(rows.number(4, 1), 'ID').replace(
            rows.number(5, 1), 'ID').replace(UNKNOWN, 'ID')
        answers.append((answer.status_code, text, answer.headers.get('Location')))
    assert answers[0] == answers[1]
    assert answers[0][0] in (403, 404)
    if roles == 'member,reader':
        assert answers[0][0] == 404


@pytest.mark.parametrize('route', NAMING, ids=lambda route: f'{route.method} {route.path}')
def test_naming_the_owners_project_is_refused_before_anything_is_read(api, route):
    path = fill(route, 0).replace(in_process.OTHER, in_process.PROJECT, 1)
    answer = in_process.ask(api, route.method, path, body(route), project=in_process.OTHER, roles='member,reader')
    assert answer.status_code == 403
    assert answer.json['error']['message'] == 'Access was denied to this resource.'


@pytest.mark.parametrize('query', [
    '', '?show_deleted=true&show_nested=true&show_hidden=true', f'?tenant={in_process.PROJECT}', f'?id={rows.WEB}',
    '?name=web', '?tags=blue', f'?marker={rows.WEB}', '?with_count=true'])
def test_lists_of_stacks(api, query):
    for path in ('stacks', 'stacks/detail'):
        answer = in_process.ask(api, 'GET', f'/v1/{in_process.OTHER}/{path}{query}', project=in_process.OTHER)
        assert {stack['stack_name'] for stack in answer.json['stacks']} <= {'theirs'}
        assert answer.json.get('count', 1) <= 1


def test_a_marker_of_another_project_tells_nothing(api):
    """Where a foreign stack would stand in the order is not to be learnt either."""
    def page(marker):
        return in_process.ask(api, 'GET', f'/v1/{in_process.OTHER}/stacks?marker={marker}&sort_keys=stack_name',
                         project=in_process.OTHER).json

    assert page(rows.WEB) == page(UNKNOWN)


@pytest.mark.parametrize('path, key', [
    ('software_configs', 'software_configs'), ('software_deployments', 'software_deployments'),
    (f'software_deployments?server_id={rows.number(6, 1)}', 'software_deployments'),
    (f'software_deployments/metadata/{rows.number(6, 1)}', 'metadata')])
def test_other_lists(api, path, key):
    answer = in_process.ask(api, 'GET', f'/v1/{in_process.OTHER}/{path}', project=in_process.OTHER)
    assert not any(rows.number(kind, 1) in answer.text for kind in (4, 5))
    assert isinstance(answer.json[key], list)


def test_a_config_of_another_project_cannot_be_deployed(api):
    known, unknown = (in_process.ask(api, 'POST', f'/v1/{in_process.OTHER}/software_deployments',
                                {'server_id': 's', 'config_id': config}, project=in_process.OTHER)
                      for config in (rows.number(4, 1), UNKNOWN))
    assert (known.status_code, unknown.status_code) == (404, 404)


def test_users_inside_a_stack_see_its_project_only_through_that_stack(api):
    def ask(path, **more):
        return in_process.ask(api, 'GET', f'/v1/{rows.USERS}{path}', project=rows.USERS, **more).status_code

    metadata = f'/stacks/web/{rows.WEB}/resources/handle/metadata'
    assert ask(metadata, roles='heat_stack_user', headers={'X-User-Id': 'guest'}) == 200
    assert ask(f'/stacks/batch/{rows.BATCH}/resources/handle/metadata', roles='heat_stack_user') == 404
    assert ask('/stacks', roles='heat_stack_user') == 403


def ask_own(api, route, roles):
    """The route in the caller's own project, with names of things that are there."""
    values = {**{name: pair[0] for name, pair in NAMES.items()}, 'tenant_id': in_process.PROJECT, 'server_id': 's',
              'type_name': 'OS::Heat::None', 'version': 'heat_template_version.rocky', 'path': 'template',
              'constraint': 'nova.flavor'}
    path = '/v1' + re.sub(r'{(\w+)[^}]*}', lambda match: values[match[1]], route.path)
    return in_process.ask(api, route.method, path, body(route), roles=roles)


ALL = [route for route in routes.TABLE if route.path != routes.ARN]
READING = {name for name, check, _before, _text in policy.RULES
           if check in (policy.READER, policy.READER_OR_STACK_USER)} | {'actions:check'}


@pytest.mark.parametrize('route', ALL, ids=lambda route: f'{route.method} {route.path}')
def test_without_a_role_nothing_is_answered(api, route):
    answer = ask_own(api, route, roles='')
    assert answer.status_code == 403
    assert answer.json['error']['type'] == 'Forbidden'


@pytest.mark.parametrize('route', ALL, ids=lambda route: f'{route.method} {route.path}')
def test_readers_read_and_change_nothing(api, route):
    answer = ask_own(api, route, roles='reader')
    if route.policy in READING or route.policy is actions.policy:
        assert answer.status_code != 403
    else:
        assert answer.status_code == 403
        rule = route.policy if isinstance(route.policy, str) else 'stacks:update_patch'
        assert answer.json['error']['message'] == f'You are not authorized to use {rule}.'
