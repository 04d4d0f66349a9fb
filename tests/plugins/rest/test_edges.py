"""Resources that must be there first although no template says so."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from heatlite.common import turns
from heatlite.engine import dependencies, properties, resource, rsrc_defn
from heatlite.engine.reconcile import implicit_dependencies
from heatlite.engine.types import registry
from heatlite.language import definition as definitions
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.template import Template
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


class Defined(Acme):
    """The same with the definition, as stacks of the engine have it; counts the objects that it gives."""

    def __init__(self, entries, env=None):
        super().__init__(entries, env)
        self.definition = SimpleNamespace(resources={name: SimpleNamespace(type=entry[0])
                                                     for name, entry in entries.items()})
        self.given = 0

    def __getitem__(self, name):
        self.given += 1
        return super().__getitem__(name)


def needs(name, entries, env=None):
    """Names of what `name` gets edges to, which are the same if only the types of the others are looked at."""
    found = required(Acme(entries, env), name)
    assert required(Defined(entries, env), name) == found
    return found


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
    stack = Defined(entries, env)
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


class Replacing(resource.Resource):
    """A plug-in's subnet."""

    properties_schema = {'network': properties.Schema(properties.Schema.STRING)}


@pytest.mark.parametrize('entries, kind', [
    ({'My::Subnet': SUBNET}, 'My::Subnet'),                         # another name of the type
    ({SUBNET: 'Acme::Subnet'}, 'Acme::Subnet'),                     # the type is a class of a plug-in
    ({SUBNET: 'Acme::Subnet'}, SUBNET),
    ({SUBNET: 'Acme::Subnet', 'My::Subnet': SUBNET}, 'My::Subnet'),
    ({'resources': {'subnet': {SUBNET: 'Acme::Subnet'}}}, SUBNET),  # for this resource alone
    ({'resources': {'subnet': {'My::Subnet': SUBNET}}}, 'My::Subnet'),
    ({}, 'Acme::Same'),                                             # a plug-in has the class under another name
    ({}, 'OS::Quantum::Subnet'),
])
def test_a_type_is_what_its_name_leads_to(entries, kind):
    registry.current().register('Acme::Subnet', Replacing)
    registry.current().register('Acme::Same', registry.current().resolve(SUBNET, ''))
    stack = {'router': BASE['router'], 'subnet': (kind, {'network': 'public'}), 'other': (kind, {'network': 'else'})}
    if 'resources' in entries:
        del stack['other']
    env = Environment({'resource_registry': entries})
    assert needs('router', stack, env) == {'subnet'}
    assert needs('port', {**stack, 'port': (PORT, {'network': 'public'})}, env) == {'subnet'}


@pytest.mark.parametrize('kind, is_subnet', [(SUBNET, True), ('My::Subnet', True), ('My::Thing', False)])
def test_a_template_is_the_type_whose_name_leads_to_it(kind, is_subnet):
    """All templates have the same class."""
    env = Environment({'resource_registry': {
        SUBNET: 'file:///subnet.yaml', 'My::Subnet': SUBNET, 'My::Thing': 'file:///thing.yaml'}})
    stack = {'router': BASE['router'], 'port': (PORT, {'network': 'public'}), 'it': (kind, {'network': 'public'})}
    for made in (Acme(stack, env), Defined(stack, env)):
        made['it'].properties = {'network': 'public'}
        for name in ('router', 'port'):
            assert required(made, name) == ({'it'} if is_subnet else set())


def test_a_class_for_other_resources_is_not_the_type():
    registry.current().register('Acme::Subnet', Replacing)
    env = Environment({'resource_registry': {'resources': {'else': {SUBNET: 'Acme::Subnet'}}}})
    assert needs('router', {'router': BASE['router'], 'subnet': ('Acme::Subnet', {'network': 'public'})}, env) == set()


def test_only_what_a_rule_is_about_is_made():
    addresses = {f'address{number}': (FLOATING, {'floating_network': 'public'}) for number in range(50)}
    stack = Defined({**BASE, **addresses})
    for name in addresses:
        assert required(stack, name) == {'router'}
    assert stack.given <= 3 * len(addresses) + 10       # the test asks for each twice; of the others, one of each type


def test_others_run_while_a_definition_is_completed():
    taken = []
    address = {'type': FLOATING, 'properties': {'floating_network': 'public'}}
    made = definitions.build(Template({'heat_template_version': '2018-08-31', 'resources': {
        **{f'address{number}': address for number in range(100)},
        'router': {'type': ROUTER, 'properties': {'external_gateway_info': {'network': 'public'}}}}}),
        Environment({}, registry.current().operator), {}, StackIdentity('s', 'city', 'p'))
    turns.use(lambda *_owners: taken.append(True))
    try:
        implicit_dependencies.complete(made)
    finally:
        turns.use(None)
    assert all(each.requires == {'router'} for name, each in made.resources.items() if name != 'router')
    assert len(taken) >= 5
