"""What the bus is told of stacks, through the messaging library's own test driver."""

import logging
from dataclasses import fields, replace
from datetime import datetime

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging.notify import _impl_test

from heatlite.common import bus_sender, config, metrics, outages
from heatlite.common.context import RequestContext
from heatlite.common.green_threads import GreenRuntime
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability import request_ids
from heatlite.engine.notify import notifications

STACK = StoredStack(**{
    **{field.name: None for field in fields(StoredStack)}, 'id': 'i', 'name': 'n', 'project_id': 'p', 'username': 'u',
    'description': 'd', 'tags': ['t'], 'created_at': datetime(2026, 1, 2, 3, 4, 5, 678)})


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    config.register(made)
    made([], project='heatlite', default_config_files=[])
    oslo_messaging.get_notification_transport(made, 'fake://')
    made.set_override('transport_url', 'fake://', group='oslo_messaging_notifications')
    made.set_override('host', 'h')
    _impl_test.reset()
    return made


def told(conf, action, status, reason):
    runtime = GreenRuntime()
    notifications.sender(conf, runtime)(STACK, action, status, reason)
    runtime.sleep(0)
    return [(message['event_type'], priority, message['publisher_id'], message['payload'])
            for context, message, priority, retry in _impl_test.NOTIFICATIONS]


@pytest.mark.parametrize('status, suffix, priority', [
    ('IN_PROGRESS', 'start', 'INFO'), ('COMPLETE', 'end', 'INFO'), ('FAILED', 'error', 'ERROR')])
def test_each_change_of_state_has_its_event(conf, status, suffix, priority):
    conf.set_override('driver', ['test'], group='oslo_messaging_notifications')
    [(event, level, publisher, payload)] = told(conf, 'CREATE', status, 'because')
    assert (event, level.upper(), publisher) == (f'orchestration.stack.create.{suffix}', priority, 'orchestration.h')
    assert payload == {
        'tenant_id': 'p', 'user_id': 'u', 'user_identity': None, 'username': 'u', 'stack_identity': 'i',
        'stack_name': 'n', 'state': f'CREATE_{status}', 'state_reason': 'because', 'create_at': '2026-01-02T03:04:05Z',
        'updated_at': None, 'description': 'd', 'tags': ['t']}


def test_without_a_driver_nothing_is_sent(conf):
    assert told(conf, 'CREATE', 'COMPLETE', 'because') == []


def test_what_the_bus_does_not_take_is_bounded_and_reported(conf, caplog):
    caplog.set_level(logging.WARNING)
    outages.forget()
    conf.set_override('driver', ['test'], group='oslo_messaging_notifications')
    runtime = GreenRuntime()
    notify = notifications.sender(conf, runtime)
    for number in range(bus_sender.WAITING + 7):        # none is sent before this thread waits
        notify(STACK, 'CREATE', 'IN_PROGRESS', str(number))
    assert metrics.registry.get_sample_value('heatlite_outage', {'service': notifications.BUS}) == 1
    runtime.sleep(0)
    sent = [message['payload']['state_reason'] for _context, message, _priority, _retry in _impl_test.NOTIFICATIONS]
    assert sent == [str(number) for number in range(bus_sender.WAITING)]
    first, last = (record.getMessage() for record in caplog.records if 'message bus' in record.getMessage())
    assert first == ('Work waits for the message bus of notifications: '
                     '1000 notifications wait for it; further ones are lost')
    assert last.startswith('The message bus of notifications answers again after') and last.endswith('(7 failures)')
    assert metrics.registry.get_sample_value('heatlite_outage', {'service': notifications.BUS}) == 0


def test_consumers_learn_the_user_of_the_last_request(conf):
    request = request_ids.stored(RequestContext(user_id='u1', project_id='p'), {'user_id': 'of a former request'})
    stack = replace(STACK, request=request)
    assert notifications.payload(stack, 'UPDATE', 'COMPLETE', 'because')['user_identity'] == 'u1'
    assert notifications.context_of(stack)['user_id'] == 'u1'
    assert notifications.context_of(STACK)['user_id'] is None       # accepted by an older release
    without = request_ids.stored(RequestContext(project_id='p'), request)
    assert request_ids.user_of(replace(STACK, request=without)) is None
