"""Two releases side by side for a short time; for an hour by `python -m tests.upgrade --minutes 60`."""

import os

import pytest

from tests.system import databases
from tests.upgrade import commits
from tests.upgrade.run import run


@pytest.mark.skipif(not (os.environ.get('HEATLITE_TEST_RABBIT_URL') and databases.FIRST),
                    reason='needs RabbitMQ and a database: tools/services up')
@pytest.mark.skipif(not commits.is_here(commits.FORMER), reason='the former release is not in this clone')
def test_nothing_is_lost_stuck_or_made_twice(tmp_path):
    report = run(1, minutes=1.5, stacks=6, database_url=databases.SERVERS[databases.FIRST],
                 rabbit_url=os.environ['HEATLITE_TEST_RABBIT_URL'], folder=tmp_path)
    print(report.table())
    assert report.is_good, report.table()
    assert report.things > 20
