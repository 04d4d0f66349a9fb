"""What a part of a run leaves out, another part executes."""

from __future__ import annotations

import pytest

from tests import shares

FILES = [f'tests/simulation/test_{one}_{other}.py' for one in 'abcdefghij' for other in 'abcdefghij']
NAMES = [
    *(f'{file}::test_{number}' for file in FILES for number in range(3)), 'tests/language/test_quick.py::test_it',
    *(f'{beginning}{one}[{parameter}]' for beginning in shares.SWEEPS + shares.DEPLOYMENTS if '::' in beginning
      for one in 'ab' for parameter in range(7)),
    'tests/plugins/test_changes.py::test_each[a]', 'tests/plugins/test_changes_more.py::test_each[b]']


@pytest.mark.parametrize('count', [1, 2, 3, 4, 7, 30, 42])
def test_all_shares_together_execute_all(count):
    parts = [shares.of(NAMES, share, count) for share in range(1, count + 1)]
    assert set().union(*parts) == set(NAMES)
    assert all('tests/language/test_quick.py::test_it' in part for part in parts)


def test_a_share_executes_a_seventh_of_the_thorough_files_and_one_of_42_of_a_sweep():
    sweep = [f'tests/simulation/test_preview.py::test_an_update[{number}]' for number in range(60)]
    parts = [shares.of([*NAMES, *sweep], share, 42) for share in range(1, 43)]
    for part in parts:
        assert 1 / 14 < sum(name.startswith(tuple(FILES)) for name in part) / len(FILES) / 3 < 1 / 4
    assert sorted(sum(name in part for name in sweep) for part in parts) == [0] * 36 + [10] * 6


def test_each_thorough_file_is_executed_within_seven_days():
    """Whatever the numbers of the commits."""
    for first in range(0, 70, 3):
        executed = set()
        for day in range(first, first + 7):
            share = shares.of_commit(day * day * 7919 % 100_003, day * shares.DAY + 5)
            executed |= shares.of(NAMES, share, shares.SHARES)
        assert {name.partition('::')[0] for name in executed} >= set(FILES)
    assert {shares.of_commit(number, day * shares.DAY) for number in range(6) for day in range(7)} == set(range(1, 43))


def test_tests_of_a_file_are_in_the_same_deployment():
    found = [f'tests/system/test_failover.py::test_{one}[{kind}]' for one in 'abc' for kind in ('x', 'y')]
    for share in range(1, 31):
        assert len({name.rpartition('[')[2] for name in shares.of(found, share, 30)}) <= 1
