"""Code that calls itself for ever gets a RecursionError, whatever it passes through; the process goes on."""

import subprocess
import sys

import pytest

PROGRAM = '''
import copy, functools, json, re, sys
import eventlet
from heatlite.common import template_format

class Loop:
    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __call__(self):
        return Loop()()

    def __repr__(self):
        return '%r' % Loop()

    def __lt__(self, other):
        return sorted([Loop(), Loop()])

    def __iter__(self):
        return iter(list(Loop()))

def replaced(found):
    return re.sub('a', replaced, 'a')

def mapped(value):
    return list(map(mapped, [value]))

@functools.lru_cache
def cached(number):
    return cached(number + 1)

def encoded(value):
    return json.dumps(object(), default=encoded)

def run():
    try:
        {call}
    except RecursionError:
        print('refused at', sys.getrecursionlimit())

eventlet.spawn(run).wait()
'''


@pytest.mark.parametrize('call', [
    'Loop().a', 'Loop()()', 'repr(Loop())', 'sorted([Loop(), Loop()])', 'list(Loop())', 'replaced(None)', 'mapped(1)',
    'cached(0)', 'encoded(1)', 'copy.deepcopy(functools.reduce(lambda inner, _number: [inner], range(40_000), 1))'])
def test_endless_recursion_does_not_end_the_process(call):
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', PROGRAM.replace('{call}', call)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, 'refused at 30000\n'), done.stderr[-500:]


def test_the_limit_follows_a_stack_that_may_not_grow():
    """A hard limit of 8 MiB: code may call itself less deeply, and the process still goes on."""
    program = 'import resource; resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))\n' + PROGRAM
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', program.replace('{call}', 'Loop().a')],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, 'refused at 2396\n'), done.stderr[-500:]
