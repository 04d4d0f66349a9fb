"""Log lines as JSON: `jq 'select(.stack_id == ...)'` finds each line about a stack, whichever process wrote it, with
the ids of its request and its plan, its project and the path of its resource."""

import json
import os
import uuid

import pytest

from tests.system import alone
from tests.system.cluster import Cluster
from tests.system.processes import ask, eventually

PLUGINS = alone.__file__.replace('alone.py', 'plugins')
RABBIT, MARIADB = os.environ.get('HEATLITE_TEST_RABBIT_URL'), os.environ.get('HEATLITE_TEST_MYSQL_URL')
LEVELS = 'heatlite=DEBUG,sqlalchemy=WARN,oslo.messaging=WARN,amqp=WARN,kombu=WARN'
SECRET = 'swordfish-9431'
FORGED = '"}\n{"stack_id": "forged", "plan_id": "forged", "message": "forged'
OWN = {'stack_id', 'stack_name', 'resource_path', 'plan_id', 'request_id', 'global_request_id', 'project_id'}
CHILD = json.dumps({
    'heat_template_version': '2018-08-31', 'parameters': {'secret': {'type': 'string', 'hidden': True}},
    'resources': {'says': {'type': 'Test::Clumsy', 'properties': {'say': 'something'}},
                  'fails': {'type': 'Test::Clumsy', 'depends_on': 'says', 'properties': {
                      'refused': {'list_join': ['', ['no ', {'get_param': 'secret'}]]}}}}})


class Service:
    def __init__(self, url, files):
        self.url, self._files = url, files

    def lines(self):
        """Each line of each process; each is one JSON object."""
        found = []
        for file in self._files():
            for line in file.read_text().splitlines():
                found.append(json.loads(line))
                assert isinstance(found[-1], dict)
        return found

    def about(self, stack_id):
        return [line for line in self.lines() if line.get('stack_id') == stack_id]

    def plan_and_apply(self, name, template, **files):
        """(id of the plan, id of the stack, id of the request)"""
        status, made = ask('POST', f'{self.url}/plans', {'stack_name': name, 'template': template, 'files': files,
                                                         'disable_rollback': True})
        assert status == 201, made
        plan = made['plan']
        status, applied = ask('POST', f"{self.url}/plans/{plan['id']}/apply", {'digest': plan['digest']})
        assert status == 202, applied
        stack = f"{self.url}/stacks/{name}/{applied['stack']['id']}"
        eventually('the failure', lambda: ask('GET', stack)[1]['stack']['stack_status'] == 'CREATE_FAILED')
        return plan['id'], applied['stack']['id'], stack


@pytest.fixture(scope='module', params=['heatlite-all', 'cluster'])
def service(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp('json')
    if request.param == 'heatlite-all':
        with alone.running(folder, PLUGINS, f'[DEFAULT]\nuse_json = true\ndefault_log_levels = {LEVELS}\n') as made:
            yield Service(made.url, lambda: [folder / 'log'])
        return
    if not (RABBIT and MARIADB):
        pytest.skip('needs RabbitMQ and MariaDB: tools/services up')
    cluster = Cluster(folder, MARIADB, RABBIT, engines=2, use_json='true', default_log_levels=LEVELS)
    yield Service(cluster.url, lambda: sorted(folder.glob('*.log')))
    cluster.stop()


def test_each_line_about_a_nested_stack_that_fails_names_what_it_is_about(service):
    name = f's{uuid.uuid4().hex[:6]}'
    plan_id, stack_id, stack = service.plan_and_apply(name, {
        'heat_template_version': '2018-08-31', 'parameters': {'secret': {
            'type': 'string', 'hidden': True, 'default': SECRET}},
        'resources': {'child': {'type': 'child.yaml', 'properties': {'secret': {'get_param': 'secret'}}}}},
        **{'child.yaml': CHILD})
    nested = ask('GET', f'{stack}/resources/child')[1]['resource']['physical_resource_id']
    eventually('the end in the log', lambda: [
        line for line in service.about(stack_id) if 'CREATE_FAILED' in line['message']])

    everything = service.lines()
    for each, its_name in ((stack_id, name), (nested, None)):
        lines = service.about(each)
        assert [line for line in everything if each in line['message'] and line.get('stack_id') is None] == []
        driven = [line for line in lines if line['name'].startswith(('heatlite.engine.reconcile', 'heatlite.steps'))]
        assert len(driven) >= 2
        assert {line.get('plan_id') for line in driven} == {plan_id}
        assert len({line['request_id'] for line in driven}) == 1
        assert {line['project_id'] for line in driven} == {'admin'}
        assert its_name is None or {line['stack_name'] for line in driven} == {its_name}

    paths = {line.get('resource_path') for line in service.about(nested)}
    child = next(line['stack_name'] for line in service.about(nested) if 'CREATE_FAILED' in line['message'])
    assert child.startswith(f'{name}-child-')
    assert {f'{name}/child/fails', f'{name}/child/says'} <= paths
    said = [line for line in everything if 'Clumsy says something' in line['message']]       # of a plug-in
    assert [(line['stack_id'], line['resource_path'], line['plan_id']) for line in said] == [
        (nested, f'{name}/child/says', plan_id)]
    applied = [line for line in everything if f'/plans/{plan_id}/apply 202' in line['message']]
    assert [(line['stack_id'], line['stack_name'], line['plan_id']) for line in applied] == [(stack_id, name, plan_id)]
    assert applied[0]['request_id'] == driven[0]['request_id']
    assert not any(SECRET in json.dumps(line) for line in everything)


def test_names_forge_neither_a_line_nor_a_field(service):
    name = f's{uuid.uuid4().hex[:6]}'
    status, made = ask('POST', f'{service.url}/stacks', {'stack_name': name, 'disable_rollback': True, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {
            FORGED.replace('/', ''): {'type': 'Test::Clumsy', 'properties': {'refused': FORGED, 'say': FORGED}}}}})
    if status == 201:
        stack = f"{service.url}/stacks/{name}/{made['stack']['id']}"
        eventually('the failure', lambda: ask('GET', stack)[1]['stack']['stack_status'] == 'CREATE_FAILED')
        eventually('its line', lambda: [line for line in service.about(made['stack']['id'])
                                        if 'CREATE_FAILED' in line['message']])
    known = {line['stack_id'] for line in service.lines() if 'stack_id' in line}
    assert 'forged' not in known
    assert not any(line.get('plan_id') == 'forged' for line in service.lines())
    assert status == 201, made


def test_a_request_that_may_not_see_a_stack_is_not_a_line_about_it(service):
    name = f's{uuid.uuid4().hex[:6]}'
    _status, made = ask('POST', f'{service.url}/stacks', {'stack_name': name, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {}}})
    stack_id = made['stack']['id']
    other = service.url.replace('/v1/admin', '/v1/other')
    assert ask('GET', f'{other}/stacks/wrong/{stack_id}')[0] == 404
    assert ask('GET', f'{service.url}/stacks/wrong/{stack_id}')[0] == 404
    assert ask('GET', f'{service.url}/stacks/{name}/{stack_id}')[0] == 200
    seen = [line['message'].split(' ')[1] for line in service.about(stack_id) if ' ms' in line['message']]
    assert f'/v1/admin/stacks/{name}/{stack_id}' in seen and not any('wrong' in path for path in seen)
