"""A thread on which all of a process hangs ends it by an error; any other thread ends alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = '''
from heatlite.common import runtime
runtime.patch()
from heatlite.common.green_threads import GreenRuntime

def fail():
    raise ValueError('of its own')

world = GreenRuntime()
%s
world.sleep(0.2)
print('goes on')
'''


@pytest.mark.parametrize('spawn, code, output', [
    ("world.spawn_essential('The journal', fail)", 70, ''),
    ("world.spawn_essential('The journal', lambda: world.sleep(60)).kill()", 0, 'goes on\n'),
    ('world.spawn(fail)', 0, 'goes on\n')])
def test_the_process_ends_with_it(spawn, code, output):
    ended = subprocess.run([sys.executable, '-c', PROGRAM % spawn], capture_output=True, text=True, timeout=60,
                           check=False)
    assert (ended.returncode, ended.stdout) == (code, output), ended.stderr
    assert ('The journal has failed; this process ends' in ended.stderr) == bool(code)
    assert ('of its own' in ended.stderr) == ('fail' in spawn)


SIBLINGS = '''
import os
from heatlite.common import runtime
runtime.patch()
from heatlite.cmd import parts
from heatlite.cmd.workers import WorkerParameters
from heatlite.common.green_threads import GreenRuntime

reader, writer = os.pipe()
os.dup2(reader, 0)
died, world = [], GreenRuntime()

def release(identity, stack_id):
    died.append((identity, stack_id))
    raise ValueError('of its own')

parts.watch_parent(world, WorkerParameters(0, 'me', None, True, None), release)
os.write(writer, b'e1 s1\\ne2\\n')
world.sleep(0.2)
print(died)
'''


def test_a_sibling_that_cannot_be_released_keeps_no_other_back():
    ended = subprocess.run([sys.executable, '-c', SIBLINGS], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, "[('e1', 's1'), ('e2', None)]\n"), ended.stderr
