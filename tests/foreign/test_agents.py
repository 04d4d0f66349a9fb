"""os-collect-config, os-refresh-config, os-apply-config and the hooks of heat-agents, as they run inside a server.

They find what to do in the metadata of a server, run it and signal the outcome, with files in a folder of their own.
"""

from __future__ import annotations

import os
import shutil

import pytest

from tests.foreign.conftest import run

SCRIPT = """#!/bin/sh
echo "hello $who"
echo "for $who" > $heat_outputs_path.result
exit $code
"""
# How the metadata is read and how the outcome comes back.
TRANSPORTS = [('POLL_SERVER_CFN', 'CFN_SIGNAL'), ('POLL_SERVER_HEAT', 'HEAT_SIGNAL')]


def template(metadata, signal):
    return {'heat_template_version': '2018-08-31',
            'parameters': {'who': {'type': 'string'}, 'code': {'type': 'string', 'default': '0'}},
            'resources': {
        'server': {'type': 'OS::Heat::DeployedServer', 'properties': {'software_config_transport': metadata}},
        'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {
            'group': 'script', 'inputs': [{'name': 'who'}, {'name': 'code'}], 'outputs': [{'name': 'result'}],
            'config': SCRIPT}},
        'deployment': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
            'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'}, 'signal_transport': signal,
            'input_values': {'who': {'get_param': 'who'}, 'code': {'get_param': 'code'}}}}},
            'outputs': {'agent': {'value': {'get_attr': ['server', 'os_collect_config']}},
                        'result': {'value': {'get_attr': ['deployment', 'result']}},
                        'stdout': {'value': {'get_attr': ['deployment', 'deploy_stdout']}}}}


class Machine:
    """A server with the agents. `folder` has all their files."""

    def __init__(self, folder, venv):
        self._folder, self._bin, elements = folder, venv / 'bin', venv / 'heat-agents'
        for name in ('cache', 'hooks', 'bin', 'run', 'etc'):
            (folder / name).mkdir()
        shutil.copytree(elements / 'heat-config/os-refresh-config', folder / 'refresh')
        for script in (folder / 'refresh').rglob('*-*'):
            script.chmod(0o755)
        shutil.copy(elements / 'heat-config-script/install.d/hook-script.py', folder / 'hooks/script')
        shutil.copy(elements / 'heat-config/bin/heat-config-notify', folder / 'bin/heat-config-notify')
        for program in ('hooks/script', 'bin/heat-config-notify'):
            (folder / program).chmod(0o755)
        # The templates of heat-config, for files in our folder.
        for source, target in (('etc/os-collect-config.conf', 'etc/agent.conf'),
                               ('var/run/heat-config/heat-config', 'run/heat-config')):
            place = folder / 'templates' / str(folder / target).lstrip('/')
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(elements / 'heat-config/os-apply-config' / source, place)

    def configure(self, agent):
        """Writes the first configuration, as user data does. `agent`: the attribute os_collect_config of the server."""
        collector = next(name for name in agent['collectors'] if name != 'local')
        lines = ['[DEFAULT]', f'collectors = {collector}', f'[{collector}]',
                 *(f'{name} = {value}' for name, value in agent[collector].items())]
        (self._folder / 'etc/agent.conf').write_text('\n'.join([*lines, '']))

    def work(self):
        """One round; the configuration of the second one was written by os-apply-config in the first. Its log."""
        folder = self._folder
        return run(self._bin / 'os-collect-config', '--config-file', folder / 'etc/agent.conf', '--one-time', '--force',
                   '--cachedir', folder / 'cache', '--backup-cachedir', folder / 'backup',
                   '--command', f'os-refresh-config --lockfile {folder}/lock', env={
            'PATH': f'{folder}/bin:{self._bin}:{os.environ["PATH"]}', 'HOME': str(folder), 'LC_ALL': 'C',
            'OS_REFRESH_CONFIG_BASE_DIR': str(folder / 'refresh'),
            'OS_CONFIG_APPLIER_TEMPLATES': str(folder / 'templates'),
            'OS_CONFIG_FILES_PATH': str(folder / 'cache/os_config_files.json'),
            'HEAT_CONFIG_HOOKS': str(folder / 'hooks'), 'HEAT_SHELL_CONFIG': str(folder / 'run/heat-config'),
            'HEAT_CONFIG_DEPLOYED': str(folder / 'deployed'), 'HEAT_SCRIPT_WORKING': str(folder / 'scripts'),
            'HEAT_SCRIPT_OUTPUTS': str(folder / 'outputs')}).stderr


def outputs(cloud, member, path):
    found = cloud.ask(member, 'GET', path).json['stack']['outputs']
    return {each['output_key']: each.get('output_value') for each in found}


def begin(cloud, member, machine, name, document, **parameters):
    """Creates the stack and brings the machine up; the path of the stack, whose deployment waits."""
    path = cloud.create(member, name, document, parameters=parameters)
    cloud.resource_complete(member, path, 'server')
    cloud.resource_in_progress(member, path, 'deployment')
    machine.configure(outputs(cloud, member, path)['agent'])
    return path


@pytest.fixture
def machine(venvs, tmp_path):
    return Machine(tmp_path, venvs / 'agents')


@pytest.mark.parametrize('metadata, signal', TRANSPORTS)
def test_a_deployment(cloud, member, machine, metadata, signal):
    path = begin(cloud, member, machine, metadata.replace('_', '-'), template(metadata, signal), who='world')
    log = machine.work()
    assert cloud.finished(member, path) == 'CREATE_COMPLETE', log
    found = outputs(cloud, member, path)
    assert (found['result'], found['stdout']) == ('for world\n', 'hello world\n')

    assert cloud.ask(member, 'PATCH', path, {'parameters': {'who': 'moon'}}).status == 202
    cloud.resource_in_progress(member, path, 'deployment')
    log = machine.work()
    assert cloud.finished(member, path) == 'UPDATE_COMPLETE', log
    assert outputs(cloud, member, path)['stdout'] == 'hello moon\n'

    assert 'already deployed' in machine.work()
    assert cloud.ask(member, 'DELETE', path).status == 204
    assert cloud.finished(member, path) == 'DELETE_COMPLETE'


@pytest.mark.parametrize('metadata, signal', TRANSPORTS)
def test_a_script_that_fails(cloud, member, machine, metadata, signal):
    path = begin(cloud, member, machine, f'fails-{metadata.replace("_", "-")}', template(metadata, signal), who='world',
                 code='3')
    log = machine.work()
    assert cloud.finished(member, path) == 'CREATE_FAILED', log
    assert 'Deployment exited with non-zero status code: 3' in cloud.ask(member, 'GET', path).json['stack'][
        'stack_status_reason']
