"""The failures that others follow from: an action that was tried again is one of them."""

from dataclasses import replace
from datetime import datetime, timedelta

from heatlite.planning.explanation import Happened, first_causes
from tests.steps import is_linear

BEGAN = datetime(2026, 11, 24)


def failed(name, seconds, action='CREATE', number=1):
    return Happened((name,), 'OS::Nova::Server', action, 'FAILED', f'no host for {number}', f'id-{number}',
                    BEGAN + timedelta(seconds=seconds))


def test_the_last_attempt_is_described_and_all_are_counted():
    events = [failed('database', 3, number=1), failed('other', 4), failed('database', 9, number=2),
              failed('database', 77, number=3)]
    [cause, other] = first_causes(events)
    assert (cause.at, cause.physical_id, cause.reason) == (BEGAN + timedelta(seconds=77), 'id-3', 'no host for 3')
    assert (cause.attempts, other.attempts) == (3, 1)


def test_what_fails_again_in_a_rollback_is_no_attempt():
    """An update that fails is rolled back by an update, which may fail for another reason."""
    [cause] = first_causes([failed('database', 3, 'UPDATE'), failed('database', 9, 'UPDATE', number=2)])
    assert (cause.attempts, cause.reason) == (1, 'no host for 1')


def test_another_action_on_the_resource_is_no_attempt():
    """Such as the deletion of a rollback."""
    [cause] = first_causes([failed('database', 3), failed('database', 9, action='DELETE', number=2)])
    assert (cause.action, cause.attempts, cause.physical_id) == ('CREATE', 1, 'id-1')


def test_an_abort_follows_from_the_failure_before_it():
    """So does the failure of a resource from what failed inside it."""
    cause = replace(failed('member', 1), path=('group', 'member'))
    later = [replace(failed('other', 2), reason='CREATE aborted (Task create from ...)'),
             replace(failed('third', 2), reason='Stack CREATE cancelled'), failed('group', 3)]
    assert first_causes([cause, *later]) == [cause]
    assert first_causes(later[:2]) == later[:2]


def test_the_work_is_proportional_to_the_failures():
    def work(count):
        first_causes([replace(failed(f'r{number}', 1), path=(f'g{number}', 'member')) for number in range(count)])
    assert is_linear(work, 400)
