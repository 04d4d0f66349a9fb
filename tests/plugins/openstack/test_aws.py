"""The EC2 family in the simulated cloud."""

from __future__ import annotations

import base64
import email

import pytest

from heatlite.common import exception
from tests.plugins.openstack.cloud import Cloud, Life

KINDS = ('compute.servers', 'network.ports', 'network.networks', 'network.routers', 'network.subnets',
         'network.floatingips', 'network.security-groups', 'volume.volumes')
INSTANCE = {'ImageId': 'cirros', 'InstanceType': 'm1.tiny'}


@pytest.fixture(autouse=True)
def nothing_is_left(cloud: Cloud):
    before = [cloud.count(kind) for kind in KINDS]
    yield
    cloud.advance(10)
    assert [cloud.count(kind) for kind in KINDS] == before


@pytest.fixture
def vpc(cloud: Cloud):
    life = Life(cloud, 'AWS::EC2::VPC', {'CidrBlock': '10.77.0.0/16'}, name='vpc')
    life.create()
    yield life
    life.delete()


@pytest.fixture
def subnet(cloud: Cloud, vpc: Life):
    life = Life(cloud, 'AWS::EC2::Subnet', {'VpcId': vpc.physical_id, 'CidrBlock': '10.77.1.0/24'}, name='subnet')
    life.create()
    yield life
    life.delete()


@pytest.fixture
def instance(cloud: Cloud, subnet: Life):
    life = Life(cloud, 'AWS::EC2::Instance', {**INSTANCE, 'SubnetId': subnet.physical_id}, name='host')
    life.create()
    yield life
    life.delete()


def test_a_subnet_is_plugged_into_the_router_of_its_vpc(cloud: Cloud, vpc: Life, subnet: Life):
    neutron = cloud.client('neutron')
    name = neutron.show_network(vpc.physical_id)['network']['name']
    router = neutron.list_routers(name=name)['routers'][0]
    ports = neutron.list_ports(device_id=router['id'])['ports']
    assert [ip['subnet_id'] for port in ports for ip in port['fixed_ips']] == [subnet.physical_id]


def test_an_instance_has_the_account_of_amazons_images(cloud: Cloud, instance: Life):
    full = cloud._sim('GET', 'objects/compute.servers', params={'full': '1'})['objects']['compute.servers']['objects']
    found = next(each for each in full if each['id'] == instance.physical_id)
    message = email.message_from_bytes(base64.b64decode(found['OS-EXT-SRV-ATTR:user_data']))
    assert [part.get_payload().splitlines()[0] for part in message.get_payload()
            if part.get_content_subtype() == 'cloud-config'] == ['user: ec2-user']


def test_a_route_table_takes_a_subnet_and_gives_it_back(cloud: Cloud, vpc: Life, subnet: Life):
    neutron = cloud.client('neutron')
    table = Life(cloud, 'AWS::EC2::RouteTable', {'VpcId': vpc.physical_id}, name='table')
    router = table.create().resource_id
    life = Life(cloud, 'AWS::EC2::SubnetRouteTableAssociation',
                {'RouteTableId': router, 'SubnetId': subnet.physical_id})
    life.create()
    assert [port['fixed_ips'][0]['subnet_id'] for port in neutron.list_ports(device_id=router)['ports']] == [
        subnet.physical_id]
    life.delete()
    assert neutron.list_ports(device_id=router)['ports'] == []
    table.delete()


def test_instance(cloud: Cloud, instance: Life):
    found = cloud.client('nova').servers.get(instance.physical_id)
    assert found.status == 'ACTIVE'
    assert instance.attribute('PrivateIp').startswith('10.77.1.')
    assert instance.attribute('AvailabilityZone')
    subnet = instance.definition._properties['SubnetId']
    assert instance.writes_of(instance.update, {**INSTANCE, 'SubnetId': subnet}) == []
    instance.update({**INSTANCE, 'SubnetId': subnet, 'InstanceType': 'm1.small',
                     'Tags': [{'Key': 'colour', 'Value': 'red'}]})
    found = cloud.client('nova').servers.get(instance.physical_id)
    assert found.flavor['original_name'] == 'm1.small' and found.metadata == {'colour': 'red'}
    instance.run('SUSPEND')
    instance.run('RESUME')


def test_an_instance_with_an_interface_of_the_template(cloud: Cloud, subnet: Life):
    card = Life(cloud, 'AWS::EC2::NetworkInterface',
                {'SubnetId': subnet.physical_id, 'PrivateIpAddress': '10.77.1.55', 'GroupSet': ['default']},
                name='card')
    card.create()
    assert card.attribute('PrivateIpAddress') == '10.77.1.55'
    life = Life(cloud, 'AWS::EC2::Instance', {**INSTANCE, 'NetworkInterfaces': [card.physical_id]})
    life.create()
    assert life.attribute('PublicIp') == '10.77.1.55'
    life.delete()
    card.delete()


def test_volumes_are_attached_after_the_start(cloud: Cloud, subnet: Life):
    disk = Life(cloud, 'AWS::EC2::Volume', {'AvailabilityZone': 'nova', 'Size': 1,
                                            'Tags': [{'Key': 'a', 'Value': 'b'}]}, name='disk')
    volume = disk.create().resource_id
    assert cloud.client('cinder').volumes.get(volume).metadata == {'a': 'b'}
    life = Life(cloud, 'AWS::EC2::Instance', {**INSTANCE, 'SubnetId': subnet.physical_id,
                                              'Volumes': [{'VolumeId': volume, 'Device': '/dev/vdb'}]})
    life.create()
    assert cloud.client('cinder').volumes.get(volume).status == 'in-use'
    life.delete()
    disk.delete()


def test_volume_attachment(cloud: Cloud, instance: Life):
    disk = Life(cloud, 'AWS::EC2::Volume', {'AvailabilityZone': 'nova', 'Size': 1}, name='disk')
    volume = disk.create().resource_id
    wanted = {'InstanceId': instance.physical_id, 'VolumeId': volume, 'Device': '/dev/vdc'}
    life = Life(cloud, 'AWS::EC2::VolumeAttachment', wanted)
    life.create()
    with pytest.raises(exception.NotSupported):
        life.update({**wanted, 'Device': '/dev/vdd'})
    life.delete()
    disk.delete()


def test_elastic_addresses(cloud: Cloud, instance: Life, vpc: Life):
    neutron = cloud.client('neutron')
    life = Life(cloud, 'AWS::EC2::EIP', {'Domain': 'vpc'}, name='address')
    made = life.create()
    assert made.get_reference_id().startswith('172.24.') and life.attribute('AllocationId') == made.resource_id
    way = Life(cloud, 'AWS::EC2::EIPAssociation',
               {'AllocationId': made.resource_id, 'InstanceId': instance.physical_id}, name='way')
    way.validate()
    way.create()
    assert neutron.show_floatingip(made.resource_id)['floatingip']['fixed_ip_address'].startswith('10.77.1.')
    way.delete()
    assert neutron.show_floatingip(made.resource_id)['floatingip']['port_id'] is None
    old = Life(cloud, 'AWS::EC2::EIPAssociation',
               {'EIP': made.get_reference_id(), 'InstanceId': instance.physical_id}, name='old')
    old.create()
    assert neutron.show_floatingip(made.resource_id)['floatingip']['port_id']
    old.delete()
    name = neutron.show_network(vpc.physical_id)['network']['name']
    neutron.remove_gateway_router(neutron.list_routers(name=name)['routers'][0]['id'])
    life.delete()


def test_a_lost_reply_makes_no_second_address(cloud: Cloud):
    cloud.fault(kind='lost', service='network', method='POST', path='*/floatingips')
    before = cloud.count('network.floatingips')
    life = Life(cloud, 'AWS::EC2::EIP', {})
    life.create()
    assert cloud.count('network.floatingips') == before + 1
    life.delete()


@pytest.mark.parametrize('properties', [
    {}, {'EIP': '192.0.2.1'}, {'AllocationId': 'x'}, {'EIP': '192.0.2.1', 'AllocationId': 'x', 'InstanceId': 'y'}])
def test_wrong_ways(cloud: Cloud, properties):
    with pytest.raises(exception.HeatException):
        Life(cloud, 'AWS::EC2::EIPAssociation', properties).validate()


def test_security_group(cloud: Cloud):
    neutron = cloud.client('neutron')
    web = {'IpProtocol': 'tcp', 'FromPort': '80', 'ToPort': '80', 'CidrIp': '0.0.0.0/0'}
    life = Life(cloud, 'AWS::EC2::SecurityGroup', {'GroupDescription': 'web', 'SecurityGroupIngress': [web]})
    life.validate()
    life.create()

    def ports():
        found = neutron.show_security_group(life.physical_id)['security_group']['security_group_rules']
        return sorted((rule['direction'], rule['port_range_min']) for rule in found if rule['protocol'])

    assert ports() == [('ingress', 80)]
    life.update({'GroupDescription': 'web', 'SecurityGroupIngress': [{**web, 'FromPort': '22', 'ToPort': '22'}],
                 'SecurityGroupEgress': [web]})
    assert ports() == [('egress', 80), ('ingress', 22)]
    life.delete()


def test_a_group_that_lets_everything_out_as_ec2_templates_say(cloud: Cloud):
    everything = {'IpProtocol': '-1', 'CidrIp': '0.0.0.0/0'}
    ports = {'IpProtocol': 'tcp', 'FromPort': '1', 'ToPort': '65535', 'CidrIp': '10.0.0.0/8'}
    wanted = {'GroupDescription': 'web', 'SecurityGroupIngress': [ports], 'SecurityGroupEgress': [everything]}
    life = Life(cloud, 'AWS::EC2::SecurityGroup', wanted)
    life.create()

    def rules():
        found = cloud.client('neutron').show_security_group(life.physical_id)['security_group']['security_group_rules']
        return sorted((rule['direction'], rule['ethertype'], rule['protocol'] or '') for rule in found)

    assert rules() == [('egress', 'IPv4', ''), ('ingress', 'IPv4', 'tcp')]
    ping = {'IpProtocol': 'icmp', 'FromPort': '-1', 'ToPort': '-1'}
    life.update({**wanted, 'SecurityGroupIngress': [ports, ping]})
    assert rules() == [('egress', 'IPv4', ''), ('ingress', 'IPv4', 'icmp'), ('ingress', 'IPv4', 'tcp')]
    life.delete()


def test_internet_gateway(cloud: Cloud):
    life = Life(cloud, 'AWS::EC2::InternetGateway', {})
    assert life.create().resource_id.startswith('city-')
    assert life.writes_of(life.delete) == []
