"""A heatlite-all with plug-ins of an operator: what it has stored outlives its processes."""

import contextlib
import signal

from tests.system.processes import Program, ask, eventually, finished, free_port


class Alone:
    """Runs in `folder`. `options`: what stands in its configuration file, beside the folder of the plug-ins."""

    def __init__(self, folder, plugin_dirs, options=''):
        self.folder = folder
        self.file = folder / 'heatlite.conf'
        self.file.write_text(f'[DEFAULT]\nplugin_dirs = {plugin_dirs}\n[engine]\npoll_interval = 0.1\n{options}')
        self.port = free_port()
        self.url = f'http://127.0.0.1:{self.port}/v1/admin'
        self.program = None

    @property
    def log(self):
        return (self.folder / 'log').read_text()

    def start(self):
        self.program = Program(self.folder / 'log', '--state-dir', self.folder / 'state', '--port', self.port,
                               '--config-file', self.file, module='heatlite.cmd.all_in_one')
        assert self.program.process.stdout.readline(), self.log

    def kill(self):
        """As a power cut: nothing is finished, nobody is told."""
        self.program.stop(signal.SIGKILL)

    def create(self, name, template, **parameters):
        """The stack's URL."""
        status, found = ask('POST', f'{self.url}/stacks', {
            'stack_name': name, 'template': template, 'parameters': parameters})
        assert status == 201, (status, found)
        return f"{self.url}/stacks/{name}/{found['stack']['id']}"

    def update(self, stack_url, template, **parameters):
        """How the update ended."""
        status, found = ask('PUT', stack_url, {'template': template, 'parameters': parameters})
        assert status == 202, (status, found)
        return finished(stack_url)

    def act(self, stack_url, action):
        """How the action - suspend, resume, check - ended."""
        assert ask('POST', f'{stack_url}/actions', {action: None})[0] in (200, 202)
        return finished(stack_url)

    def delete(self, stack_url):
        assert ask('DELETE', stack_url)[0] == 204
        eventually('the end of the stack', lambda: ask('GET', stack_url)[1].get('stack', {}).get(
            'stack_status', 'DELETE_COMPLETE') == 'DELETE_COMPLETE')

    def outputs(self, stack_url):
        return {each['output_key']: each.get('output_value') for each in ask('GET', stack_url)[1]['stack']['outputs']}

    def resource(self, stack_url, name):
        return ask('GET', f'{stack_url}/resources/{name}')[1]['resource']


@contextlib.contextmanager
def running(folder, plugin_dirs, options=''):
    alone = Alone(folder, plugin_dirs, options)
    alone.start()
    try:
        yield alone
    finally:
        alone.program.kill()
