"""The life of a stack with secrets: everything that can be done with it, and every page a reader can look at."""

from __future__ import annotations

import copy
import json
import re

from tests.system.canaries.template import FIRST, PREVIEWED, SECOND, SIGNALLED, WRONG, source

GENERATED = {           # kind -> (resource, attribute)
    'generated string': ('random', 'value'), 'secret of an access key': ('access', 'SecretAccessKey'),
    'signal of a stack user': ('heat_handle', 'signal'), 'signal by token': ('token_handle', 'token'),
    'signed URL of a policy': ('policy', 'alarm_url')}
READERS = ('reader', 'member')
STACK_PAGES = (
    '', '/environment', '/template', '/files', '/resources?with_detail=True', '/export', '/left', '/protections',
    '/lock', '/drift', '/explain', '/progress', '/timeline', '/resources?nested_depth=5&with_detail=True')
PROJECT_PAGES = ('/stacks', '/stacks/detail', '/stack_sets')
STACK_ACTIONS = ('DescribeStacks', 'DescribeStackEvents', 'DescribeStackResources', 'ListStackResources', 'GetTemplate')
LOGIN = 'cnry-login-of-a-deployment'
OF_A_CLOUD = {'private key': ('key', 'private_key')}


class Life:
    """`answers`: (who, kind of page, path, text) of everything that was answered to READERS, and of refusals."""

    def __init__(self, place):
        self.place = place
        self.answers = []
        self.visited = set()                    # (who, path) of all pages of the REST API
        self.secrets = {}

    def note(self, page, path, text, who='reader'):
        self.answers.append((who, page, path, text))

    def live(self):
        place = self.place
        first = source(FIRST, place.is_simulated, FIRST['hidden string'])
        second = source(SECOND, place.is_simulated, SECOND['old and new string'])
        path = self.create('canaries', first)
        self.gather(path)
        self.read(path)
        self.alarms()
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
        self.read(path, *READERS)
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

    def get(self, who, page, path):
        """A page of the REST API, as one of READERS sees it: its JSON, or None."""
        status, text = self.place.ask(who, 'GET', path)
        self.note(page, path, text, who)
        self.visited.add((who, path))
        return json.loads(text) if status == 200 else None

    def read(self, path, *readers):
        """Every page of a stack and of those below it, as a reader sees it, or as all of `readers`."""
        for who in readers or READERS[:1]:
            self.read_as(who, path)
            for page in PROJECT_PAGES:
                self.get(who, page.partition('?')[0], page)
            self.act_aws(who, 'cfn', 'ListStacks')

    def read_as(self, who, path):
        for page in STACK_PAGES:
            self.get(who, page.partition('?')[0] or '/stack', path + page)
        for each in (self.get(who, '/snapshots', f'{path}/snapshots') or {}).get('snapshots', ()):
            self.get(who, '/snapshot', f'{path}/snapshots/{each["id"]}')
        for each in self.get(who, '/revisions', f'{path}/revisions')['revisions']:
            self.get(who, '/revision', f'{path}/revisions/{each["number"]}')
            self.get(who, '/revision diff', f'{path}/revisions/{each["number"]}/diff')
        for each in self.get(who, '/events', f'{path}/events')['events']:
            self.get(who, '/event', f'{path}/resources/{each["resource_name"]}/events/{each["id"]}')
        for each in self.get(who, '/outputs', f'{path}/outputs')['outputs']:
            self.get(who, '/output', f'{path}/outputs/{each["output_key"]}')
        name, stack_id = path.split('/')[2:]
        arn = f'arn:openstack:heat::{self.place.project_id}:stacks/{name}/{stack_id}'
        for action in STACK_ACTIONS:
            self.act_aws(who, 'cfn', action, StackName=arn)
        for each in self.get(who, '/resources', f'{path}/resources')['resources']:
            below = f'{path}/resources/{each["resource_name"]}'
            for page in ('', '/metadata', '/events', '/explain'):
                self.get(who, page or '/resource', below + page)
            self.act_aws(who, 'cfn', 'DescribeStackResource', StackName=arn, LogicalResourceId=each['resource_name'])
            for link in each['links']:
                if link['rel'] == 'nested':
                    self.read_as(who, '/stacks/' + link['href'].split('/stacks/', 1)[1])

    def act_aws(self, who, api, action, **parameters):
        """A reading action of an API of Amazon; its answer is the page of this name."""
        status, text = self.place.ask_aws(who, api, action, **parameters)
        assert status < 500, (action, text)
        self.note(action, f'{api} {parameters}', text, who)
        return text

    def alarms(self):
        """The alarm of the stack acts once: its history has the request, which no server accepts."""
        name, = re.findall(r'"?AlarmName"?[>:] ?"?([^"<]+)', self.act_aws('member', 'cloudwatch', 'DescribeAlarms'))
        status, text = self.place.ask_aws('member', 'cloudwatch', 'SetAlarmState', AlarmName=name, StateValue='ALARM',
                                          StateReason='tried')
        assert status == 200, text
        begin, end = '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'
        metric = {'Namespace': 'n', 'MetricName': 'm'}
        for who in READERS:
            for action, parameters in (
                    ('DescribeAlarms', {}), ('DescribeAlarmsForMetric', metric), ('DescribeAlarmHistory', {}),
                    ('ListMetrics', {}), ('GetMetricStatistics', {**metric, 'StartTime': begin, 'EndTime': end,
                                                                  'Period': '60', 'Statistics.member.1': 'Sum'}),
                    ('GetMetricData', {'StartTime': begin, 'EndTime': end, 'MetricDataQueries.member.1.Id': 'a',
                                       'MetricDataQueries.member.1.MetricStat.Metric.Namespace': 'n',
                                       'MetricDataQueries.member.1.MetricStat.Metric.MetricName': 'm',
                                       'MetricDataQueries.member.1.MetricStat.Period': '60',
                                       'MetricDataQueries.member.1.MetricStat.Stat': 'Sum'})):
                self.act_aws(who, 'cloudwatch', action, **parameters)
        assert 'hooks.invalid' in self.act_aws('reader', 'cloudwatch', 'DescribeAlarmHistory')

    def exports(self, path):
        """A member sees no secrets; an admin, whose export can be adopted again, does."""
        for who in ('member', 'reader'):
            self.get(who, '/export', f'{path}/export')

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
            for who in READERS:
                assert self.get(who, '/software', page), page

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
        for who in READERS:
            self.get(who, '/plan', f'/plans/{made["id"]}?format=text')
            self.get(who, '/plans', '/plans')

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
