"""What the operator's options give to classes: defaults of properties and attributes of the class, for each engine."""

import copy

import pytest
from oslo_config import cfg

from heatlite.common import config
from heatlite.engine.resources import packed
from heatlite.engine.types import registry

SAID = [(name, prop, body['default_from_config']) for name in packed.names()
        for prop, body in packed.facts(name).get('properties', {}).items() if 'default_from_config' in body]
OTHER = {'default_software_config_transport': 'ZAQAR_MESSAGE', 'default_user_data_format': 'RAW',
         'default_deployment_signal_transport': 'HEAT_SIGNAL'}
LIMITED = ('OS::Nova::Server', 'AWS::EC2::Instance')
SERVER = 'OS::Nova::Server'


def types(**options):
    """A registry with these options."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[], default_config_dirs=[])
    for name, value in options.items():
        conf.set_override(name, value)
    found = registry.create(conf)
    registry.use(None)
    return found


@pytest.fixture(scope='module')
def usual():
    return types()


@pytest.fixture(scope='module')
def other(usual):
    """A second registry of the same process, made after the first one has loaded its classes."""
    for name, _prop, _option in SAID:
        usual.resolve(name, 'r')
    return types(**OTHER, max_server_name_length=20)


def default(known, name, prop):
    return known.resolve(name, 'r').properties_schema[prop].default


def test_each_option_has_another_value_here(usual):
    assert {option for _name, _prop, option in SAID} == set(OTHER)
    assert all(default(usual, name, prop) != OTHER[option] for name, prop, option in SAID)


@pytest.mark.parametrize('name, prop, option', SAID, ids=[f'{name}.{prop}' for name, prop, _ in SAID])
def test_each_registry_has_the_defaults_of_its_own_options(usual, other, name, prop, option):
    assert default(other, name, prop) == OTHER[option]
    assert default(usual, name, prop) == packed.facts(name)['properties'][prop]['default']


@pytest.mark.parametrize('name', LIMITED)
def test_each_registry_has_the_longest_names_of_its_own_options(usual, other, name):
    assert other.resolve(name, 'r').physical_resource_name_limit == 20
    assert usual.resolve(name, 'r').physical_resource_name_limit == 53


def test_a_class_is_made_once_for_a_registry(usual, other):
    kind = other.resolve(SERVER, 'r')
    assert kind is other.resolve(SERVER, 'r') is other.frozen().resolve(SERVER, 'r')
    assert kind is not usual.resolve(SERVER, 'r')
    assert other.implements(kind, SERVER) and usual.implements(kind, SERVER)
    assert not other.implements(kind, 'OS::Heat::DeployedServer')
    assert (kind.__name__, kind.__module__, kind.getdoc()) == (
        'Server', 'heatlite.engine.resources.openstack.nova.server', usual.resolve(SERVER, 'r').getdoc())


def test_a_type_without_such_options_is_the_same_class(usual, other):
    assert usual.resolve('OS::Heat::Value', 'r') is other.resolve('OS::Heat::Value', 'r')


def vendor_server(base, **members):
    """A plug-in's class that copies the schema of ours."""
    return type('VendorServer', (base,), {
        'properties_schema': copy.deepcopy(dict(base.properties_schema)), **members})


def test_a_class_of_a_plugin_has_the_defaults_of_the_options(usual, other):
    kind = vendor_server(usual.resolve(SERVER, 'r'))
    other.register('Vendor::Server', kind)
    assert default(other, 'Vendor::Server', 'user_data_format') == 'RAW'
    assert other.resolve('Vendor::Server', 'r').physical_resource_name_limit == 20


def test_what_a_plugin_states_itself_stays(usual, other):
    kind = vendor_server(usual.resolve(SERVER, 'r'), physical_resource_name_limit=30)
    kind.properties_schema['user_data_format'].default = 'SOFTWARE_CONFIG'
    other.register('Vendor::OwnServer', kind)
    assert default(other, 'Vendor::OwnServer', 'user_data_format') == 'SOFTWARE_CONFIG'
    assert other.resolve('Vendor::OwnServer', 'r').physical_resource_name_limit == 30
