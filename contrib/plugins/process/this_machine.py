"""For the conformance kit: a folder of its own for the processes, and what runs of it. Nothing is simulated."""

import contextlib
import os
import pathlib
import signal
import tempfile
import time

from oslo_config import cfg


class Machine:
    def __init__(self, folder):
        self._folder = folder

    def things(self):
        """(name, number) of each process that carries a name of this folder and lives."""
        found = []
        for entry in pathlib.Path('/proc').glob('[0-9]*'):
            try:
                environment = (entry / 'environ').read_bytes().split(b'\0')
            except OSError:                 # it has just ended, or is somebody else's
                continue
            found += [(part.decode().partition('=')[2], int(entry.name)) for part in environment
                      if part.startswith(b'HEATLITE_PROCESS=kit-')]
        return found

    def advance(self, seconds):
        time.sleep(min(seconds, 0.05))      # processes live by the clock on the wall


@contextlib.contextmanager
def running():
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(pathlib.Path(folder))
        cfg.CONF.set_override('folder', folder, group='local_process')
        cfg.CONF.set_override('commands', ['/bin/sleep', '/usr/bin/tail'], group='local_process')
        try:
            yield machine
        finally:
            for _name, pid in machine.things():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
