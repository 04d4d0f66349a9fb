"""Faults of processes and servers for a short time; an hour of them by `python -m tests.system.chaos --minutes 60`."""

import os

import pytest

from tests.system.chaos import servers
from tests.system.chaos.records import Ledger, reckon
from tests.system.chaos.run import run

SEED = int(os.environ.get('HEATLITE_TEST_CHAOS_SEED', '1'))


@pytest.mark.skipif(not (os.environ.get('HEATLITE_TEST_RABBIT_URL') and servers.are_possible()),
                    reason='needs RabbitMQ and MariaDB: tools/services up')
def test_nothing_is_lost_stuck_or_made_twice(tmp_path):
    report = run(SEED, minutes=0.6, stacks=10, folder=tmp_path)
    print(report.table())
    assert report.is_good, report.table()
    assert report.things > 20


class Owner:
    """Of a stack that cannot be deleted, whose last request wanted one thing."""

    stack_url = 'url'

    class wish:
        @staticmethod
        def notes():
            return ['one']

    def things(self):
        return [{'physical_resource_id': 'a', 'resource_status': 'CREATE_COMPLETE'},
                {'physical_resource_id': 'b', 'resource_status': 'CREATE_FAILED'},
                {'physical_resource_id': 'd', 'resource_status': 'UPDATE_COMPLETE'}]

    def delete(self):
        raise OSError('no answer')


def test_the_reckoning_finds_what_is_wrong(tmp_path):
    (tmp_path / 'ledger').write_text('made a 1 1.0 one\nmade a 2 2.0 one\nmade b 1 1.0 two\nmade c 1 1.0 one\n')
    found = reckon(Ledger(tmp_path / 'ledger'), [], [Owner()], is_stuck=False)
    assert (found.things, found.duplicated, found.orphaned, found.stuck, found.wrong) == (
        3, ['a'], ['c'], ['url: no answer'], [])
    assert ["'b'" in each and "'d'" in each for each in found.lost] == [True, False]
    assert found.lost[1] == "url: has ['?', 'one', 'two'], wished ['one']"
