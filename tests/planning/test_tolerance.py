"""Failures within a tolerance: the others go on, also behind the resource that failed, and after a crash."""

import pytest

from heatlite.planning.states import Action, Status
from tests.planning.drive import Driver

WAVES = {'a': [], 'b': [], 'c': ['a', 'b'], 'd': ['a', 'b'], 'e': ['c', 'd']}


def failing(*names):
    return lambda name, action: name in names


def states(driver):
    return {row.name: (str(row.action), str(row.status)) for row in driver.rows}


@pytest.mark.parametrize('failed, tolerance, status', [
    ('a', 1, Status.COMPLETE), ('ab', 2, Status.COMPLETE), ('ace', 3, Status.COMPLETE), ('a', 0, None), ('ab', 1, None),
    ('ce', 1, None)], ids=['one', 'a-wave', 'one-each', 'none-allowed', 'one-too-many', 'later'])
def test_only_more_failures_than_tolerated_end_the_action(failed, tolerance, status):
    done = Driver(fails=failing(*failed)).traversal(Action.CREATE, WAVES, tolerance=tolerance).run()
    if status is None:
        assert len(done.unwound) == 1
        assert states(done).get('e') != ('CREATE', 'COMPLETE')
    else:
        assert done.finish == (status, f'Stack CREATE completed; failed within the tolerance: {len(failed)}')
        assert states(done) == {
            name: ('CREATE', 'FAILED' if name in failed else 'COMPLETE') for name in WAVES}


def test_nothing_starts_after_the_failure_that_is_one_too_many():
    done = Driver(fails=failing('a', 'b')).traversal(Action.CREATE, WAVES, tolerance=1).run()
    assert {name for _action, name, _row in done.calls} == {'a', 'b'}


@pytest.mark.parametrize('steps', range(1, 24))
def test_what_failed_before_a_crash_counts_and_is_not_begun_again(steps):
    killed = Driver(fails=failing('a', 'd')).traversal(Action.CREATE, WAVES, tolerance=2).run(steps)
    failed = [row.name for row in killed.rows if row.failed]
    before = len(killed.calls)
    killed.crash(Action.CREATE, WAVES, 't1', tolerance=2).run()
    assert not {name for _action, name, _row in killed.calls[before:]} & set(failed)
    assert killed.finish is not None and killed.finish[0] is Status.COMPLETE
    assert states(killed)['e'] == ('CREATE', 'COMPLETE')
    killed.crash(Action.CREATE, WAVES, 't1', tolerance=1).run()
    assert killed.unwound[-1][0].startswith('Resource CREATE failed')


def test_another_request_tries_what_failed_again():
    first = Driver(fails=failing('a')).traversal(Action.CREATE, WAVES, tolerance=1).run()
    again = Driver().traversal(Action.UPDATE, WAVES, first.rows, 't2', tolerance=1, next_row=10).run()
    assert {name for _action, name, _row in again.calls} == {'a'}
    assert again.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')


def test_a_delete_goes_on_within_the_tolerance_and_fails_in_the_end():
    first = Driver().traversal(Action.CREATE, WAVES).run()
    first.fails = failing('d')
    first.crash(Action.DELETE, {}, 't1', tolerance=1).run()
    assert states(first) == {'d': ('DELETE', 'FAILED')}
    assert first.finish[0] is Status.FAILED
