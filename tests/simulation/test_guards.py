"""Protections and locks in whole lives: what they deny is refused before anything is stored where that can be known,
and otherwise before its call to the cloud."""

from __future__ import annotations

import random

import pytest

from heatlite.common import exception, limits
from heatlite.db import guards, stacks
from heatlite.planning.states import Action
from heatlite.rpc import messages
from tests.simulation import foretold, planned
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait
from tests.simulation.test_scaling import child, handled, scaled, signal


def template(**resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources}


def thing(value='one', **more):
    return {'type': 'Sim::Thing', 'properties': {'value': value, **more}}


def group(count=2, value='one', **more):
    return {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': count, 'resource_def': thing(value, **more)}}


@pytest.fixture
def cluster():
    with Cluster(engines=1) as found:
        yield found


def made(cluster, **resources):
    stack_id = cluster.create('s', template(**resources))
    done(cluster, stack_id, 'CREATE')
    return stack_id


def protect(cluster, stack_id, path, *deny, reason=''):
    cluster.ask(messages.SetProtections(stack_id, ({'path': path, 'deny': list(deny), 'reason': reason},)))


def refused(cluster, message, error=exception.StackProtected):
    """The text of the refusal. Neither the cloud nor a stack changes."""
    def everything():
        with cluster.database.reader() as tx:
            return (tx.exec_driver_sql('SELECT id, action, status, generation FROM stack').all(),
                    tx.exec_driver_sql('SELECT count(*) FROM template').all(), list(cluster.cloud.calls))

    before = everything()
    answer = cluster.ask(message, (error,))
    assert isinstance(answer, error), answer
    assert everything() == before
    return str(answer)


def update(stack_id, **resources):
    return messages.UpdateStack(stack_id=stack_id, template=template(**resources))


@pytest.mark.parametrize(('path', 'deny', 'changed', 'told'), [
    ('a', 'update', {'a': thing('two')}, 'a: update is denied by the protection of a'),
    ('a', 'replace', {'a': thing(fixed='new')}, 'a: replace is denied by the protection of a'),
    ('a', 'delete', {'a': thing(fixed='new')}, 'a: replace is denied by the protection of a'),
    ('a', 'delete', {}, 'a: delete is denied by the protection of a'),
    ('', 'delete', {}, 'a: delete is denied by the protection of the stack'),
    ('group/*', 'update', {'a': thing(), 'group': group(value='two')},
     'group/0: update is denied by the protection of group/*'),
    ('gr*p/1', 'delete', {'a': thing(), 'group': group(count=1)}, 'group/1: delete is denied by the protection of gr'),
    ('group/1', 'delete', {'a': thing()}, 'group/1: delete is denied by the protection of group/1'),
    ('group', 'delete', {'a': thing(), 'group': group(count=1)}, 'group/1: delete is denied by the protection of gr'),
])
def test_an_update_is_refused_before_anything_is_stored(cluster, path, deny, changed, told):
    stack_id = made(cluster, a=thing(), group=group())
    protect(cluster, stack_id, path, deny)
    changed = {'group': group(), **changed} if 'group' not in path else changed
    assert told in refused(cluster, update(stack_id, **changed))
    cluster.ask(update(stack_id, a=thing(), group=group(), more=thing()))           # all else is allowed
    done(cluster, stack_id, 'UPDATE')
    cluster.ask(messages.SetProtections(stack_id))
    cluster.ask(update(stack_id, **changed))
    done(cluster, stack_id, 'UPDATE')


def test_protections_that_are_set_at_once_are_all_kept(cluster):
    stack_id = made(cluster, a=thing())
    protect(cluster, stack_id, 'old', 'delete')
    together = [messages.ChangeProtections(stack_id, ({'path': f'p{number}', 'deny': ['delete'], 'reason': ''},))
                for number in range(5)] + [messages.ChangeProtections(stack_id, remove=('old',))]
    runtime, service = cluster.engines[0]
    for message in together:
        runtime.spawn(service.endpoint.handle, cluster.context, message)
    wait(cluster, 5.0)
    with cluster.database.reader() as tx:
        assert sorted(map(str, guards.of(tx, stack_id).protections)) == [f'p{number}' for number in range(5)]


def test_no_more_protections_than_one_request_could_set(cluster):
    stack_id = made(cluster, a=thing())
    many = tuple({'path': f'p{number}', 'deny': ['delete'], 'reason': ''} for number in range(limits.MOST_PROTECTIONS))
    assert len(cluster.ask(messages.ChangeProtections(stack_id, many))) == limits.MOST_PROTECTIONS
    new = ({'path': 'new', 'deny': ['delete'], 'reason': ''},)
    assert 'at most 100' in str(cluster.ask(messages.ChangeProtections(stack_id, new), (exception.HTTPBadRequest,)))
    assert len(cluster.ask(messages.ChangeProtections(stack_id, new, ('p0',)))) == limits.MOST_PROTECTIONS


@pytest.mark.parametrize('path', ['', 'a', 'group', 'group/1', '*/0'])
def test_a_stack_with_something_protected_is_not_deleted(cluster, path):
    stack_id = made(cluster, a=thing(), group=group())
    protect(cluster, stack_id, path, 'delete', reason='it is ours')
    assert 'delete is denied by the protection of ' in (text := refused(cluster, messages.DeleteStack(stack_id)))
    assert '(it is ours)' in text
    if path not in ('', 'a'):
        nested = child(cluster, stack_id)
        assert 'group' in refused(cluster, messages.DeleteStack(nested.id))         # nor by the back door
    cluster.ask(messages.SetProtections(stack_id))
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert not cluster.cloud.objects


def test_what_does_not_exist_protects_nothing(cluster):
    stack_id = made(cluster, a=thing(), group=group())
    protect(cluster, stack_id, '*/2', 'delete')
    cluster.ask(update(stack_id, a=thing()))
    done(cluster, stack_id, 'UPDATE')


def test_scaling_down_by_a_signal_is_refused(cluster):
    stack_id = cluster.create('s', scaled(least=1, desired_capacity=2, policy={'scaling_adjustment': -1}))
    done(cluster, stack_id, 'CREATE')
    protect(cluster, stack_id, 'group/*', 'delete')
    before, calls = child(cluster, stack_id).generation, list(cluster.cloud.calls)
    text = str(cluster.ask(messages.SignalResource(stack_id, 'policy', None, True), (exception.StackProtected,)))
    assert 'delete is denied by the protection of group/*' in text
    assert (child(cluster, stack_id).generation, cluster.cloud.calls) == (before, calls)
    cluster.settle(stack_id)
    protect(cluster, stack_id, 'group', 'update')
    text = str(cluster.ask(messages.SignalResource(stack_id, 'policy', None, True), (exception.StackProtected,)))
    assert 'group: update is denied' in text and cluster.cloud.calls == calls
    assert [reason.partition(':')[0] for reason in refusals(cluster, stack_id)] == ['The signal was refused'] * 2
    assert 'group: update is denied' in refusals(cluster, stack_id)[1]


def refusals(cluster, stack_id):
    """The reasons of the events about signals, oldest first."""
    with cluster.database.reader() as tx:
        return tx.exec_driver_sql('SELECT reason FROM event WHERE stack_id = ? AND "action" = \'SIGNAL\' ORDER BY id',
                                  (stack_id,)).scalars().all()


def test_a_signal_to_a_locked_stack_is_an_event(cluster):
    stack_id = cluster.create('s', scaled(desired_capacity=2))
    done(cluster, stack_id, 'CREATE')
    lock(cluster, stack_id)
    cluster.ask(messages.SignalResource(stack_id, 'policy'), (exception.StackLocked,))
    handled(cluster)
    assert [each.partition('Stack')[0] for each in refusals(cluster, stack_id)] == ['The signal was refused: ']
    assert refusals(cluster, stack_id)[0].endswith(': maintenance')


def test_a_restore_and_a_cancel_are_refused_before_they_begin(cluster):
    stack_id = made(cluster, a=thing('one'))
    snapshot = cluster.ask(messages.SnapshotStack(stack_id, 'before'))['id']
    cluster.settle(stack_id)
    cluster.ask(update(stack_id, a=thing('one'), b=thing()))
    done(cluster, stack_id, 'UPDATE')
    protect(cluster, stack_id, 'b', 'delete')
    restore = messages.RestoreSnapshot(stack_id, snapshot)
    assert 'b: delete is denied by the protection of b' in refused(cluster, restore)
    cluster.ask(messages.SetProtections(stack_id))
    slow = {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 30}}
    cluster.ask(update(stack_id, a=thing('one'), b=thing(), c=thing(), d={**slow, 'depends_on': 'c'}))
    begun = ('CREATE', 'IN_PROGRESS')
    cluster.universe.run(lambda: begun in [each[:2] for each in cluster.states(stack_id).get('d', ())], 100.0)
    protect(cluster, stack_id, 'c', 'delete')
    assert 'c: delete is denied by the protection of c' in refused(cluster, messages.CancelStack(stack_id, True))
    cluster.ask(messages.CancelStack(stack_id, False))
    cluster.settle(stack_id)
    cluster.ask(messages.SetProtections(stack_id))
    cluster.ask(restore)
    done(cluster, stack_id, 'RESTORE')


def by_surprise(cluster):
    """What is not known before the update: `b` is replaced because `a` is."""
    def resources(word):
        return {'a': thing(fixed=word), 'b': thing(fixed={'get_resource': 'a'}),
                'c': {**thing(word), 'depends_on': 'b'}}
    stack_id = cluster.create('s', template(**resources('old')))
    done(cluster, stack_id, 'CREATE')
    protect(cluster, stack_id, 'b', 'delete', reason='data')
    before = cluster.states(stack_id)
    cluster.ask(update(stack_id, **resources('new')))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED')
    assert row.reason == ('Resource UPDATE failed: Protected: resources.b: b: replace is denied by the protection of b '
                          '(data); nothing was done to it'), row.reason
    after = cluster.states(stack_id)
    assert (after['b'], after['c']) == (before['b'], before['c'])
    assert before['b'][0][2] in cluster.cloud.objects


def test_what_is_known_later_is_refused_before_its_call(cluster):
    by_surprise(cluster)


def test_killed_anywhere_nothing_protected_is_touched():
    assert kill_engines_in(by_surprise, 17) > 20


def test_a_rollback_deletes_nothing_protected(cluster):
    stack_id = made(cluster, a=thing())
    protect(cluster, stack_id, 'new*', 'delete')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, disable_rollback=False, template=template(
        a=thing(), new=thing(), bad={**thing(fail=True), 'depends_on': 'new'})))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == (Action.ROLLBACK, 'FAILED')
    assert 'Protected: resources.new: new: delete is denied by the protection of new*' in row.reason
    assert len(cluster.cloud.objects) == 2


def test_a_protection_that_comes_during_an_action_holds_for_its_rollback_inside_a_group(cluster):
    stack_id = made(cluster, group=group())
    slow = {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 100, 'fail': True},
            'depends_on': 'group'}
    cluster.ask(messages.UpdateStack(stack_id=stack_id, disable_rollback=False,
                                     template=template(group=group(count=3), slow=slow)))
    assert cluster.universe.run(lambda: 'slow' in cluster.states(stack_id)
                                and cluster.states(stack_id)['slow'][0][0] == 'CREATE', limit=300)
    protect(cluster, stack_id, 'group/2', 'delete')
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == (Action.ROLLBACK, 'FAILED')
    assert 'group/2: delete is denied' in row.reason and len(cluster.cloud.objects) == 3


def test_plans_show_what_is_denied_and_are_not_applied(cluster):
    stack_id = made(cluster, a=thing(), b=thing())
    protect(cluster, stack_id, 'a', 'update', 'delete')
    made_of = planned.plan(cluster, action='update', stack_id=stack_id, template=template(a=thing('two'), b=thing()))
    assert [each['path'] for each in made_of.document['blockers']] == [['a']]
    assert 'a: update is denied' in refused(cluster, messages.ApplyPlan(made_of.id))
    gone = planned.plan(cluster, action='delete', stack_id=stack_id)
    assert [each['action'] for each in gone.document['blockers']] == ['delete']
    assert 'a: delete is denied' in refused(cluster, messages.ApplyPlan(gone.id))


# --- random lives -----------------------------------------------------------------------------------------

# What is done to a resource -> what denies it.
DENYING = {'updated': {'update'}, 'replaced': {'replace', 'delete'}, 'deleted': {'delete'}}


def protected_life(seed):
    """Random updates of a random tree with a random protection. Returns how many were refused, and how many failed
    because of it."""
    rng, grown = random.Random(seed), foretold.Grown(random.Random(seed))
    wanted, early, late = grown.update(), 0, 0
    with Cluster(seed, engines=1) as cluster:
        stack_id = cluster.create('s', wanted['template'], wanted['environment'], files=wanted['files'])
        if cluster.settle(stack_id).status != 'COMPLETE':
            return 0, 0
        tree = foretold.tree_of(cluster, stack_id)
        place = rng.choice([(*tree.places[stack], name) for stack, names in tree.rows.items() for name in names])
        denied = rng.choice(['update', 'replace', 'delete'])
        protect(cluster, stack_id, '/'.join(place[:-1] + ('*',) if rng.random() < 0.3 else place), denied)
        for _number in range(4):
            wanted, before = grown.next(wanted), foretold.tree_of(cluster, stack_id)
            wanted['environment']['resource_registry'].pop('resources', None)   # restricted actions leave such events
            answer = cluster.ask(messages.UpdateStack(stack_id=stack_id, disable_rollback=rng.random() < 0.5, **wanted),
                                 (exception.HeatException,))
            if isinstance(answer, Exception):
                early += isinstance(answer, exception.StackProtected)
                continue
            row = cluster.settle(stack_id)
            late += 'Protected: ' in row.reason
            after = foretold.tree_of(cluster, stack_id)
            containers = {before.places[each] for each in before.places.keys() & after.places.keys()}
            for (at, kind), _count in foretold.done(before, after).items():
                if kind == 'updated' and at in containers:      # it was passed: what counts is what is done inside
                    continue
                if kind == 'added' and place in containers and len(at) > len(place):
                    kind = 'updated'                            # the container grows
                assert at[:len(place)] != place or denied not in DENYING.get(kind, ()), (
                    f'seed {seed}: {at} {kind}, but {denied} of {place} is denied')
    return early, late


def test_random_updates_do_nothing_that_is_denied():
    found = [protected_life(seed) for seed in range(7, 17)]
    assert sum(early for early, _late in found) > 8 and sum(late for _early, late in found) > 0


# --- policies ---------------------------------------------------------------------------------------------

RULES = '''
rules:
- name: no-two
  when: change.values.exists(v, v.path == ['value'] && v.after == 'two')
  effect: deny
  reason: no two
- {name: look, for: plan, when: plan.summary.delete > 0, effect: warn, reason: something goes}
- {name: secrets, when: "change.values.exists(v, v.after == 's3cret')", effect: deny, reason: it was shown}
'''


def test_a_policy_denies_a_plan_when_it_is_made_and_when_it_is_applied(tmp_path):
    path = tmp_path / 'rules.yaml'
    path.write_text(RULES)
    with Cluster(engines=1, **{'plan_policies.rules_file': str(path), 'plans.required': True}) as cluster:
        hidden = {**template(a=thing({'get_param': 'p'})), 'parameters': {'p': {'type': 'string', 'hidden': True}}}
        first = planned.plan(cluster, stack_name='s', template=hidden, environment={'parameters': {'p': 's3cret'}})
        assert [each['effect'] for each in first.document['policies']] == ['allow', 'allow', 'allow']
        assert 's3cret' not in str(first.document)
        stack_id = planned.apply(cluster, first.id)['stack_id']
        done(cluster, stack_id, 'CREATE')
        protect(cluster, stack_id, 'b', 'delete')
        denied = planned.plan(cluster, action='update', stack_id=stack_id, template=template(b=thing('two')))
        assert [(each['policy'], each['effect'], each['reasons']) for each in denied.document['policies']] == [
            ('no-two', 'deny', ['no two (b)']), ('look', 'warn', ['something goes']), ('secrets', 'allow', [])]
        text = refused(cluster, messages.ApplyPlan(denied.id), exception.Conflict)
        assert text == f'Plan {denied.id} is denied by policy. no-two: deny: no two (b)'
        path.write_text(RULES.replace('change.values.exists', 'plan.is_empty && change.values.exists'))
        cluster.engines[0][1].use_cases.policies.reload()
        assert planned.apply(cluster, denied.id)['stack_id'] == stack_id        # what holds is what holds now
        done(cluster, stack_id, 'UPDATE')
        for message in (update(stack_id), messages.DeleteStack(stack_id),
                        messages.CreateStack(stack_name='t', template=template())):
            assert 'without a plan' in refused(cluster, message, exception.Forbidden)


# --- locks ------------------------------------------------------------------------------------------------

def lock(cluster, stack_id, reason='maintenance'):
    return cluster.ask(messages.LockStack(stack_id, reason), (exception.HeatException,))


def test_a_lock_refuses_all_changes_but_a_check(cluster):
    stack_id = cluster.create('s', scaled(desired_capacity=2))
    done(cluster, stack_id, 'CREATE')
    nested = child(cluster, stack_id).id
    signal(cluster, stack_id)                       # accepted before the lock, handled behind it, or in time
    lock(cluster, stack_id)
    handled(cluster)
    cluster.settle(stack_id)
    member = next(iter(cluster.states(nested)))
    for message in (
            update(stack_id), messages.DeleteStack(stack_id), messages.DeleteStack(nested),
            messages.StackAction(stack_id, 'suspend'), messages.SnapshotStack(stack_id),
            messages.SignalResource(stack_id, 'policy'), messages.MarkUnhealthy(nested, member, True),
            messages.CancelStack(stack_id, True)):
        assert 'was locked by' in (text := refused(cluster, message, exception.StackLocked)), message
        assert text.endswith(': maintenance')
    cluster.ask(messages.StackAction(stack_id, 'check'))
    cluster.settle(stack_id)
    cluster.ask(messages.UnlockStack(stack_id))
    cluster.delete(stack_id)
    cluster.settle(stack_id)
    assert not cluster.cloud.objects


def test_autoscaling_does_not_change_a_locked_stack(cluster):
    """A signal that was stored while there was no lock, as those of alarms are."""
    stack_id = cluster.create('s', scaled(desired_capacity=2))
    done(cluster, stack_id, 'CREATE')
    lock(cluster, stack_id)
    with cluster.database.writer() as tx:
        tx.exec_driver_sql('INSERT INTO "signal" (stack_id, resource_name, created_at) '
                           "VALUES (?, 'policy', '2026-01-01')", (stack_id,))
        tx.exec_driver_sql('UPDATE lease SET wanted = 1 WHERE stack_id = ?', (stack_id,))
    calls = list(cluster.cloud.calls)
    handled(cluster)
    cluster.settle(stack_id)
    assert cluster.cloud.calls == calls and child(cluster, stack_id).action == 'CREATE'
    assert 'The signal was refused: ' in (found := refusals(cluster, stack_id))[0] and 'maintenance' in found[0]


def test_a_lock_belongs_to_its_owner(cluster):
    stack_id = made(cluster, a=thing())
    cluster.context.user_id = 'ann'
    lock(cluster, stack_id)
    lock(cluster, stack_id, 'longer')               # the owner may say so again
    cluster.context.user_id = 'bob'
    assert isinstance(lock(cluster, stack_id), exception.StackLocked)
    assert isinstance(cluster.ask(messages.UnlockStack(stack_id), (exception.Forbidden,)), exception.Forbidden)
    with cluster.database.reader() as tx:
        assert guards.of(tx, stack_id).lock.reason == 'longer'
    cluster.ask(messages.UnlockStack(stack_id, of_anybody=True))
    gone = cluster.ask(messages.UnlockStack(stack_id), (exception.EntityNotFound,))
    assert isinstance(gone, exception.EntityNotFound)


def test_a_stack_in_progress_and_a_nested_one_are_not_locked(cluster):
    stack_id = made(cluster, group=group())
    assert isinstance(lock(cluster, child(cluster, stack_id).id), exception.HTTPBadRequest)
    cluster.ask(update(stack_id, group=group(count=3)))
    with cluster.database.reader() as tx:
        assert stacks.get(tx, stack_id).status == 'IN_PROGRESS'
    assert isinstance(lock(cluster, stack_id), exception.ActionInProgress)


def test_guards_of_another_project_are_not_found(cluster):
    stack_id = made(cluster, a=thing())
    cluster.context.project_id = 'another'
    for message in (messages.SetProtections(stack_id), messages.LockStack(stack_id, 'x'),
                    messages.UnlockStack(stack_id, True)):
        assert isinstance(cluster.ask(message, (exception.EntityNotFound,)), exception.EntityNotFound)


# What makes an update visit a nested stack in which nothing changes: fields of the request; what comes before.
VISITS = {
    'compared with the cloud': ({'converge': True}, lambda cluster, stack_id: None),
    'not known to be settled': ({}, lambda cluster, stack_id: unsettle(cluster)),
}


def unsettle(cluster):
    """As before the first update by this release."""
    with cluster.database.writer() as tx:
        tx.exec_driver_sql('UPDATE stack SET settled = NULL')


@pytest.mark.parametrize('visit', VISITS)
@pytest.mark.parametrize('path', ['group', 'group/*', '*'])
@pytest.mark.parametrize('by_plan', [False, True])
def test_a_protected_group_in_which_nothing_changes_is_no_obstacle(cluster, visit, path, by_plan):
    stack_id = made(cluster, a=thing(), group=group())
    members = cluster.states(child(cluster, stack_id).id)
    protect(cluster, stack_id, path, 'update', 'replace', 'delete')
    fields, before = VISITS[visit]
    before(cluster, stack_id)
    resources = {'group': group(), 'b': thing(), 'a': thing()}
    if by_plan:
        plan = planned.plan(cluster, action='update', stack_id=stack_id, template=template(**resources), **fields)
        assert plan.document['blockers'] == []
        planned.apply(cluster, plan.id)
    else:
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=template(**resources), **fields))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
    assert cluster.states(child(cluster, stack_id).id) == members
    wanted = template(**resources | {'group': group(count=3 if path == 'group' else 1)})
    refused(cluster, messages.UpdateStack(stack_id=stack_id, template=wanted, **fields))
