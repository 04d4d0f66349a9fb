"""Resource types see the timeout with which their engine is configured."""

import json

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cloud import Thing
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_signals import signal

TOO_LONG = 'The current update policy will result in stack update timeout.'


def template(value):
    """Three members that change one after the other, with pauses of 15 seconds."""
    return {'heat_template_version': '2018-08-31', 'resources': {'group': {
        'type': 'OS::Heat::AutoScalingGroup',
        'properties': {'min_size': 3, 'max_size': 3, 'rolling_updates': {'max_batch_size': 1, 'pause_time': 15},
                       'resource': {'type': 'Sim::Thing', 'properties': {'value': value}}}}}}


def test_an_action_uses_the_option_of_its_engine():
    with Cluster(1, engines=1, stack_action_timeout=25) as cluster:
        stack_id = cluster.create('s', template('a'))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, template('b'))
        row = cluster.settle(stack_id)
        assert row.status == 'FAILED' and TOO_LONG in row.reason
        cluster.update(stack_id, template('b'), timeout_mins=1)
        done(cluster, stack_id, 'UPDATE')


def delayed(seconds):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'it': {'type': 'OS::Heat::Delay', 'properties': {'min_wait': seconds}}}}


def nesting(document):
    return {'template': {'heat_template_version': '2018-08-31', 'resources': {'inner': {'type': 'inner.yaml'}}},
            'files': {'inner.yaml': json.dumps(document)}}


def test_the_check_of_a_request_uses_the_option_of_its_engine():
    with (Cluster(1, engines=1, stack_action_timeout=25) as cluster,
          pytest.raises(exception.StackValidationFailed, match='exceeds stack timeout 25s')):
        cluster.create('s', delayed(30))


def test_or_the_timeout_of_the_request_or_of_the_stack():
    with Cluster(1, engines=1, stack_action_timeout=25) as cluster:
        stack_id = cluster.create('s', delayed(30), timeout_mins=1)
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, delayed(50))
        done(cluster, stack_id, 'UPDATE')
        with pytest.raises(exception.StackValidationFailed, match='exceeds stack timeout 60s'):
            cluster.update(stack_id, delayed(70))
        cluster.update(stack_id, delayed(70), timeout_mins=2)
        done(cluster, stack_id, 'UPDATE')


def test_a_nested_stack_has_the_timeout_of_its_parent():
    with Cluster(1, engines=1, stack_action_timeout=25) as cluster:
        stack_id = cluster.create('s', timeout_mins=1, **nesting(delayed(30)))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, **nesting(delayed(50)))
        done(cluster, stack_id, 'UPDATE')


def test_a_preview_uses_the_option_of_its_engine():
    seen = []

    class Observing(Thing):
        def needs_replace_with_prop_diff(self, changed_properties_set, after_props, before_props):
            seen.append(self.stack.timeout_secs())
            return False

    def observed(value):
        return {'heat_template_version': '2018-08-31', 'resources': {
            'it': {'type': 'Sim::Observing', 'properties': {'value': value}}}}

    with Cluster(1, engines=1, stack_action_timeout=25) as cluster:
        cluster.engines[0][1].registry.register('Sim::Observing', Observing)
        stack_id = cluster.create('s', observed('a'))
        done(cluster, stack_id, 'CREATE')
        cluster.ask(messages.PreviewUpdateStack(stack_id=stack_id, template=observed('b')))
        assert set(seen) == {25}


def test_actions_that_have_ended_leave_no_timer():
    with Cluster(engines=1, interleaved=False) as cluster:
        (_runtime, service), = cluster.engines
        stack_id = cluster.create('s', numbered(0))
        for number in range(1, 31):
            cluster.update(stack_id, numbered(number))
            cluster.settle(stack_id)
            signal(cluster, stack_id, 'r', {'word': str(number)})
        cluster.settle(stack_id)
        wait(cluster, 5.0)
        assert len(cluster.cloud.heard) == 30
        assert len(service._timers) < 5


def numbered(number):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Sim::Thing', 'properties': {'value': str(number)}}}}


def test_the_reason_of_a_timeout_names_the_object():
    document = {'heat_template_version': '2018-08-31', 'resources': {
        'it': {'type': 'OS::Heat::TestResource', 'properties': {'value': 'a'}}}}
    with Cluster(1, engines=1) as cluster:
        stack_id = cluster.create('s', document)
        done(cluster, stack_id, 'CREATE')
        ident = cluster.states(stack_id)['it'][0][2]
        document['resources']['it']['properties'] = {'value': 'b', 'action_wait_secs': {'update': 600}}
        cluster.update(stack_id, document, timeout_mins=1)
        row = cluster.settle(stack_id)
        assert (row.status, row.reason) == ('FAILED', 'Timed out')
        reasons = [event[3] for event in cluster.events(stack_id) if event[:3] == ('it', 'UPDATE', 'FAILED')]
        assert reasons and f'from TestResource "it" [{ident}] Stack "s" [{stack_id}] Timed out' in reasons[0]
