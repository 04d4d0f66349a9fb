"""Every benchmark runs: a small one says nothing of speed, but that it measures what there is."""

import json
import os
import subprocess
import sys

import pytest

from tests.system.processes import ROOT

SMALL = {
    'sqlite': ['tests.bench', 'sqlite', '--sizes', '5'],
    'scenarios': ['tests.bench', 'sqlite', '--scenarios', '--smaller', '500'],
    'language': ['tests.bench', 'language', '--smaller', '500'],
    'plans': ['tests.bench', 'plans', '--smaller', '500'],
    'api': ['tests.bench.api', '--on', 'sqlite', '--seconds', '0.05'],
    'capacity': ['tests.bench', 'capacity', '--engines', '2', '--resources', '100', '--stacks', '2', '--seconds', '1'],
    'alarms': ['tests.bench.alarms', '--rules', '20', '--seconds', '0.1']}


@pytest.mark.parametrize('name', SMALL)
def test_a_benchmark_measures(name):
    if name == 'alarms' and not os.environ.get('HEATLITE_TEST_MYSQL_URL'):
        pytest.skip('needs MariaDB')
    module, *arguments = SMALL[name]
    ended = subprocess.run([sys.executable, '-W', 'ignore', '-m', module, *arguments, '--json'],
                           cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)
