"""A service that does not answer for a while costs time, not the stack; one that says a final no is believed."""

from __future__ import annotations

import logging

import pytest
from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine.reconcile import service_errors
from tests.simulation import cloud
from tests.simulation.house import House, done


class Shaky(cloud.Thing):
    """Reaches its cloud through a service that can be away."""

    @staticmethod
    def _knock():
        if cloud.CLOUD.away_until > cloud.CLOUD.now():
            cloud.CLOUD.tries += 1
            raise cloud.CLOUD.failure()

    def handle_create(self):
        self._knock()
        return super().handle_create()

    def find_existing(self):
        self._knock()
        return super().find_existing()

    def check_create_complete(self, handle):
        self._knock()
        return super().check_create_complete(handle)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        self._knock()
        return super().handle_update(json_snippet, tmpl_diff, prop_diff)

    def handle_delete(self):
        self._knock()
        return super().handle_delete()


def refused():
    return exceptions.ConnectFailure('Unable to establish connection to http://here: ECONNREFUSED')


@pytest.fixture
def house():
    with House(engines=1) as found:
        for _runtime, service in found.engines:
            service.registry.register('Sim::Shaky', Shaky)
        found.cloud.now = lambda: found.universe.time
        found.cloud.away_until, found.cloud.tries, found.cloud.failure = 0, 0, refused
        yield found


def template(value='one', count=3):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': 'Sim::Shaky', 'properties': {'value': value}} for number in range(count)}}


@pytest.mark.parametrize('failure', [refused, lambda: exceptions.ServiceUnavailable('try later'),
                                     lambda: exceptions.BadGateway('nobody there')])
def test_each_action_waits_for_the_service(house, failure, caplog):
    house.cloud.failure = failure
    caplog.set_level(logging.INFO)
    house.cloud.away_until = house.universe.time + 60
    stack_id = house.create('s', template())
    done(house, stack_id, 'CREATE')
    assert len(house.cloud.made) == 3 and house.cloud.tries >= 3
    house.cloud.away_until = house.universe.time + 60
    house.update(stack_id, template('two'))
    done(house, stack_id, 'UPDATE')
    assert {each['value'] for each in house.cloud.objects.values()} == {'two'} and len(house.cloud.made) == 3
    house.cloud.away_until = house.universe.time + 60
    house.delete(stack_id)
    done(house, stack_id, 'DELETE')
    assert not house.cloud.objects
    waiting = [each for each in caplog.records if 'does not answer' in each.getMessage()]
    assert len(waiting) == 9 and not any(each.exc_info for each in caplog.records)


def test_the_stack_s_time_is_the_limit(house):
    """And what is told of the resource is the failure of the call, not only that time is up."""
    house.cloud.away_until = house.universe.time + 10_000
    stack_id = house.create('s', template(count=1), timeout_mins=2)
    row = house.settle(stack_id)
    assert (row.status, row.reason) == ('FAILED', 'Timed out')
    with house.database.reader() as tx:
        reason = tx.exec_driver_sql('SELECT reason FROM resource WHERE stack_id = ?', (stack_id,)).scalar()
    assert 'ECONNREFUSED' in reason
    house.cloud.away_until = 0
    house.delete(stack_id)
    done(house, stack_id, 'DELETE')


class Searching(Shaky):
    """Its search fails in other words than its create."""

    def find_existing(self):
        try:
            return super().find_existing()
        except exceptions.ConnectFailure:
            raise exceptions.ConnectFailure('Unable to establish connection to http://here/search') from None


def test_the_failure_names_the_request_that_was_to_change_something(house):
    for _runtime, service in house.engines:
        service.registry.register('Sim::Searching', Searching)
    house.cloud.away_until = house.universe.time + 10_000
    wanted = {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Sim::Searching'}}}
    stack_id = house.create('s', wanted, timeout_mins=2)
    house.settle(stack_id)
    with house.database.reader() as tx:
        reason = tx.exec_driver_sql('SELECT reason FROM resource WHERE stack_id = ?', (stack_id,)).scalar()
    assert house.cloud.tries > 1 and 'ECONNREFUSED' in reason and 'search' not in reason


def test_a_failed_neighbour_ends_the_waiting(house):
    house.cloud.away_until = house.universe.time + 1_000
    wanted = template(count=1)
    wanted['resources']['bad'] = {'type': 'Sim::Thing', 'properties': {'fail': True}}
    stack_id = house.create('s', wanted)
    row = house.settle(stack_id)
    assert row.status == 'FAILED' and house.universe.time < house.cloud.away_until


@pytest.mark.parametrize('text, final', [
    ("Quota exceeded for resources: ['port'].", True), ('Multiple possible networks found, use a Network ID', True),
    ('Unable to complete operation on subnet: One or more ports have an IP allocation from this subnet.', False),
    ('The server is currently being built', False)])
def test_which_conflicts_are_final(text, final):
    assert service_errors.is_final(exceptions.Conflict(text)) is final


class Broken(Shaky):
    """Its object goes into an error state."""

    def check_create_complete(self, handle):
        raise exception.ResourceInError(resource_status='ERROR', status_reason='No valid host was found.')


def test_an_object_in_error_is_named_by_its_id(house):
    for _runtime, service in house.engines:
        service.registry.register('Sim::Broken', Broken)
    stack_id = house.create('s', {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Sim::Broken'}}})
    row = house.settle(stack_id)
    assert row.status == 'FAILED'
    assert 'Went to status ERROR due to "No valid host was found." (id obj-1)' in row.reason
    assert len(house.cloud.made) == 6, 'each try is polled: the first one and five more'


def test_an_expected_conflict_is_logged_without_traceback(house, caplog):
    """As for a subnet that still waits for its port."""
    stack_id = house.create('s', template(count=1))
    done(house, stack_id, 'CREATE')
    house.cloud.away_until = house.universe.time + 10_000
    house.cloud.failure = lambda: exceptions.Conflict('One or more ports have an IP allocation from this subnet.')
    caplog.set_level(logging.INFO)
    house.delete(stack_id)
    assert 'IP allocation' in house.settle(stack_id).reason and house.cloud.tries
    assert not [each for each in caplog.records if each.exc_info or 'Traceback' in each.getMessage()]
    house.cloud.away_until = 0
    house.delete(stack_id)
    done(house, stack_id, 'DELETE')
