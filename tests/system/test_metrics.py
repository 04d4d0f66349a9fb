"""What /metrics says after known work: actions, plans and why they were refused, streams, retries, what waits."""

import collections
import uuid

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.system import alone
from tests.system.processes import OPENER, ask, eventually, finished
from tests.system.test_event_streams import Stream

PLUGINS = alone.__file__.replace('alone.py', 'plugins')
EMPTY = {'heat_template_version': '2018-08-31', 'resources': {'one': {'type': 'OS::Heat::None'}}}


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    with alone.running(tmp_path_factory.mktemp('metrics'), PLUGINS) as made:
        yield made


def figures(service):
    """(name, its labels) -> value"""
    with OPENER.open(f'http://127.0.0.1:{service.port}/metrics') as answer:
        text = answer.read().decode()
    return collections.Counter({(sample.name, tuple(sorted(sample.labels.items()))): sample.value
                                for family in text_string_to_metric_families(text) for sample in family.samples})


def grown(service, before, name, **labels):
    key = name, tuple(sorted(labels.items()))
    return figures(service)[key] - before[key]


def plan(service, stack_name):
    status, made = ask('POST', f'{service.url}/plans', {'stack_name': stack_name, 'template': EMPTY})
    assert status == 201, made
    return f"{service.url}/plans/{made['plan']['id']}"


def test_plans_are_counted_with_why_they_were_refused(service):
    before = figures(service)
    first, second = plan(service, 'p'), plan(service, 'p')
    assert ask('POST', f'{first}/apply', {'digest': 'wrong'})[0] == 409
    assert ask('POST', f'{first}/apply')[0] == 202
    eventually('the stack', lambda: ask('GET', f'{service.url}/stacks/p')[1]['stack']['stack_status'] ==
               'CREATE_COMPLETE')
    assert ask('POST', f'{first}/apply')[0] == 409
    assert ask('POST', f'{second}/apply')[0] == 409                 # its name is taken
    assert ask('DELETE', second)[0] == 204
    assert {event: grown(service, before, 'heatlite_plans_total', event=event)
            for event in ('made', 'applied', 'deleted', 'expired')} == {
        'made': 2, 'applied': 1, 'deleted': 1, 'expired': 0}
    assert {reason: grown(service, before, 'heatlite_plans_refused_total', reason=reason)
            for reason in ('digest', 'applied', 'request', 'policy')} == {
        'digest': 1, 'applied': 1, 'request': 1, 'policy': 0}


def test_actions_are_counted_with_their_time(service):
    before = figures(service)
    stack = service.create(f's{uuid.uuid4().hex[:6]}', {'heat_template_version': '2018-08-31', 'resources': {
        'slow': {'type': 'Test::Clumsy', 'properties': {'refused': 'no'}}}})
    assert finished(stack) == 'CREATE_FAILED'
    labels = {'action': 'CREATE', 'outcome': 'FAILED'}
    eventually('its end', lambda: grown(service, before, 'heatlite_stacks_total', **labels) == 1)
    assert grown(service, before, 'heatlite_stack_seconds_count', **labels) == 1
    assert grown(service, before, 'heatlite_stack_seconds_sum', **labels) > 0
    assert grown(service, before, 'heatlite_steps_total', **labels) == 1


def test_what_waits_is_read_when_it_is_collected(service):
    entries = {f'r{number}': {'type': 'OS::Heat::TestResource', 'properties': {'action_wait_secs': {'create': 60}}}
               for number in range(3)}
    stack = service.create(f'w{uuid.uuid4().hex[:6]}', {'heat_template_version': '2018-08-31', 'resources': entries})
    eventually('the checks', lambda: figures(service)['heatlite_timers_waiting', ()] >= 3)
    found = figures(service)
    assert found['heatlite_stacks_owned', ()] == 1 and found['heatlite_lease_seconds_left', ()] > 0
    for name in ('steps_waiting', 'steps_waiting_for_room', 'steps_running', 'stacks_loading', 'journal_waiting',
                 'rpc_waiting', 'rpc_running'):
        assert found[f'heatlite_{name}', ()] >= 0 and (f'heatlite_{name}', ()) in found
    service.delete(stack)


def test_streams_are_counted(service):
    before = figures(service)
    stream = Stream(service.port)
    assert figures(service)['heatlite_event_streams', ()] == 1
    name = f's{uuid.uuid4().hex[:6]}'
    service.create(name, EMPTY)
    stream.until(name, 'CREATE_COMPLETE')
    assert grown(service, before, 'heatlite_event_stream_events_total') >= 4
    assert grown(service, before, 'heatlite_event_stream_lag_seconds_count') >= 1
    stream.close()
    eventually('its end', lambda: figures(service)['heatlite_event_streams', ()] == 0)
