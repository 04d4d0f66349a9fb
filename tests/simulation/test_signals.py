"""Signals: stored first, handled by whoever drives the stack, by somebody also when nobody did."""

from __future__ import annotations

import json
import re

import pytest

from heatlite.common import exception
from heatlite.db import events, resource_lists
from heatlite.engine.durability import event_history
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, kill_engines_in, lose_database_in
from tests.simulation.statements import noted

pytestmark = pytest.mark.usefixtures('encryption_key')


def waiting(count=2, timeout=100, transport='TOKEN_SIGNAL', **more):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': transport}},
        'wait': {'type': 'OS::Heat::WaitCondition', 'properties': {
            'handle': {'get_resource': 'handle'}, 'count': count, 'timeout': timeout}}, **more},
        'outputs': {'data': {'value': {'get_attr': ['wait', 'data']}}}}


def amazon(kind='AWS::CloudFormation::WaitConditionHandle'):
    return {'HeatTemplateFormatVersion': '2012-12-12', 'Resources': {
        'handle': {'Type': kind},
        'wait': {'Type': 'AWS::CloudFormation::WaitCondition', 'Properties': {
            'Handle': {'Ref': 'handle'}, 'Count': 1, 'Timeout': 100}}},
        'Outputs': {'Data': {'Value': {'Fn::GetAtt': ['wait', 'Data']}}}}


def signal(cluster, stack_id, name, details=None, wait=False, allowed=()):
    return cluster.ask(messages.SignalResource(stack_id, name, details, wait), allowed)


def until(cluster, stack_id, name, state):
    assert cluster.universe.run(lambda: cluster.states(stack_id).get(name, [((), ())])[0][:2] == state, limit=100)


def output(row):
    return json.loads(row.outputs[0]['output_value'])


def metadata(cluster, stack_id, name):
    with cluster.database.reader() as tx:
        return resource_lists.by_name(tx, stack_id, name)[-1].metadata


def reasons(cluster, stack_id):
    return [(name, f'{action}_{status}', reason) for name, action, status, reason in cluster.events(stack_id)
            if action == 'SIGNAL' or reason.startswith('Cannot')]


def pending(cluster):
    with cluster.database.reader() as tx:
        return tx.exec_driver_sql('SELECT count(*) FROM "signal"').scalar()


def test_a_wait_condition_waits_for_its_signals():
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting())
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle')
        signal(cluster, stack_id, 'handle', {'id': 'x', 'data': 'told', 'reason': 'because'})
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
        assert output(row) == {'1': None, 'x': 'told'}
        assert reasons(cluster, stack_id) == [
            ('handle', 'SIGNAL_COMPLETE', 'Signal: status:SUCCESS reason:Signal 1 received'),
            ('handle', 'SIGNAL_COMPLETE', 'Signal: status:SUCCESS reason:because')]
        assert metadata(cluster, stack_id, 'handle') == {
            '1': {'status': 'SUCCESS', 'reason': 'Signal 1 received', 'data': None},
            'x': {'status': 'SUCCESS', 'reason': 'because', 'data': 'told'}}


def test_a_failure_signalled():
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting())
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle', {'status': 'FAILURE', 'reason': 'it broke'})
        row = cluster.settle(stack_id)
        assert row.reason == 'Resource CREATE failed: WaitConditionFailure: resources.wait: it broke'


def test_waiting_ends():
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting(timeout=10))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle')
        row = cluster.settle(stack_id)
        assert row.reason == (
            'Resource CREATE failed: WaitConditionTimeout: resources.wait: 1 of 2 received - Signal 1 received')


def test_nobody_can_signal():
    """Every look counts as one."""
    with Cluster() as cluster:
        row = cluster.settle(cluster.create('s', waiting(count=3, transport='NO_SIGNAL')))
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason


def test_signals_to_a_finished_stack_do_not_make_its_history_grow(monkeypatch):
    monkeypatch.setattr(event_history, 'EACH', 10)
    with Cluster(engines=1, interleaved=False, max_events_per_stack=20) as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle')
        assert cluster.settle(stack_id).status == 'COMPLETE'
        for _number in range(200):
            signal(cluster, stack_id, 'handle', {'id': 'x', 'reason': 'again'})
            assert cluster.universe.run(lambda: not pending(cluster), limit=20)
        assert 20 <= len(cluster.events(stack_id)) < 100
        assert reasons(cluster, stack_id)[-1][2] == 'Signal: status:SUCCESS reason:again'


def test_the_end_of_an_action_removes_more_old_events_than_one_transaction_may(monkeypatch):
    monkeypatch.setattr(events, 'PURGED_AT_ONCE', 7)
    with Cluster(max_events_per_stack=5) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            f'r{number}': {'type': 'OS::Heat::None'} for number in range(30)}})
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert cluster.universe.run(lambda: len(cluster.events(stack_id)) == 5, limit=20)


def test_signals_that_are_refused_do_not_make_the_history_grow(monkeypatch):
    monkeypatch.setattr(event_history, 'EACH', 10)
    with Cluster(engines=1, interleaved=False, max_events_per_stack=20) as cluster:
        stack_id = cluster.create('s', waiting(count=1, transport='NO_SIGNAL'))
        cluster.settle(stack_id)
        cluster.ask(messages.LockStack(stack_id, 'maintenance'))
        for _number in range(200):
            signal(cluster, stack_id, 'handle', allowed=(exception.StackLocked,))
        assert 20 <= len(cluster.events(stack_id)) < 100


def test_a_history_without_a_limit_stays_whole(monkeypatch):
    monkeypatch.setattr(event_history, 'EACH', 1)
    with Cluster(engines=1, interleaved=False, max_events_per_stack=0) as cluster:
        stack_id = cluster.create('s', waiting(count=1, transport='NO_SIGNAL'))
        cluster.settle(stack_id)
        before = len(cluster.events(stack_id))
        cluster.ask(messages.MarkUnhealthy(stack_id, 'handle', True, 'r'))
        assert len(cluster.events(stack_id)) == before + 1


def test_a_long_reason_is_an_event_that_is_shortened():
    with Cluster(engines=1, interleaved=False) as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle', {'id': 'x', 'reason': 'r' * 100_000})
        cluster.settle(stack_id)
        ((_name, _state, reason),) = reasons(cluster, stack_id)
        assert reason.startswith('Signal: status:SUCCESS reason:rrr') and reason.endswith('r...')
        assert len(reason) < 15_000


def test_signals_that_are_none_change_nothing():
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        for wrong in ({'status': 'PERHAPS'}, {'colour': 'red'}, 'text', [1]):
            signal(cluster, stack_id, 'handle', wrong)
        cluster.universe.run(lambda: not pending(cluster), limit=20)
        assert not metadata(cluster, stack_id, 'handle') and reasons(cluster, stack_id) == []


def test_an_idle_stack_takes_signals():
    """Nobody drives it: somebody takes it, handles the signal, refreshes what depends on it, and gives it back."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle', {'id': 'a', 'data': 1})
        cluster.settle(stack_id)
        signal(cluster, stack_id, 'handle', {'id': 'b', 'data': 2})
        assert cluster.universe.run(lambda: not pending(cluster), limit=20)
        row = cluster.settle(stack_id)
        assert (row.action, row.status, output(row)) == ('CREATE', 'COMPLETE', {'a': 1, 'b': 2})
        with cluster.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT engine_id, wanted FROM lease').one() == (None, 0)


def test_an_update_begins_while_a_signal_is_handled():
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle')
        cluster.settle(stack_id)
        for each in range(5):
            signal(cluster, stack_id, 'handle', {'id': f's{each}'})
        cluster.update(stack_id, waiting(count=1, more={'type': 'Sim::Thing'}))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert cluster.universe.run(lambda: not pending(cluster), limit=20)
        assert len(metadata(cluster, stack_id, 'handle')) == 6 and 'more' in cluster.states(stack_id)


def test_who_waits_gets_the_metadata():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', amazon())
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        with pytest.raises(exception.HTTPBadRequest, match='Metadata format invalid'):
            signal(cluster, stack_id, 'handle', {'Status': 'SUCCESS'}, wait=True)
        told = {'Status': 'SUCCESS', 'Reason': 'r', 'Data': 'd', 'UniqueId': 'u'}
        assert signal(cluster, stack_id, 'handle', told, wait=True) == {
            'u': {'Status': 'SUCCESS', 'Reason': 'r', 'Data': 'd'}}
        row = cluster.settle(stack_id)
        assert (row.status, output(row)) == ('COMPLETE', {'u': 'd'})


@pytest.mark.parametrize('drops', [True, False])
def test_metadata_is_read_for_those_who_need_it(drops):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', waiting(count=2, transport='CFN_SIGNAL'))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        cluster.context.drops_answer = drops
        with noted(re.compile(r'SELECT resource.metadata, resource.metadata_version\b').match) as seen:
            found = signal(cluster, stack_id, 'handle', {'id': 'x'}, wait=True)
        assert (found is None, len(seen)) == ((True, 0) if drops else (False, 1))
        with pytest.raises(exception.HTTPBadRequest, match='Metadata format invalid'):
            signal(cluster, stack_id, 'handle', {'status': 'SO SO'}, wait=True)


@pytest.mark.parametrize('name, error', [
    ('nobody', exception.ResourceNotFound), ('wait', exception.ResourceActionNotSupported)])
def test_refused_at_once(name, error):
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        with pytest.raises(error):
            signal(cluster, stack_id, name)


def test_refused_while_suspended():
    with Cluster() as cluster:
        stack_id = cluster.create('s', waiting(transport='NO_SIGNAL'))
        cluster.settle(stack_id)
        cluster.ask(messages.StackAction(stack_id, 'suspend'))
        cluster.settle(stack_id)
        with pytest.raises(exception.NotSupported, match='Signal resource during SUSPEND is not supported'):
            signal(cluster, stack_id, 'handle')
        assert reasons(cluster, stack_id) == [
            ('handle', 'SUSPEND_COMPLETE', 'Cannot signal resource during SUSPEND')]


def test_an_update_handle_waits_anew_at_every_update():
    with Cluster() as cluster:
        wanted = amazon('OS::Heat::UpdateWaitConditionHandle')
        stack_id = cluster.create('s', wanted)
        told = {'Status': 'SUCCESS', 'Reason': '', 'Data': '', 'UniqueId': '1'}
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle', told)
        cluster.settle(stack_id)
        first = cluster.states(stack_id)['handle'][0][2]
        cluster.update(stack_id, wanted)
        assert cluster.universe.run(lambda: [rows[:2] for rows in cluster.states(stack_id)['wait']][-1] ==
                                  ('CREATE', 'IN_PROGRESS'), limit=100)
        signal(cluster, stack_id, 'handle', told)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert cluster.states(stack_id)['handle'][0][2] != first


def life(cluster):
    """Two signals that tell no id: each counts once, whatever happens meanwhile."""
    stack_id = cluster.create('s', waiting(count=2, timeout=1000))
    until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
    cluster.chaos.enabled = True
    signals = 0
    while signals < 2:
        before = len(metadata(cluster, stack_id, 'handle') or {})
        signal(cluster, stack_id, 'handle')
        assert cluster.universe.run(lambda: not pending(cluster), limit=200)
        signals = len(metadata(cluster, stack_id, 'handle'))
        assert signals >= before + 1
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
    assert len(reasons(cluster, stack_id)) == signals


def test_killed_at_any_point():
    kill_engines_in(life, 5, from_the_start=False)


def late(cluster):
    """A signal to a stack that nobody drives: what is shown follows it."""
    stack_id = cluster.create('s', waiting(count=1, timeout=1000))
    until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
    signal(cluster, stack_id, 'handle', {'id': 'a', 'data': 1})
    cluster.settle(stack_id)
    cluster.chaos.enabled = True
    signal(cluster, stack_id, 'handle', {'id': 'b', 'data': 2})
    assert cluster.universe.run(lambda: not pending(cluster), limit=200)
    row = cluster.settle(stack_id)
    assert (row.action, row.status, output(row)) == ('CREATE', 'COMPLETE', {'a': 1, 'b': 2})


def test_killed_before_others_look():
    kill_engines_in(late, 1, from_the_start=False)


@pytest.mark.parametrize('each', [life, late])
def test_the_database_away_at_any_time(each):
    lose_database_in(each, 7, from_the_start=False)


@pytest.mark.parametrize('engines', [1, 3])
def test_a_refused_signal_is_told_whoever_handles_it(engines):
    """Each request goes to any engine, and the stack belongs to one."""
    with Cluster(5, engines=engines) as cluster:
        stack_id = cluster.create('s', waiting(transport='CFN_SIGNAL'))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        for _ in range(8):
            answer = signal(cluster, stack_id, 'handle', {'Status': 'SUCCESS', 'UniqueId': 'a'}, wait=True,
                            allowed=(exception.HTTPBadRequest,))
            assert 'Metadata format invalid' in str(answer), answer
        with cluster.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT count(*) FROM signal_error').scalar() == 0
        assert signal(cluster, stack_id, 'handle', {'id': 'x', 'status': 'SUCCESS'}, wait=True)


def test_a_signal_to_a_resource_that_is_deleted_before_the_sender_looks():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', waiting(count=1))
        until(cluster, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(cluster, stack_id, 'handle')
        done(cluster, stack_id, 'CREATE')
        (runtime, service), = cluster.engines
        answers = []

        def send():
            try:
                answers.append(service.endpoint.handle(cluster.context, messages.SignalResource(
                    stack_id, 'handle', {'id': 'x'}, True)))
            except exception.ResourceNotFound as error:
                answers.append(str(error))

        runtime.spawn(send)
        assert cluster.universe.run(lambda: pending(cluster), limit=20)
        cluster.delete(stack_id)
        assert cluster.universe.run(lambda: answers, limit=100)
        assert answers == ['The Resource (handle) could not be found in Stack s.']
