"""What becomes of a request of a stack whose action is in progress, and of what that action needs: the whole table."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import snapshots, stacks, templates
from heatlite.db.tables import event, files, lease
from heatlite.db.tables import template as templates_of_stacks
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import loading, request_keys
from heatlite.engine.requests.acceptance import MOST_SUPERSEDED
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_nested import FILES, child_of, nested, template

NotSupported, ActionInProgress = exception.NotSupported, exception.ActionInProgress
IN_PROGRESS = [action for action in Action if action is not Action.INIT]
LEFT = {                                # in the column `request` by the action in progress
    'adopt': {'a': {'resource_id': 'obj-0'}, 'elsewhere': {'resource_id': 'obj-00'}}, 'facade': {'metadata': {}},
    'inputs': 'digest', 'tolerance': 1, 'waiting': {'a': True}, 'undoing': True, 'snapshot': 'none', 'restore': 'none',
    'abandon': True, 'taken_over': 'mark'}
OF_REQUEST = {*request_ids.NAMES, request_ids.PLAN, request_ids.TRACE,
              request_keys.SUSPENDED, request_keys.CANCELLED}       # see test_suspended, test_nested_requests


def thing(value='x', **more):
    return {'type': 'Sim::Thing', 'properties': {'value': value}, **more}


def in_progress(cluster, stack_id, action, status=Status.IN_PROGRESS, **given):
    """Has the stack do that, as a request of its user would, with everything in `request` that there can be. No engine
    takes it up before the next request."""
    with cluster.database.writer() as tx:
        found = stacks.accept(tx, stack_id, action=action, status=status, reason='', now=cluster.user.now(),
                              request={**LEFT, **given})
        tx.execute(lease.update().where(lease.c.stack_id == stack_id).values(wanted=False))
        return found


def lasts(row):
    return set(row.request) - OF_REQUEST


def expected(kept, before):
    """What a request needs of LEFT after an action: nothing is adopted after a rollback, and the snapshot that was
    being made has to end."""
    return {'snapshot', *kept} - ({'adopt'} if before is Action.ROLLBACK else set())


# --- a user's requests ---------------------------------------------------------------------------------------

EVERY = dict.fromkeys(IN_PROGRESS)
NOT_WHILE_DELETING = {**EVERY, Action.DELETE: NotSupported}
SWITCHES = (Action.CHECK, Action.SUSPEND, Action.RESUME)


def only_during(*taken_over):
    """What is refused with ActionInProgress, but during these actions: the others would not go on."""
    return {**{action: None if action in taken_over else ActionInProgress for action in IN_PROGRESS},
            Action.DELETE: NotSupported}


USERS = {                               # request -> (what it begins, what that needs of LEFT, what it is refused with)
    'update': (Action.UPDATE, {'adopt', 'facade'}, {**NOT_WHILE_DELETING, Action.SUSPEND: NotSupported}),
    'suspend': (Action.SUSPEND, {'adopt', 'facade', 'inputs', 'tolerance', 'taken_over'},
                only_during(*SWITCHES)),
    'resume': (Action.RESUME, {'adopt', 'facade', 'inputs', 'tolerance', 'taken_over'},
               only_during(*SWITCHES)),
    'check': (Action.CHECK, {'adopt', 'facade', 'inputs', 'tolerance', 'taken_over'}, only_during(Action.CHECK)),
    'snapshot': (Action.SNAPSHOT, set(), dict.fromkeys(IN_PROGRESS, ActionInProgress)),
    'restore': (Action.RESTORE, {'adopt', 'facade', 'restore'}, {**NOT_WHILE_DELETING, Action.SUSPEND: NotSupported}),
    'delete': (Action.DELETE, {'facade'}, EVERY),
    'forced delete': (Action.DELETE, {'facade'}, EVERY),
    'abandon': (Action.DELETE, {'facade', 'abandon'}, EVERY),
    'cancel': (Action.ROLLBACK, {'adopt', 'facade', 'tolerance'}, {
        action: None if action is Action.UPDATE else NotSupported for action in IN_PROGRESS}),
    'stop': (None, LEFT.keys(), {
        action: None if action in (Action.CREATE, Action.UPDATE) else NotSupported for action in IN_PROGRESS}),
    'delete snapshot': (None, LEFT.keys() - {'taken_over'}, {**EVERY, Action.RESTORE: NotSupported}),
}


def messages_of(stack_id, snapshot_id):
    return {
        'update': messages.UpdateStack(stack_id=stack_id, template=template({'a': thing('y')}), environment={}),
        **{action: messages.StackAction(stack_id, action) for action in ('suspend', 'resume', 'check')},
        'snapshot': messages.SnapshotStack(stack_id), 'restore': messages.RestoreSnapshot(stack_id, snapshot_id),
        'delete': messages.DeleteStack(stack_id), 'forced delete': messages.ForceDeleteStack(stack_id),
        'abandon': messages.AbandonStack(stack_id), 'cancel': messages.CancelStack(stack_id, rollback=True),
        'stop': messages.CancelStack(stack_id, rollback=False),
        'delete snapshot': messages.DeleteSnapshot(stack_id, snapshot_id)}


@pytest.mark.parametrize('before', IN_PROGRESS)
def test_requests_of_users(before):
    with Cluster(engines=1, enable_stack_abandon=True) as cluster:
        for number, (request, (begun, kept, refusals)) in enumerate(USERS.items()):
            stack_id = cluster.create(f's{number}', template({'a': thing()}))
            done(cluster, stack_id, 'CREATE')
            snapshot_id = cluster.ask(messages.SnapshotStack(stack_id))['id']
            done(cluster, stack_id, 'SNAPSHOT')
            generation = in_progress(cluster, stack_id, before, restore=snapshot_id).generation
            refusal = refusals[before]
            answer = cluster.ask(messages_of(stack_id, snapshot_id)[request], [refusal] if refusal else [])
            row = cluster.row(stack_id)
            assert isinstance(answer, Exception) == (refusal is not None), f'{request}: {answer}'
            if refusal is not None or begun is None:
                assert row.action == before, request
                assert lasts(row) == set(LEFT if refusal is not None else kept), request
            else:
                assert (row.action, row.generation > generation) == (begun, True), request
                assert lasts(row) == expected(kept, before), request
                if 'adopt' in row.request and request == 'update':
                    assert set(row.request['adopt']) == {'a'}, 'what the definition does not have is not adopted later'


@pytest.mark.parametrize('ended', ['ADOPT', 'UPDATE', 'CHECK'])
def test_what_is_to_be_adopted_lasts_until_a_definition_is_reached(ended):
    row = StoredRow(ended, 'COMPLETE', LEFT)
    assert ('adopt' in request_keys.lasting(row, Action.UPDATE)) == (ended == 'CHECK')
    assert 'adopt' in request_keys.lasting(StoredRow(ended, 'FAILED', LEFT), Action.UPDATE)


class StoredRow:
    def __init__(self, action, status, request):
        self.action, self.status, self.request = action, status, request


def test_every_key_is_in_the_table():
    assert {*LEFT, request_keys.SUSPENDED, request_keys.CANCELLED} == set(request_keys.LASTING)


# --- requests of parents -------------------------------------------------------------------------------------

PARENTS = {                             # request -> (what it begins, what that needs of LEFT, what it is refused with)
    **{action: (action, {'adopt', 'facade', 'inputs', 'tolerance', 'taken_over'}, only_during(*taken_over))
       for action, taken_over in ((Action.CHECK, (Action.CHECK,)), *[(each, SWITCHES) for each in SWITCHES[1:]])},
    Action.DELETE: (Action.DELETE, {'facade'}, EVERY),
    'abandon': (Action.DELETE, {'facade', 'abandon'}, EVERY),
    'update': (Action.UPDATE, {'adopt', 'facade'}, {**NOT_WHILE_DELETING, Action.SUSPEND: NotSupported}),
    'update again': (Action.UPDATE, set(), {        # for a signal to a member: of the nested stack itself
        **dict.fromkeys(IN_PROGRESS, ActionInProgress), Action.SUSPEND: NotSupported,
        Action.DELETE: NotSupported}),
}


def as_parent(cluster, stack_id, nested_id, request):
    """Makes the request to the nested stack as the handler of the resource would. The error, or None."""
    runtime, service = cluster.engines[0]
    requests, answers = service.use_cases.nested, []

    def act():
        parent = loading.for_reading(runtime, service.core.database, stack_id, service.registry)
        try:
            if request == 'update':
                row = cluster.row(nested_id)
                with service.core.database.reader() as tx:
                    stored = templates.get(tx, row.template_id)
                requests.update_child(parent, nested_id, lambda _identity: loading.definition(
                    stored, row, service.registry), {'facade': {}}, timeout_mins=None, converge=False)
            elif request == 'update again':
                requests.update_again(loading.for_reading(
                    runtime, service.core.database, nested_id, service.registry), lambda: None)
            elif request == 'abandon':
                requests.act_on_child(parent, nested_id, Action.DELETE, abandon=True)
            else:
                requests.act_on_child(parent, nested_id, request)
            answers.append(None)
        except Exception as error:
            answers.append(error)

    runtime.spawn(act)
    assert cluster.universe.run(lambda: bool(answers), limit=10)
    return answers[0]


@pytest.mark.parametrize('before', IN_PROGRESS)
def test_requests_of_parents(before):
    with Cluster(engines=1) as cluster:
        for number, (request, (begun, kept, refusals)) in enumerate(PARENTS.items()):
            stack_id = cluster.create(f's{number}', nested(), files=FILES)
            done(cluster, stack_id, 'CREATE')
            child = child_of(cluster, stack_id, 'c')
            in_progress(cluster, child.id, before)
            answer, refusal = as_parent(cluster, stack_id, child.id, request), refusals[before]
            row = cluster.row(child.id)
            assert type(answer) is (type(None) if refusal is None else refusal), f'{request}: {answer}'
            assert row.action == (before if refusal is not None else begun), request
            assert lasts(row) == (set(LEFT) if refusal is not None else expected(kept, before)), request


def test_an_update_again_is_one_to_what_the_parent_has_brought():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', nested(), files=FILES)
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        in_progress(cluster, child.id, Action.UPDATE, Status.COMPLETE)
        assert as_parent(cluster, stack_id, child.id, 'update again') is None
        assert lasts(cluster.row(child.id)) == {'facade', 'inputs', 'tolerance'}


# --- whole lives ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize('action', ['check', 'suspend'])
def test_a_nested_stack_that_a_user_deletes_is_deleted(action):
    slow = template({'slow': {'type': 'OS::Heat::TestResource', 'properties': {'action_wait_secs': {'delete': 20}}},
                     'a': thing()})
    with Cluster() as cluster:
        stack_id = cluster.create('s', template({'c': {'type': 'slow.yaml'}}), files={'slow.yaml': json.dumps(slow)})
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        cluster.delete(child.id)
        cluster.ask(messages.StackAction(stack_id, action))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == (action.upper(), 'FAILED')
        assert f'{action.capitalize()} of a stack that is being deleted is not supported.' in row.reason
        cluster.until_deleted(child.id, limit=100)
        assert not cluster.cloud.objects


def test_a_snapshot_of_the_parent_does_nothing_to_the_nested_stack():
    with Cluster() as cluster:
        stack_id = cluster.create('s', nested('one'), files=FILES)
        done(cluster, stack_id, 'CREATE')
        child = child_of(cluster, stack_id, 'c')
        mine = cluster.ask(messages.SnapshotStack(child.id, 'mine'))['id']
        done(cluster, child.id, 'SNAPSHOT')
        before = snapshot(cluster, mine)
        assert before.status == 'COMPLETE'
        cluster.universe.run(lambda: False, limit=5)
        cluster.ask(messages.SnapshotStack(stack_id))
        done(cluster, stack_id, 'SNAPSHOT')
        assert snapshot(cluster, mine) == before
        assert child_of(cluster, stack_id, 'c').generation == child.generation + 1


def snapshot(cluster, snapshot_id):
    with cluster.database.reader() as tx:
        return snapshots.show(tx, snapshot_id)


@pytest.mark.parametrize('is_nested', [False, True])
def test_updates_of_a_stack_in_progress_leave_a_bounded_number_of_rows(is_nested):
    """Its action may last for hours, and each update brings a template and files."""
    def document(number):
        inner = {'heat_template_version': '2018-08-31', 'description': f'number {number}', 'resources': {
            'a': {'type': 'OS::Heat::Delay', 'properties': {'min_wait': 3000}}}}
        if not is_nested:
            return inner, {'f': str(number)}
        outer = {'heat_template_version': '2018-08-31', 'resources': {'n': {'type': 'inner.yaml'}}}
        return outer, {'inner.yaml': json.dumps(inner)}

    most = 10
    with Cluster(engines=1, max_events_per_stack=most, **{'revisions.keep': 2}) as cluster:
        first, content = document(0)
        stack_id = cluster.create('s', first, files=content)
        for number in range(1, 21):
            wait(cluster, 5.0)
            changed, content = document(number)
            cluster.update(stack_id, changed, files=content)
        wait(cluster, 5.0)
        row = cluster.row(stack_id)
        assert (row.action, row.status, row.generation) == ('UPDATE', 'IN_PROGRESS', 21)
        with cluster.database.reader() as tx:
            counts = dict(tx.execute(sa.select(templates_of_stacks.c.stack_id, sa.func.count()).group_by(
                templates_of_stacks.c.stack_id)).tuples().all())
            assert len(counts) == 1 + is_nested and max(counts.values()) <= MOST_SUPERSEDED + 5
            assert tx.execute(sa.select(sa.func.count()).select_from(files)).scalar() <= 2 * (MOST_SUPERSEDED + 5)
            counts = dict(tx.execute(sa.select(event.c.stack_id, sa.func.count()).group_by(
                event.c.stack_id)).tuples().all())
            assert max(counts.values()) <= most + 5
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)
