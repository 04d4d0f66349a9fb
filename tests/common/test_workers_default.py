"""The default number of engine processes is that of the CPUs that the process may use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.architecture.source import ROOT

READ = """
import os, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(sys.argv[1])])
from heatlite.common import options
print(*(opt.default for opt in options.SERVICE if opt.dest == 'num_engine_workers'))
"""


@pytest.mark.parametrize('count', range(1, min(2, len(os.sched_getaffinity(0))) + 1))
def test_one_engine_process_for_each_usable_cpu(count):
    command = [sys.executable, '-c', READ, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(count)]
