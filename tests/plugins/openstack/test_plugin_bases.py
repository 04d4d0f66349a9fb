"""Third-party modules that build on our types, under the names they import them by."""

from __future__ import annotations

import copy
import importlib

import pytest

from heatlite.engine.compat import aliases
from heatlite.engine.compat import old_names as names
from heatlite.engine.types import registry
from tests.plugins.openstack.cloud import Cloud, Life

# Module -> names. Source: docs/spec/plugins.rst, "Base classes for types", "Clients" and "Former names".
CONTRACT = {
    'heat.engine.resources.openstack.neutron.neutron': 'NeutronResource',
    'heat.engine.resources.openstack.nova.server': 'Server',
    'heat.engine.resources.openstack.neutron.security_group': 'SecurityGroup',
    'heat.engine.resources.openstack.neutron.segment': 'Segment',
    'heat.engine.resources.openstack.neutron.port': 'Port',
    'heat.engine.resources.openstack.cinder.volume': 'CinderVolume CinderVolumeAttachment',
    'heat.engine.resources.aws.ec2.instance': 'Instance',
    'heat.engine.resources.server_base': 'BaseServer',
    'heat.engine.resources.volume_base': 'BaseVolume BaseVolumeAttachment',
    'heat.engine.resources.scheduler_hints': 'SchedulerHintsMixin',
    'heat.engine.resources.stack_user': 'StackUser',
    'heat.engine.resources.server': 'Server',
    'heat.engine.resources.neutron.neutron': 'NeutronResource',
    'heat.engine.clients.os.nova': 'NovaClientPlugin',
    'heat.engine.clients.os.cinder': 'CinderClientPlugin',
    'heat.engine.clients.os.glance': 'GlanceClientPlugin',
    'heat.engine.clients.os.keystone': 'KeystoneClientPlugin',
    'heat.engine.clients.os.neutron': 'NeutronClientPlugin',
    'heat.engine.clients.os.swift': 'SwiftClientPlugin MAX_EPOCH IN_PROGRESS',
    'heat.engine.clients.os.trove': 'TroveClientPlugin',
    'heat.engine.clients.os.heat_plugin': 'HeatClientPlugin',
    'heat.engine.clients.os.zaqar': 'ZaqarClientPlugin',
}


@pytest.fixture(autouse=True)
def old_names():
    aliases.install()


@pytest.mark.parametrize('module', CONTRACT)
def test_names(module):
    found = importlib.import_module(module)
    assert [name for name in CONTRACT[module].split() if not hasattr(found, name)] == []


@pytest.mark.parametrize('target', sorted({
    *names.MOVED.values(), *(base for base, _added in names.MADE.values() if base),
    *(value for added in (*names.ADDED.values(), *(added for _base, added in names.MADE.values()))
      for value in added.values() if isinstance(value, str) and ':' in value)}))
def test_a_former_name_leads_somewhere(target):
    module, _colon, attribute = target.partition(':')
    found = importlib.import_module(module)
    assert not attribute or hasattr(found, attribute)


def test_a_network_type_of_a_vendor(cloud: Cloud):
    from heat.engine import properties
    from heat.engine.resources.openstack.neutron import neutron

    class Zone(neutron.NeutronResource):
        entity = 'address_scope'
        PROPERTIES = (NAME, VERSION, VALUE_SPECS) = ('name', 'ip_version', 'value_specs')
        properties_schema = {
            NAME: properties.Schema(properties.Schema.STRING, update_allowed=True),
            VERSION: properties.Schema(properties.Schema.INTEGER, default=4),
            VALUE_SPECS: properties.Schema(properties.Schema.MAP, default={}, update_allowed=True)}

        def handle_create(self):
            props = self.prepare_properties(self.properties, self.physical_resource_name())
            self.resource_id_set(self.neutron().create_address_scope({'address_scope': props})['address_scope']['id'])

        def handle_update(self, json_snippet, tmpl_diff, prop_diff):
            self.prepare_update_properties(prop_diff)
            self.client().update_address_scope(self.resource_id, {'address_scope': prop_diff})

        def handle_delete(self):
            try:
                self.client().delete_address_scope(self.resource_id)
            except Exception as ex:
                self.client_plugin().ignore_not_found(ex)
            else:
                return True

    registry.current().register('Vendor::Zone', Zone)
    life = Life(cloud, 'Vendor::Zone', {'ip_version': 6})
    life.validate()
    made = life.create()
    assert life.attribute('show')['name'] == made.physical_resource_name()
    life.update({'ip_version': 6, 'name': 'zone'})
    assert life.attribute('show')['name'] == 'zone'
    life.delete()
    life.delete()
    wrong = Life(cloud, 'Vendor::Zone', {'value_specs': {'shared': True}})
    assert wrong.validate() == 'shared not allowed in value_specs'
    wrong = Life(cloud, 'Vendor::Zone', {'value_specs': {'name': 'n'}})
    assert wrong.validate() == 'name not allowed in value_specs'


def test_a_network_type_that_shows_its_object_by_itself(cloud: Cloud):
    """As Nuage's and StarlingX's, which have no `entity`."""
    from heat.engine import attributes, properties
    from heat.engine.resources.openstack.neutron import neutron

    class Group(neutron.NeutronResource):
        properties_schema = {'name': properties.Schema(properties.Schema.STRING)}
        attributes_schema = {name: attributes.Schema(name) for name in ('name', 'status')}
        health = 'DOWN'

        def handle_create(self):
            props = self.prepare_properties(self.properties, self.physical_resource_name())
            self.resource_id_set(self.neutron().create_address_scope({'address_scope': {**props, 'ip_version': 4}})[
                'address_scope']['id'])

        def _show_resource(self):
            return {**self.neutron().show_address_scope(self.resource_id)['address_scope'], 'status': self.health}

        def handle_delete(self):
            self.neutron().delete_address_scope(self.resource_id)

    registry.current().register('Vendor::Group', Group)
    life = Life(cloud, 'Vendor::Group', {'name': 'group'})
    assert life.fresh('CREATE', 'FAILED').needs_replace_failed()
    made = life.create()
    assert (life.attribute('name'), life.attribute('status')) == ('group', 'DOWN')
    assert not made.needs_replace_failed()
    made.health = 'ERROR'
    assert made.needs_replace_failed()
    life.delete()
    assert life.fresh('CREATE', 'FAILED').needs_replace_failed() and life.attribute('name') is None


def test_a_network_type_that_shows_nothing(cloud: Cloud):
    from heat.engine import attributes
    from heat.engine.resources.openstack.neutron import neutron

    class Hidden(neutron.NeutronResource):
        attributes_schema = {'name': attributes.Schema('name')}

        def handle_create(self):
            self.resource_id_set('hidden')

    registry.current().register('Vendor::Hidden', Hidden)
    life = Life(cloud, 'Vendor::Hidden')
    assert life.create().needs_replace_failed() and life.attribute('name') is None


def test_a_server_of_a_vendor(cloud: Cloud):
    from heat.engine.resources.openstack.nova import server

    class VendorServer(server.Server):
        properties_schema = copy.deepcopy(dict(server.Server.properties_schema))

        def check_create_complete(self, server_id):
            if not super().check_create_complete(server_id):
                return False
            found = self.client_plugin().fetch_server(server_id)
            return found.metadata.get('managed') == 'yes' and bool(found.addresses) and found.id == server_id

        def get_attribute(self, key, *path):
            if key != 'owner':
                return super().get_attribute(key, *path)
            found, data = self.get_live_resource_data()
            return found.id, data['metadata']['managed']

    registry.current().register('Vendor::Server', VendorServer)
    life = Life(cloud, 'Vendor::Server', {
        'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'network': 'private'}], 'metadata': {'managed': 'yes'},
        VendorServer.USER_DATA_FORMAT: VendorServer.RAW})
    life.create()
    assert life.attribute('owner') == (life.physical_id, 'yes')
    assert life.fresh('CREATE', 'COMPLETE').get_live_state({'name': None})['metadata'] == {'managed': 'yes'}
    life.delete()


def test_a_machine_of_a_vendor(cloud: Cloud):
    from heat.engine.resources import instance

    class VendorMachine(instance.Instance):
        def handle_create(self):
            self.data_set('groups', ','.join(self._get_security_groups()))
            return super().handle_create()

    registry.current().register('Vendor::Machine', VendorMachine)
    life = Life(cloud, 'Vendor::Machine', {
        'ImageId': 'cirros', 'InstanceType': 'm1.tiny', 'SecurityGroups': ['default']})
    assert life.create().data()['groups'] == 'default'
    life.delete()


def test_a_client_plugin_of_a_vendor(cloud: Cloud):
    from heat.engine.clients.os import nova

    class VendorNova(nova.NovaClientPlugin):
        def get_ip(self, server, net_type, net_version):
            return super().get_ip(server, {'public': 'private'}[net_type], net_version)

    life = Life(cloud, 'OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'user_data_format': 'RAW',
                                            'networks': [{'network': 'private'}]})
    server = VendorNova(cloud.context).client().servers.get(life.create().resource_id)
    assert VendorNova(cloud.context).get_ip(server, 'public', 4) == life.attribute('first_address')
    life.delete()
