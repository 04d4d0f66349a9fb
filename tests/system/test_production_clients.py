"""Imports, templates of projects, notes of waits and updates of nothing on the production profile, by real clients.

Each engine is a process of its own, and the requests come from `openstack` in the names of a member and a reader of one
project, and of a member of another.
"""

import pytest

from tests.system import openstack_shell, production
from tests.system.processes import eventually

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

STORED = """
heat_template_version: 2018-08-31
resources:
  word: {type: OS::Heat::RandomString}
  config: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: echo}}
"""
WAITING = """
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, count: 1, timeout: 600}}
"""
IMPORTED = """
heat_template_version: 2018-08-31
resources: {config: {type: OS::Heat::SoftwareConfig, properties: {config: echo, group: script}}}
"""
REFUSED = 'You are not authorized to use'
UNKNOWN = 'could not be found'


class Command:
    """`openstack` in the name of one person."""

    def __init__(self, cloud, name):
        self._shell = openstack_shell.Shell(cloud.people[name].environment(cloud.region))
        self.close = self._shell.close

    def __call__(self, *words, fails=False):
        """What is printed; of a command that fails, what is said about it, too."""
        code, said, complained = self._shell.run([str(word) for word in words])
        assert bool(code) is fails, f'{words}: {complained}{said}'
        return complained + said if fails else said

    def json(self, *words):
        return openstack_shell.document(self(*words, '-f', 'json'))


@pytest.fixture(scope='module')
def cloud(tmp_path_factory):
    with production.Production(tmp_path_factory.mktemp('lately')) as cloud:
        yield cloud


@pytest.fixture(scope='module')
def commands(cloud):
    """Name of a person -> the command."""
    found = {name: Command(cloud, name) for name in ('alpha', 'alpha_reader', 'beta')}
    yield found
    for each in found.values():
        each.close()


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path
    return write


@pytest.mark.service
def test_an_update_of_nothing(cloud, commands, written):
    member, template = commands['alpha'], written('nothing.yaml', STORED)
    made = member.json('stack', 'create', '--wait', '-t', template, 'nothing')
    path = f"/stacks/nothing/{made['id']}"
    before = member.json('stack', 'event', 'list', 'nothing')
    for number in range(1, 4):
        after = member.json('stack', 'update', '--wait', '-t', template, 'nothing')
        assert (after['id'], after['stack_status']) == (made['id'], 'UPDATE_COMPLETE')
        events = member.json('stack', 'event', 'list', 'nothing')[len(before):]
        assert [each['resource_status'] for each in events] == ['UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE'] * number
    shown = cloud.ask(cloud.people['alpha_reader'], 'GET', path).json['stack']
    assert shown['updated_time'] > shown['creation_time']
    assert REFUSED in commands['alpha_reader']('stack', 'update', '-t', template, 'nothing', fails=True)
    assert UNKNOWN in commands['beta']('stack', 'update', '-t', template, 'nothing', fails=True)
    member('stack', 'delete', '--yes', '--wait', 'nothing')


@pytest.mark.service
def test_an_update_of_nothing_after_an_engine_was_killed(cloud, commands, written):
    member, template = commands['alpha'], written('killed.yaml', STORED)
    member('stack', 'create', '--wait', '-t', template, 'killed')
    for engine in list(cloud.engines):
        cloud.start_engine().said('takes requests')
        engine.kill()
        cloud.engines.remove(engine)
        after = member.json('stack', 'update', '--wait', '-t', template, 'killed')
        assert after['stack_status'] == 'UPDATE_COMPLETE'
    member('stack', 'delete', '--yes', '--wait', 'killed')


@pytest.mark.service
def test_an_import(cloud, commands, written):
    member, template = commands['alpha'], written('imported.yaml', IMPORTED)
    config = member.json('software', 'config', 'create', '--config-file', written('script', 'echo'),
                         '--group', 'script', 'mine')['id']

    def wanted(name, *words, fails=False):
        return commands[name]('stack', 'import', '-t', template, '--object', f'config={config}', *words, 'imported',
                              fails=fails)

    assert REFUSED in wanted('alpha_reader', fails=True)
    assert 'there is no object with the id' in wanted('beta', fails=True)
    assert '1 to import' in wanted('alpha', '--dry-run')
    wanted('alpha')
    member('stack', 'wait', '--quiet', 'imported')
    shown = member.json('stack', 'resource', 'show', 'imported', 'config')
    assert (shown['physical_resource_id'], shown['resource_status']) == (config, 'ADOPT_COMPLETE')
    assert member.json('stack', 'update', '--wait', '--existing', 'imported')['stack_status'] == 'UPDATE_COMPLETE'
    assert member.json('software', 'config', 'show', config)['id'] == config
    assert member.json('stack', 'drift', 'imported') == []
    member('stack', 'delete', '--yes', '--wait', 'imported')
    assert 'not found' in member('software', 'config', 'show', config, fails=True)


@pytest.mark.service
def test_a_refactor(cloud, commands, written):
    member, template = commands['alpha'], written('whole.yaml', STORED)
    member('stack', 'create', '--wait', '-t', template, 'whole')

    def ids(name):
        return {each['resource_name']: each['physical_resource_id'] for each in member.json(
            'stack', 'resource', 'list', name)}

    before = ids('whole')
    written('rest.yaml', IMPORTED)
    written('part.yaml', 'heat_template_version: 2018-08-31\nresources: {secret: {type: OS::Heat::RandomString}}\n')
    split = written('split.yaml', 'stacks:\n- {stack: whole, template: rest.yaml}\n'
                    '- {stack: part, new: true, template: part.yaml}\nmoves: [{from: whole/word, to: part/secret}]\n')
    assert REFUSED in commands['alpha_reader']('stack', 'refactor', split, fails=True)
    assert UNKNOWN in commands['beta']('stack', 'refactor', split, fails=True)
    assert 'whole/word -> part/secret' in member('stack', 'refactor', '--dry-run', split)
    engine = cloud.engines[0]                       # another one does it
    cloud.start_engine().said('takes requests')
    engine.kill()
    cloud.engines.remove(engine)
    member('stack', 'refactor', split)
    assert ids('whole') == {'config': before['config']} and ids('part') == {'secret': before['word']}
    renamed = written('renamed.yaml', 'stacks: [{stack: part, existing: true, new_name: words}]\n')
    member('stack', 'refactor', renamed)
    assert member.json('stack', 'show', 'words')['stack_status'] == 'UPDATE_COMPLETE'
    merged = written('merged.yaml', 'stacks:\n- {stack: whole, template: whole.yaml}\n'
                     '- {stack: words, template: none.yaml}\nmoves: [{from: words/secret, to: whole/word}]\n')
    written('none.yaml', 'heat_template_version: 2018-08-31\n')
    member('stack', 'refactor', merged)
    assert ids('whole') == before and ids('words') == {}
    after = member.json('stack', 'update', '--wait', '-t', template, 'whole')
    assert after['stack_status'] == 'UPDATE_COMPLETE' and ids('whole') == before
    for name in ('whole', 'words'):
        member('stack', 'delete', '--yes', '--wait', name)


@pytest.mark.service
def test_a_template_of_a_project(commands, tmp_path):
    files = tmp_path / 'project.yaml', tmp_path / 'environment.yaml'
    assert commands['alpha'].json('stack', 'template', 'generate', *files) == []
    assert files[0].read_text().startswith('heat_template_version')
    refused = commands['alpha_reader']('stack', 'template', 'generate', tmp_path / 'a', tmp_path / 'b', fails=True)
    assert REFUSED in refused and not (tmp_path / 'a').exists()


@pytest.mark.service
def test_the_explanation_of_a_wait_passes_to_another_engine(cloud, commands, written):
    member = commands['alpha']
    member('stack', 'create', '-t', written('waiting.yaml', WAITING), 'waiting')
    eventually('the wait', lambda: 'wait (OS::Heat::WaitCondition)' in member('stack', 'explain', 'waiting'))
    for engine in list(cloud.engines):
        cloud.start_engine().said('takes requests')
        engine.kill()
        cloud.engines.remove(engine)
    assert 'wait (OS::Heat::WaitCondition)' in commands['alpha_reader']('stack', 'explain', '--resource', 'wait',
                                                                        'waiting')
    member('stack', 'resource', 'signal', '--data', '{"id": "1", "data": "done"}', 'waiting', 'handle')
    member('stack', 'wait', '--quiet', 'waiting')
    assert member.json('stack', 'show', 'waiting')['stack_status'] == 'CREATE_COMPLETE'
    assert UNKNOWN in commands['beta']('stack', 'explain', 'waiting', fails=True)
    member('stack', 'delete', '--yes', '--wait', 'waiting')
