"""A program of ours that counts, at each SIGWINCH, the objects that only the garbage collector could free since the one
before: `python -m tests.system.collecting MODULE ARGUMENTS`. It writes "collected N" to its log."""

import gc
import importlib
import signal
import sys

COUNT = signal.SIGWINCH


def count(_number, _frame):
    print('collected', gc.collect(), file=sys.stderr, flush=True)
    gc.disable()                        # until the next one


if __name__ == '__main__':
    signal.signal(COUNT, count)
    sys.exit(importlib.import_module(sys.argv[1]).main(sys.argv[2:]))
