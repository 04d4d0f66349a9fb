"""Imports of our own types: an object of each, made by one stack, imported into another, updated and deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heatlite.engine.types import registry
from tests.plugins import importing
from tests.plugins.own_types import own_types

registry.create()
NAMES = sorted(name for group in own_types().groups for name in group.types)
registry.use(None)


@pytest.mark.parametrize('name', NAMES)
def test_an_object_is_imported_updated_and_deleted(kit, name):
    found = importing.of(*kit, name)
    assert found is not None
    assert list(importing.differences(name, found)) == []


SERVER = {'image': 'cirros', 'flavor': 'm1.tiny'}
PLACES = {
    'net': {'type': 'OS::Neutron::Net'},
    'subnet': {'type': 'OS::Neutron::Subnet', 'properties': {'network': {'get_resource': 'net'},
                                                             'cidr': '10.9.0.0/24'}},
    'port': {'type': 'OS::Neutron::Port', 'properties': {'network': {'get_resource': 'net'},
                                                         'fixed_ips': [{'subnet': {'get_resource': 'subnet'}}]}}}
SUBNET, NET, PORT = {'get_resource': 'subnet'}, {'get_resource': 'net'}, {'get_resource': 'port'}


def on(*networks, **more):
    return {**SERVER, 'networks': list(networks), **more}


@pytest.mark.parametrize('properties', [
    on({'subnet': SUBNET, 'fixed_ip': '10.9.0.77'}),
    on({'network': NET, 'port_extra_properties': {'port_security_enabled': False}}),
    on({'subnet': SUBNET}, {'subnet': SUBNET}, name='shop'),
    on({'port': PORT}, {'subnet': SUBNET}),
    on({'network': NET, 'fixed_ip': '10.9.0.77'}),
], ids=['address', 'more', 'named', 'mixed', 'of-nova'])
def test_ports_made_with_an_imported_server_are_deleted_with_it(kit, properties):
    found, cloud_of = kit
    _group, known = found.example('OS::Nova::Server')
    example = replace(known, properties=properties, needs={**known.needs, **PLACES})
    lived = importing.of_example(found, cloud_of('OS::Nova::Server'), 'OS::Nova::Server', example)
    assert list(importing.differences('OS::Nova::Server', lived)) == []


@pytest.mark.parametrize('name', ['OS::Nova::Server', 'AWS::EC2::Instance'])
def test_a_port_that_somebody_plugged_into_an_imported_server_is_kept(kit, name):
    def plug_in(it):
        neutron = it.client('neutron')
        body = {'network_id': it.stack['net'].resource_id, 'name': 'www-port-1'}
        port = neutron.create_port({'port': body})['port']['id']
        it.client('nova').servers.interface_attach(it.resource_id, port, None, None)

    found, cloud_of = kit
    _group, known = found.example(name)
    properties = {**SERVER, 'networks': [{'subnet': SUBNET}]} if name == 'OS::Nova::Server' else {
        'ImageId': 'cirros', 'InstanceType': 'm1.tiny', 'SubnetId': SUBNET}
    example = replace(known, properties=properties, needs={**known.needs, **PLACES}, update=())
    lived = importing.of_example(found, cloud_of(name), name, example, plug_in)
    assert list(importing.differences(name, lived)) == []


def test_the_page_is_current():
    """Made anew by `python -m tests.plugins.importing --page`."""
    assert importing.PAGE.read_text() == '\n'.join(importing.page())


def test_the_list_names_types_with_an_example():
    assert set(importing.not_imported()) <= set(NAMES)
