"""Signals: stored first, handled by whoever drives the stack, by somebody also when nobody did."""

from __future__ import annotations

import json

import pytest
from oslo_config import cfg

from heatlite.common import config, exception
from heatlite.db import resources
from heatlite.rpc import messages
from tests.simulation.house import House, kill_engines_in, lose_database_in


@pytest.fixture(autouse=True)
def _key():
    """For the secrets of handles."""
    config.register(cfg.CONF)
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    yield
    cfg.CONF.clear_override('auth_encryption_key')


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


def signal(house, stack_id, name, details=None, wait=False, allowed=()):
    return house.ask(messages.SignalResource(stack_id, name, details, wait), allowed)


def until(house, stack_id, name, state):
    assert house.universe.run(lambda: house.states(stack_id).get(name, [((), ())])[0][:2] == state, limit=100)


def output(row):
    return json.loads(row.outputs[0]['output_value'])


def metadata(house, stack_id, name):
    with house.database.reader() as tx:
        return resources.by_name(tx, stack_id, name)[-1].metadata


def reasons(house, stack_id):
    return [(name, f'{action}_{status}', reason) for name, action, status, reason in house.events(stack_id)
            if action == 'SIGNAL' or reason.startswith('Cannot')]


def pending(house):
    with house.database.reader() as tx:
        return tx.exec_driver_sql('SELECT count(*) FROM "signal"').scalar()


def test_a_wait_condition_waits_for_its_signals():
    with House() as house:
        stack_id = house.create('s', waiting())
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(house, stack_id, 'handle')
        signal(house, stack_id, 'handle', {'id': 'x', 'data': 'told', 'reason': 'because'})
        row = house.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
        assert output(row) == {'1': None, 'x': 'told'}
        assert reasons(house, stack_id) == [
            ('handle', 'SIGNAL_COMPLETE', 'Signal: status:SUCCESS reason:Signal 1 received'),
            ('handle', 'SIGNAL_COMPLETE', 'Signal: status:SUCCESS reason:because')]
        assert metadata(house, stack_id, 'handle') == {
            '1': {'status': 'SUCCESS', 'reason': 'Signal 1 received', 'data': None},
            'x': {'status': 'SUCCESS', 'reason': 'because', 'data': 'told'}}


def test_a_failure_signalled():
    with House() as house:
        stack_id = house.create('s', waiting())
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(house, stack_id, 'handle', {'status': 'FAILURE', 'reason': 'it broke'})
        row = house.settle(stack_id)
        assert row.reason == 'Resource CREATE failed: WaitConditionFailure: resources.wait: it broke'


def test_waiting_ends():
    with House() as house:
        stack_id = house.create('s', waiting(timeout=10))
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(house, stack_id, 'handle')
        row = house.settle(stack_id)
        assert row.reason == (
            'Resource CREATE failed: WaitConditionTimeout: resources.wait: 1 of 2 received - Signal 1 received')


def test_nobody_can_signal():
    """Every look counts as one."""
    with House() as house:
        row = house.settle(house.create('s', waiting(count=3, transport='NO_SIGNAL')))
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason


def test_signals_that_are_none_change_nothing():
    with House() as house:
        stack_id = house.create('s', waiting(count=1))
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        for wrong in ({'status': 'PERHAPS'}, {'colour': 'red'}, 'text', [1]):
            signal(house, stack_id, 'handle', wrong)
        house.universe.run(lambda: not pending(house), limit=20)
        assert not metadata(house, stack_id, 'handle') and reasons(house, stack_id) == []


def test_an_idle_stack_takes_signals():
    """Nobody drives it: somebody takes it, handles the signal, refreshes what depends on it, and gives it back."""
    with House() as house:
        stack_id = house.create('s', waiting(count=1))
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(house, stack_id, 'handle', {'id': 'a', 'data': 1})
        house.settle(stack_id)
        signal(house, stack_id, 'handle', {'id': 'b', 'data': 2})
        assert house.universe.run(lambda: not pending(house), limit=20)
        row = house.settle(stack_id)
        assert (row.action, row.status, output(row)) == ('CREATE', 'COMPLETE', {'a': 1, 'b': 2})
        with house.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT engine_id, wanted FROM lease').one() == (None, 0)


def test_an_update_begins_while_a_signal_is_handled():
    with House() as house:
        stack_id = house.create('s', waiting(count=1))
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(house, stack_id, 'handle')
        house.settle(stack_id)
        for each in range(5):
            signal(house, stack_id, 'handle', {'id': f's{each}'})
        house.update(stack_id, waiting(count=1, more={'type': 'Sim::Thing'}))
        row = house.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert house.universe.run(lambda: not pending(house), limit=20)
        assert len(metadata(house, stack_id, 'handle')) == 6 and 'more' in house.states(stack_id)


def test_who_waits_gets_the_metadata():
    with House(engines=1) as house:
        stack_id = house.create('s', amazon())
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        with pytest.raises(exception.HTTPBadRequest, match='Metadata format invalid'):
            signal(house, stack_id, 'handle', {'Status': 'SUCCESS'}, wait=True)
        told = {'Status': 'SUCCESS', 'Reason': 'r', 'Data': 'd', 'UniqueId': 'u'}
        assert signal(house, stack_id, 'handle', told, wait=True) == {
            'u': {'Status': 'SUCCESS', 'Reason': 'r', 'Data': 'd'}}
        row = house.settle(stack_id)
        assert (row.status, output(row)) == ('COMPLETE', {'u': 'd'})


@pytest.mark.parametrize('name, error', [
    ('nobody', exception.ResourceNotFound), ('wait', exception.ResourceActionNotSupported)])
def test_refused_at_once(name, error):
    with House() as house:
        stack_id = house.create('s', waiting(count=1))
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        with pytest.raises(error):
            signal(house, stack_id, name)


def test_refused_while_suspended():
    with House() as house:
        stack_id = house.create('s', waiting(transport='NO_SIGNAL'))
        house.settle(stack_id)
        house.ask(messages.StackAction(stack_id, 'suspend'))
        house.settle(stack_id)
        with pytest.raises(exception.NotSupported, match='Signal resource during SUSPEND is not supported'):
            signal(house, stack_id, 'handle')
        assert reasons(house, stack_id) == [
            ('handle', 'SUSPEND_COMPLETE', 'Cannot signal resource during SUSPEND')]


def test_an_update_handle_waits_anew_at_every_update():
    with House() as house:
        wanted = amazon('OS::Heat::UpdateWaitConditionHandle')
        stack_id = house.create('s', wanted)
        told = {'Status': 'SUCCESS', 'Reason': '', 'Data': '', 'UniqueId': '1'}
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        signal(house, stack_id, 'handle', told)
        house.settle(stack_id)
        first = house.states(stack_id)['handle'][0][2]
        house.update(stack_id, wanted)
        assert house.universe.run(lambda: [rows[:2] for rows in house.states(stack_id)['wait']][-1] ==
                                  ('CREATE', 'IN_PROGRESS'), limit=100)
        signal(house, stack_id, 'handle', told)
        row = house.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert house.states(stack_id)['handle'][0][2] != first


def life(house):
    """Two signals that tell no id: each counts once, whatever happens meanwhile."""
    stack_id = house.create('s', waiting(count=2, timeout=1000))
    until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
    house.chaos.enabled = True
    signals = 0
    while signals < 2:
        before = len(metadata(house, stack_id, 'handle') or {})
        signal(house, stack_id, 'handle')
        assert house.universe.run(lambda: not pending(house), limit=200)
        signals = len(metadata(house, stack_id, 'handle'))
        assert signals >= before + 1
    row = house.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
    assert len(reasons(house, stack_id)) == signals


def test_killed_at_any_point():
    kill_engines_in(life, 5, from_the_start=False)


def late(house):
    """A signal to a stack that nobody drives: what is shown follows it."""
    stack_id = house.create('s', waiting(count=1, timeout=1000))
    until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
    signal(house, stack_id, 'handle', {'id': 'a', 'data': 1})
    house.settle(stack_id)
    house.chaos.enabled = True
    signal(house, stack_id, 'handle', {'id': 'b', 'data': 2})
    assert house.universe.run(lambda: not pending(house), limit=200)
    row = house.settle(stack_id)
    assert (row.action, row.status, output(row)) == ('CREATE', 'COMPLETE', {'a': 1, 'b': 2})


def test_killed_before_others_look():
    kill_engines_in(late, 1, from_the_start=False)


@pytest.mark.parametrize('each', [life, late])
def test_the_database_away_at_any_time(each):
    lose_database_in(each, 7, from_the_start=False)


@pytest.mark.parametrize('engines', [1, 3])
def test_a_refused_signal_is_told_whoever_handles_it(engines):
    """Each request goes to any engine, and the stack belongs to one."""
    with House(5, engines=engines) as house:
        stack_id = house.create('s', waiting(transport='CFN_SIGNAL'))
        until(house, stack_id, 'wait', ('CREATE', 'IN_PROGRESS'))
        for _ in range(8):
            answer = signal(house, stack_id, 'handle', {'Status': 'SUCCESS', 'UniqueId': 'a'}, wait=True,
                            allowed=(exception.HTTPBadRequest,))
            assert 'Metadata format invalid' in str(answer), answer
        with house.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT count(*) FROM signal_error').scalar() == 0
        assert signal(house, stack_id, 'handle', {'id': 'x', 'status': 'SUCCESS'}, wait=True)
