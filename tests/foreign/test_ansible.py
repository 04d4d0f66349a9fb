"""The module openstack.cloud.stack of Ansible: the playbook stack.yaml, in the name of an ordinary member."""

import json
import os
from pathlib import Path

import pytest

from tests.foreign.conftest import run

PLAYBOOK = Path(__file__).with_name('stack.yaml')
TASKS = ['create', 'look', 'update', 'an update that is refused', 'delete', 'delete again', 'a stack that fails',
         'delete what failed']
TEMPLATES = {
    'lamp': {'heat_template_version': '2018-08-31',
             'parameters': {'length': {'type': 'number', 'constraints': [{'range': {'max': 100}}]}},
             'resources': {'number': {'type': 'OS::Heat::RandomString',
                                      'properties': {'length': {'get_param': 'length'}}}},
             'outputs': {'number': {'value': {'get_attr': ['number', 'value']}}}},
    'fails': {'heat_template_version': '2018-08-31',
              'resources': {'bad': {'type': 'OS::Heat::TestResource', 'properties': {'fail': True}}}}}


@pytest.fixture(scope='module')
def played(cloud, member, venvs, tmp_path_factory):
    """What the playbook said of each task, in their order: [(name, result)]. It ends at the first that fails."""
    folder = tmp_path_factory.mktemp('ansible')
    for name, template in TEMPLATES.items():
        (folder / f'{name}.yaml').write_text(json.dumps(template))
    (folder / 'play.yaml').write_text(PLAYBOOK.read_text())
    programs = venvs / 'ansible/bin'
    done = run(programs / 'ansible-playbook', 'play.yaml', code=None, cwd=folder, env={
        **member.environment(cloud.region), 'HOME': str(folder), 'PATH': f'{programs}:{os.environ["PATH"]}',
        'ANSIBLE_HOME': str(folder / 'home'), 'ANSIBLE_STDOUT_CALLBACK': 'ansible.posix.json', 'LC_ALL': 'C.UTF-8',
        'ANSIBLE_PYTHON_INTERPRETER': str(programs / 'python'), 'ANSIBLE_LOCALHOST_WARNING': 'false'})
    said = json.loads(done.stdout[done.stdout.index('{'):])
    return [(each['task']['name'], each['hosts']['localhost']) for play in said['plays'] for each in play['tasks']]


@pytest.mark.parametrize('task', TASKS)
def test_the_module(played, task):
    """The task ran, as did what the playbook asserts after it."""
    names = [name for name, _result in played]
    assert task in names, played[-1]
    at = names.index(task)
    if task != 'an update that is refused':
        assert not played[at][1].get('failed'), played[at]
    for name, result in played[at + 1:at + 2]:
        assert name != 'ansible.builtin.assert' or not result.get('failed'), result
