"""Heat's modules of types that have no module here: plug-ins import their classes to extend them."""

from __future__ import annotations

import importlib

import pytest

from heatlite.common import exception
from heatlite.engine.compat import aliases, type_modules
from heatlite.engine.resource import Resource
from heatlite.engine.resources import packed
from heatlite.engine.types import plugin_loading, registry
from tests.plugins.bench import Bench
from tests.plugins.conftest import FIXTURES

CLASSES = [(module, name, type_name) for module, classes in type_modules.CLASSES.items()
           for name, type_name in classes.items()]


@pytest.fixture
def operators(types: registry.TypeRegistry, plugin_folders: None) -> registry.TypeRegistry:
    found = plugin_loading.load([str(FIXTURES / 'built_in_modules')])
    assert found.failures == []
    for name, kind in found.types.items():
        types.register(name, kind)
    return types


def test_each_class_is_that_of_its_type(types):
    aliases.install()
    for module, name, type_name in CLASSES:
        package, _dot, last = module.rpartition('.')
        names = {}
        exec(f'from heat.engine.resources.openstack{package and "."}{package} import {last} as found', names)
        kind = getattr(names['found'], name)
        assert issubclass(types.resolve(type_name, 'r'), kind), type_name
        assert importlib.import_module(f'heat.engine.resources.openstack.{module}') is names['found']
        for constant, value in type_modules.constants(kind, type_name).items():
            assert getattr(kind, constant) == value or hasattr(Resource, constant), (type_name, constant)
    with pytest.raises(ImportError, match="cannot import name 'Network' from 'heat.engine"):
        exec('from heat.engine.resources.openstack.neutron.net import Network')


def test_every_type_of_openstack_is_found_by_its_module():
    with_own_module = {*packed.modules(), 'OS::Neutron::Segment'}
    of_openstack = {name for name in packed.names() if name.startswith('OS::')}
    assert of_openstack - with_own_module == {type_name for _module, _name, type_name in CLASSES}


def test_names_of_properties_are_constants_as_in_heat(operators):
    subnet = importlib.import_module('heat.engine.resources.openstack.neutron.subnet').Subnet
    assert (subnet.CIDR, subnet.GATEWAY_IP, subnet.VALUE_SPECS) == ('cidr', 'gateway_ip', 'value_specs')
    assert set(subnet.PROPERTIES) == set(subnet.properties_schema)
    assert operators.resolve('Operator::Limit', 'r').size == 'max_kbps'
    # The words of the base class keep their meaning.
    assert subnet.CREATE == 'CREATE'
    assert subnet.STATUSES == registry.current().resolve('OS::Heat::None', 'r').STATUSES


def test_a_built_in_type_is_replaced_by_its_own_subclass(operators):
    bench = Bench('OS::Neutron::Net', {'name': 'a', 'tenant_id': 'p'})
    kind = operators.resolve('OS::Neutron::Net', 'r')
    assert kind.__name__ == 'FixedNet'
    assert kind.properties_schema['tenant_id'].immutable and not kind.properties_schema['name'].immutable
    assert not kind.__mro__[1].properties_schema['tenant_id'].immutable
    bench.fresh('CREATE', 'COMPLETE').apply_definition(bench.definition)
    with pytest.raises(exception.NotSupported, match='Update to properties tenant_id of r'):
        bench.update({'name': 'a', 'tenant_id': 'q'})
