"""An operator's plug-ins in a real process: read again at SIGHUP, and one that hangs."""

import signal

import pytest

from heatlite.cmd import manage
from tests.system.processes import Program, ask, eventually, finished, free_port

LAMP = '''
import os
from heat.engine import attributes, properties, resource

class Lamp(resource.Resource):
    properties_schema = {'switch': properties.Schema(properties.Schema.STRING)}
    attributes_schema = {'color': attributes.Schema('Of the light.')}

    def handle_create(self):
        self.resource_id_set('COLOR')

    def check_create_complete(self, _data):
        return os.path.exists(self.properties['switch'])

    def _resolve_attribute(self, name):
        return f'{self.resource_id}, told by COLOR'

def resource_mapping():
    return {'Acme::Lamp': Lamp}
'''
HANGING = '''
import time
from heat.engine import resource

class Hanging(resource.Resource):
    def handle_create(self):
        while True:
            time.sleep(3600)

def resource_mapping():
    return {'Acme::Hanging': Hanging}
'''


@pytest.fixture
def plugins(tmp_path):
    folder = tmp_path / 'plugins'
    folder.mkdir()
    return folder


@pytest.fixture
def service(tmp_path, plugins):
    """heatlite-all with that folder of plug-ins: (program, URL)."""
    (plugins / 'lamp.py').write_text(LAMP.replace('COLOR', 'red'))
    (plugins / 'hanging.py').write_text(HANGING)
    options = tmp_path / 'heatlite.conf'
    options.write_text(f'[DEFAULT]\nplugin_dirs = {plugins}\nerror_wait_time = 1\n')
    program = Program(tmp_path / 'log', '--config-file', options, '--state-dir', tmp_path / 'state', '--port', '0',
                      module='heatlite.cmd.all_in_one')
    try:
        said = program.process.stdout.readline().split()
        assert said[:-1] == ['heatlite', 'listens', 'on'], program.log.read_text()
        yield program, f'{said[-1]}/v1/admin'
    finally:
        program.kill()


def create(url, name, kind, **properties):
    """The stack's URL."""
    status, made = ask('POST', f'{url}/stacks', {'stack_name': name, 'template': {
        'heat_template_version': '2018-08-31',
        'resources': {'lamp': {'type': kind, 'properties': properties}}}})
    assert status == 201, made
    return f"{url}/stacks/{name}/{made['stack']['id']}"


def attribute(stack):
    """As it was stored at the end of the action; `resource show` asks the version that is there now."""
    lamp, = ask('GET', f'{stack}/resources?with_detail=true')[1]['resources']
    return lamp['attributes'].get('color')


def test_new_stacks_use_the_new_version_and_running_ones_the_old(service, plugins, tmp_path):
    program, url = service
    switch = tmp_path / 'switch'
    running = create(url, 'running', 'Acme::Lamp', switch=str(switch))
    eventually('the first lamp', lambda: ask('GET', f'{running}/resources/lamp')[1]['resource'].get(
        'physical_resource_id'))
    (plugins / 'lamp.py').write_text(LAMP.replace('COLOR', 'sky'))
    program.process.send_signal(signal.SIGHUP)
    program.said('The plug-ins were read again')
    switch.touch()
    assert finished(running) == 'CREATE_COMPLETE'
    assert attribute(running) == 'red, told by red'
    fresh = create(url, 'fresh', 'Acme::Lamp', switch=str(switch))
    assert finished(fresh) == 'CREATE_COMPLETE'
    assert attribute(fresh) == 'sky, told by sky'

    (plugins / 'lamp.py').write_text('def broken(:')
    program.process.send_signal(signal.SIGHUP)
    line, = program.said('was left out')
    assert 'lamp.py' in line and 'SyntaxError' in line
    kept = create(url, 'kept', 'Acme::Lamp', switch=str(switch))
    assert finished(kept) == 'CREATE_COMPLETE'
    assert attribute(kept) == 'sky, told by sky'
    assert 'Traceback' not in program.log.read_text()


def test_a_type_that_hangs_holds_up_its_own_stack_only(service, tmp_path):
    _program, url = service
    switch = tmp_path / 'switch'
    switch.touch()
    hanging = create(url, 'hanging', 'Acme::Hanging')
    other = create(url, 'other', 'Acme::Lamp', switch=str(switch))
    assert finished(other) == 'CREATE_COMPLETE'
    assert ask('GET', hanging)[1]['stack']['stack_status'] == 'CREATE_IN_PROGRESS'
    assert ask('DELETE', hanging)[0] == 204
    eventually('the deletion', lambda: ask('GET', hanging)[0] == 404 or ask(
        'GET', hanging)[1]['stack']['stack_status'] == 'DELETE_COMPLETE')


def test_the_parent_of_workers_passes_it_on(tmp_path, plugins):
    (plugins / 'lamp.py').write_text(LAMP)
    options = tmp_path / 'heatlite.conf'
    options.write_text(f"""[DEFAULT]
plugin_dirs = {plugins}
transport_url = rabbit://guest:guest@127.0.0.1:{free_port()}/
auth_encryption_key = 0123456789abcdef0123456789abcdef
[database]
connection = sqlite:///{tmp_path}/heatlite.sqlite
""")
    assert manage.main(['--config-file', str(options), 'db_sync']) == 0
    program = Program(tmp_path / 'log', '--config-file', options, '--workers', '2', module='heatlite.cmd.engine')
    try:
        eventually('two engines', lambda: len(program.said('is up (process')) == 2)
        program.process.send_signal(signal.SIGHUP)
        eventually('both to read again', lambda: len(program.said('The plug-ins were read again')) == 2)
    finally:
        assert program.stop() == 0
        program.kill()
