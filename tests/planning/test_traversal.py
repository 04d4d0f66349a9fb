"""The sequences of docs/spec/engine.rst, "Sequences of events", at the level of planning; and what always holds."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heatlite.planning.commands import Leave, Outcome, TimedOut
from heatlite.planning.plan import EVERYTHING, Permissions
from heatlite.planning.protection import Denial, Guard, Protection
from heatlite.planning.states import Action, Status
from tests.planning.drive import Driver, Verdict

CHAIN = {'a': [], 'b': ['a']}


def created(wanted, **options):
    return Driver(**options).traversal(Action.CREATE, wanted).run()


def test_create_goes_in_order_and_ends():
    done = created(CHAIN)
    assert done.log == [('a', 'CREATE', 'IN_PROGRESS'), ('a', 'CREATE', 'COMPLETE'),
                        ('b', 'CREATE', 'IN_PROGRESS'), ('b', 'CREATE', 'COMPLETE')]
    assert done.finish == (Status.COMPLETE, 'Stack CREATE completed successfully')
    a, b = done.rows
    assert b.requires == {'a': a.id}


def test_an_update_without_change_writes_nothing():
    first = created(CHAIN)
    again = Driver().traversal(Action.UPDATE, CHAIN, first.rows, 't2').run()
    assert again.log == [] and again.calls == []
    assert again.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')


def test_in_place_replaced_and_dependents_in_order():
    first = created({'a': [], 'b': [], 'v': ['b']})
    changed = Driver(verdicts={
        'a': Verdict(changed=True),
        'b': Verdict(changed=True, replace='The Resource b requires replacement.', announced=True),
        'v': Verdict(changed=True)})
    changed.traversal(Action.UPDATE, {'a': [], 'b': [], 'v': ['b']}, first.rows, 't2').run()
    of_b = [entry[1:] for entry in changed.log if entry[0] == 'b']
    assert of_b == [('UPDATE', 'IN_PROGRESS'), ('UPDATE', 'COMPLETE'), ('CREATE', 'IN_PROGRESS'),
                    ('CREATE', 'COMPLETE'), ('DELETE', 'IN_PROGRESS'), ('DELETE', 'COMPLETE')]
    assert changed.log.index(('v', 'UPDATE', 'COMPLETE')) < changed.log.index(('b', 'DELETE', 'IN_PROGRESS'))
    assert sorted(row.name for row in changed.rows) == ['a', 'b', 'v']


def test_an_interrupted_update_that_is_refused_has_failed():
    rows = [row._replace(action=Action.UPDATE, status=Status.IN_PROGRESS, template_id='t2')
            for row in created({'a': []}).rows]
    refused = Driver(verdicts={'a': Verdict(changed=True, refused='E: resources.a: no', why_refused='no')})
    refused.traversal(Action.UPDATE, {'a': []}, rows, 't2').run()
    assert refused.state() == {'a': ('UPDATE', 'FAILED')} and refused.calls == []
    assert refused.log == [('a', 'UPDATE', 'FAILED')]


def test_what_is_refused_stays_as_it_is():
    """And nothing is begun behind it; the refusal is told once, in the history and as the reason of the stack."""
    first = created(CHAIN)
    refused = Driver(verdicts={'a': Verdict(changed=True, refused='E: resources.a: no', why_refused='no')})
    refused.traversal(Action.UPDATE, CHAIN, first.rows, 't2').run()
    assert refused.rows == first.rows and refused.calls == []
    assert refused.log == [('a', 'UPDATE', 'FAILED')]
    assert refused.unwound == [('Resource UPDATE failed: E: resources.a: no', False)]


def test_a_removed_resource_goes_after_what_stood_on_it():
    first = created(CHAIN)
    gone = Driver().traversal(Action.UPDATE, {}, first.rows, 't2').run()
    assert gone.actions('DELETE') == ['b', 'a'] and gone.rows == []


def test_a_failure_stops_what_is_behind_it_and_lets_siblings_finish():
    failed = created({'x': [], 'y': [], 'z': ['x']}, fails=lambda name, action: name == 'x')
    assert failed.state() == {'x': ('CREATE', 'FAILED'), 'y': ('CREATE', 'COMPLETE')}
    assert failed.unwound == [('Resource CREATE failed: Boom: resources.x: no', False)]
    assert failed.finish == 'reported before'


def busy(times, action):
    """A service that refuses `action` so often."""
    left = [times]

    def fails(name, called):
        left[0] -= called is action
        return called is action and left[0] >= 0
    return fails


def grows(pauses):
    """Doubling from two seconds, and up to two more."""
    return all(2 ** n <= pause <= 2 ** n + 2 for n, pause in enumerate(pauses, 1))


def test_a_creation_is_tried_again_after_its_attempt_was_deleted():
    made = created({'a': []}, fails=busy(2, Action.CREATE), retry=True)
    assert made.finish == (Status.COMPLETE, 'Stack CREATE completed successfully')
    once = [('a', 'CREATE', 'FAILED'), ('a', 'DELETE', 'IN_PROGRESS'), ('a', 'DELETE', 'COMPLETE'),
            ('a', 'CREATE', 'IN_PROGRESS')]
    assert made.log == [('a', 'CREATE', 'IN_PROGRESS'), *once, *once, ('a', 'CREATE', 'COMPLETE')]
    assert len(made.pauses) == 2 and grows(made.pauses)
    spent = created({'a': []}, fails=busy(9, Action.CREATE), retry=True)
    assert spent.actions('CREATE') == ['a'] * 6 and spent.state() == {'a': ('CREATE', 'FAILED')}


def test_after_several_attempts_the_resource_has_the_last_text_and_the_stack_the_first():
    driver = Driver(fails=busy(9, Action.CREATE), retry=True)
    texts = iter(range(1, 10))
    driver.why = lambda name: f'Boom: resources.{name}: {next(texts)}'
    spent = driver.traversal(Action.CREATE, {'a': []}).run()
    assert [row.reason for row in spent.rows] == ['Boom: resources.a: 6']
    assert 'resources.a: 1' in spent.unwound[0][0]


@pytest.mark.parametrize('slow', [(), ('a',)])
def test_a_deletion_is_tried_again_in_silence(slow):
    rows = created({'a': []}).rows
    gone = Driver(fails=busy(5, Action.DELETE), retry=True, slow=slow).traversal(Action.DELETE, {}, rows).run()
    assert gone.finish[0] is Status.COMPLETE and gone.rows == []
    assert gone.log == [('a', 'DELETE', 'IN_PROGRESS'), ('a', 'DELETE', 'COMPLETE')]
    assert len(gone.pauses) == 5 and grows(gone.pauses)
    spent = Driver(fails=busy(6, Action.DELETE), retry=True).traversal(Action.DELETE, {}, rows).run()
    assert spent.state() == {'a': ('DELETE', 'FAILED')}
    assert spent.finish == (Status.FAILED, 'Resource DELETE failed: Boom: resources.a: no')


def test_the_deletion_of_an_attempt_is_tried_again_too():
    refused = busy(1, Action.DELETE)
    failed = busy(1, Action.CREATE)
    made = created({'a': []}, retry=True, fails=lambda name, action: failed(name, action) or refused(name, action))
    assert made.state() == {'a': ('CREATE', 'COMPLETE')}
    assert made.actions('DELETE') == ['a', 'a']


def test_an_update_is_not_tried_again():
    rows = created({'a': []}).rows
    failed = Driver(fails=busy(1, Action.UPDATE), retry=True, verdicts={'a': Verdict(changed=True)})
    failed.traversal(Action.UPDATE, {'a': []}, rows, 't2').run()
    assert failed.state() == {'a': ('UPDATE', 'FAILED')} and failed.pauses == []


def test_a_delete_that_takes_over_does_not_wait_for_the_patience_of_what_it_replaces():
    rows = created({'a': [], 'b': []}).rows
    update = Driver(fails=busy(1, Action.DELETE), retry=True).traversal(Action.UPDATE, {'b': []}, rows, 't2')
    update.retarget(Action.DELETE, {}, 't3')
    update.run()
    assert update.rows == [] and update.finish[0] is Status.COMPLETE


@pytest.mark.parametrize('ends', [True, False])
def test_what_an_older_update_does_is_preempted_when_a_newer_one_comes_to_it(ends):
    """Once; and only what a step of the newer one waits for."""
    rows = created({'a': [], 'b': [], 'c': []}).rows
    update = Driver(verdicts=dict.fromkeys('abc', Verdict(changed=True)), slow='ab', preempts=ends)
    update.traversal(Action.UPDATE, {'a': [], 'b': [], 'c': []}, rows, 't2')
    update.run()
    assert update.finish is None and update.preempted == []
    update.slow = set()
    update.retarget(Action.UPDATE, {'a': [], 'c': []}, 't3')
    update.retarget(Action.UPDATE, {'a': [], 'c': []}, 't4')
    update.run()
    assert sorted(update.preempted) == ['a', 'b']
    assert (('a', 'UPDATE', 'FAILED') in update.log) is ends
    assert update.state() == {'a': ('CREATE' if ends else 'UPDATE', 'COMPLETE'), 'c': ('UPDATE', 'COMPLETE')}
    assert update.finish[0] is Status.COMPLETE


def test_a_deletion_or_another_action_is_not_preempted():
    rows = created({'a': [], 'b': []}).rows
    update = Driver(slow='ab').traversal(Action.UPDATE, {'b': []}, rows, 't2')
    update.retarget(Action.UPDATE, {'b': []}, 't3')
    update.run()
    check = Driver(slow='b').traversal(Action.CHECK, {}, update.rows, 't3')
    check.retarget(Action.UPDATE, {'b': []}, 't4')
    check.run()
    assert update.preempted == check.preempted == [] and check.finish[0] is Status.COMPLETE


def test_a_rollback_deletes_what_a_failed_create_left():
    failed = Driver(fails=lambda name, action: name == 'x' and action is Action.CREATE)
    failed.traversal(Action.CREATE, {'x': [], 'y': []}, rollback=True).run()
    assert failed.unwound[0][1] is True and failed.finish is None
    failed.retarget(Action.ROLLBACK, {}, 't0')
    failed.run()
    assert failed.rows == [] and failed.finish == (Status.COMPLETE, 'Stack ROLLBACK completed successfully')


def test_rollback_of_an_update_takes_the_replaced_row_back():
    first = created(CHAIN)
    old = {row.name: row.id for row in first.rows}['a']
    update = Driver(verdicts={'a': Verdict(changed=True, replace='new'), 'b': Verdict(changed=True)},
                    fails=lambda name, action: name == 'b' and action is Action.UPDATE)
    update.traversal(Action.UPDATE, CHAIN, first.rows, 't2', rollback=True).run()
    assert update.unwound and len(update.rows) == 3
    update.verdicts = {'b': Verdict(changed=True)}
    update.fails = lambda name, action: False
    update.retarget(Action.ROLLBACK, CHAIN, 't1', avoid_template_id='t2')
    update.run()
    a, b = sorted(update.rows, key=lambda row: row.name)
    assert (a.id, a.replaced_by, a.status) == (old, None, 'COMPLETE')
    assert (b.id, b.status) == (4, 'COMPLETE'), 'what failed in its update is replaced'


def test_a_second_update_waits_for_work_in_flight_and_decides_again():
    first = created({'a': []})
    update = Driver(verdicts={'a': Verdict(changed=True)}, slow=['a'])
    update.traversal(Action.UPDATE, {'a': []}, first.rows, 't2').run(steps=3)
    update.retarget(Action.UPDATE, {'a': []}, 't3')
    update.run()
    assert update.log == [('a', 'UPDATE', 'IN_PROGRESS'), ('a', 'UPDATE', 'COMPLETE')] * 2
    assert update.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')


def test_a_delete_aborts_what_is_in_flight():
    busy = Driver(slow=['a']).traversal(Action.CREATE, CHAIN).run(steps=2)
    busy.retarget(Action.DELETE, {}, 't1', abort='user triggered cancel')
    busy.run()
    assert busy.log == [('a', 'CREATE', 'IN_PROGRESS'), ('a', 'CREATE', 'FAILED'),
                        ('a', 'DELETE', 'IN_PROGRESS'), ('a', 'DELETE', 'COMPLETE')]
    assert busy.rows == [] and busy.physical == {}


def test_a_timeout_ends_what_runs():
    busy = Driver(slow=['a']).traversal(Action.CREATE, CHAIN).run(steps=2)
    busy.perform(busy.traverse.handle(TimedOut({1: 'too long'}), busy.now))
    busy.run()
    assert busy.unwound == [('Timed out', False)] and busy.finish == 'reported before'
    assert busy.state()['a'] == ('CREATE', 'FAILED')


def test_suspend_goes_backwards_and_resume_forwards():
    rows = created(CHAIN).rows
    suspended = Driver().traversal(Action.SUSPEND, {}, rows).run()
    assert suspended.actions('SUSPEND') == ['b', 'a']
    resumed = Driver().traversal(Action.RESUME, {}, suspended.rows).run()
    assert resumed.actions('RESUME') == ['a', 'b']
    refused = Driver().traversal(Action.RESUME, {}, rows).run()
    assert refused.unwound[0][0] == (
        "Resource RESUME failed: Error: resources.a: State ('CREATE', 'COMPLETE') invalid for resume")


def test_check_collects_all_failures_and_skips_what_stands_on_them():
    rows = created({'a': [], 'b': ['a'], 'c': []}).rows
    checked = Driver(fails=lambda name, action: name == 'a').traversal(Action.CHECK, {}, rows).run()
    assert sorted(checked.actions('CHECK')) == ['a', 'c']
    assert checked.finish == (Status.FAILED,
                              'Resource CHECK failed: a: Resource CHECK failed: Boom: resources.a: no')


def test_a_chain_of_kept_resources_needs_no_deep_call_stack():
    wanted = {f'r{n}': [f'r{n - 1}'] if n else [] for n in range(3000)}
    rows = created(wanted).rows
    assert Driver().traversal(Action.UPDATE, wanted, rows, 't2').run().finish[0] is Status.COMPLETE


@st.composite
def definitions(draw):
    names = [chr(ord('a') + n) for n in range(draw(st.integers(0, 6)))]
    shuffled = draw(st.permutations(names))
    return {name: draw(st.lists(st.sampled_from(shuffled[:place]), max_size=2)) if place else []
            for place, name in enumerate(shuffled)}


VERDICTS = [Verdict(changed=False), Verdict(changed=True), Verdict(changed=True, replace='new'),
            Verdict(changed=True, replace='new', announced=True)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(definitions(), st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=5),
       st.integers(0, 2**32), st.data())
def test_whatever_is_asked_in_between_the_last_target_is_reached_and_everything_can_be_deleted(history, seed, data):
    wanted, steps, failing = history[0]
    driver = Driver(seed, fails=lambda name, action: driver.random.randrange(10) < failing)
    driver.traversal(Action.CREATE, wanted, next_row=1)
    for number, (wanted, steps, failing) in enumerate(history):     # noqa: B007 - `fails` reads it
        if number:
            driver.verdicts = {name: data.draw(st.sampled_from(VERDICTS)) for name in wanted}
            driver.retarget(Action.UPDATE, wanted, f't{number + 1}')
        driver.run(steps)
    driver.fails = lambda name, action: False
    driver.retarget(Action.UPDATE, wanted, 'last')
    driver.run()
    driver.verdicts = {}
    rows = {row.name: row for row in driver.rows}
    assert len(rows) == len(driver.rows), 'one row per name is left'
    assert rows.keys() == wanted.keys()
    assert set(driver.physical) == {row.id for row in driver.rows}, 'nothing orphaned, nothing missing'
    driver.retarget(Action.DELETE, {}, 'last', abort='user triggered cancel')
    driver.run()
    assert driver.rows == [] and driver.physical == {} and driver.stored == {}
    assert driver.finish == (Status.COMPLETE, 'Stack DELETE completed successfully')


@settings(max_examples=50, deadline=None)
@given(definitions(), definitions(), st.integers(0, 2**32), st.integers(0, 5), st.integers(0, 20))
def test_another_process_returns_the_same_commands_for_the_same_events(before, after, seed, failing, steps):
    """Steps, commands and events are values: copies mean the same, and nothing is told beside them."""
    driver = Driver(seed, fails=lambda name, action: driver.random.randrange(10) < failing, retry=True)
    driver.traversal(Action.CREATE, before, next_row=1).run(steps)
    driver.retarget(Action.UPDATE, after, 't2')
    driver.run()
    other, told = driver.new(), []
    for method, arguments, options in pickle.loads(pickle.dumps(driver.inputs)):
        told += getattr(other, method)(*arguments, **options) or ()
    assert told == driver.commands
    assert dict(other.rows) == dict(driver.traverse.rows)


@settings(max_examples=300, deadline=None)
@given(definitions(), st.integers(0, 2**32), st.integers(0, 60), st.booleans(), st.data())
def test_nothing_is_deleted_while_another_may_refer_to_it(wanted, seed, steps, is_slow, data):
    """Also when the engine is killed in the middle of the update, and another one begins with what is stored."""
    driver = Driver(seed, slow=wanted if is_slow else ())
    driver.follows = True
    driver.traversal(Action.CREATE, wanted).run()
    driver.verdicts = {name: data.draw(st.sampled_from(VERDICTS)) for name in wanted}
    driver.retarget(Action.UPDATE, wanted, 't2')
    driver.run(steps)
    driver.crash(Action.UPDATE, wanted, 't2', next_row=max(driver.stored, default=0) + 1).run()
    assert driver.torn == []


def test_rows_change_by_what_the_traversal_is_told_only():
    rows = created(CHAIN).traverse.rows
    with pytest.raises(TypeError):
        rows[1] = rows[1]


def test_a_stop_that_overtakes_a_rollback_ends_the_traversal():
    """The rollback was asked for, but a cancel has been accepted before it could begin."""
    failed = Driver(fails=lambda name, action: True).traversal(Action.CREATE, {'a': []}, rollback=True).run()
    assert failed.unwound[0][1] is True and failed.finish is None
    assert failed.traverse.stop() == [Leave()]


# --- interrupted after the end of the action -----------------------------------------------------------------------

@settings(max_examples=200, deadline=None)
@given(definitions(), st.integers(0, 2**32), st.integers(0, 40), st.booleans(), st.sampled_from(list(Outcome)),
       st.sampled_from([Action.UPDATE, Action.DELETE, Action.SUSPEND, Action.SNAPSHOT]))
def test_steps_of_an_action_that_has_ended_end_and_no_other_begins(wanted, seed, steps, is_slow, outcome, action):
    driver = Driver(seed, slow=wanted if is_slow else (), recovers=outcome)
    driver.traversal(Action.CREATE, wanted).run(steps)
    driver.verdicts = {name: Verdict(changed=True) for name in wanted}
    template = 't2' if action is Action.UPDATE else 't1'
    driver.retarget(action, wanted, template)
    driver.run(steps)
    interrupted = {row.name for row in driver.stored.values() if row.in_progress}
    called = len(driver.calls)
    driver.conclude(action, wanted, template, next_row=max(driver.stored, default=0) + 1).run()
    assert driver.finish == 'reported before'
    assert not any(row.in_progress for row in driver.stored.values())
    assert {name for _action, name, _row in driver.calls[called:]} <= interrupted


# --- interrupted, and continued for the same request ---------------------------------------------------------

def interrupted(steps, **options):
    """A create that is interrupted after so many events."""
    permissions = options.pop('permissions', EVERYTHING)
    driver = Driver(**options).traversal(Action.CREATE, CHAIN, permissions=permissions).run(steps)
    driver.crash(Action.CREATE, CHAIN, 't1', permissions=permissions, next_row=9).run()
    return driver


@pytest.mark.parametrize('steps', [0, 1, 2])
def test_a_failure_after_an_interruption_is_that_of_the_stack(steps):
    failed = interrupted(steps, fails=lambda name, action: name == 'a' and steps == 0, slow='a')
    if steps:
        assert failed.finish == (Status.COMPLETE, 'Stack CREATE completed successfully')
    else:
        assert failed.unwound == [('Resource CREATE failed: Boom: resources.a: no', False)]
        assert failed.actions('CREATE') == ['a'] and failed.state() == {'a': ('CREATE', 'FAILED')}


def test_a_creation_is_tried_again_after_an_interruption():
    made = interrupted(0, fails=busy(2, Action.CREATE), retry=True)
    assert made.finish == (Status.COMPLETE, 'Stack CREATE completed successfully')
    assert made.actions('DELETE') == ['a', 'a'] and len(made.pauses) == 2
    assert {row for _action, name, row in made.calls if name == 'a'} == {1}


def test_an_unfinished_object_is_made_anew_although_it_must_not_be_replaced():
    kept = Permissions(is_open=True, guard=Guard(protections=(Protection(('a',), frozenset({Denial.REPLACE})),)))
    made = interrupted(0, recovers=Outcome.RECREATE, permissions=kept)
    assert made.finish == (Status.COMPLETE, 'Stack CREATE completed successfully')
    assert [call for call in made.calls if call[1] == 'a'] == [('DELETE', 'a', 1), ('CREATE', 'a', 1)]


def test_a_create_of_which_nothing_is_known_has_failed_and_is_replaced():
    made = interrupted(0, recovers=Outcome.UNKNOWN)
    assert made.finish == (Status.COMPLETE, 'Stack CREATE completed successfully')
    assert made.log[:3] == [('a', 'CREATE', 'IN_PROGRESS'), ('a', 'CREATE', 'FAILED'), ('a', 'CREATE', 'IN_PROGRESS')]
    assert [row.name for row in made.rows] == ['b', 'a'] or [row.name for row in made.rows] == ['a', 'b']


def deleted_after_an_interruption(**options):
    """The deletion of a stack whose only create was interrupted, so that nothing is known of its object."""
    driver = Driver(recovers=Outcome.UNKNOWN, **options).traversal(Action.CREATE, {'a': []})
    return driver.crash(Action.DELETE, {}, 't2', next_row=9).run()


def test_a_deletion_of_which_nothing_was_known_is_tried_again():
    gone = deleted_after_an_interruption(fails=busy(2, Action.DELETE), retry=True)
    assert gone.finish == (Status.COMPLETE, 'Stack DELETE completed successfully')
    assert gone.actions('DELETE') == ['a'] * 3 and len(gone.pauses) == 2


def test_a_deletion_of_which_nothing_was_known_fails_as_a_deletion():
    failed = deleted_after_an_interruption(fails=lambda name, action: action is Action.DELETE)
    assert failed.finish == (Status.FAILED, 'Resource DELETE failed: Boom: resources.a: no')
    assert failed.state() == {'a': ('DELETE', 'FAILED')} and failed.actions('DELETE') == ['a']


# --- a handler that asks for a replacement --------------------------------------------------------------------

def replacing(fails):
    """An update whose handler raises UpdateReplace. `fails(action)`: of the calls after that."""
    driver = Driver(verdicts={'a': Verdict(changed=True)}, fails=lambda name, action: action is Action.UPDATE or fails(
        action), replaces=True)
    return driver.traversal(Action.UPDATE, {'a': []}, created({'a': []}).rows, 't2')


def test_the_failure_of_a_replacement_is_its_own():
    failed = replacing(lambda action: action is Action.CREATE).run()
    assert failed.unwound == [('Resource CREATE failed: Boom: resources.a: no', False)]


def test_what_a_resource_waited_for_is_over_when_it_is_replaced():
    failed = replacing(lambda action: action is Action.CREATE)
    failed.away = ['Unable to connect']
    failed.run()
    assert failed.unwound == [('Resource CREATE failed: Boom: resources.a: no', False)]


def undeleted(wanted, left, **options):
    """A stack of `wanted`, of which an update to `left` could not delete the first resource that it no longer has."""
    first = created(wanted)
    return first, again(first, left, 't2', fails=lambda name, action: action is Action.DELETE, **options)


def again(before, wanted, template, **options):
    """An update after that of `before`."""
    driver = Driver(**options)
    driver.physical = dict(before.physical)
    return driver.traversal(Action.UPDATE, wanted, before.rows, template, next_row=max(before.stored) + 1).run()


@pytest.mark.parametrize('wanted, left', [({'a': [], 'b': []}, {'b': []}), (CHAIN, {'a': []}), (CHAIN, {})])
def test_a_deletion_that_has_failed_is_repeated_before_the_resource_is_made_anew(wanted, left):
    _first, failed = undeleted(wanted, left)
    name, number = next((row.name, row.id) for row in failed.rows if row.failed)
    back = again(failed, wanted, 't3')
    assert back.calls[:2] == [('DELETE', name, number), ('CREATE', name, max(failed.stored) + 1)]
    assert back.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')
    assert set(back.physical) == {row.id for row in back.rows} and back.state().keys() == wanted.keys()


def test_what_cannot_be_deleted_is_not_made_anew():
    """The failure that the stack reports is that of the deletion."""
    _first, failed = undeleted(CHAIN, {'a': []})
    back = again(failed, CHAIN, 't3', fails=lambda name, action: action is Action.DELETE)
    assert back.calls == [('DELETE', 'b', 2)]
    assert back.unwound == [('Resource DELETE failed: Boom: resources.b: no', False)]
    assert back.state() == {'a': ('CREATE', 'COMPLETE'), 'b': ('DELETE', 'FAILED')}
    assert not back.traverse.has_applied


def test_what_cannot_be_deleted_does_not_keep_its_replacement_from_an_update():
    first = created({'a': []})
    replaced = again(first, {'a': []}, 't2', fails=lambda name, action: action is Action.DELETE,
                     verdicts={'a': Verdict(changed=True, replace='new')})
    assert [row.state for row in replaced.rows] == [('DELETE', 'FAILED'), ('CREATE', 'COMPLETE')]
    updated = again(replaced, {'a': []}, 't3', fails=lambda name, action: action is Action.DELETE,
                    verdicts={'a': Verdict(changed=True)})
    assert updated.calls == [('UPDATE', 'a', 2), ('DELETE', 'a', 1)]


def test_a_create_that_has_failed_beside_an_undeleted_object_is_repeated_after_the_deletion():
    """As engines did that made the new row first."""
    first, failed = undeleted({'a': []}, {})
    rows = [*failed.rows, first.rows[0]._replace(id=2, uuid='2', status=Status.FAILED, physical_id=None)]
    back = Driver().traversal(Action.UPDATE, {'a': []}, rows, 't1', next_row=3).run()
    assert back.calls[0] == ('DELETE', 'a', 1)
    assert [row.state for row in back.rows] == [('CREATE', 'COMPLETE')]


@pytest.mark.parametrize('steps', range(8))
def test_a_resource_that_comes_back_while_it_is_deleted_is_made_after_that(steps):
    driver = created(CHAIN, slow='b')
    driver.retarget(Action.UPDATE, {'a': []}, 't2')
    driver.run(steps)
    driver.retarget(Action.UPDATE, CHAIN, 't3')
    driver.run()
    assert driver.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')
    assert len(driver.rows) == 2 and set(driver.physical) == {row.id for row in driver.rows}
    assert [called for called, name, _row in driver.calls if name == 'b'] in (
        ['CREATE'], ['CREATE', 'DELETE', 'CREATE'])


def test_a_deletion_that_waits_for_another_resource_makes_no_cycle():
    """Its stored requirements are those of an update that was interrupted."""
    _first, failed = undeleted(CHAIN, {})
    rows = {row.name: row for row in failed.rows}
    standing = rows['a']._replace(id=9, uuid='9', name='c', requires={'b': rows['b'].id})
    wanted = {'a': [], 'b': ['a', 'c'], 'c': []}
    back = Driver().traversal(Action.UPDATE, wanted, [*rows.values(), standing], 't3', next_row=10).run()
    assert back.finish == (Status.COMPLETE, 'Stack UPDATE completed successfully')
    assert len(back.rows) == 3
