"""Resources that must be there first although no template says so."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from heatlite.engine import dependencies, rsrc_defn
from heatlite.engine.types import registry
from heatlite.language.environment import Environment
from tests.plugins.bench import Stack, SteppedRuntime

NET, SUBNET, ROUTER = 'OS::Neutron::Net', 'OS::Neutron::Subnet', 'OS::Neutron::Router'
INTERFACE, GATEWAY, PORT = 'OS::Neutron::RouterInterface', 'OS::Neutron::RouterGateway', 'OS::Neutron::Port'
FLOATING, PLACED = 'OS::Neutron::FloatingIP', 'OS::Neutron::FloatingIPAssociation'


class Acme(Stack):
    """A stack of resources that do not exist yet: a reference is the name of what it refers to."""

    def __init__(self, entries, env=None):
        super().__init__(SteppedRuntime())
        self.env = env
        self._resources = {
            name: registry.current().resolve(kind, name, env)(name, rsrc_defn.ResourceDefinition(
                name, kind, properties, depends=needs), self)
            for name, (kind, properties, *needs) in entries.items()}

    def __getitem__(self, name):
        return self._resources[name]

    def __iter__(self):
        return iter(self._resources)

    def __len__(self):
        return len(self._resources)


def needs(name, entries):
    """Names of what `name` gets edges to."""
    return required(Acme(entries), name)


def required(stack, name):
    found = dependencies.Dependencies()
    stack[name].add_dependencies(found)
    return {other.name for other in found.requires(stack[name])} if len(found) else set()


@pytest.fixture(autouse=True)
def types():
    yield registry.create()
    registry.use(None)


def test_a_name_that_the_environment_gives_a_type_is_the_type():
    env = Environment({'resource_registry': {'My::Subnet': SUBNET, 'My::Table': 'AWS::EC2::RouteTable'}})
    entries = {'net': (NET, {}), 'subnet': ('My::Subnet', {'network': 'net', 'cidr': '10.0.0.0/24'}),
               'port': (PORT, {'network': 'net'}), 'gateway': ('AWS::EC2::VPCGatewayAttachment', {'VpcId': 'vpc'}),
               'table': ('My::Table', {'VpcId': 'vpc'})}
    stack = Acme(entries, env)
    stack.definition = SimpleNamespace(resources={name: SimpleNamespace(type=entry[0])
                                                  for name, entry in entries.items()})
    assert required(stack, 'port') == {'subnet'}
    assert required(stack, 'gateway') == {'table'}


BASE: Mapping[str, tuple] = {
    'net': (NET, {}), 'subnet': (SUBNET, {'network': 'net', 'cidr': '10.0.0.0/24'}),
    'outside': (SUBNET, {'network': 'public', 'cidr': '10.1.0.0/24'}),
    'router': (ROUTER, {'external_gateway_info': {'network': 'public'}}),
    'interface': (INTERFACE, {'router': 'router', 'subnet': 'subnet'}),
}


@pytest.mark.parametrize('name, entry, wanted', [
    ('router', BASE['router'], {'outside'}),
    ('address', (FLOATING, {'floating_network': 'public'}), {'router'}),
    ('address', (FLOATING, {'floating_network': 'elsewhere'}), set()),
    ('address', (FLOATING, {'floating_network': 'public', 'port_id': 'port'}, 'port'), {'router', 'interface'}),
    ('address', (FLOATING, {'floating_network': 'public', 'port_id': 'free'}, 'free'), {'router', 'interface'}),
    ('address', (FLOATING, {'floating_network': 'public', 'port_id': 'else'}, 'else'), {'router'}),
    ('placed', (PLACED, {'floatingip_id': 'a', 'port_id': 'port'}, 'port'), {'interface'}),
    ('gateway', (GATEWAY, {'router_id': 'router', 'network': 'public'}), {'interface', 'outside'}),
    ('routes', ('OS::Neutron::ExtraRouteSet', {'router': 'router'}), {'interface'}),
    ('net', BASE['net'], set()),
])
def test_edges(name, entry, wanted):
    ports = {
        'port': (PORT, {'network': 'net', 'fixed_ips': [{'subnet': 'subnet'}]}),
        'free': (PORT, {'network': 'net'}),
        'else': (PORT, {'network': 'elsewhere', 'fixed_ips': [{'subnet': 'elsewhere'}]}),
    }
    assert needs(name, {**BASE, **ports, name: entry}) == wanted
