"""The parent of workers: starts, restarts, passes on, ends - with real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARENT = ("import sys; from heatlite.cmd.workers import supervise; "
          "sys.exit(supervise('tests.cmd.steps', [sys.argv[1]], 2, float(sys.argv[2])))")


class Parent:
    """A supervising process; `line()` is the next thing one of its workers said."""

    def __init__(self, manner, patience=20.0):
        self.process = subprocess.Popen([sys.executable, '-c', PARENT, manner, str(patience)], cwd=ROOT, text=True,
                                        stdout=subprocess.PIPE, env={**os.environ, 'PYTHONPATH': str(ROOT)})

    def line(self):
        return self.process.stdout.readline().split()

    def starts(self, count):
        """{number: (identity, predecessor, process id)} of the next workers that report."""
        return {words[0]: (words[1], words[2], int(words[3])) for words in (self.line() for _ in range(count))}

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture
def parent(request):
    made = Parent(*getattr(request, 'param', ('plain',)))
    yield made
    if made.process.poll() is None:
        made.end(signal.SIGTERM)
    made.process.stdout.close()


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_that_dies_is_replaced_by_one_that_knows_whom_it_follows(parent):
    first = parent.starts(2)
    assert set(first) == {'0', '1'}
    assert len({identity for identity, _, _ in first.values()}) == 2
    os.kill(first['1'][2], signal.SIGKILL)
    assert parent.line() == ['0', 'heard', first['1'][0]]       # the other one is told at once
    [(number, (identity, predecessor, _))] = parent.starts(1).items()
    assert (number, predecessor) == ('1', first['1'][0])
    assert identity != predecessor


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_when_the_parent_is_told_to_stop_all_stop(parent, number):
    processes = [process for _, _, process in parent.starts(2).values()]
    assert parent.end(number) == 0
    assert not [process for process in processes if alive(process)]


@pytest.mark.parametrize('parent', [('stubborn', 0.2)], indirect=True)
def test_who_does_not_stop_is_killed(parent):
    processes = [process for _, _, process in parent.starts(2).values()]
    assert parent.end() == 0
    assert not [process for process in processes if alive(process)]


def test_reload_reaches_every_worker(parent):
    parent.starts(2)
    parent.process.send_signal(signal.SIGHUP)
    assert sorted([parent.line(), parent.line()]) == [['0', 'reload'], ['1', 'reload']]
