"""Alarms: each period is evaluated, and its actions follow, once, whatever dies, stands still or sets its clock."""

from __future__ import annotations

import itertools
import json

import pytest
import sqlalchemy as sa

from heatlite.common import exception, limits, urlfetch
from heatlite.common.context import RequestContext
from heatlite.db import alarms, metrics, resource_lists, shards
from heatlite.engine.alarms import evaluation, shard_runner, webhooks
from heatlite.monitoring.alarms import AlarmRule, Metric
from heatlite.rpc import messages, server
from heatlite.testing import cluster as kit
from heatlite.testing.runtime import EPOCH_SECONDS
from heatlite.testing.storage import Outage
from tests.simulation.cluster import PROJECT, Cluster, kill_engines_in, lose_database_in, wait

pytestmark = pytest.mark.usefixtures('encryption_key')

SHARD = shards.lease_id(shards.of_project(PROJECT))
CPU = Metric('system/linux', 'CPU', (('host', 'a'),))
PERIOD = 10
QUICK = {'alarms.delay': 1.0, 'alarms.tick': 0.5}
HANDLE = {'heat_template_version': '2018-08-31', 'resources': {
    'handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': 'TOKEN_SIGNAL'}},
    'mute': {'type': 'OS::Heat::None'}}}


def rule(**changed):
    return AlarmRule(**{'metric': CPU, 'statistic': 'Maximum', 'period': PERIOD, 'evaluation_periods': 1,
                        'comparison': 'GreaterThanThreshold', 'threshold': 50.0, **changed})


def put(cluster, name='a', allowed=(), **changed):
    return cluster.ask(messages.PutAlarm(name, rule(**changed).to_json()), allowed)


def push(cluster, value=90.0, **changed):
    return cluster.ask(messages.PutMetricData(CPU.namespace, ({
        'name': CPU.name, 'dimensions': CPU.dimensions, 'unit': 'Percent', 'samples': 1, 'total': value,
        'smallest': value, 'largest': value, **changed},)))


def read(cluster, name='a'):
    with cluster.database.reader() as tx:
        return alarms.get(tx, PROJECT, name)


def history(cluster, name='a', kind=None):
    """The oldest first."""
    with cluster.database.reader() as tx:
        return alarms.history(tx, PROJECT, name, kind, ascending=True, limit=1000)


def states(cluster, name='a'):
    return [each.data['newState']['stateValue'] for each in history(cluster, name, 'StateUpdate')]


def outcomes(cluster, name='a'):
    return [each.data['actionState'] for each in history(cluster, name, 'Action')]


def until(cluster, claim, limit=200.0):
    universe = cluster.universe
    assert universe.run(lambda: not universe.steps % 50 and claim(), limit=limit), (read(cluster), history(cluster))


def reach(cluster, state, name='a'):
    until(cluster, lambda: read(cluster, name).state == state)


def arn(stack_id, name='handle', project=PROJECT):
    return f'arn:openstack:heat::{project}:stacks/s/{stack_id}/resources/{name}'


def received(cluster, stack_id):
    """Ids of the signals that the handle has got."""
    with cluster.database.reader() as tx:
        return resource_lists.by_name(tx, stack_id, 'handle')[-1].metadata


def leased(cluster):
    with cluster.database.reader() as tx:
        return {row[0]: (row[1], bool(row[2]), row[3]) for row in tx.exec_driver_sql(
            "SELECT stack_id, engine_id, wanted, epoch FROM lease WHERE stack_id LIKE 'alarms-%'")}


# --- once --------------------------------------------------------------------------------------------------

def evaluated(cluster):
    """The ends of the periods whose actions are in the history, in order."""
    return [each.data['stateValue'] and each.data['evaluated'] for each in history(cluster, kind='Action')]


def prepared(cluster):
    """An alarm that signals at each evaluation. The stack's id."""
    stack_id = cluster.create('s', HANDLE)
    assert cluster.settle(stack_id).status == 'COMPLETE'
    put(cluster, every_time=True, missing='ignore', alarm_actions=(arn(stack_id),))
    push(cluster)
    until(cluster, lambda: evaluated(cluster))
    return stack_id


def check_once(cluster, stack_id, periods, skipped=False):
    """Waits for so many periods. Each was evaluated once, and the handle has got one signal for each."""
    until(cluster, lambda: len(evaluated(cluster)) >= periods)
    found = evaluated(cluster)
    assert sorted(set(found)) == found, 'a period was evaluated twice'
    if not skipped:
        assert found == list(range(found[0], found[0] + PERIOD * len(found), PERIOD)), 'a period was left out'
    until(cluster, lambda: len(received(cluster, stack_id)) >= len(found))
    assert set(received(cluster, stack_id)) >= {f'a {end}' for end in found}
    assert set(received(cluster, stack_id)) <= {f'a {end}' for end in evaluated(cluster)}
    signalled = [event for event in cluster.events(stack_id) if event[1] == 'SIGNAL']
    assert len(signalled) == len(set(received(cluster, stack_id)))
    assert states(cluster) == ['ALARM']


def life(cluster):
    stack_id = prepared(cluster)
    cluster.chaos.enabled = True
    until(cluster, lambda: len(evaluated(cluster)) >= 2)
    cluster.chaos.enabled = False
    check_once(cluster, stack_id, 4)


def test_engines_die_at_every_write():
    assert kill_engines_in(life, stride=23, from_the_start=False, **QUICK) > 20


def test_the_database_goes_away():
    assert lose_database_in(life, stride=43, from_the_start=False, **QUICK) > 20


class Standstill:
    """The engine that holds the shard stands still right before its n-th commit, for longer than its leases last."""

    def __init__(self, cluster, commit):
        self.cluster, self.left, self.frozen = cluster, commit, None
        cluster.chaos.on_visit = self

    def __call__(self, label, runtime):
        owner = leased(self.cluster).get(SHARD, (None,))[0]
        if label != 'before a commit' or self.frozen is not None or self.engine(runtime) != owner:
            return
        self.left -= 1
        if not self.left:
            self.frozen = runtime
            runtime.freeze(25.0)
            runtime.give_way()

    def engine(self, runtime):
        return next((service.engine_id for each, service in self.cluster.engines if each is runtime), '')


@pytest.mark.parametrize('commit', range(1, 9))
def test_an_engine_that_stood_still_is_refused(commit):
    with Cluster(commit, **QUICK) as cluster:
        stack_id = prepared(cluster)
        first = leased(cluster)[SHARD]
        still = Standstill(cluster, commit)
        cluster.chaos.enabled = True
        until(cluster, lambda: still.frozen is not None)
        until(cluster, lambda: leased(cluster)[SHARD][2] > first[2])
        assert leased(cluster)[SHARD][0] != first[0]
        wait(cluster, 40.0)                         # it goes on
        check_once(cluster, stack_id, 7)


def without_engine(cluster, seconds):
    """The only engine dies, and another one begins so much later."""
    [(runtime, _service)] = cluster.engines
    runtime.kill()
    cluster.engines.clear()
    wait(cluster, seconds)
    cluster.start_engine()


@pytest.mark.parametrize('seconds', [25.0, 280.0])
def test_periods_without_an_engine_are_made_up_for(seconds):
    """Each is evaluated later, with the data that it had, and its actions follow once."""
    with Cluster(3, engines=1, **QUICK) as cluster:
        stack_id = prepared(cluster)
        until(cluster, lambda: len(evaluated(cluster)) >= 2)
        without_engine(cluster, seconds)
        wait(cluster, 60.0)
        check_once(cluster, stack_id, 4 + int(seconds / PERIOD))


def test_after_a_long_outage_old_periods_are_left_out():
    with Cluster(3, engines=1, **QUICK) as cluster:
        stack_id = prepared(cluster)
        before = evaluated(cluster)[-1]
        without_engine(cluster, 3_000.0)
        wait(cluster, 60.0)
        check_once(cluster, stack_id, 30, skipped=True)
        first = next(end for end in evaluated(cluster) if end > before)
        assert 2_600.0 < first - before < 2_750.0
        steps = {later - earlier for earlier, later in itertools.pairwise(evaluated(cluster)) if earlier >= first}
        assert steps == {PERIOD}


@pytest.mark.parametrize('seconds', [7.0, 100.0, 3600.0, -7.0, -100.0])
def test_the_clock_is_set(seconds):
    """Forward: all periods up to the present one, of some minutes at most. Back: the time that was is waited for."""
    with Cluster(5, **QUICK) as cluster:
        stack_id = prepared(cluster)
        wait(cluster, 30.0)
        cluster.universe.database_ahead += seconds
        before = evaluated(cluster)
        wait(cluster, 150.0)
        assert len(evaluated(cluster)) - len(before) > 3
        check_once(cluster, stack_id, len(before) + 5, skipped=seconds > evaluation.MADE_UP)


def test_the_clock_is_set_far_back():
    """Alarms do not wait for days: they begin anew."""
    with Cluster(5, **QUICK) as cluster:
        cluster.universe.database_ahead = 50_000.0
        prepared(cluster)
        cluster.universe.database_ahead = 0.0
        before = evaluated(cluster)
        wait(cluster, 120.0)
        after = evaluated(cluster)[len(before):]
        assert len(after) >= 4
        assert after == list(range(after[0], after[0] + PERIOD * len(after), PERIOD))
        assert after[-1] < EPOCH_SECONDS + 1000


# --- states and actions ------------------------------------------------------------------------------------

def test_actions_follow_changes_of_the_state():
    with Cluster(1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        put(cluster, alarm_actions=(arn(stack_id),), ok_actions=(arn(stack_id),),
            insufficient_data_actions=(arn(stack_id),))
        assert read(cluster).state == 'NODATA'
        for value, state in ((90.0, 'ALARM'), (10.0, 'NORMAL')):
            for _period in range(3):
                push(cluster, value)
                wait(cluster, PERIOD)
            reach(cluster, state)
        reach(cluster, 'NODATA')
        wait(cluster, 20.0)
        assert states(cluster) == ['ALARM', 'OK', 'INSUFFICIENT_DATA']
        assert outcomes(cluster) == ['Succeeded'] * 3
        told = [json.loads(each['data']) for each in received(cluster, stack_id).values()]
        assert told == [{'alarm': 'a', 'state': state} for state in ('alarm', 'ok', 'insufficient data')]


def test_an_alarm_of_a_stack_names_resources_of_it():
    with Cluster(1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        physical = cluster.states(stack_id)['handle'][0][2]
        types = cluster.engines[0][1].alarms
        call(cluster, lambda: types.put(cluster.context, 's-a', rule(alarm_actions=('handle', str(physical), 'nobody')),
                                        stack_id=stack_id, resource_name='a'))
        cluster.ask(messages.SetAlarmState('s-a', 'ALARM', 'by hand'))
        assert sorted(outcomes(cluster, 's-a')) == ['Failed', 'Succeeded', 'Succeeded']
        assert 'nobody' in ' '.join(each.summary for each in history(cluster, 's-a', 'Action'))
        until(cluster, lambda: received(cluster, stack_id))


def call(cluster, function):
    """Runs it in a thread of the simulation; its result."""
    found = []

    def work():
        try:
            found.append(function())
        except exception.HeatException as error:
            found.append(error)

    cluster.engines[0][0].spawn(work)
    assert cluster.universe.run(lambda: bool(found))
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def test_the_alarm_of_a_resource():
    with Cluster(1, **QUICK) as cluster:
        types = cluster.engines[0][1].alarms
        first, second = (cluster.create(name, HANDLE) for name in ('s', 't'))
        for stack_id in (first, second):
            cluster.settle(stack_id)

        def store(stack_id, **changed):
            call(cluster, lambda: types.put(cluster.context, 'x', rule(**changed), stack_id=stack_id,
                                            resource_name='x'))

        store(first)
        made = read(cluster, 'x')
        store(first)                                                    # again, after a crash
        assert read(cluster, 'x') == made
        assert call(cluster, lambda: types.show(cluster.context, 'x')) == made
        store(first, threshold=60.0)
        assert read(cluster, 'x').rule.threshold == 60.0
        with pytest.raises(exception.Conflict):
            store(second)
        with pytest.raises(exception.InvalidRestrictedAction):
            put(cluster, 'x')
        with pytest.raises(exception.InvalidRestrictedAction):
            cluster.ask(messages.DeleteAlarms(('x',)))
        call(cluster, lambda: types.delete(cluster.context, 'x', second))       # not its own
        call(cluster, lambda: types.suspend(cluster.context, 'x', first))
        assert read(cluster, 'x').state == 'SUSPENDED'
        with pytest.raises(exception.InvalidRestrictedAction):
            cluster.ask(messages.SetAlarmState('x', 'ALARM', 'by hand'))
        push(cluster)
        wait(cluster, 40.0)
        assert read(cluster, 'x').state == 'SUSPENDED'
        for _time in range(2):
            call(cluster, lambda: types.resume(cluster.context, 'x', first))
        assert read(cluster, 'x').state == 'NODATA'
        push(cluster)
        reach(cluster, 'ALARM', 'x')
        for _time in range(2):
            call(cluster, lambda: types.delete(cluster.context, 'x', first))
        assert read(cluster, 'x') is None
        with pytest.raises(exception.EntityNotFound):
            call(cluster, lambda: types.resume(cluster.context, 'x', first))


def test_a_state_that_was_set_lasts_until_the_next_evaluation():
    with Cluster(1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        put(cluster, missing='notBreaching', alarm_actions=(arn(stack_id),))
        reach(cluster, 'NORMAL')
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried', '{"by": "hand"}'))
        found = read(cluster)
        assert (found.state, found.reason, found.reason_data) == ('ALARM', 'tried', {'given': '{"by": "hand"}'})
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'again'))
        until(cluster, lambda: received(cluster, stack_id))
        reach(cluster, 'NORMAL')
        assert states(cluster) == ['OK', 'ALARM', 'OK']
        assert outcomes(cluster) == ['Succeeded']


def test_disabled_actions():
    with Cluster(1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        put(cluster, alarm_actions=(arn(stack_id),))
        cluster.ask(messages.EnableAlarmActions(('a', 'nobody'), False))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        put(cluster, alarm_actions=(arn(stack_id),), threshold=51.0)
        assert not read(cluster).actions_enabled                        # still
        assert states(cluster) == ['ALARM']
        assert outcomes(cluster) == []
        cluster.ask(messages.EnableAlarmActions(('a',), True))
        cluster.ask(messages.SetAlarmState('a', 'NORMAL', 'tried'))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        assert outcomes(cluster) == ['Succeeded']
        assert [each.summary for each in history(cluster, kind='ConfigurationUpdate')] == [
            'Alarm "a" created', 'Actions disabled', 'Alarm "a" updated', 'Actions enabled']


def test_a_stack_that_is_gone_gets_no_signal():
    with Cluster(1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        put(cluster, alarm_actions=(arn(stack_id),))
        cluster.delete(stack_id)
        cluster.settle(stack_id)
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        assert outcomes(cluster) == ['Failed']
        assert read(cluster).state == 'ALARM'


def test_too_many_signals(monkeypatch):
    monkeypatch.setattr(limits, 'MOST_SIGNALS', -1)
    with Cluster(1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        put(cluster, alarm_actions=(arn(stack_id),))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        assert outcomes(cluster) == ['Failed']


def test_requests_change_no_history_without_bound(monkeypatch):
    monkeypatch.setattr(limits, 'MOST_HISTORY', 5)
    with Cluster(1, engines=1, **QUICK) as cluster:
        put(cluster)
        put(cluster, 'b')
        for number in range(8):
            cluster.ask(messages.SetAlarmState('a', ('ALARM', 'NORMAL')[number % 2], str(number)))
            cluster.ask(messages.EnableAlarmActions(('a',), bool(number % 2)))
            put(cluster, threshold=number)
            assert len(history(cluster)) <= 5
        assert [each.kind for each in history(cluster)][-3:] == [
            'StateUpdate', 'ConfigurationUpdate', 'ConfigurationUpdate']
        assert len(history(cluster, 'b')) == 1


def test_an_alarm_that_cannot_be_read_does_not_hinder_others():
    with Cluster(1, engines=1, **QUICK) as cluster:
        for name in ('a', 'b', 'c'):
            put(cluster, name, missing='breaching')
        with cluster.database.writer() as tx:
            tx.exec_driver_sql("UPDATE alarm SET rule = '{' WHERE name = 'b'")
            good = dict(tx.exec_driver_sql("SELECT name, due_at FROM alarm").tuples().all())
        for name in ('a', 'c'):
            reach(cluster, 'ALARM', name)
        wait(cluster, 100.0)
        with cluster.database.reader() as tx:
            later = dict(tx.exec_driver_sql("SELECT name, due_at FROM alarm").tuples().all())
        assert later['b'] > good['b'] + 60.0                            # tried again
        assert later['a'] > good['a'] + 80.0


# --- requests to others ------------------------------------------------------------------------------------

class Receiver:
    """What others answer: `statuses` in order, the last one again and again; None: they are not reached."""

    def __init__(self, *statuses):
        self.statuses, self.got = list(statuses), []

    def __call__(self, url, body):
        self.got.append((url, json.loads(body)))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if status is None:
            raise urlfetch.URLFetchError('they are away')
        return status


HOOK = 'https://user:word@hooks.example/in?token=secret'


def cluster_with(receiver, seed=1, **options):
    def prepare(service):
        service.shards.webhooks.post = receiver

    return kit.Cluster(seed, prepare=prepare, **QUICK, **options)


def test_a_request():
    receiver = Receiver(204)
    with cluster_with(receiver) as cluster:
        put(cluster, alarm_actions=(HOOK,), description='too hot', unit='Percent')
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        until(cluster, lambda: 'Succeeded' in outcomes(cluster))
        [(url, body)] = receiver.got
        assert url == HOOK
        assert body['Trigger'].pop('Dimensions') == [{'name': 'host', 'value': 'a'}]
        assert body.pop('StateChangeTime').startswith('2026-01-01T')
        assert body == {
            'AlarmName': 'a', 'AlarmDescription': 'too hot', 'AWSAccountId': PROJECT, 'NewStateValue': 'ALARM',
            'NewStateReason': 'tried', 'Region': '', 'OldStateValue': 'INSUFFICIENT_DATA',
            'AlarmArn': f'arn:openstack:cloudwatch::{PROJECT}:alarm:a', 'Trigger': {
                'MetricName': 'CPU', 'Namespace': 'system/linux', 'StatisticType': 'Statistic',
                'Statistic': 'MAXIMUM', 'Unit': 'Percent', 'Period': 10, 'EvaluationPeriods': 1,
                'DatapointsToAlarm': 1, 'ComparisonOperator': 'GreaterThanThreshold', 'Threshold': 50.0,
                'TreatMissingData': 'missing'}}
        assert outcomes(cluster) == ['Queued', 'Succeeded']
        assert 'secret' not in str(history(cluster))
        assert 'word' not in str(history(cluster))


@pytest.mark.parametrize('statuses, attempts', [((500, None, 200), 3), ((None,), 5), ((301,), 5)])
def test_a_request_that_fails_is_tried_again(statuses, attempts):
    receiver = Receiver(*statuses)
    with cluster_with(receiver) as cluster:
        put(cluster, alarm_actions=(HOOK,))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        wait(cluster, 900.0)
        assert len(receiver.got) == attempts
        last = 'Succeeded' if statuses[-1] == 200 else 'Failed'
        assert outcomes(cluster) == ['Queued', *['Failed'] * (attempts - 1), last]
        with cluster.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT count(*) FROM alarm_webhook').scalar() == 0
        assert 'secret' not in str(history(cluster))


def test_a_request_that_cannot_be_read_does_not_hinder_others():
    receiver = Receiver(204)
    with cluster_with(receiver) as cluster:
        for name in 'ab':
            put(cluster, name, alarm_actions=(f'https://hooks.example/{name}',))
        with cluster.database.writer() as tx:
            now = evaluation.time(tx)
            for name, url in (('a', '"https://broken.example/"'), ('b', '{')):
                alarms.queue(tx, [alarms.Webhook(0, alarms.get(tx, PROJECT, name).id, PROJECT, name, url, {}, 0)],
                             now, metrics.moment(now))
            tx.exec_driver_sql("UPDATE alarm_webhook SET url = '{' WHERE name = 'b'")
            tx.exec_driver_sql("UPDATE alarm_webhook SET body = '{' WHERE name = 'a'")
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        cluster.ask(messages.SetAlarmState('b', 'ALARM', 'tried'))
        until(cluster, lambda: len(receiver.got) == 2)
        assert sorted(url for url, _body in receiver.got) == ['https://hooks.example/a', 'https://hooks.example/b']
        wait(cluster, 900.0)
        with cluster.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT count(*) FROM alarm_webhook').scalar() == 0
        for name in 'ab':
            assert outcomes(cluster, name).count('Failed') == webhooks.TRIES
            assert 'Attempt 5 of 5 failed: The request cannot be read.' in str(history(cluster, name))


def test_too_many_requests(monkeypatch):
    """Those of another project have room of their own, and those that were sent make room. One engine: what another one
    has stored since the last count is not known."""
    monkeypatch.setattr(limits, 'MOST_REQUESTS', 3)
    receiver = Receiver(None)
    with cluster_with(receiver, engines=1) as cluster:
        put(cluster, alarm_actions=(HOOK, HOOK + '2'), ok_actions=(HOOK,))
        for state in ('ALARM', 'NORMAL', 'ALARM'):
            cluster.ask(messages.SetAlarmState('a', state, 'tried'))
        found = [each for each in history(cluster, kind='Action') if 'wait' in each.summary]
        assert [each.data['actionState'] for each in found] == ['Queued'] * 3 + ['Failed'] * 2
        assert found[-1].summary == (
            'No request was sent to https://hooks.example: 3 of the project wait already.')
        cluster.context.project_id = 'other'
        put(cluster, alarm_actions=(HOOK,))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        with cluster.database.reader() as tx:
            assert alarms.requests_by_project(tx, shards.of_project('other'))['other'] == 1
        cluster.context.project_id = PROJECT
        wait(cluster, 900.0)
        cluster.ask(messages.SetAlarmState('a', 'NORMAL', 'tried'))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        assert outcomes(cluster)[-2:] == ['Queued'] * 2


def test_a_request_does_not_wait_for_alarms_that_are_behind(monkeypatch):
    """There is more to evaluate than an engine can."""
    receiver = Receiver(204)
    monkeypatch.setattr(shard_runner, 'ROUND', 0.0)
    with cluster_with(receiver, **{'alarms.batch_size': 1}) as cluster:
        put(cluster, missing='breaching', alarm_actions=(HOOK,))
        monkeypatch.setattr(evaluation, '_due_at', lambda evaluated, rule, delay: evaluated + delay)    # always due
        until(cluster, lambda: receiver.got)
        assert receiver.got[0][0] == HOOK


def test_requests_survive_engines():
    """At least once; and what was sent is in the history."""
    seen = set()
    for seed in range(12):
        receiver = Receiver(200)
        with cluster_with(receiver, seed) as cluster:
            put(cluster, alarm_actions=(HOOK,))
            cluster.chaos.begin([seed + 1])
            cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'), [exception.EntityNotFound])
            until(cluster, lambda: 'Succeeded' in outcomes(cluster))
            assert 1 <= len(receiver.got) <= 2
            assert outcomes(cluster).count('Succeeded') == 1
            seen.add(len(cluster.chaos.killed))
    assert 1 in seen


# --- what is refused ---------------------------------------------------------------------------------------

@pytest.mark.parametrize('action', [
    'arn:openstack:heat::other:stacks/s/{id}/resources/handle', 'arn:openstack:heat::p:stacks/s/{id}',
    'arn:openstack:heat::p:stacks/s/nobody/resources/handle', 'arn:openstack:heat::p:stacks/s/{id}/resources/nobody',
    'arn:aws:sns:us-east-1:1:topic', 'arn:aws:automate:us-east-1:ec2:reboot', 'handle', 'ftp://files.example/',
    'http://', 'http://[1', 'https://a:b:c/', 'javascript:alert(1)', 'trust+https://a/',
    'http://any/v1/signal/arn%3Aopenstack%3Aheat%3A%3Aother%3Astacks/s/{id}/resources/handle?Signature=x',
    'http://any/v1/waitcondition/arn:openstack:heat::other:stacks/s/{id}/resources/handle',
    'http://any/v1/p/stacks/s/nobody/resources/handle/signal'])
def test_an_action_that_is_refused(action):
    with Cluster(1, engines=1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        with pytest.raises(exception.HTTPBadRequest) as refused:
            put(cluster, ok_actions=(action.format(id=stack_id),))
        assert 'Signature' not in str(refused.value)
        assert read(cluster) is None


@pytest.mark.parametrize('action', [
    'http://any:8000/v1/signal/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/s/{id}/resources/handle?Signature=x',
    'https://any/cfn/v1/signal/arn:openstack:heat::p:stacks/s/{id}/resources/handle',
    'http://any/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks%2Fs%2F{id}%2Fresources%2Fhandle',
    'http://any:8004/v1/inner/stacks/s/{id}/resources/handle/signal'])
def test_the_addresses_of_signals(action):
    with Cluster(1, engines=1, **QUICK) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        put(cluster, alarm_actions=(action.format(id=stack_id),))
        cluster.ask(messages.SetAlarmState('a', 'ALARM', 'tried'))
        until(cluster, lambda: received(cluster, stack_id))


@pytest.mark.parametrize('message', [
    messages.PutAlarm('', {}), messages.PutAlarm('n' * 256, {}), messages.PutAlarm('a\n', {}),
    messages.PutAlarm('\ud800', {}), messages.PutAlarm('a', {}), messages.DeleteAlarms(()),
    messages.DeleteAlarms(('a',) * 101), messages.SetAlarmState('a', 'SUSPENDED', ''),
    messages.SetAlarmState('a', 'OK', ''), messages.SetAlarmState('a', 'ALARM', 'r' * 1024),
    messages.SetAlarmState('a', 'ALARM', 'r', 'd' * 4001), messages.EnableAlarmActions(('',), True),
    messages.PutMetricData('n', ()), messages.PutMetricData('n', ({},) * 1001), messages.PutMetricData('n', ({},)),
    messages.PutMetricData('n', ({'name': 'm', 'samples': 1, 'total': 1, 'smallest': 1, 'largest': 1, 'at': 0.0},)),
    messages.PutMetricData('n', ({'name': 'm', 'samples': 1, 'total': 1, 'smallest': 1, 'largest': 1, 'at': 5e9},)),
])
def test_a_wrong_message_is_refused(message):
    with Cluster(1, engines=1) as cluster:
        if isinstance(message, messages.PutAlarm) and message.name != 'a':
            message = messages.PutAlarm(message.name, rule().to_json())
        with pytest.raises(exception.HTTPBadRequest):
            cluster.ask(message)
        with cluster.database.reader() as tx:
            for table in ('alarm', 'metric', 'metric_period', 'alarm_history'):
                assert tx.exec_driver_sql(f'SELECT count(*) FROM {table}').scalar() == 0


def test_alarms_that_are_not_there():
    with Cluster(1, engines=1) as cluster:
        put(cluster)
        for message in (messages.DeleteAlarms(('a', 'nobody')), messages.SetAlarmState('nobody', 'ALARM', '')):
            with pytest.raises(exception.EntityNotFound, match='nobody'):
                cluster.ask(message)
        assert read(cluster) is not None
        cluster.context.project_id = 'other'
        for message in (messages.DeleteAlarms(('a',)), messages.SetAlarmState('a', 'ALARM', '')):
            with pytest.raises(exception.EntityNotFound):
                cluster.ask(message)
        cluster.ask(messages.EnableAlarmActions(('a',), False))
        assert read(cluster).actions_enabled


def test_the_most_of_a_project():
    with Cluster(1, engines=1, **{'alarms.max_alarms_per_project': 1, 'alarms.max_metrics_per_project': 1}) as cluster:
        put(cluster, period=60)
        put(cluster, period=300)
        with pytest.raises(exception.LimitExceeded):
            put(cluster, 'b')
        push(cluster)
        push(cluster)
        with pytest.raises(exception.LimitExceeded):
            push(cluster, name='Other')
        cluster.ask(messages.DeleteAlarms(('a',)))
        put(cluster, 'b')


def test_users_inside_stacks_leave_half_of_the_metrics_to_the_project():
    with Cluster(1, engines=1, **{'alarms.max_metrics_per_project': 4}) as cluster:
        cluster.settle(cluster.create('s', HANDLE))
        with cluster.database.writer() as tx:
            tx.exec_driver_sql("UPDATE stack SET user_project_id = 'inner'")
        owner, cluster.context = cluster.context, RequestContext(project_id='inner', overwrite=False)
        for name in ('x', 'y', 'x'):
            push(cluster, name=name)
        with pytest.raises(exception.LimitExceeded, match='fewer than 2'):
            push(cluster, name='z')
        cluster.context = owner
        for name in ('z', CPU.name):
            push(cluster, name=name)
        with pytest.raises(exception.LimitExceeded, match='fewer than 4'):
            push(cluster, name='more')
        cluster.context = RequestContext(project_id='inner', overwrite=False)
        push(cluster, name='z')                     # known ones are taken


# --- data --------------------------------------------------------------------------------------------------

def test_the_data_of_a_user_inside_a_stack_are_its_projects():
    with Cluster(1, engines=1) as cluster:
        stack_id = cluster.create('s', HANDLE)
        cluster.settle(stack_id)
        with cluster.database.writer() as tx:
            tx.exec_driver_sql("UPDATE stack SET user_project_id = 'inner'")
        cluster.context.project_id = 'inner'
        push(cluster)
        with cluster.database.reader() as tx:
            assert metrics.count(tx, PROJECT) == 1
            assert metrics.count(tx, 'inner') == 0


def test_requests_share_transactions():
    with Cluster(1, engines=1) as cluster:
        runtime, service = cluster.engines[0]
        push(cluster)
        commits = []
        cluster.chaos.on_visit = lambda label, _runtime: commits.append(label) if label == 'after a commit' else None
        cluster.chaos.enabled = True
        done = []

        def one(number):
            service.alarms.put_data(cluster.context, messages.PutMetricData(CPU.namespace, ({
                'name': CPU.name, 'dimensions': CPU.dimensions, 'unit': 'Percent', 'samples': 1, 'total': number,
                'smallest': number, 'largest': number},)))
            done.append(number)

        for number in range(100):
            runtime.spawn(one, number)
        assert cluster.universe.run(lambda: len(done) == 100)
        assert len(commits) < 20
        with cluster.database.reader() as tx:
            found = metrics.statistics(tx, metrics.find(tx, PROJECT, [CPU]).values(), 0, 10 ** 10, 3600)
        assert [(each.found.samples, each.found.largest) for each in found] == [(101.0, 99.0)]


def test_one_bad_request_does_not_hinder_the_others():
    with Cluster(1, engines=1, **{'alarms.max_metrics_per_project': 1}) as cluster:
        runtime, service = cluster.engines[0]
        done = []

        def one(name):
            try:
                service.alarms.put_data(cluster.context, messages.PutMetricData(CPU.namespace, ({
                    'name': name, 'samples': 1, 'total': 1, 'smallest': 1, 'largest': 1},)))
                done.append((name, True))
            except exception.LimitExceeded:
                done.append((name, False))

        for name in ('x', 'y', 'x'):
            runtime.spawn(one, name)
        assert cluster.universe.run(lambda: len(done) == 3)
        taken = {name for name, is_stored in done if is_stored}
        assert len(taken) == 1
        assert sorted(is_stored for _name, is_stored in done) == ([False, True, True] if taken == {'x'}
                                                                  else [False, False, True])


@pytest.mark.parametrize('label, may_be_sent_elsewhere', [('before a commit', True), ('after a commit', False)])
def test_data_that_may_be_stored_are_not_sent_to_another_engine(label, may_be_sent_elsewhere):
    """They would count twice."""
    with Cluster(1, engines=1) as cluster:
        runtime, service = cluster.engines[0]
        push(cluster)
        answers = []

        def lose(visited, _runtime):
            if visited == label and not answers:
                raise Outage(reason='it went away')

        def ask():
            answers.append(server.answer(service.endpoint, cluster.context.to_dict(), 'put_metric_data', {
                'namespace': CPU.namespace, 'data': ({'name': CPU.name, 'dimensions': CPU.dimensions, 'samples': 1,
                                                      'total': 1, 'smallest': 1, 'largest': 1},)}))

        cluster.chaos.on_visit, cluster.chaos.enabled = lose, True
        runtime.spawn(ask)
        assert cluster.universe.run(lambda: bool(answers))
        assert answers[0].get('elsewhere', False) is may_be_sent_elsewhere, answers


def test_a_full_line_is_refused(monkeypatch):
    from heatlite.engine.alarms import metric_writer
    monkeypatch.setattr(metric_writer, 'MOST_WAITING', 0)
    with Cluster(1, engines=1) as cluster, pytest.raises(exception.RequestLimitExceeded):
        push(cluster)


def test_old_data_and_old_history_go():
    options = {'alarms.keep_10': 1, 'alarms.keep_60': 1, 'alarms.keep_300': 1, 'alarms.keep_3600': 1,
               'alarms.keep_history': 1}
    with Cluster(1, engines=1, **QUICK, **options) as cluster:
        put(cluster, missing='ignore')
        push(cluster)
        cluster.ask(messages.DeleteAlarms(('a',)))
        day = 86_400.0

        def kept():
            with cluster.database.reader() as tx:
                return [row[0] for row in tx.exec_driver_sql('SELECT length FROM metric_period')]

        assert kept() == [10]
        for seconds, expected in ((3600.0 + 70, [60]), (day, [300]), (60.0, [3600]), (60.0, [])):
            cluster.universe.database_ahead += seconds
            until(cluster, lambda expected=expected: kept() == expected, limit=300.0)
        assert history(cluster) == []
        cluster.universe.database_ahead += day + 100
        until(cluster, lambda: leased(cluster)[shards.METRICS][:2] == (None, False), limit=300.0)


# --- what it costs -----------------------------------------------------------------------------------------

def statements(cluster, seconds):
    """The texts of what the engines ask the database in that time."""
    found = []

    def note(_connection, _cursor, statement, *_more):
        found.append(statement)

    engines = [engine for each in cluster._databases for engine in (each._reading, each._writing)]
    for engine in engines:
        sa.event.listen(engine, 'before_cursor_execute', note)
    wait(cluster, seconds)
    for engine in engines:
        sa.event.remove(engine, 'before_cursor_execute', note)
    return found


def about_alarms(found):
    return [each for each in found if 'alarm' in each or 'metric' in each]


def test_without_alarms_the_database_is_not_asked_about_them():
    with Cluster(1, **QUICK) as cluster:
        wait(cluster, 5.0)
        idle = statements(cluster, 60.0)
        assert len(idle) > 60
        assert about_alarms(idle) == []
        put(cluster)
        until(cluster, lambda: leased(cluster)[SHARD][0] is not None)
        assert 60 < len(about_alarms(statements(cluster, 60.0))) < 300
        cluster.ask(messages.DeleteAlarms(('a',)))
        wait(cluster, 5.0)
        left = about_alarms(statements(cluster, 60.0))                  # the history is kept for some days
        assert len(left) < 20



def test_a_shard_without_work_has_no_owner():
    with Cluster(1, **QUICK) as cluster:
        wait(cluster, 5.0)
        assert leased(cluster) == {}
        put(cluster)
        until(cluster, lambda: leased(cluster)[SHARD][0] is not None)
        cluster.ask(messages.DeleteAlarms(('a',)))
        until(cluster, lambda: leased(cluster)[SHARD][:2] == (None, False))
        put(cluster)
        until(cluster, lambda: leased(cluster)[SHARD][0] is not None)


def test_a_shard_does_not_count_as_a_stack():
    """Nothing that reads leases as those of stacks is disturbed."""
    with Cluster(1, engines=1, **QUICK) as cluster:
        put(cluster)
        until(cluster, lambda: leased(cluster).get(SHARD, (None,))[0] is not None)
        service = cluster.engines[0][1]
        assert service.controller.free_root_slots() == service._conf.engine.max_stacks
        cluster.ask(messages.Wake(SHARD))
        with pytest.raises(exception.EntityNotFound):
            cluster.ask(messages.SignalResource(SHARD, 'x'))
        with pytest.raises(exception.EntityNotFound):
            cluster.ask(messages.DeleteStack(SHARD))
        push(cluster)
        reach(cluster, 'ALARM')
        owner, _wanted, epoch = leased(cluster)[SHARD]
        assert (owner, epoch) == (service.engine_id, 2)


