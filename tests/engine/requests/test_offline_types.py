"""heatlite-lint says what types refuse by themselves, and refuses nothing that the service takes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from heatlite.authoring import checking
from heatlite.engine.requests import offline_types
from heatlite.engine.resources import packed, packed_types
from heatlite.language import lint, rules
from tests.language import run_cases

ROOT = Path(__file__).parents[3]
CASES = run_cases.load(str(ROOT / 'tests/language/template-cases.yaml'))
AMAZON = {'AvailabilityZones': ['z'], 'LaunchConfigurationName': {'get_resource': 'c'}}
CONFIGURATION = {'type': 'AWS::AutoScaling::LaunchConfiguration', 'properties': {'ImageId': 'i', 'InstanceType': 't'}}


def server(**properties):
    return {'r': {'type': 'OS::Nova::Server', 'properties': {'flavor': 'f', **properties}}}


WRONG = {
    'a volume without a size': (
        {'r': {'type': 'OS::Cinder::Volume'}},
        'If neither "backup_id" nor "size" is provided, one and only one of "source_volid", "snapshot_id" must be '
        'specified, but currently specified options: [].'),
    'a size beyond the largest': (
        {'r': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
            'min_size': 3, 'max_size': 1, 'resource': {'type': 'OS::Heat::None'}}}},
        'MinSize can not be greater than MaxSize'),
    'the same of the other cloud': (
        {'c': CONFIGURATION, 'r': {'type': 'AWS::AutoScaling::AutoScalingGroup', 'properties': {
            **AMAZON, 'MinSize': 3, 'MaxSize': 1}}},
        'MinSize can not be greater than MaxSize'),
    'a disk of nothing': (
        server(block_device_mapping_v2=[{'device_name': 'vda'}]),
        'Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be specified.'),
    'a property of a network in its value_specs': (
        {'r': {'type': 'OS::Neutron::Net', 'properties': {'value_specs': {
            'tags': ['t'], 'availability_zone_hints': ['nova'], 'tenant_id': 't', 'mtu': 1}}}},
        'availability_zone_hints, tags, tenant_id not allowed in value_specs'),
    'a property of a firewall in its value_specs': (
        {'r': {'type': 'OS::Neutron::Firewall', 'properties': {
            'firewall_policy_id': 'p', 'value_specs': {'shared': True}}}}, 'shared not allowed in value_specs'),
    'a network and none': (
        server(image='i', networks=[{'network': 'n', 'allocate_network': 'auto'}]),
        'Can not specify "allocate_network" with other keys of networks at the same time.')}


PORT = {'type': 'OS::Neutron::Port', 'properties': {'network': 'n'}}
VOLUME = {'type': 'OS::Cinder::Volume', 'properties': {'size': 1}}
P, V = {'get_resource': 'p'}, {'get_resource': 'v'}
CONFLICT = 'Cannot define the following properties at the same time: %s.'
SOURCES = CONFLICT % 'volume_id, snapshot_id, image, swap_size, ephemeral_size, ephemeral_format'
NO_SOURCE = 'Neither image nor bootable volume is specified for instance r'
WITH_REFERENCES = {                         # properties of a server -> what is refused before the port or volume exists
    'groups and a port': ({'image': 'i', 'security_groups': ['g'], 'networks': [{'port': P}]},
                          CONFLICT % 'security_groups, networks/port'),
    'an address and a port': ({'image': 'i', 'networks': [{'port': P, 'fixed_ip': '10.0.0.9'}]},
                              CONFLICT % 'networks/fixed_ip, networks/port'),
    'an old device that does not start': (
        {'block_device_mapping': [{'device_name': 'vdb', 'volume_id': V}]}, NO_SOURCE),
    'a device that does not start': ({'block_device_mapping_v2': [{'volume_id': V, 'boot_index': -1}]}, NO_SOURCE),
    'two sources of an old device': (
        {'block_device_mapping': [{'device_name': 'vdb', 'volume_id': V, 'snapshot_id': 'x'}]},
        CONFLICT % 'volume_id, snapshot_id'),
    'two sources of a device': ({'block_device_mapping_v2': [{'volume_id': V, 'image': 'i'}]}, SOURCES),
    'a volume and swap': ({'block_device_mapping_v2': [{'volume_id': V, 'swap_size': 1}]}, SOURCES),
    'both lists': ({'block_device_mapping': [{'device_name': 'vda', 'volume_id': V}],
                    'block_device_mapping_v2': [{'volume_id': V}]},
                   CONFLICT % 'block_device_mapping, block_device_mapping_v2'),
    'an image and a volume': ({'image': 'i', 'block_device_mapping_v2': [{'volume_id': V}]},
                              'Multiple bootable sources for instance r.'),
    'an entry beside one with a reference': (
        {'image': 'i', 'networks': [{'port': P}, {'network': 'n', 'floating_ip': '172.24.0.9'}]},
        'Property "floating_ip" is not supported if only "network" is specified, because the corresponding port can '
        'not be retrieved.'),
    'an empty entry': (
        {'image': 'i', 'networks': [{'port': {'get_attr': ['p', 'show', 'id']}}, {'tag': 't'}]},
        'One of the properties "network", "port", "allocate_network" or "subnet" should be set for the specified '
        'network of server "r".'),
    'a network and none': (
        {'image': 'i', 'networks': [{'allocate_network': 'none'}, {'port': P}]},
        'Property "allocate_network" can not be specified if multiple network interfaces set for server.')}
LET_PASS = {                                # properties of a server
    'a value that may be absent': {'image': 'i', 'networks': [
        {'port': {'get_attr': ['p', 'show', 'id']}, 'fixed_ip': '10.0.0.9'}]},
    'a list that may have any entries': {'block_device_mapping_v2': {'get_attr': ['v', 'show']}, 'networks': {
        'get_attr': ['p', 'show']}},
    'a boot index that may be any': {'block_device_mapping_v2': [
        {'volume_id': V, 'boot_index': {'get_attr': ['v', 'size']}}]},
    'a volume beside an image': {'image': 'i', 'block_device_mapping_v2': [{'volume_id': V, 'boot_index': -1}]}}
REFERRING = {                               # types whose lists have references -> resource `r`, what is refused
    'a device of Amazon': ({'type': 'AWS::EC2::Instance', 'properties': {
        'ImageId': 'i', 'InstanceType': 't', 'BlockDeviceMappings': [
            {'DeviceName': 'vdb', 'Ebs': {'SnapshotId': V}}, {'DeviceName': 'vdc', 'Ebs': {'VolumeSize': '1'}}]}},
        'SnapshotId is missing, this is required when specifying BlockDeviceMappings.'),
    'a container in no network': ({'type': 'OS::Zun::Container', 'properties': {
        'image': 'i', 'networks': [{'port': P}, {'fixed_ip': '10.0.0.9'}]}},
        'At least one of the following properties must be specified: network, port.'),
    'a mount of nothing': ({'type': 'OS::Zun::Container', 'properties': {
        'image': 'i', 'mounts': [{'mount_path': '/a', 'volume_id': V}, {'mount_path': '/b'}]}},
        'At least one of the following properties must be specified: mounts/volume_id, mounts/volume_size.'),
    'a database in no network': ({'type': 'OS::Trove::Instance', 'properties': {
        'flavor': 'f', 'size': 1, 'networks': [{'port': P}, {'fixed_ip': '10.0.0.9'}]}},
        'Either network or port must be provided.'),
    'a task of two kinds': ({'type': 'OS::Mistral::Workflow', 'properties': {'type': 'direct', 'tasks': [
        {'name': 'a', 'action': 'std.echo', 'input': {'output': P}},
        {'name': 'b', 'action': 'std.echo', 'workflow': 'w'}]}}, CONFLICT % 'action, workflow'),
    'a role nowhere': ({'type': 'OS::Keystone::User', 'properties': {
        'roles': [{'role': 'a', 'project': P}, {'role': 'b'}]}},
        'At least one of the following properties must be specified: project, domain.'),
    'a connection without a number': ({'type': 'OS::Neutron::NetworkGateway', 'properties': {
        'devices': [{'id': 'd', 'interface_name': 'e'}], 'connections': [
            {'network': P, 'segmentation_type': 'flat'}, {'network': 'n', 'segmentation_type': 'vlan'}]}},
        'segmentation_id must be specified for using vlan')}


def findings(tmp_path, resources):
    file = tmp_path / 't.yaml'
    file.write_text(yaml.safe_dump({'heat_template_version': '2018-08-31', 'resources': resources}))
    return checking.check(str(file))


@pytest.mark.parametrize('resources, message', WRONG.values(), ids=WRONG)
def test_what_a_type_refuses_by_itself_is_told_with_its_place(tmp_path, resources, message):
    [found] = findings(tmp_path, resources)
    assert found.message == message and found.path == ('resources', 'r') and found.line is not None


@pytest.mark.parametrize('properties, message', WITH_REFERENCES.values(), ids=WITH_REFERENCES)
def test_a_reference_hides_nothing_else_that_is_wrong(tmp_path, properties, message):
    [found] = findings(tmp_path, {**server(**properties), 'p': PORT, 'v': VOLUME})
    assert found.message == message


@pytest.mark.parametrize('properties', LET_PASS.values(), ids=LET_PASS)
def test_what_may_turn_out_right_is_let_pass(tmp_path, properties):
    found = findings(tmp_path, {**server(**properties), 'p': PORT, 'v': VOLUME})
    assert [each.message for each in found if each.level == rules.ERROR] == []


@pytest.mark.parametrize('resource, message', REFERRING.values(), ids=REFERRING)
def test_each_entry_of_a_list_is_checked_by_itself(tmp_path, resource, message):
    [found] = findings(tmp_path, {'r': resource, 'p': PORT, 'v': VOLUME})
    assert found.message == message


def test_what_only_a_service_could_tell_is_not_told(tmp_path):
    assert findings(tmp_path, server(image='no-such-image', networks=[{'network': 'no-such-network'}])) == []


@pytest.mark.parametrize('context', [
    {}, {'region_name': 'Elsewhere'}, {'credential_secret_id': 's'}, {'ca_cert': 'c'}, {'insecure': True}])
def test_a_cloud_elsewhere_is_a_service_too(tmp_path, context):
    template = {'str_replace': {'template': 'heat_template_version: V', 'params': {'V': '2018-08-31'}}}
    assert findings(tmp_path, {'r': {'type': 'OS::Heat::Stack', 'properties': {
        'template': template, 'context': context}}}) == []


def test_a_wrong_condition_hides_nothing_else(tmp_path):
    found = findings(tmp_path, {
        'x': {'type': 'OS::Heat::Value', 'condition': 'nope', 'properties': {'value': {'get_resource': 'zz'}}},
        'y': {'type': 'OS::Heat::Valu', 'condition': 'nope', 'depends_on': 'x'}})
    assert [each.message for each in found] == [
        'resources.x.condition: Invalid condition "nope"', 'resources.y.condition: Invalid condition "nope"',
        'The Resource Type (OS::Heat::Valu) could not be found.',
        'The specified reference "zz" (in x.Properties.value) is incorrect.']


def test_an_error_is_told_once_and_where_it_is(tmp_path):
    """A deployment looks at its server, and types check the names of their properties again."""
    found = findings(tmp_path, {
        'server': {'type': 'Acme::Server'}, 'config': {'type': 'OS::Heat::SoftwareConfig'},
        'deployment': {'type': 'OS::Heat::SoftwareDeployment', 'properties': {
            'config': {'get_resource': 'config'}, 'server': {'get_resource': 'server'}}},
        'monitor': {'type': 'OS::Octavia::HealthMonitor', 'properties': {
            'delay': 3, 'max_retries': 9, 'timeout': 3, 'max_down': 3, 'type': 'PING', 'pool': 'p'}}})
    assert [(each.rule, each.message) for each in found] == [
        (rules.TYPE, 'The Resource Type (Acme::Server) could not be found.'),
        (rules.UNKNOWN_PROPERTY, 'Property error: resources.monitor.properties: Unknown Property max_down')]


def test_several_functions_in_one_map_are_hardly_meant(tmp_path):
    [found] = findings(tmp_path, {'v': {'type': 'OS::Heat::Value', 'properties': {
        'value': {'map_merge': [{}], 'list_join': [',', []]}}}})
    assert found.rule == rules.SEVERAL_FUNCTIONS and 'list_join, map_merge' in found.message


def test_what_the_service_takes_is_not_refused():
    """All templates that a real Heat took, with the values they were taken with."""
    types, taken = offline_types.OfflineTypes(), 0
    for case in CASES:
        if case.get('op') not in ('validate', 'resolve', 'dependencies') or 'error' in case['expect']:
            continue
        try:
            definition = run_cases.definition_of(case)
            if lint.check(definition, run_cases.TYPES):
                continue                            # of a type or a constraint that is not known without plug-ins
        except Exception:                           # likewise
            continue
        taken += 1
        diagnostics = lint.check(run_cases.definition_of(case), types)
        assert not diagnostics, (case['name'], [str(diagnostic) for diagnostic in diagnostics])
    assert taken > 500


TEMPLATES = sorted(path for folder in ('examples', 'contrib', 'tests/cloud/templates')
                   for path in (ROOT / folder).rglob('*.yaml') if 'heat_template_version' in path.read_text())


def test_no_template_of_ours_is_refused_for_what_is_not_known(monkeypatch):
    """Parameters have no values here."""
    assert len(TEMPLATES) >= 10
    own = {path: checking.check(str(path)) for path in TEMPLATES}
    monkeypatch.setattr(checking.offline_types, 'OfflineTypes', lambda **_asked: packed_types.PackedTypes())
    assert own == {path: checking.check(str(path)) for path in TEMPLATES}


@pytest.mark.parametrize('type_name', sorted(
    name for name in packed.names() if packed.facts(name).get('family') == 'placeholder'))
def test_a_type_whose_service_is_gone_takes_everything_as_in_the_service(tmp_path, type_name):
    file = tmp_path / 't.yaml'
    file.write_text(yaml.safe_dump({
        'heat_template_version': '2018-08-31', 'resources': {'r': {'type': type_name, 'properties': {'anything': 1}}},
        'outputs': {'o': {'value': {'get_attr': ['r', 'anything']}}}}))
    assert [each for each in checking.check(str(file)) if each.level == rules.ERROR] == []


@pytest.mark.parametrize('type_name', ['OS::Heat::SoftwareDeployment', 'OS::Heat::StructuredDeployment'])
def test_an_output_that_a_config_declares_is_an_attribute_of_its_deployment(tmp_path, type_name):
    file = tmp_path / 't.yaml'
    file.write_text(yaml.safe_dump({
        'heat_template_version': '2018-08-31', 'resources': {
            'config': {'type': 'OS::Heat::SoftwareConfig', 'properties': {'outputs': [{'name': 'result'}]}},
            'deployment': {'type': type_name, 'properties': {
                'config': {'get_resource': 'config'}, 'server': 's', 'signal_transport': 'NO_SIGNAL'}}},
        'outputs': {'o': {'value': {'get_attr': ['deployment', 'result']}}}}))
    assert checking.check(str(file)) == []


def test_a_parameter_without_value_is_no_wrong_value(tmp_path):
    """A type that looks at the value itself does not see it."""
    file = tmp_path / 't.yaml'
    file.write_text(yaml.safe_dump({
        'heat_template_version': '2018-08-31', 'parameters': {'gateway': {'type': 'string'}},
        'resources': {'r': {'type': 'OS::Neutron::Subnet', 'properties': {
            'network': 'n', 'cidr': '10.0.0.0/24', 'gateway_ip': {'get_param': 'gateway'}}}}}))
    assert checking.check(str(file)) == []
    [found] = checking.check(str(file), parameters={'gateway': 'x'})
    assert found.message == 'Gateway IP address "x" is in invalid format.'
