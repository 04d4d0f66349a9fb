"""Example::Local::Process: a process on the engine's machine. A plug-in in one file, to be put into `plugin_dirs`.

start-stop-daemon, which every Debian has, starts the process, keeps its number in a file, and sends the signals.
"""

import os
import pathlib
import shutil
import subprocess
import time

from heat.common import exception
from heat.common.i18n import _
from heat.engine import attributes, constraints, properties, resource
from oslo_config import cfg

GROUP = 'local_process'
OPTIONS = [
    cfg.ListOpt('commands', default=[], help='Programs that stacks may run, as absolute paths.'),
    cfg.StrOpt('folder', default='/var/lib/heatlite/processes', help='Where process numbers and logs are kept.'),
]
cfg.CONF.register_opts(OPTIONS, group=GROUP)

SEARCHED = '/usr/sbin:/sbin:/usr/bin:/bin'
TOOL = shutil.which('start-stop-daemon', path=SEARCHED)
MARK = 'HEATLITE_PROCESS'                   # in the environment of ours: a number may be another process's by now
SETTLED = 0.5                               # seconds after which a start counts as successful
EXCHANGE = 1.0                              # seconds that a process may take to become another program
TAIL = 4096                                 # bytes of the log that are shown
GONE, STOPPED, RUNNING = 'gone', 'stopped', 'running'


def _steps_to(nice):
    """The program that starts it adds to the niceness of the engine, and only root may take from it."""
    steps = nice - os.getpriority(os.PRIO_PROCESS, 0)
    return steps if os.geteuid() == 0 else max(steps, 0)


class Daemon:
    """One process by its `name`, as the files and the kernel know it. Nothing is remembered here."""

    def __init__(self, name):
        self.name = name
        folder = pathlib.Path(cfg.CONF[GROUP].folder)
        self._pid_file, self._log = folder / f'{name}.pid', folder / f'{name}.log'

    def start(self, command, arguments, nice):
        """Returns before the number is in the file. Raises Error with the tool's words."""
        self._pid_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.state == GONE:              # an old number may be another process's by now
            self._pid_file.unlink(missing_ok=True)
        self._tool('--start', '--background', '--make-pidfile', '--pidfile', self._pid_file, '--output', self._log,
                   '--chdir', '/', '--nicelevel', _steps_to(nice), '--exec', command, '--', *arguments)

    def signal(self, *names):
        for name in names:
            if self.state != GONE:
                self._tool('--stop', '--oknodo', '--pidfile', self._pid_file, '--signal', name)

    def renice(self, nice):
        if self.state != GONE:
            os.setpriority(os.PRIO_PROCESS, self.recorded, nice)

    def forget(self):
        for file in (self._pid_file, self._log):
            file.unlink(missing_ok=True)

    @property
    def recorded(self):
        """The number in the file, of a process that may be gone; None when there is none yet."""
        try:
            return int(self._pid_file.read_text())
        except (OSError, ValueError):
            return None

    @property
    def state(self):
        """GONE, STOPPED or RUNNING. What ended and was not yet collected by its parent is gone."""
        pid = self.recorded
        try:
            environment = _environment(pid)
            letter = _statistics(pid)[0]
        except OSError:
            return GONE
        if f'{MARK}={self.name}'.encode() not in environment:
            return GONE
        return {'T': STOPPED, 'Z': GONE, 'X': GONE}.get(letter, RUNNING)

    @property
    def uptime(self):
        """Seconds since its start; None when it is gone."""
        try:
            started = int(_statistics(self.recorded)[19]) / os.sysconf('SC_CLK_TCK')
        except OSError:
            return None
        return float(pathlib.Path('/proc/uptime').read_text().split()[0]) - started

    @property
    def log_tail(self):
        try:
            with self._log.open('rb') as log:
                log.seek(max(0, os.fstat(log.fileno()).st_size - TAIL))
                return log.read().decode(errors='replace')
        except OSError:
            return ''

    def _tool(self, *arguments):
        """With an environment of its own: the engine's may hold passwords."""
        done = subprocess.run([TOOL, *map(str, arguments)], env={'PATH': SEARCHED, MARK: self.name},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise exception.Error(done.stderr.strip() or _('start-stop-daemon failed (%s)') % done.returncode)


def _environment(pid):
    """What it was started with, as a list of bytes. None is there for a moment while the tool becomes the program."""
    until = time.monotonic() + EXCHANGE
    while not (found := pathlib.Path(f'/proc/{pid}/environ').read_bytes()):
        if _statistics(pid)[0] in 'ZX' or time.monotonic() > until:
            break
        time.sleep(0.01)
    return found.split(b'\0')


def _statistics(pid):
    """/proc/<pid>/stat from the third field, the state, on: the name before it may hold anything."""
    return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()


class Process(resource.Resource):
    """A process on the engine's machine that runs until the stack is deleted, suspended or changed."""

    PROPERTIES = (COMMAND, ARGUMENTS, NICE, GRACE) = ('command', 'arguments', 'nice', 'grace')
    ATTRIBUTES = (PID, STATE, UPTIME, LOG_TAIL) = ('pid', 'state', 'uptime', 'log_tail')
    physical_resource_name_limit = 200      # it becomes a file name
    requires_deferred_auth = False          # it calls no service of the cloud, so its stack needs no trust

    properties_schema = {
        COMMAND: properties.Schema(
            properties.Schema.STRING, _('Absolute path of a program that the operator has allowed.'), required=True,
            constraints=[constraints.CustomConstraint('local.command')]),
        ARGUMENTS: properties.Schema(
            properties.Schema.LIST, _('What it is called with. Others restart it.'), default=[], update_allowed=True,
            schema=properties.Schema(properties.Schema.STRING)),
        NICE: properties.Schema(
            properties.Schema.INTEGER, _('How much it gives way to others. Changes while it runs.'), default=0,
            update_allowed=True, constraints=[constraints.Range(min=0, max=19)]),
        GRACE: properties.Schema(
            properties.Schema.NUMBER, _('Seconds it has to end by itself before it is killed.'), default=10,
            update_allowed=True, constraints=[constraints.Range(min=0)]),
    }
    attributes_schema = {
        PID: attributes.Schema(_('Number of the process; none when it is gone.'), type=attributes.Schema.INTEGER,
                               cache_mode=attributes.Schema.CACHE_NONE),
        STATE: attributes.Schema(_('running, stopped or gone.'), type=attributes.Schema.STRING,
                                 cache_mode=attributes.Schema.CACHE_NONE),
        UPTIME: attributes.Schema(_('Seconds since it was started.'), type=attributes.Schema.INTEGER,
                                  cache_mode=attributes.Schema.CACHE_NONE),
        LOG_TAIL: attributes.Schema(_('The end of what it has written.'), type=attributes.Schema.STRING,
                                    cache_mode=attributes.Schema.CACHE_NONE),
    }

    def handle_create(self):
        self._daemon.start(*(self.properties[name] for name in (self.COMMAND, self.ARGUMENTS, self.NICE)))
        self.resource_id_set(self._daemon.name)

    def find_existing(self):
        """After a crash: its name when it was started, None when it was not."""
        return self._daemon.name if self._daemon.state != GONE else None

    def check_create_complete(self, _nothing=None):
        return self._has_settled()

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        if self.ARGUMENTS in prop_diff:
            after = json_snippet.properties(self.properties_schema, self.context)
            return {'old': self._daemon.recorded, 'arguments': after[self.ARGUMENTS], 'nice': after[self.NICE],
                    **self._end()}
        if self.NICE in prop_diff:
            self._daemon.renice(prop_diff[self.NICE])
        return None

    def check_update_complete(self, restart):
        if restart is None:
            return True
        if self._daemon.recorded in (None, restart['old']) and not restart.get('started'):
            if self._has_ended(restart):
                self._daemon.start(self.properties[self.COMMAND], restart['arguments'], restart['nice'])
                restart['started'] = True   # lost in a crash; by the time somebody goes on the number is in the file
            return False
        return self._has_settled(before=restart['old'])

    def handle_suspend(self):
        self._daemon.signal('STOP')

    def check_suspend_complete(self, _nothing=None):
        return self._alive() == STOPPED

    def handle_resume(self):
        self._daemon.signal('CONT')

    def check_resume_complete(self, _nothing=None):
        return self._alive() == RUNNING

    def handle_delete(self):
        return self._end() if self.resource_id is not None else None

    def check_delete_complete(self, end):
        if end is None:
            return True
        if not self._has_ended(end):
            return False
        self._daemon.forget()
        return True

    def handle_check(self):
        self._verify_check_conditions([{'attr': self.STATE, 'expected': RUNNING, 'current': self._daemon.state}])

    def needs_replace_failed(self):
        return self._daemon.state == GONE

    def _resolve_attribute(self, name):
        daemon, there = self._daemon, self._daemon.state != GONE
        match name:
            case self.PID:
                return daemon.recorded if there else None
            case self.STATE:
                return daemon.state
            case self.UPTIME:
                return int(daemon.uptime) if there else None
            case self.LOG_TAIL:
                return daemon.log_tail

    @property
    def _daemon(self):
        return Daemon(self.resource_id or self.physical_resource_name())

    def _alive(self):
        """Its state. Raises Error when it has ended by itself, with its last words."""
        daemon = self._daemon
        if daemon.state == GONE:
            raise exception.Error(_('The process has ended: %s') % (daemon.log_tail or _('it wrote nothing')))
        return daemon.state

    def _has_settled(self, before=None):
        """Whether it lives longer than a program that cannot start. `before`: the number that was in the file."""
        if self._daemon.recorded in (None, before):
            return False                    # the tool has not written the new one yet
        self._alive()
        return self._daemon.uptime >= SETTLED

    def _end(self):
        """Asks the process to end; what to wait for."""
        self._daemon.signal('TERM', 'CONT')     # a stopped one hears only when it goes on
        return {'until': time.time() + self.properties[self.GRACE]}

    def _has_ended(self, end):
        if self._daemon.state != GONE and time.time() >= end['until']:
            self._daemon.signal('KILL')
        return self._daemon.state == GONE


class Command(constraints.BaseCustomConstraint):
    """A program that the operator has allowed."""

    expected_exceptions = (exception.EntityNotFound,)

    def validate_with_client(self, _clients, path):
        if path not in cfg.CONF[GROUP].commands:
            raise exception.EntityNotFound(entity='Allowed command', name=path)


def constraint_mapping():
    return {'local.command': Command}


def available_resource_mapping():
    return {'Example::Local::Process': Process} if TOOL else {}
