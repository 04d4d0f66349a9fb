"""Event sinks: what is in the history is delivered in order, through every crash, and costs other stacks nothing."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from heatlite.common import exception
from heatlite.common.limits import MOST_EVENT_SINKS
from heatlite.db import events
from heatlite.db.tables import event, resource_data
from heatlite.engine.notify import event_sinks
from heatlite.engine.notify.event_sinks import MOST_FAILURES, PAUSE
from heatlite.engine.notify.idle_outlets import AT_ONCE, IdleOutlets
from heatlite.engine.types import event_sink_types
from heatlite.language.environment import Environment
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, wait

STRIDE = int(os.environ.get('HEATLITE_TEST_STRIDE', '5'))       # 1: every point
DELIVERED: list[dict] = []
REFUSED: list[dict] = []
RUNTIME: list = []                      # of the engine that sends to slow sinks
NOTES = {'event_sinks': [{'type': 'notes', 'shelf': 'a'}]}
TWO = {'heat_template_version': '2018-08-31', 'resources': {
    'one': {'type': 'Sim::Thing'}, 'two': {'type': 'Sim::Thing', 'depends_on': 'one'}}}
NEST = {'heat_template_version': '2018-08-31', 'resources': {'in': {'type': 'two.yaml'}}}


class Notes:
    def __init__(self, shelf):
        self.shelf = shelf

    def consume(self, context, event):
        DELIVERED.append(event)


class Broken(Notes):
    def consume(self, context, event):
        REFUSED.append(event)
        raise OSError('no shelf')


class Restarting(Notes):
    """Refuses events until it is left out, and takes them then."""

    def consume(self, context, event):
        if len(REFUSED) < MOST_FAILURES:
            REFUSED.append(event)
            raise OSError('it restarts')
        DELIVERED.append(event)


class Moody(Notes):
    def consume(self, context, event):
        if len(DELIVERED) < len(REFUSED) // 3:
            DELIVERED.append(event)
        else:
            REFUSED.append(event)
            raise OSError('not now')


@pytest.fixture(autouse=True)
def notes(monkeypatch):
    DELIVERED.clear()
    REFUSED.clear()
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'moody', f'{__name__}:Moody')
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'notes', f'{__name__}:Notes')
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'slow', f'{__name__}:Slow')
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'broken', f'{__name__}:Broken')
    monkeypatch.setitem(event_sink_types.BUILT_IN, 'restarting', f'{__name__}:Restarting')


def create(cluster, environment, template=TWO, files=None):
    stack_id = cluster.create('s', template, environment, files=files or {})
    assert cluster.settle(stack_id).status == 'COMPLETE'
    return stack_id


def history(cluster, stack_id):
    with cluster.database.reader() as tx:
        return [each.uuid for each in events.following(tx, stack_id, 0, 1000)]


def delivered(stack_id):
    return [each['id'] for each in DELIVERED if each['payload']['stack_id'] == stack_id]


def everything_is_delivered(cluster, stack_id):
    return cluster.universe.run(lambda: delivered(stack_id) == history(cluster, stack_id), limit=100)


def test_sinks_get_no_secrets_that_the_api_hides():
    template = {'heat_template_version': '2018-08-31', 'parameters': {'word': {'type': 'string', 'hidden': True}},
                'resources': {
                    'secret': {'type': 'OS::Heat::RandomString', 'properties': {'length': 12}},
                    'user': {'type': 'Sim::Thing', 'properties': {'fixed': {'list_join': ['/', [
                        'x', {'get_attr': ['secret', 'value']}, {'get_param': 'word'}]]}}}}}
    with Cluster() as cluster:
        stack_id = create(cluster, {**NOTES, 'parameters': {'word': 'sesame'}}, template)
        assert everything_is_delivered(cluster, stack_id), delivered(stack_id)
        assert {text for each in DELIVERED for text in each['payload']['resource_properties'].values()} == {
            12, 'x/******/******'}
        template['resources']['secret']['properties']['length'] = 14            # another secret, in another row
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=template, existing=True))
        cluster.settle(stack_id)
        cluster.delete(stack_id)
        cluster.settle(stack_id)
        assert everything_is_delivered(cluster, stack_id), delivered(stack_id)
        assert {text for each in DELIVERED for text in each['payload']['resource_properties'].values()} == {
            12, 14, 'x/******/******'}


def test_a_secret_that_cannot_be_read_holds_up_no_event():
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'secret': {'type': 'OS::Heat::RandomString'}, 'one': {'type': 'Sim::Thing', 'depends_on': 'secret'}}}
    with Cluster() as cluster:
        stack_id = create(cluster, NOTES, template)
        assert everything_is_delivered(cluster, stack_id)
        with cluster.database.writer() as tx:
            tx.execute(resource_data.update().values(value='of another key'))
        cluster.ask(messages.MarkUnhealthy(stack_id, 'one', True, 'looks ill'))
        assert everything_is_delivered(cluster, stack_id), delivered(stack_id)
        assert DELIVERED[-1]['payload']['resource_status_reason'] == 'looks ill'


def test_a_whole_life_is_told_in_its_order():
    with Cluster() as cluster:
        stack_id = create(cluster, NOTES)
        cluster.delete(stack_id)
        cluster.settle(stack_id)
        assert everything_is_delivered(cluster, stack_id), delivered(stack_id)
        first = DELIVERED[0]
        assert first['type'] == 'os.heat.event' and first['version'] == '0.1'
        assert first['payload'] == {
            'resource_name': 's', 'physical_resource_id': stack_id, 'stack_id': stack_id, 'resource_action': 'CREATE',
            'resource_status': 'IN_PROGRESS', 'resource_status_reason': 'Stack CREATE started',
            'resource_type': 'OS::Heat::Stack', 'resource_properties': {}, 'version': '0.1'}
        assert len(DELIVERED) == 12


def test_nested_stacks_inherit_them():
    with Cluster() as cluster:
        create(cluster, NOTES, NEST, {'two.yaml': json.dumps(TWO)})
        assert cluster.universe.run(lambda: len({each['payload']['stack_id'] for each in DELIVERED}) == 2, limit=100)


def test_an_update_may_bring_them_and_take_them_away():
    with Cluster() as cluster:
        stack_id = create(cluster, {})
        update = {'stack_id': stack_id, 'template': {**TWO, 'description': 'new'}}
        cluster.ask(messages.UpdateStack(**update, environment=NOTES))
        cluster.settle(stack_id)
        assert cluster.universe.run(lambda: [each['payload']['resource_status'] for each in DELIVERED] == [
            'IN_PROGRESS', 'COMPLETE'], limit=100)
        cluster.ask(messages.UpdateStack(**update, environment={}))
        cluster.settle(stack_id)
        assert not cluster.universe.run(lambda: len(DELIVERED) > 2, limit=10)


def test_what_is_added_while_nobody_drives_the_stack_is_told():
    with Cluster() as cluster:
        stack_id = create(cluster, NOTES)
        assert everything_is_delivered(cluster, stack_id)
        count = len(DELIVERED)
        cluster.ask(messages.MarkUnhealthy(stack_id, 'one', True, 'looks ill'))
        assert everything_is_delivered(cluster, stack_id), delivered(stack_id)
        assert len(DELIVERED) == count + 1
        assert DELIVERED[-1]['payload']['resource_status_reason'] == 'looks ill'
        cluster.delete(stack_id)
        cluster.settle(stack_id)
        # What has sent the mark may see the begin of the delete, too, which the new owner sends: at least once.
        assert cluster.universe.run(
            lambda: list(dict.fromkeys(delivered(stack_id))) == history(cluster, stack_id), limit=100)


class Slow(Notes):
    """A shelf that takes five seconds for each event."""

    def consume(self, context, event):
        RUNTIME[0].sleep(5.0)
        DELIVERED.append(event)


def test_each_event_of_an_idle_stack_is_sent_once_by_one_outlet():
    """Requests may add more of them while the first is being sent."""
    slow = {'event_sinks': [{'type': 'slow', 'shelf': 'a'}]}
    with Cluster(engines=1) as cluster:
        RUNTIME[:] = [cluster.engines[0][0]]
        stack_id = create(cluster, slow)
        assert everything_is_delivered(cluster, stack_id)
        for number in range(10):
            cluster.ask(messages.MarkUnhealthy(stack_id, 'one', True, f'looks ill {number}'))
        assert everything_is_delivered(cluster, stack_id), delivered(stack_id)
        wait(cluster, 60.0)
        assert delivered(stack_id) == history(cluster, stack_id)


def test_stacks_of_a_project_wait_for_the_events_of_others():
    sent, at_once, most = [], 0, 0

    class Outlet:
        def __init__(self, stack_id):
            self.stack_id = stack_id

        def wake(self):
            sent.append('again')

        def run(self):
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            universe_of.sleep(1.0)
            sent.append(self.stack_id)
            at_once -= 1
            if self.stack_id == 'p3':
                raise OSError('not now')

    with Cluster(engines=1) as cluster:
        universe_of, _service = cluster.engines[0]
        idle = IdleOutlets(universe_of, lambda stack_id, since: Outlet(stack_id))
        rows = [Row(f'p{number}', 'p') for number in range(20)] + [Row('q', 'q')]
        universe_of.spawn(lambda: [idle.tell(row, 0) for row in rows])
        assert cluster.universe.run(lambda: len(sent) == 21, limit=100)
        assert most == AT_ONCE + 1 and sent.index('q') <= AT_ONCE and set(sent) == {row.id for row in rows}


@dataclass
class Row:
    id: str
    project_id: str


def test_a_refused_signal_is_told():
    template = {'heat_template_version': '2018-08-31',
                'resources': {'handle': {'type': 'OS::Heat::WaitConditionHandle'}}}
    with Cluster() as cluster:
        stack_id = create(cluster, NOTES, template)
        cluster.ask(messages.StackAction(stack_id, 'suspend'))
        cluster.settle(stack_id)
        assert everything_is_delivered(cluster, stack_id)
        with pytest.raises(exception.NotSupported):
            cluster.ask(messages.SignalResource(stack_id, 'handle', {}, False))
        assert everything_is_delivered(cluster, stack_id)
        assert DELIVERED[-1]['payload']['resource_status_reason'] == 'Cannot signal resource during SUSPEND'


def test_a_sink_that_fails_disturbs_nobody():
    with Cluster() as cluster:
        stack_id = create(cluster, {'event_sinks': [{'type': 'broken', 'shelf': 'a'}, *NOTES['event_sinks']]})
        assert everything_is_delivered(cluster, stack_id)


def test_a_sink_that_fails_again_and_again_gets_only_the_end_of_the_action():
    template = {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': 'Sim::Thing'} for number in range(20)}}
    with Cluster() as cluster:
        stack_id = create(cluster, {'event_sinks': [{'type': 'broken', 'shelf': 'a'}, *NOTES['event_sinks']]}, template)
        assert everything_is_delivered(cluster, stack_id)
        assert len(REFUSED) == MOST_FAILURES + 1
        assert REFUSED[-1]['payload']['resource_status'] == 'COMPLETE'
        cluster.delete(stack_id)
        cluster.settle(stack_id)
        assert everything_is_delivered(cluster, stack_id)
        assert len(REFUSED) == 2 * (MOST_FAILURES + 1)


def test_a_sink_that_was_left_out_gets_events_after_a_pause():
    template = {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': 'Sim::Thing', **({'depends_on': f'r{number - 1}'} if number else {})}
        for number in range(80)}}
    with Cluster() as cluster:
        stack_id = create(cluster, {'event_sinks': [{'type': 'restarting', 'shelf': 'a'}]}, template)
        assert cluster.universe.run(
            lambda: DELIVERED and delivered(stack_id)[-1] == history(cluster, stack_id)[-1], limit=100)
        refused, sent = (datetime.fromisoformat(each['timestamp']) for each in (REFUSED[-1], DELIVERED[0]))
        assert sent - refused >= timedelta(seconds=PAUSE - 2)       # times of events are in whole seconds
        assert delivered(stack_id) == history(cluster, stack_id)[-len(DELIVERED):] and len(DELIVERED) > 1


def test_failures_that_are_not_in_a_row_leave_no_sink_out():
    template = {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': 'Sim::Thing'} for number in range(20)}}
    with Cluster() as cluster:
        stack_id = create(cluster, {'event_sinks': [{'type': 'moody', 'shelf': 'a'}]}, template)
        assert cluster.universe.run(lambda: len(DELIVERED) + len(REFUSED) == len(history(cluster, stack_id)), limit=100)


@pytest.mark.parametrize('sinks, complaints', [
    ([*NOTES['event_sinks']] * (MOST_EVENT_SINKS + 1), ['11 event sinks, and may have at most 10']),
    ([{'type': 'zaqar-queue', 'target': 'q'}] * 5000, ['5000 event sinks, and may have at most 10']),
    ([{'type': 'zaqar-queue'}, 'x', {'type': 'none'}, {'type': 'notes', 'no': 'such argument'},
      {'type': 'zaqar-queue', 'target': 'q', 'ttl': 'long'}, {'type': 'zaqar-queue', 'target': ''}],
     ["missing a required argument: 'target'", 'must be a map with a type: x', 'Unknown event sink type "none"',
      "'shelf'", 'ttl must be a number of seconds', 'target must be the name of a queue'])])
def test_wrong_sinks_are_refused_at_the_request(sinks, complaints):
    with Cluster() as cluster, pytest.raises(exception.StackValidationFailed) as refused:
        cluster.create('s', TWO, {'event_sinks': sinks})
    assert not [each for each in complaints if each not in str(refused.value)], str(refused.value)


@pytest.mark.parametrize('sinks', [
    NOTES['event_sinks'] * (MOST_EVENT_SINKS + 1), [{'type': 'notes', 'no': 'such argument'}]])
def test_sinks_that_an_earlier_release_accepted_stand_in_the_way_of_no_update(monkeypatch, sinks):
    with Cluster() as cluster:
        with monkeypatch.context() as earlier:
            earlier.setattr(Environment, 'diagnostics', lambda self, sink_error: iter(()))
            stack_id = create(cluster, {'event_sinks': sinks})
        update = {'stack_id': stack_id, 'template': NEST, 'files': {'two.yaml': json.dumps(TWO)}}
        for more in ({'existing': True}, {'environment': {'event_sinks': sinks}}):
            cluster.ask(messages.UpdateStack(**update, **more))
            row = cluster.settle(stack_id)
            assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        with pytest.raises(exception.StackValidationFailed):
            cluster.ask(messages.UpdateStack(**update, environment={'event_sinks': [*sinks, *sinks]}))


def test_each_sink_spends_turns(monkeypatch):
    spent = []
    monkeypatch.setattr(event_sinks.turns, 'spend', lambda steps=1: spent.append(steps))
    with Cluster() as cluster:
        stack_id = create(cluster, {'event_sinks': NOTES['event_sinks'] * MOST_EVENT_SINKS})
        events_sent = len(history(cluster, stack_id)) * MOST_EVENT_SINKS
        assert cluster.universe.run(lambda: len(DELIVERED) == events_sent, limit=100)
    assert spent.count(event_sinks.STEPS_OF_SINK) >= events_sent


def test_nothing_of_the_running_action_is_lost_in_a_crash():
    with Cluster() as cluster:
        cluster.chaos.enabled = True
        create(cluster, NOTES)
        points = cluster.chaos.count
    for point in range(1, points + 1, STRIDE):
        DELIVERED.clear()
        with Cluster(seed=point, kill_at=[point]) as cluster:
            cluster.chaos.enabled = True
            stack_id = create(cluster, NOTES)
            assert cluster.universe.run(
                lambda: set(delivered(stack_id)) == set(history(cluster, stack_id)), limit=100), point   # noqa: B023


@pytest.mark.parametrize('sink', ['notes', 'broken'])
@pytest.mark.parametrize('action', ['create', 'update'])
def test_the_timeout_of_an_action_that_has_ended_does_not_matter(action, sink):
    """An engine drives a stack on while its sinks are behind."""
    environment = {'event_sinks': [{'type': sink, 'shelf': 'a'}]}
    with Cluster() as cluster:
        stack_id = cluster.create('s', TWO, environment, timeout_mins=1, disable_rollback=False)
        cluster.settle(stack_id)
        if action == 'update':
            cluster.update(stack_id, {**TWO, 'description': 'new'})
            cluster.settle(stack_id)
        wait(cluster, 300)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == (action.upper(), 'COMPLETE'), row.reason
        assert len(cluster.cloud.objects) == 2


def test_events_whose_properties_cannot_be_read_are_sent_without_them():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', TWO, NOTES)
        assert cluster.universe.run(lambda: len(DELIVERED) >= 2, limit=100)
        with cluster.database.writer() as tx:       # the events after them have the same properties
            tx.execute(event.update().where(event.c.resource_id.is_not(None)).values(properties='{'))
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert everything_is_delivered(cluster, stack_id)
        other = cluster.create('other', TWO, NOTES)
        cluster.settle(other)
        assert everything_is_delivered(cluster, other)
