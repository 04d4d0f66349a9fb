"""A worker for the tests of the parent: says what it knows of itself, then does what its arguments say."""

import os
import signal
import sys

from heatlite.cmd.workers import WorkerParameters


def say(*words):
    """One write: several workers share the pipe."""
    os.write(1, (' '.join(str(word) for word in words) + '\n').encode())


worker = WorkerParameters.here()
signal.signal(signal.SIGHUP, lambda number, frame: say(worker.number, 'reload'))
if sys.argv[1] == 'stubborn':
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
say(worker.number, worker.identity, worker.predecessor, os.getpid())
for line in sys.stdin:
    say(worker.number, 'heard', line.strip())
