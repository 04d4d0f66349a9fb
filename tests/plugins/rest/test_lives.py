"""Described types through their lives, against a service that keeps whatever it is given."""

from __future__ import annotations

import dataclasses
import json

import pytest

from heatlite.common import exception
from heatlite.engine.resources.rest import service, waits
from tests.plugins.rest.generic_service import Fault


def test_a_plain_thing(cloud, bench):
    scope = bench('OS::Neutron::AddressScope', {'shared': False})
    made = scope.create()
    path = f'/address-scopes/{made.resource_id}'
    assert cloud.body('POST /address-scopes') == {'address_scope': {
        'name': made.physical_resource_name(), 'ip_version': 4, 'shared': False}}
    assert made.get_reference_id() == made.resource_id
    assert made.FnGetAtt('show')['name'] == made.physical_resource_name()
    assert scope.update({'shared': False}) is None
    assert scope.update({'shared': True, 'name': 'inner'}) == {'name': 'inner', 'shared': True}
    assert cloud.body(f'PUT {path}') == {'address_scope': {'name': 'inner', 'shared': True}}
    with pytest.raises(exception.UpdateReplace):
        scope.update({'shared': True, 'name': 'inner', 'ip_version': 6})
    scope.run('DELETE')
    scope.run('DELETE')                     # gone already is what we wanted
    assert cloud.said() == ['POST /address-scopes', f'PUT {path}', f'DELETE {path}', f'DELETE {path}']
    assert not cloud.things


def test_what_a_handler_returns_is_plain_json(cloud, bench):
    network = bench('OS::Neutron::Net', {'tags': ['a']})
    acting = network.fresh('CREATE')
    handle = acting.handle_create()
    assert json.loads(json.dumps(handle)) == handle
    assert acting.check_create_complete(handle)
    assert json.loads(json.dumps(acting.handle_delete())) == {'sent': False}


def test_a_failure_names_the_request(cloud, bench):
    cloud.faults.append(Fault('POST /networks', 409))
    with pytest.raises(Exception, match=r'the lamp is busy \(HTTP 409\) \(Request-ID: req-lamp\)') as error:
        bench('OS::Neutron::Net').create()
    assert type(error.value).__name__ == 'Conflict'


# --- what is real ------------------------------------------------------------------------------------------

def observed(bench, properties):
    old = bench.fresh('CREATE', 'COMPLETE')
    return old, old.observe(old.compare(bench.define(properties)))


def test_what_is_as_it_was_made_has_not_drifted(cloud, bench):
    given = {'name': 'www', 'external_gateway_info': {'network': 'known-outside'}}
    router = bench('OS::Neutron::Router', given)
    made = router.create()
    cloud.things[f'/routers/{made.resource_id}'].update(
        external_gateway_info={'network_id': 'known-outside', 'enable_snat': True, 'external_fixed_ips': []},
        description='', tags=[], admin_state_up=True)
    old, comparison = observed(router, given)
    assert not old.needs_update(comparison)     # though Neutron says more of the gateway than was asked for
    cloud.things[f'/routers/{made.resource_id}'].update(external_gateway_info={'network_id': 'another'})
    old, comparison = observed(router, given)
    assert old.changes(comparison)[1] == {'external_gateway_info': {
        'network': 'known-outside', 'enable_snat': None, 'external_fixed_ips': None}}


def test_drift_is_put_right(cloud, bench):
    scope = bench('OS::Neutron::AddressScope', {'shared': True})
    made = scope.create()
    cloud.things[f'/address-scopes/{made.resource_id}'].update(shared=False)
    old, comparison = observed(scope, {'shared': True})
    assert old.changes(comparison)[1] == {'shared': True}
    del cloud.things[f'/address-scopes/{made.resource_id}']
    with pytest.raises(exception.EntityNotFound):
        observed(scope, {'shared': True})


@pytest.mark.parametrize('given, is_over', [
    ({'pattern': '* * * * *', 'count': 1}, True), ({'first_time': '2999-01-01 00:00'}, True),
    ({'pattern': '* * * * *'}, False)])
def test_a_trigger_that_has_run_is_no_fault(cloud, bench, given, is_over):
    """Mistral deletes it after its last execution: to replace it would run its workflow once more."""
    properties = {'name': 'once', 'workflow': {'name': 'known-workflow'}, **given}
    trigger = bench('OS::Mistral::CronTrigger', properties)
    trigger.create()
    cloud.answers['GET /cron_triggers/once'] = (404, {'faultstring': 'Cron trigger not found'})
    if is_over:
        trigger.run('CHECK')
        with pytest.raises(exception.ObjectUncomparable):
            observed(trigger, properties)
        return
    with pytest.raises(exception.EntityNotFound):
        trigger.run('CHECK')
    with pytest.raises(exception.EntityNotFound):
        observed(trigger, properties)


@pytest.mark.parametrize('given, takes_pages', [([404], False), ([404, 'page'], True), (None, False)])
def test_a_service_may_answer_with_a_page_that_an_object_is_gone(bench, given, takes_pages):
    here = bench('OS::Neutron::Net').fresh('DELETE')
    here.description = dataclasses.replace(here.description, gone=waits.gone(given))
    assert service.adapter_of(here).takes_pages is takes_pages
