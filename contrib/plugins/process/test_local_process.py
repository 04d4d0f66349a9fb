"""The type with real processes: on the bench, and in a heatlite that is killed meanwhile."""

import os
import pathlib
import shutil
import signal
import sys
import time
import urllib.request
import uuid

import pytest
from oslo_config import cfg

from heatlite.common import exception
from heatlite.engine.types import plugin_loading, registry
from tests.plugins.bench import Bench
from tests.system import alone
from tests.system.processes import ask, eventually, finished, free_port

TYPE = 'Example::Local::Process'
STUBBORN = ("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); "
            "time.sleep(600)")
MODULE = 'heatlite.engine.plugins.local_process'


class RealTime:
    """The bench's world, with the clock on the wall: processes live by that one."""

    def sleep(self, _seconds):
        time.sleep(0.05)

    def uuid(self):
        return str(uuid.uuid4())


@pytest.fixture
def folder(tmp_path):
    """Where the processes' files are. What a failed test leaves behind is ended."""
    yield tmp_path / 'processes'
    for file in (tmp_path / 'processes').glob('*.pid'):
        end_ours(int(file.read_text()), file.stem)


def end_ours(pid, name):
    try:
        if f'HEATLITE_PROCESS={name}' in pathlib.Path(f'/proc/{pid}/environ').read_text():
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


@pytest.fixture
def plugin(request, tmp_path, folder):
    (tmp_path / 'plugins').mkdir()
    shutil.copy(request.path.parent / 'local_process.py', tmp_path / 'plugins')     # as an operator installs it
    found = plugin_loading.load([str(tmp_path / 'plugins')])
    types = registry.create()
    types.register(TYPE, found.types[TYPE])
    types.register_constraint('local.command', found.constraints['local.command'])
    cfg.CONF.set_override('folder', str(folder), group='local_process')
    cfg.CONF.set_override('commands', [sys.executable, '/bin/sleep', '/bin/false'], group='local_process')
    yield sys.modules[MODULE]
    registry.use(None)
    plugin_loading.package.__path__.remove(str(tmp_path / 'plugins'))
    del sys.modules[MODULE]


def bench(command='/bin/sleep', arguments=('600',), **given):
    return Bench(TYPE, {'command': command, 'arguments': list(arguments), **given}, runtime=RealTime())


def lives(pid):
    """As the kernel sees it; what waits for its parent is dead."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def sleepers(seconds):
    """Numbers of the processes that sleep for so long."""
    wanted, found = f'/bin/sleep\0{seconds}\0'.encode(), []
    for file in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            found += [int(file.parent.name)] if file.read_bytes() == wanted else []
        except OSError:                     # it ends while we look
            continue
    return found


def test_it_runs_and_ends(plugin):
    process = bench(nice=7)
    process.validate()
    made = process.create()
    pid = made.FnGetAtt('pid')
    assert pathlib.Path(f'/proc/{pid}/cmdline').read_bytes() == b'/bin/sleep\x00600\x00'
    assert os.getpriority(os.PRIO_PROCESS, pid) == 7 and os.getsid(pid) != os.getsid(0)
    assert (made.FnGetAtt('state'), made.FnGetAtt('uptime')) == ('running', 0)
    process.run('CHECK')
    process.run('DELETE')
    assert not lives(pid) and not list(pathlib.Path(cfg.CONF.local_process.folder).iterdir())
    process.run('DELETE')


def test_secrets_of_the_engine_are_not_handed_on(plugin, monkeypatch):
    monkeypatch.setenv('OS_PASSWORD', 'secret')
    pid = (process := bench()).create().FnGetAtt('pid')
    assert b'OS_PASSWORD' not in pathlib.Path(f'/proc/{pid}/environ').read_bytes()
    process.run('DELETE')


def test_suspend_and_resume(plugin):
    process = bench()
    made = process.create()
    process.run('SUSPEND')
    assert made.FnGetAtt('state') == 'stopped'
    with pytest.raises(exception.Error, match="expected 'running', got 'stopped'"):
        process.run('CHECK')
    process.run('RESUME')
    assert made.FnGetAtt('state') == 'running'
    process.run('SUSPEND')
    process.run('DELETE')
    assert made.FnGetAtt('state') == 'gone'


def test_updates(plugin):
    process = bench()
    made = process.create()
    pid = made.FnGetAtt('pid')
    process.update({'command': '/bin/sleep', 'arguments': ['600'], 'nice': 3})
    assert (made.FnGetAtt('pid'), os.getpriority(os.PRIO_PROCESS, pid)) == (pid, 3)
    process.update({'command': '/bin/sleep', 'arguments': ['700'], 'nice': 3})
    assert not lives(pid) and made.FnGetAtt('pid') != pid
    assert os.getpriority(os.PRIO_PROCESS, made.FnGetAtt('pid')) == 3
    assert process.update({'command': '/bin/sleep', 'arguments': ['700'], 'nice': 3}) is None
    with pytest.raises(exception.UpdateReplace):
        process.update({'command': sys.executable, 'arguments': ['700']})
    process.run('DELETE')


def test_a_restart_goes_on_after_a_crash(plugin):
    process = bench()
    made = process.create()
    old = made.FnGetAtt('pid')
    restart = {'old': old, 'arguments': ['700'], 'nice': 0, 'until': 0}     # as it was stored
    for _turn in range(2):                  # two engines, one after the other
        progress, done = dict(restart), False
        while not done:
            done = process.fresh('UPDATE').checker('UPDATE')(progress)
            process.runtime.sleep(1)
    new = made.FnGetAtt('pid')
    assert not lives(old) and lives(new)
    assert sleepers(700) == [new]
    process.run('DELETE')


def test_who_does_not_listen_is_killed(plugin):
    process = bench(sys.executable, ['-c', STUBBORN], grace=0.2)
    made = process.create()
    eventually('its first word', lambda: made.FnGetAtt('log_tail') == 'up\n')
    process.run('DELETE')
    assert made.FnGetAtt('pid') is None


@pytest.mark.parametrize('command, arguments, text', [
    ('/bin/false', [], 'The process has ended: it wrote nothing'),
    (sys.executable, ['-c', 'raise SystemExit("no port")'], 'The process has ended: no port'),
])
def test_what_ends_at_once_has_failed(plugin, command, arguments, text):
    process = bench(command, arguments)
    with pytest.raises(exception.Error, match=text):
        process.create()
    process.run('DELETE')


def test_a_program_that_is_not_there(plugin):
    cfg.CONF.set_override('commands', ['/no/such'], group='local_process')
    with pytest.raises(exception.Error, match='unable to stat /no/such'):
        bench('/no/such').create()


def test_becoming_the_program_is_no_end(plugin):
    for number in range(5):                 # the tool has no environment for some microseconds of each start
        daemon = plugin.Daemon(f'runner-{number}')
        daemon.start('/bin/sleep', ['600'], 0)
        while daemon.recorded is None:
            pass
        assert {daemon.state for _ in range(500)} == {'running'}
        daemon.signal('KILL')


def test_the_number_of_another_process_is_not_ours(plugin, folder):
    process = bench()
    made = process.create()
    file = folder / f'{made.resource_id}.pid'
    real = int(file.read_text())
    file.write_text(f'{os.getpid()}\n')
    assert made.FnGetAtt('state') == 'gone' and made.find_existing() is None
    process.fresh('SUSPEND').handler('SUSPEND')()           # and nobody stops this test
    again = bench()
    again.record = process.record
    again.run('CREATE')
    assert made.FnGetAtt('state') == 'running'
    end_ours(real, made.resource_id)
    process.run('DELETE')


@pytest.mark.parametrize('given, text', [
    ({'command': '/bin/rm'}, 'Allowed command .*/bin/rm.* could not be found'),
    ({'nice': -1}, 'out of range'),
    ({'grace': -1}, 'out of range'),
])
def test_what_it_refuses(plugin, given, text):
    with pytest.raises(exception.StackValidationFailed, match=text):
        bench(**given).validate()


# --- in a heatlite of its own ------------------------------------------------------------------------------


@pytest.fixture
def heatlite(request, tmp_path, folder):
    (tmp_path / 'plugins').mkdir()
    shutil.copy(request.path.parent / 'local_process.py', tmp_path / 'plugins')
    options = f'[local_process]\nfolder = {folder}\ncommands = /usr/bin/python3, /bin/sleep\n'
    with alone.running(tmp_path, tmp_path / 'plugins', options) as heatlite:
        yield heatlite


def test_the_template(heatlite, request, tmp_path):
    (tmp_path / 'hello.txt').write_text('hello')
    template = (request.path.parent / 'template.yaml').read_text()
    given = {'folder': str(tmp_path), 'port': free_port()}
    stack = heatlite.create('web', template, **given)
    assert finished(stack) == 'CREATE_COMPLETE'
    found = heatlite.outputs(stack)

    def served():
        try:
            return urllib.request.urlopen(found['url'] + 'hello.txt', timeout=5).read()
        except OSError:
            return None

    assert eventually('an answer', served) == b'hello'
    assert 'GET /hello.txt' in heatlite.outputs(stack)['log']
    assert heatlite.update(stack, template, **given, nice=9) == 'UPDATE_COMPLETE'
    assert os.getpriority(os.PRIO_PROCESS, found['pid']) == 9
    assert heatlite.act(stack, 'suspend') == 'SUSPEND_COMPLETE'
    assert heatlite.act(stack, 'resume') == 'RESUME_COMPLETE'
    assert heatlite.outputs(stack)['pid'] == found['pid'] and served() == b'hello'
    os.kill(found['pid'], signal.SIGKILL)
    eventually('its end', lambda: not lives(found['pid']))
    assert heatlite.act(stack, 'check') == 'CHECK_FAILED'
    heatlite.delete(stack)


def test_it_outlives_its_engine_and_is_not_started_twice(heatlite, folder):
    sleeper = {'type': TYPE, 'properties': {'command': '/bin/sleep', 'arguments': ['4321']}}
    stack = heatlite.create('many', {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': sleeper for number in range(5)}})
    eventually('the first process', lambda: list(folder.glob('*.pid')))
    heatlite.kill()
    heatlite.start()
    assert finished(stack) == 'CREATE_COMPLETE'
    assert len(sleepers(4321)) == 5
    assert ask('GET', f'{stack}/resources/r0')[1]['resource']['attributes']['state'] == 'running'
    heatlite.delete(stack)
    assert not list(folder.iterdir())
