"""Failures within a tolerance: the others go on, also behind the resource that failed, and after a crash."""

import pytest

from heatlite.planning.decide import Verdict
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


MOVES = {'a': Verdict(changed=True, replace='it moves')}


def moving(before, template, wanted=WAVES, fails=failing(), steps=100_000, verdicts=MOVES):
    """An update in which `a` is to be replaced. `before`: the driver of the former request."""
    driver = Driver(fails=fails, verdicts=verdicts)
    driver.physical = dict(before.physical)
    return driver.traversal(Action.UPDATE, wanted, before.rows, template, tolerance=1, next_row=10).run(steps)


def not_made(name, action):
    return (name, action) == ('a', Action.CREATE)


def objects_of_a(driver):
    return sorted(row.id for row in driver.rows if row.name == 'a' and row.id in driver.physical)


@pytest.mark.parametrize('verdicts', [MOVES, {}], ids=['again', 'back'])
def test_what_could_not_be_replaced_stays_until_the_next_update(verdicts):
    first = Driver().traversal(Action.CREATE, WAVES).run()
    failed = moving(first, 't2', fails=not_made)
    assert failed.finish == (Status.COMPLETE, 'Stack UPDATE completed; failed within the tolerance: 1')
    assert objects_of_a(failed) == objects_of_a(first)
    next_one = moving(failed, 't3', verdicts=verdicts)
    assert next_one.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')
    rows = [row.id for row in next_one.rows if row.name == 'a']
    assert len(rows) == 1 and objects_of_a(next_one) == rows
    assert (rows == objects_of_a(first)) is (verdicts == {})


def test_what_cannot_be_replaced_stays_however_often_it_is_tried():
    first = done = Driver().traversal(Action.CREATE, WAVES).run()
    for number in range(2, 5):
        done = moving(done, f't{number}', fails=not_made)
        assert objects_of_a(done) == objects_of_a(first)
        assert len([row for row in done.rows if row.name == 'a']) == 2
    done.fails = failing()
    done.crash(Action.DELETE, {}, 't9').run()
    assert not done.rows and not done.physical


@pytest.mark.parametrize('steps', range(1, 12))
def test_a_replacement_that_failed_before_a_crash_is_not_begun_again(steps):
    first = Driver().traversal(Action.CREATE, WAVES).run()
    killed = moving(first, 't2', fails=not_made, steps=steps)
    killed.crash(Action.UPDATE, WAVES, 't2', tolerance=1, next_row=20).run()
    assert killed.finish == (Status.COMPLETE, 'Stack UPDATE completed; failed within the tolerance: 1')
    assert objects_of_a(killed) == objects_of_a(first)
    failed = [row.id for row in killed.rows if row.name == 'a' and row.failed]
    assert len(failed) == 1 and ('DELETE', 'a', failed[0]) not in killed.calls


def test_a_failed_update_does_not_keep_what_was_replaced_before():
    """The deletion of the replaced row is left over from the update before."""
    first = Driver().traversal(Action.CREATE, WAVES).run()
    left = moving(first, 't2', fails=lambda name, action: (name, action) == ('a', Action.DELETE))
    assert len([row for row in left.rows if row.name == 'a']) == 2
    done = moving(left, 't3', fails=lambda name, action: (name, action) == ('a', Action.UPDATE),
                  verdicts={'a': Verdict(changed=True)})
    assert [row.state for row in done.rows if row.name == 'a'] == [('UPDATE', 'FAILED')]
