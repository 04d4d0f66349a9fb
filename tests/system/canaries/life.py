"""The life of a stack with secrets: everything that can be done with it, and every page a reader can look at."""

from __future__ import annotations

import copy
import json

from tests.system.canaries.template import FIRST, PREVIEWED, SECOND, SIGNALLED, WRONG, source

GENERATED = {           # kind -> (resource, attribute)
    'generated string': ('random', 'value'), 'secret of an access key': ('access', 'SecretAccessKey'),
    'signal of a stack user': ('heat_handle', 'signal'), 'signal by token': ('token_handle', 'token'),
    'signed URL of a policy': ('policy', 'alarm_url')}
LOGIN = 'cnry-login-of-a-deployment'
OF_A_CLOUD = {'private key': ('key', 'private_key')}


class Life:
    """`answers`: (kind of page, path, text) of everything that was answered to a reader, and of refusals."""

    def __init__(self, place):
        self.place = place
        self.answers = []
        self.secrets = {}

    def note(self, page, path, text):
        self.answers.append((page, path, text))

    def live(self):
        place = self.place
        first = source(FIRST, place.is_simulated, FIRST['hidden string'])
        second = source(SECOND, place.is_simulated, SECOND['old and new string'])
        path = self.create('canaries', first)
        self.gather(path)
        self.read(path)
        self.deploy()
        self.signal(path)
        self.previews(path, second)
        self.snapshot(path)
        self.act(path, 'suspend', 'resume', 'check')
        assert place.ask('member', 'PUT', path, second)[0] == 202
        assert place.finished(path) == 'UPDATE_COMPLETE', self.why(path)
        self.gather(path)
        self.read(path)
        self.plan_to_go_back(path)
        self.wrong(path, first)
        self.read(path)
        self.exports(path)
        return path

    def create(self, name, body):
        made = self.place.json('member', 'POST', '/stacks', {'stack_name': name, **body})
        path = f'/stacks/{name}/{made["stack"]["id"]}'
        assert self.place.finished(path) == 'CREATE_COMPLETE', self.why(path)
        return path

    def why(self, path):
        return self.place.ask('member', 'GET', path)[1]

    # --- what types have made -----------------------------------------------------------------------------

    def gather(self, path):
        """The secrets that nobody chose, as their owner may read them."""
        for kind, (resource, attribute) in {**GENERATED, **(OF_A_CLOUD if self.place.is_simulated else {})}.items():
            answer = self.place.json('member', 'GET', f'{path}/resources/{resource}?with_attr={attribute}')
            value = answer['resource']['attributes'][attribute]
            if kind == 'private key':
                value = value.splitlines()[1]
            elif kind == 'signal of a stack user':
                value = json.loads(value)['password'] if isinstance(value, str) else value['password']
            elif kind == 'signed URL of a policy':
                value = value.split('Signature=')[1].split('&')[0]
            assert value, (kind, answer)
            self.secrets.setdefault(kind, set()).add(value)

    # --- reading ------------------------------------------------------------------------------------------

    def read(self, path):
        """Every page of a stack and of those below it, as a reader sees it."""
        for page in ('', '/environment', '/template', '/files', '/outputs', '/resources?with_detail=True', '/events',
                     '/snapshots', '/export', '/resources?nested_depth=5&with_detail=True', '/revisions'):
            status, text = self.place.ask('reader', 'GET', path + page)
            self.note(page.split('?')[0] or '/stack', path + page, text)
            if page == '/snapshots' and status == 200:
                for each in json.loads(text)['snapshots']:
                    self.note('/snapshot', path, self.place.ask('reader', 'GET', f'{path}/snapshots/{each["id"]}')[1])
            if page == '/revisions':
                for each in json.loads(text)['revisions']:
                    link = f'{path}/revisions/{each["number"]}'
                    self.note('/revision', link, self.place.ask('reader', 'GET', link)[1])
                    self.note('/revision diff', link, self.place.ask('reader', 'GET', f'{link}/diff')[1])
            if page == '/events':
                for each in json.loads(text)['events']:
                    link = f'{path}/resources/{each["resource_name"]}/events/{each["id"]}'
                    self.note('/event', link, self.place.ask('reader', 'GET', link)[1])
        resources = json.loads(self.place.ask('reader', 'GET', f'{path}/resources')[1])['resources']
        for each in resources:
            below = f'{path}/resources/{each["resource_name"]}'
            self.note('/resource', below, self.place.ask('reader', 'GET', below)[1])
            self.note('/metadata', below, self.place.ask('reader', 'GET', f'{below}/metadata')[1])
            for link in each['links']:
                if link['rel'] == 'nested':
                    self.read('/stacks/' + link['href'].split('/stacks/', 1)[1])
        for page in ('/stacks', '/stacks/detail'):
            self.note('/stacks', page, self.place.ask('reader', 'GET', page)[1])

    def exports(self, path):
        """A member sees no secrets; an admin, whose export can be adopted again, does."""
        for who in ('member', 'reader'):
            self.note('/export', path, self.place.ask(who, 'GET', f'{path}/export')[1])

    def deploy(self):
        """A config with a login, as deployments derive it for their servers, and every page that shows it."""
        config = self.place.json('member', 'POST', '/software_configs', {
            'name': 'derived', 'config': f'login with {LOGIN}', 'inputs': [
                {'name': 'deploy_password', 'type': 'String', 'value': LOGIN}]})['software_config']['id']
        made = self.place.json('member', 'POST', '/software_deployments', {
            'config_id': config, 'server_id': 'server-of-canaries', 'action': 'CREATE', 'status': 'IN_PROGRESS'})
        self.secrets['login of a deployment'] = {LOGIN}
        for page in ('/software_configs', f'/software_configs/{config}', '/software_deployments',
                     f'/software_deployments/{made["software_deployment"]["id"]}',
                     '/software_deployments/metadata/server-of-canaries'):
            status, text = self.place.ask('reader', 'GET', page)
            assert status == 200, (page, text)
            self.note('/software', page, text)

    # --- changing -----------------------------------------------------------------------------------------

    def signal(self, path):
        status, text = self.place.ask('member', 'POST', f'{path}/resources/heat_handle/signal', {
            'id': '1', 'status': 'SUCCESS', 'reason': 'r', 'data': SIGNALLED['signal']})
        assert status == 200, text

    def previews(self, path, second):
        new = copy.deepcopy(second)
        new['parameters']['word'] = PREVIEWED['previewed string']
        for page in ('/preview', '/preview?show_nested=true'):
            status, text = self.place.ask('member', 'PUT', path + page, new)
            assert status == 200, text
            self.note('/preview of an update', path, text)
        status, text = self.place.ask('reader', 'POST', '/stacks/preview', {'stack_name': 'previewed', **new})
        assert status == 200, text
        self.note('/preview', path, text)
        self.note('/validate', path, self.place.ask('member', 'POST', '/validate?show_nested=true', new)[1])

    def snapshot(self, path):
        made = self.place.json('member', 'POST', f'{path}/snapshots', {'name': 'kept'})
        self.note('/snapshot', path, json.dumps(made))
        assert self.place.finished(path) == 'SNAPSHOT_COMPLETE', self.why(path)
        self.read(path)
        snapshot = json.dumps(self.place.json('reader', 'GET', f'{path}/snapshots'))
        self.note('/snapshots', path, snapshot)

    def plan_to_go_back(self, path):
        """The plan holds the hidden values of the first revision."""
        made = self.place.json('member', 'POST', f'{path}/plans', {'action': 'update', 'revision': 1})['plan']
        self.note('/plan', path, json.dumps(made))
        self.note('/plan', path, self.place.ask('reader', 'GET', f'/plans/{made["id"]}?format=text')[1])

    def act(self, path, *actions):
        for action in actions:
            status, text = self.place.ask('member', 'POST', f'{path}/actions', {action: None})
            assert status in (200, 202), text
            assert self.place.finished(path) == f'{action.upper()}_COMPLETE', self.why(path)

    def wrong(self, path, good):
        """Values that are refused at once, and one that fails on its way. The one who sent it reads the answer; the
        secret must not be in it, for answers end in logs and tickets."""
        for kind, name, value in (('wrong pattern', 'word', WRONG['wrong pattern']),
                                  ('wrong number', 'number', WRONG['wrong number']),
                                  ('wrong json', 'doc', WRONG['wrong json'])):
            body = copy.deepcopy(good)
            body['parameters'][name] = value
            for method, page, sent in (('POST', '/stacks', {'stack_name': 'wrong', **body}), ('PUT', path, body),
                                       ('PUT', f'{path}/preview', body),
                                       ('POST', '/stacks/preview', {'stack_name': 'wrong', **body})):
                status, text = self.place.ask('member', method, page, sent)
                assert 400 <= status < 500, (kind, text)
                self.note(f'refusal, {kind}', page, text)
        self.late('late', 'late type', {'type': 'OS::Heat::RandomString', 'properties': {
            'length': {'get_attr': ['given', 'value']}}})
        self.late('refused', 'refused by the type', {'type': 'OS::Heat::TestResource', 'properties': {
            'value': {'get_param': 'word'}, 'fail': True}})

    def late(self, name, kind, resource):
        template = {'heat_template_version': '2018-08-31',
                    'parameters': {'word': {'type': 'string', 'hidden': True}},
                    'resources': {'given': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'word'}}},
                                  'late': resource}}
        made = self.place.json('member', 'POST', '/stacks', {
            'stack_name': name, 'template': template, 'parameters': {'word': WRONG[kind]}})
        path = f'/stacks/{name}/{made["stack"]["id"]}'
        assert self.place.finished(path) == 'CREATE_FAILED'
        self.read(path)
