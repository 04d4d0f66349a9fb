"""Faults of processes and servers for a short time; an hour of them by `python -m tests.system.chaos --minutes 60`."""

import os

import pytest

from tests.system.chaos import servers
from tests.system.chaos.run import run

SEED = int(os.environ.get('HEATLITE_TEST_CHAOS_SEED', '1'))


@pytest.mark.skipif(not (os.environ.get('HEATLITE_TEST_RABBIT_URL') and servers.are_possible()),
                    reason='needs RabbitMQ and MariaDB: tools/services up')
def test_nothing_is_lost_stuck_or_made_twice(tmp_path):
    report = run(SEED, minutes=0.6, stacks=10, folder=tmp_path)
    print(report.table())
    assert report.is_good, report.table()
    assert report.things > 20
