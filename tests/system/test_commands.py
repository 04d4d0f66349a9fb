"""Every subcommand that python-heatclient adds to `openstack`, at least once, as one session of one user.

The commands share one process (tests.system.openstack_shell); the service is one of its own.
"""

import contextlib
import json
from importlib.metadata import entry_points

import pytest
from cliff.display import DisplayCommandBase

from heatlite.common import build
from heatlite.osc.output import DocumentCommand
from tests.system import openstack_shell, service
from tests.system.processes import eventually

pytestmark = pytest.mark.random_order(disabled=True)         # a sequence: each test goes on where the one before ended

TEMPLATE = """
heat_template_version: 2018-08-31
description: A lamp
parameters:
  length: {type: number, default: 8}
resources:
  number: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  lamp: {type: OS::Heat::TestResource, properties: {value: {get_attr: [number, value]}}}
outputs:
  number: {value: {get_attr: [number, value]}}
"""
HOOKED = """
resource_registry: {resources: {number: {hooks: pre-create}}}
"""
HANDLE = """
heat_template_version: 2018-08-31
resources: {handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}}
"""
ALL = {each.name for each in entry_points(group='openstack.orchestration.v1')}


OURS = {each.name: each.load() for each in entry_points(group='openstack.orchestration.v1')
        if each.value.startswith('heatlite.')}


def encoded(value):
    """The texts in a value that are JSON themselves: of a list, a map or a text."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            if not isinstance(json.loads(value), int | float):
                yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from encoded(each)


class Session:
    """Runs commands and remembers which, and which of ours printed JSON."""

    def __init__(self, environment):
        self.environment = environment
        self.ran = []
        self.as_json = set()
        self._shell = openstack_shell.Shell(environment)

    @contextlib.contextmanager
    def as_admin(self):
        """A session of an admin whose commands count here."""
        if 'OS_USERNAME' not in self.environment:
            yield self
            return
        other = Session(service.login('admin', self.environment['OS_REGION_NAME']))
        yield other
        self.ran += other.ran
        other.close()

    def close(self):
        self._shell.close()

    def __call__(self, *arguments, fails=False, code=None, both=False):
        """What is printed. `code`: the exit code, if it is neither that of a success nor that of a failure. `both`:
        also what is said to people beside the answer, as it is of failures."""
        words = [str(each) for each in arguments]
        ended, said, complained = self._shell.run(words)
        self.ran.append(next((name for size in (4, 3, 2)
                              if (name := '_'.join(words[:size]).replace('-', '_')) in ALL), None))
        assert ended == code if code is not None else bool(ended) is fails, f'{words}: {complained}{said}'
        return complained + said if fails or both else said

    def json(self, *arguments, code=None):
        """What is printed for programs: structures, not texts with JSON in them."""
        found = openstack_shell.document(self(*arguments, '-f', 'json', code=code))
        if self.ran[-1] in OURS:
            self.as_json.add(self.ran[-1])
            assert not list(encoded(found)), f'{arguments}: encoded twice: {list(encoded(found))}'
        return found


@pytest.fixture(scope='module', params=['none', 'keystone'])
def run(request, tmp_path_factory):
    if request.param == 'keystone' and not service.KEYSTONE:
        pytest.skip('needs HEATLITE_TEST_KEYSTONE_URL')
    with service.running(tmp_path_factory.mktemp('commands'), request.param) as environment:
        session = Session(environment)
        yield session
        session.close()


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Name -> path of a template or an environment."""
    folder = tmp_path_factory.mktemp('templates')
    found = {}
    fails = TEMPLATE.replace('{value: {get_attr', '{fail: true, value: {get_attr')
    texts = {'lamp': TEMPLATE, 'fails': fails, 'hooked': HOOKED, 'handle': HANDLE, 'script': 'echo $x'}
    for name, text in texts.items():
        found[name] = folder / f'{name}.yaml'
        found[name].write_text(text)
    return found


def status(run, name):
    return run.json('stack', 'show', name)['stack_status']


def settled(run, name, wanted):
    return eventually(wanted, lambda: status(run, name) == wanted)


def test_plans(run, files):
    said = run('stack', 'plan', 'create', '-t', files['lamp'], '--parameter', 'length=4', 'planned', code=2)
    assert '2 to create' in said and '+ number (OS::Heat::RandomString)' in said
    assert '# template resources.lamp.properties.value line 8' in said
    made, = run.json('stack', 'plan', 'list')
    assert (made['stack_name'], made['action'], made['state']) == ('planned', 'create', 'READY')
    assert run('stack', 'plan', 'show', made['id']) == said
    run('stack', 'plan', 'approve', made['id'])
    stack_id = run.json('stack', 'plan', 'apply', made['id'])['id']
    settled(run, 'planned', 'CREATE_COMPLETE')
    assert run.json('stack', 'show', 'planned')['id'] == stack_id
    assert 'was applied at' in run('stack', 'plan', 'apply', made['id'], fails=True)
    assert 'Nothing to do' in run('stack', 'plan', 'create', '--existing', 'planned', code=0)
    refreshed = run('stack', 'plan', 'create', '--existing', '--refresh', 'planned', code=0)
    assert 'Nothing to do' in refreshed and 'Compared with the cloud at' in refreshed
    plan = run.json('stack', 'plan', 'create', '--existing', '--parameter', 'length=5', 'planned', code=2)
    assert run.json('stack', 'plan', 'show', plan['id'])['digest'] == plan['digest']
    assert plan['summary']['replace'] == 1 and plan['changes'][0]['values'][0]['cause']['what'] == 'length'
    assert (plan['findings'], plan['totals'], plan['cost'], plan['refreshed_at']) == ([], {}, None, None)
    run('stack', 'update', '--wait', '--existing', '--parameter', 'length=6', 'planned')
    assert 'The stack has changed since plan' in run('stack', 'plan', 'apply', plan['id'], fails=True)
    run('stack', 'plan', 'delete', plan['id'])
    gone = json.loads(run('stack', 'plan', 'create', '--delete', '--json', 'planned', code=2))
    assert [change['action'] for change in gone['changes']] == ['delete', 'delete']
    run('stack', 'plan', 'apply', '--digest', gone['digest'], gone['id'])
    eventually('the end', lambda: not run.json('stack', 'list'))


def test_revisions(run, files):
    run('stack', 'create', '-t', files['lamp'], '--parameter', 'length=4', 'changed')
    settled(run, 'changed', 'CREATE_COMPLETE')
    run('stack', 'update', '--existing', '--parameter', 'length=5', 'changed')
    settled(run, 'changed', 'UPDATE_COMPLETE')
    listed = run.json('stack', 'revision', 'list', 'changed')
    assert [(each['number'], each['action'], each['outcome']) for each in listed] == [
        (2, 'UPDATE', 'COMPLETE'), (1, 'CREATE', 'COMPLETE')]
    assert [each['number'] for each in run.json('stack', 'revision', 'list', '--limit', '1', '--marker', '2',
                                                'changed')] == [1]
    shown = run.json('stack', 'revision', 'show', 'changed', '1')
    assert shown['template']['description'] == 'A lamp' and shown['parameters']['length'] == '4'
    assert 'description: A lamp' in run('stack', 'revision', 'show', 'changed', '1')
    said = run('stack', 'revision', 'diff', 'changed', '2')
    assert '~ parameter length\n      value: "4" -> "5"' in said
    assert 'No differences' in run('stack', 'revision', 'diff', '--with', '2', 'changed', '2')
    assert json.loads(run('stack', 'revision', 'diff', '--json', 'changed', '1'))['resources'][0]['change'] == 'added'
    assert run.json('stack', 'revision', 'diff', 'changed', '1')['resources'][0]['change'] == 'added'
    assert 'The Revision (9) could not be found' in run('stack', 'revision', 'show', 'changed', '9', fails=True)
    plan = json.loads(run('stack', 'plan', 'create', '--revision', '1', '--json', 'changed', code=2))
    assert (plan['revision'], plan['summary']['replace']) == (1, 1)
    refused = run('stack', 'plan', 'create', '--revision', '1', '--parameter', 'length=6', 'changed', fails=True)
    assert 'the request must not have: parameters' in refused
    run('stack', 'plan', 'apply', plan['id'])
    settled(run, 'changed', 'UPDATE_COMPLETE')
    assert run.json('stack', 'show', 'changed')['parameters']['length'] == '4'
    assert run.json('stack', 'revision', 'list', 'changed')[0]['plan_id'] == plan['id']
    run('stack', 'delete', '--yes', 'changed')
    eventually('the end', lambda: not run.json('stack', 'list'))


def test_guards(run, files):
    run('stack', 'create', '--wait', '-t', files['lamp'], 'guarded')
    run('stack', 'protect', 'guarded', '--resource', 'number', '--deny', 'delete', '--reason', 'ours')
    made = run.json('stack', 'protect', 'guarded', '--resource', 'lamp')
    assert made == run.json('stack', 'protection', 'show', 'guarded') == [
        {'path': 'number', 'deny': ['delete'], 'reason': 'ours'},
        {'path': 'lamp', 'deny': ['delete', 'replace', 'update'], 'reason': ''}]
    assert 'number: delete is denied by the protection of number (ours)' in run(
        'stack', 'delete', '--yes', 'guarded', fails=True)
    plan = run('stack', 'plan', 'create', '--delete', 'guarded', code=2)
    assert 'Protected: number: delete is denied by the protection of number (ours)' in plan
    assert 'replace is denied' in run('stack', 'update', '--existing', '--parameter', 'length=5', 'guarded', fails=True)
    assert run.json('stack', 'unprotect', 'guarded', '--resource', 'lamp') == made[:1]
    assert run.json('stack', 'unprotect', 'guarded', '--all') == []
    assert run.json('stack', 'lock', 'guarded', '--reason', 'the cloud moves')['reason'] == 'the cloud moves'
    assert ': the cloud moves' in run('stack', 'delete', '--yes', 'guarded', fails=True)
    run('stack', 'unlock', 'guarded')
    run('stack', 'delete', '--yes', '--wait', 'guarded')


def test_refactor(run, files, tmp_path):
    run('stack', 'create', '--wait', '-t', files['lamp'], 'shop')
    value = run.json('stack', 'output', 'show', 'shop', 'number')['output_value']
    (tmp_path / 'shop.yaml').write_text(
        'heat_template_version: 2018-08-31\nparameters: {of: {type: string}}\nresources:\n'
        '  lamp: {type: OS::Heat::TestResource, properties: {value: {get_param: of}}}\n')
    (tmp_path / 'base.yaml').write_text(
        'heat_template_version: 2018-08-31\nresources:\n'
        '  first: {type: OS::Heat::RandomString, properties: {length: 8}}\n')
    wanted = tmp_path / 'split.yaml'
    text = ('stacks:\n- {stack: shop, template: shop.yaml, parameters: {of: %s}}\n'
            '- {stack: base, new: true, template: base.yaml}\nmoves:\n- {from: shop/number, to: base/first}\n')
    wanted.write_text(text % 'another')
    said = run('stack', 'refactor', '--dry-run', wanted, code=2)
    assert 'shop/number -> base/first' in said and 'shop/lamp: update value:' in said
    assert 'shop/lamp: update of value' in run('stack', 'refactor', wanted, fails=True)
    wanted.write_text(text % value)
    assert run.json('stack', 'refactor', '--dry-run', wanted, code=0)['differences'] == []
    assert 'stack base (new)' in run('stack', 'refactor', wanted, code=0)
    assert [each['resource_name'] for each in run.json('stack', 'resource', 'list', 'base')] == ['first']
    wanted.write_text('- stacks')
    assert 'a map is wanted with "stacks"' in run('stack', 'refactor', wanted, fails=True)
    for name in ('shop', 'base'):
        run('stack', 'delete', '--yes', '--wait', name)


def test_stack_sets(run, files):
    """Without a cloud the member fails; with Keystone it is made. What sets do: tests/system/test_stack_sets.py."""
    wanted = ('-t', files['lamp'], '--member', 'name=here', '--parameter', 'length=4')
    assert run.json('stack', 'set', 'preview', '--new', *wanted, 'wide', code=2)['summary'] == {'create': 1}
    assert 'project' in run('stack', 'set', 'preview', '--new', '-t', files['lamp'], '--all-projects', '--project-tag',
                            'of no project', 'wide', fails=True)
    made = run.json('stack', 'set', 'create', *wanted, '--override', 'here:length=5', 'wide')
    assert 'MEMBER:KEY=VALUE is wanted' in run('stack', 'set', 'update', '--override', 'here', 'wide', fails=True)

    def ended(action):
        eventually(f'the end of the {action}', lambda: run.json('stack', 'set', 'show', 'wide')['status'] in (
            f'{action}_COMPLETE', f'{action}_FAILED'))
        return run.json('stack', 'set', 'show', 'wide')['status'].endswith('COMPLETE')

    is_made = ended('CREATE')
    assert [each['id'] for each in run.json('stack', 'set', 'list')] == [made['id']]
    assert [(each['name'], each['state']) for each in run.json('stack', 'set', 'member', 'list', 'wide')] == [
        ('here', 'current' if is_made else 'failed')]
    run('stack', 'set', 'update', '--max-concurrent', '100%', 'wide')
    ended('UPDATE')
    assert [each['number'] for each in run.json('stack', 'set', 'operation', 'list', 'wide')] == [2, 1]
    assert [each['status'] for each in run.json('stack', 'set', 'operation', 'show', 'wide', '1')] == [
        'COMPLETE' if is_made else 'FAILED']
    assert [each['is_drifted'] for each in run.json('stack', 'set', 'drift', 'wide')] == [False if is_made else None]
    run('stack', 'set', 'stop', 'wide', fails=True)                 # nothing is in progress
    run('stack', 'set', 'delete', '--yes', 'wide')
    eventually('the end of the set', lambda: not run.json('stack', 'set', 'list'))


def test_letting_go(run, files):
    for name, command in (('kept', ('release',)), ('gone', ('force', 'delete'))):
        run('stack', 'create', '--wait', '-t', files['lamp'], name)
        left = run.json('stack', *command, '--yes', name)
        assert sorted(each['resource'] for each in left) == (['lamp', 'number'] if name == 'kept' else [])


IMPORTED = """
heat_template_version: 2018-08-31
resources: {config: {type: OS::Heat::SoftwareConfig, properties: {config: echo, group: script}}}
"""


def test_import(run, tmp_path):
    (tmp_path / 'script').write_text('echo')
    (tmp_path / 'imported.yaml').write_text(IMPORTED)
    config = run.json('software', 'config', 'create', '--config-file', tmp_path / 'script', '--group', 'script', 'mine')
    wanted = f"config={config['id']}"
    planned = ('stack', 'import', '-t', tmp_path / 'imported.yaml', '--object', wanted, '--dry-run', 'imported')
    assert '1 to import' in run(*planned) and '< config (OS::Heat::SoftwareConfig)' in run(*planned)
    found = run.json(*planned)
    assert [each['action'] for each in found['changes']] == ['import'] and found['stack_id'] is None
    said = run('stack', 'import', '-t', tmp_path / 'imported.yaml', 'imported', fails=True)
    assert 'This is more than an import: config' in said
    assert 'there is no object with the id' in run(
        'stack', 'import', '-t', tmp_path / 'imported.yaml', '--object', 'config=x', 'imported', fails=True)
    assert 'RESOURCE=ID is wanted' in run(
        'stack', 'import', '-t', tmp_path / 'imported.yaml', '--object', 'config', 'imported', fails=True)
    run('stack', 'import', '-t', tmp_path / 'imported.yaml', '--object', wanted, 'imported')
    run('stack', 'wait', '--quiet', 'imported')
    shown = run.json('stack', 'resource', 'show', 'imported', 'config')
    assert (shown['physical_resource_id'], shown['resource_status']) == (config['id'], 'ADOPT_COMPLETE')
    run('stack', 'delete', '--yes', '--wait', 'imported')


def test_a_template_of_a_project(run, tmp_path):
    said = run('stack', 'template', 'generate', '--type', 'OS::Heat::Value', tmp_path / 't', tmp_path / 'e', fails=True)
    assert 'No template is written of these types: OS::Heat::Value' in said
    assert not (tmp_path / 't').exists()
    if 'OS_USERNAME' in run.environment:            # else there is no project to read
        assert run.json('stack', 'template', 'generate', tmp_path / 't', tmp_path / 'e') == []
        assert (tmp_path / 't').read_text().startswith('heat_template_version')


def test_drift(run, files):
    run('stack', 'create', '--wait', '-t', files['lamp'], 'compared')
    assert run.json('stack', 'drift', '--stored', 'compared') == []         # nobody has looked
    assert run.json('stack', 'drift', 'compared') == run.json('stack', 'drift', '--stored', 'compared') == []
    assert run('stack', 'drift', 'compared').startswith('Nothing differs: 0 resources are as applied, by the look of 2')
    assert 'Nothing differs' in run('stack', 'drift', 'compared', '-f', 'json', both=True)
    run('stack', 'delete', '--yes', '--wait', 'compared')


def test_a_stack_lives(run, files):
    made = run.json('stack', 'create', '--wait', '-t', files['lamp'], '--parameter', 'length=4', '--tags', 'a,b',
                    '--timeout', '5', 'lamp')
    assert made['stack_status'] == 'CREATE_COMPLETE'
    assert [each['Stack Name'] for each in run.json('stack', 'list')] == ['lamp']
    shown = run.json('stack', 'show', 'lamp')
    assert (shown['parameters']['length'], shown['tags'], shown['timeout_mins']) == ('4', ['a', 'b'], 5)
    assert [each['resource_name'] for each in run.json('stack', 'resource', 'list', 'lamp')] == ['number', 'lamp']
    assert run.json('stack', 'resource', 'show', 'lamp', 'number')['attributes']['value']
    assert run.json('stack', 'resource', 'metadata', 'lamp', 'number') == {}
    assert 'CREATE_COMPLETE' in run('stack', 'event', 'list', '--nested-depth', '2', 'lamp')
    first = run.json('stack', 'event', 'list', 'lamp', '--resource', 'number')[0]['id']
    assert run.json('stack', 'event', 'show', 'lamp', 'number', first)['resource_type'] == 'OS::Heat::RandomString'
    assert [each['output_key'] for each in run.json('stack', 'output', 'list', 'lamp')] == ['number']
    assert len(run.json('stack', 'output', 'show', 'lamp', 'number')['output_value']) == 4
    assert 'output_value' in run('stack', 'output', 'show', '--all', 'lamp')
    assert 'A lamp' in run('stack', 'template', 'show', 'lamp')
    assert 'length' in run('stack', 'environment', 'show', 'lamp')
    assert run('stack', 'file', 'list', 'lamp').strip() == 'files: {}'
    assert 'number' in run('stack', 'create', '--dry-run', '-t', files['lamp'], 'other')


def test_it_changes(run, files):
    told = run('stack', 'update', '--dry-run', '--existing', '--parameter', 'length=5', 'lamp')
    assert 'replaced' in told
    assert run.json('stack', 'update', '--wait', '--existing', '--parameter', 'length=5',
                    'lamp')['stack_status'] == 'UPDATE_COMPLETE'
    assert 'CHECK_COMPLETE' in run('stack', 'check', '--wait', 'lamp')
    assert 'SUSPEND_COMPLETE' in run('stack', 'suspend', '--wait', 'lamp')
    assert 'RESUME_COMPLETE' in run('stack', 'resume', '--wait', 'lamp')
    run('stack', 'resource', 'mark', 'unhealthy', 'lamp', 'lamp', 'it flickers')
    assert run.json('stack', 'resource', 'show', 'lamp', 'lamp')['resource_status_reason'] == 'it flickers'
    run('stack', 'update', '--wait', '--existing', 'lamp')
    assert status(run, 'lamp') == 'UPDATE_COMPLETE'
    run('stack', 'update', '--wait', '--existing', '-t', files['fails'], 'lamp', fails=True)
    assert 'Test Resource failed lamp' in run('stack', 'failures', 'list', 'lamp')
    run('stack', 'update', '--wait', '--existing', '-t', files['lamp'], 'lamp')


def test_snapshots(run):
    made = run.json('stack', 'snapshot', 'create', '--name', 'monday', 'lamp')
    settled(run, 'lamp', 'SNAPSHOT_COMPLETE')
    listed = run.json('stack', 'snapshot', 'list', 'lamp')
    assert [(each['name'], each['status']) for each in listed] == [('monday', 'COMPLETE')]
    identity = listed[0]['id']
    assert made['ID' if 'ID' in made else 'id'] == identity
    assert run.json('stack', 'snapshot', 'show', 'lamp', identity)['snapshot']['name'] == 'monday'
    run('stack', 'snapshot', 'restore', 'lamp', identity)
    settled(run, 'lamp', 'RESTORE_COMPLETE')
    run('stack', 'snapshot', 'delete', '-y', 'lamp', identity)
    assert run.json('stack', 'snapshot', 'list', 'lamp') == []


def test_it_leaves_and_comes_back(run, files, tmp_path):
    document = run.json('stack', 'export', 'lamp')
    assert set(document['resources']) == {'number', 'lamp'}
    kept = tmp_path / 'kept.json'
    run('stack', 'abandon', '--output-file', kept, 'lamp')
    eventually('the end of the stack', lambda: run.json('stack', 'list') == [])
    left = json.loads(kept.read_text())
    assert left['resources'].keys() == document['resources'].keys()
    if 'OS_USERNAME' in run.environment:                 # without Keystone every caller is an administrator
        assert document['resources']['number']['resource_data']['value'] == '******'
    number = left['resources']['number']['resource_data']['value']
    made = run.json('stack', 'adopt', '--wait', '--adopt-file', kept, 'lamp')
    assert made['stack_status'] == 'ADOPT_COMPLETE'
    assert run.json('stack', 'output', 'show', 'lamp', 'number')['output_value'] == number
    run('stack', 'delete', '--yes', '--wait', 'lamp')       # prints the events that it finds before the stack is gone
    assert run.json('stack', 'list') == []


def test_explain(run, files):
    run('stack', 'create', '--wait', '-t', files['fails'], 'failing', fails=True)
    assert 'CREATE failed because of lamp' in run('stack', 'explain', 'failing')
    found = json.loads(run('stack', 'explain', '--json', 'failing'))
    assert run.json('stack', 'explain', 'failing')['causes'] == found['causes']
    assert [cause['path'] for cause in found['causes']] == [['lamp']] and found['state'] == 'failed'
    said = run('stack', 'explain', '-t', files['fails'], '--resource', 'lamp', 'failing')
    assert 'lamp (OS::Heat::TestResource) CREATE_FAILED' in said and 'written at template:8:3 resources.lamp' in said
    run('stack', 'delete', '--yes', '--wait', 'failing')


def test_wait(run, files):
    run('stack', 'create', '-t', files['lamp'], 'awaited')
    assert 'awaited CREATE_COMPLETE: ' in run('stack', 'wait', '--interval', '0.2', 'awaited')
    slow = files['lamp'].with_name('awaited.yaml')
    slow.write_text(TEMPLATE.replace('{value: {get_attr', '{action_wait_secs: {update: 600}, value: {get_attr'))
    stack_id = run.json('stack', 'update', '-t', slow, '--parameter', 'length=9', 'awaited')['id']
    said = run('stack', 'wait', '--timeout', '0', '--quiet', 'awaited', code=3)
    assert said == 'awaited is still UPDATE_IN_PROGRESS after 0 s\n'
    run('stack', 'cancel', '--no-rollback', 'awaited')
    assert 'awaited UPDATE_FAILED: ' in run('stack', 'wait', 'awaited', fails=True)
    assert run.json('stack', 'wait', 'awaited', code=1)['status'] == 'FAILED'
    run('stack', 'delete', '--yes', 'awaited')
    assert 'awaited DELETE_COMPLETE: ' in run('stack', 'wait', stack_id)


def test_a_breakpoint(run, files):
    run('stack', 'create', '-t', files['lamp'], '-e', files['hooked'], 'held')
    eventually('the breakpoint', lambda: 'pre-create' in run('stack', 'hook', 'poll', 'held'))
    run('stack', 'hook', 'clear', '--pre-create', 'held', 'number')
    settled(run, 'held', 'CREATE_COMPLETE')
    run('stack', 'delete', '--yes', '--wait', 'held')


def test_stopping(run, files):
    slow = files['lamp'].with_name('slow.yaml')
    slow.write_text(TEMPLATE.replace('{value: {get_attr', '{action_wait_secs: {create: 60}, value: {get_attr'))
    run('stack', 'create', '-t', slow, 'slow')
    assert 'CREATE_FAILED' in run('stack', 'cancel', '--no-rollback', '--wait', 'slow', fails=True)
    assert run.json('stack', 'show', 'slow')['stack_status_reason'] == 'Stack CREATE cancelled'
    run('stack', 'delete', '--yes', '--wait', 'slow')


def test_a_signal(run, files):
    run('stack', 'create', '-t', files['lamp'], '-e', files['hooked'], 'bell')
    eventually('the breakpoint', lambda: 'pre-create' in run('stack', 'hook', 'poll', 'bell'))
    run('stack', 'resource', 'signal', '--data', '{"unset_hook": "pre-create"}', 'bell', 'number')
    settled(run, 'bell', 'CREATE_COMPLETE')
    assert 'signal is not supported for resource' in run('stack', 'resource', 'signal', 'bell', 'lamp', fails=True)
    run('stack', 'delete', '--yes', '--wait', 'bell')


def test_a_wait_condition(run, files):
    """Its handle has a user of its own, which only Keystone can make."""
    if run.environment.get('OS_AUTH_TYPE') == 'none':
        pytest.skip('needs HEATLITE_TEST_KEYSTONE_URL')
    run('stack', 'create', '--wait', '-t', files['handle'], 'handle')
    run('stack', 'resource', 'signal', '--data', '{"id": "1", "data": "done"}', 'handle', 'handle')
    eventually('the signal', lambda: '"done"' in run('stack', 'resource', 'metadata', 'handle', 'handle'))
    run('stack', 'delete', '--yes', '--wait', 'handle')


def test_what_there_is(run, files):
    assert 'OS::Heat::RandomString' in run('orchestration', 'resource', 'type', 'list')
    assert run.json('orchestration', 'resource', 'type', 'show', 'OS::Heat::RandomString')['attributes']
    assert 'heat_template_version' in run('orchestration', 'resource', 'type', 'show', '--template-type', 'hot',
                                          'OS::Heat::RandomString')
    assert 'heat_template_version.2018-08-31' in run('orchestration', 'template', 'version', 'list')
    assert 'get_attr' in run('orchestration', 'template', 'function', 'list', 'heat_template_version.2018-08-31')
    assert run.json('orchestration', 'template', 'validate', '-t', files['lamp'])['Description'] == 'A lamp'
    assert run.json('orchestration', 'build', 'info')['api'] == {'revision': build.revision()}
    with run.as_admin() as admin:
        assert [each['Status'] for each in admin.json('orchestration', 'service', 'list')] == ['up']


def test_software(run, files):
    made = run.json('software', 'config', 'create', '--config-file', files['script'], '--group', 'script', 'say')
    assert [each['name'] for each in run.json('software', 'config', 'list')] == ['say']
    assert run.json('software', 'config', 'show', made['id'])['config'] == 'echo $x'
    deployed = run.json('software', 'deployment', 'create', '--config', made['id'], '--server',
                        '11111111-1111-4111-8111-111111111111', '--input-value', 'x=1', '--action', 'CREATE',
                        '--signal-transport', 'NO_SIGNAL', 'once')
    assert len(run.json('software', 'deployment', 'list')) == 1
    assert run.json('software', 'deployment', 'show', deployed['id'])['status'] == 'IN_PROGRESS'
    assert run('software', 'deployment', 'metadata', 'show', '11111111-1111-4111-8111-111111111111')
    run('software', 'deployment', 'output', 'show', '--all', deployed['id'])
    run('software', 'deployment', 'delete', deployed['id'])
    assert run.json('software', 'deployment', 'list') == []
    run('software', 'config', 'delete', made['id'])


def test_nothing_was_forgotten(run):
    assert ALL - set(run.ran) == set()
    formatted = {name for name, kind in OURS.items() if issubclass(kind, DisplayCommandBase | DocumentCommand)}
    needs_a_cloud = set() if 'OS_USERNAME' in run.environment else {'stack_template_generate'}
    assert formatted - run.as_json == needs_a_cloud and len(formatted) >= 14
    assert len(run.ran) >= 60
