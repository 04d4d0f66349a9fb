"""Servers whose agents fetch deployments: what they are started with, and what is left when they are gone."""

from __future__ import annotations

import base64
import email
import json

import pytest
from oslo_config import cfg

from heatlite.common import exception
from tests.plugins.openstack.cloud import Cloud, Life

PLAIN = {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'network': 'private'}],
         'user_data_format': 'SOFTWARE_CONFIG', 'user_data': '#!/bin/sh\necho hello\n'}


@pytest.fixture(autouse=True)
def stack_domain(cloud: Cloud):
    """Users inside stacks live in a domain of their own."""
    before = cloud.count('identity.users')
    values = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
              'stack_domain_admin_password': 'secret', 'heat_metadata_server_url': 'http://203.0.113.5:8000'}
    for name, value in values.items():
        cfg.CONF.set_override(name, value)
    yield
    for name in values:
        cfg.CONF.clear_override(name)
    cloud.advance(10)
    assert cloud.count('identity.users') == before


def parts_of(cloud: Cloud, life: Life) -> dict:
    """The parts of the user data that the server was started with, by file name."""
    full = cloud._sim('GET', 'objects/compute.servers', params={'full': '1'})['objects']['compute.servers']['objects']
    found = next(each for each in full if each['id'] == life.physical_id)
    message = email.message_from_bytes(base64.b64decode(found['OS-EXT-SRV-ATTR:user_data']))
    return {part.get_filename(): part.get_payload() for part in message.get_payload()}


def metadata_of(cloud: Cloud, life: Life) -> dict:
    """The metadata that the server was started with."""
    parts = parts_of(cloud, life)
    assert '#!/bin/sh' in str(parts)
    return json.loads(parts['cfn-init-data'])


@pytest.mark.parametrize('transport, collector, keys', [
    ('POLL_SERVER_CFN', 'cfn', {'metadata_url', 'access_key_id', 'secret_access_key', 'stack_name', 'path'}),
    ('POLL_SERVER_HEAT', 'heat', {'user_id', 'password', 'auth_url', 'project_id', 'stack_id', 'resource_name',
                                  'region_name'}),
    ('POLL_TEMP_URL', 'request', {'metadata_url'}),
    ('ZAQAR_MESSAGE', 'zaqar', {'user_id', 'password', 'auth_url', 'project_id', 'queue_id', 'region_name'})])
def test_transports(cloud: Cloud, transport, collector, keys):
    life = Life(cloud, 'OS::Nova::Server', {**PLAIN, 'software_config_transport': transport})
    life.create()
    collect = life.attribute('os_collect_config')
    assert collect['collectors'] == ['ec2', collector, 'local']
    assert set(collect[collector]) == keys and all(collect[collector].values())
    started = metadata_of(cloud, life)
    assert started['os-collect-config'] == collect and started['deployments'] == []
    life.delete()


def test_the_container_that_heat_does_not_note(cloud: Cloud):
    """Heat reads it from the properties; its data have the name of the object only."""
    wanted = {**PLAIN, 'software_config_transport': 'POLL_TEMP_URL', 'deployment_swift_data': {'container': 'mine'}}
    life = Life(cloud, 'OS::Nova::Server', wanted)
    life.create()
    taken_over = life.fresh('CREATE', 'COMPLETE')
    taken_over.data_delete('metadata_container')
    taken_over.metadata_update({'colour': 'blue'})
    swift = cloud.client('swift')
    _headers, [entry] = swift.get_container('mine')
    assert json.loads(swift.get_object('mine', entry['name'])[1])['colour'] == 'blue'
    life.delete()
    with pytest.raises(Exception, match='404|Not Found'):
        swift.get_container('mine')


def test_the_url_of_the_cfn_api(cloud: Cloud):
    life = Life(cloud, 'OS::Nova::Server', PLAIN)
    life.create()
    cfn = life.attribute('os_collect_config', 'cfn')
    assert cfn['metadata_url'] == 'http://203.0.113.5:8000/v1/' and cfn['path'] == 'r.Metadata'
    life.delete()


def test_another_transport_hides_the_old_one(cloud: Cloud):
    life = Life(cloud, 'OS::Nova::Server', PLAIN)
    life.create()
    life.update({**PLAIN, 'software_config_transport': 'POLL_TEMP_URL'})
    collect = life.attribute('os_collect_config')
    assert collect['collectors'] == ['ec2', 'request', 'local'] and collect['request']['metadata_url']
    assert set(collect['cfn'].values()) == {None}
    life.delete()


def test_metadata_of_the_template_is_merged(cloud: Cloud):
    life = Life(cloud, 'OS::Nova::Server', PLAIN, metadata={'colour': 'red'})
    life.create()
    life.update(PLAIN, metadata={'colour': 'blue'})
    found = life.fresh('UPDATE', 'COMPLETE').metadata_get()
    assert found['colour'] == 'blue' and found['deployments'] == [] and found['os-collect-config']
    life.delete()


@pytest.mark.parametrize('transport', ['POLL_SERVER_CFN', 'POLL_SERVER_HEAT', 'POLL_TEMP_URL', 'ZAQAR_MESSAGE'])
@pytest.mark.parametrize('before', [{'polling_interval': 30, 'command': 'old'}, None])
def test_what_templates_say_to_the_collectors_reaches_them(cloud: Cloud, transport, before):
    wanted = {**PLAIN, 'software_config_transport': transport}
    life = Life(cloud, 'OS::Nova::Server', wanted, metadata={} if before is None else {'os-collect-config': before})
    made = life.create()
    collectors = made.metadata_get()['os-collect-config']['collectors']
    life.update(wanted, metadata={'os-collect-config': {'polling_interval': 60}, 'deployments': ['x']})
    found = life.fresh('UPDATE', 'COMPLETE')
    whole = found.metadata_get()
    assert whole['deployments'] == [] and whole['os-collect-config'] == {
        **made.metadata_get()['os-collect-config'], 'polling_interval': 60}
    assert whole['os-collect-config']['collectors'] == collectors
    if transport == 'POLL_TEMP_URL':
        data = found.data()
        sent = cloud.client('swift').get_object(data['metadata_container'], data['metadata_object_name'])[1]
        assert json.loads(sent)['os-collect-config']['polling_interval'] == 60
    life.delete()


def test_user_data_can_rebuild(cloud: Cloud):
    wanted = {**PLAIN, 'user_data_format': 'RAW', 'user_data': 'old', 'user_data_update_policy': 'REBUILD'}
    life = Life(cloud, 'OS::Nova::Server', wanted)
    made = life.create()
    assert life.writes_of(life.update, {**wanted, 'user_data': 'new'}) == ['POST /servers/ID/action']
    full = cloud._sim('GET', 'objects/compute.servers', params={'full': '1'})['objects']['compute.servers']['objects']
    found = next(each for each in full if each['id'] == made.resource_id)
    assert base64.b64decode(found['OS-EXT-SRV-ATTR:user_data']) == b'new'
    assert cloud.client('nova').servers.get(made.resource_id).image['id'] == \
        cloud.plugin('glance').find_image_by_name_or_id('cirros')
    life.delete()


def test_ignored_user_data_changes_nothing(cloud: Cloud):
    wanted = {**PLAIN, 'user_data_format': 'RAW', 'user_data': 'old', 'user_data_update_policy': 'IGNORE'}
    life = Life(cloud, 'OS::Nova::Server', wanted)
    life.create()
    assert life.writes_of(life.update, {**wanted, 'user_data': 'new'}) == []
    life.delete()


def test_what_keystone_refuses_fails_the_server(cloud: Cloud):
    cfg.CONF.set_override('stack_domain_admin_password', 'wrong')
    servers = cloud.count('compute.servers')
    life = Life(cloud, 'OS::Nova::Server', PLAIN)
    with pytest.raises(exception.ServiceLoginRefused, match='stack_domain_admin'):
        life.create()
    assert cloud.count('compute.servers') == servers
    cfg.CONF.set_override('stack_domain_admin_password', 'secret')
    life.delete()
    with pytest.raises(exception.HeatException):
        Life(cloud, 'OS::Nova::Server', {**PLAIN, 'software_config_transport': 'PIGEON'}).validate()


def test_a_server_that_never_got_its_object_goes_where_there_is_no_object_storage(cloud: Cloud):
    life = Life(cloud, 'OS::Nova::Server', {**PLAIN, 'software_config_transport': 'POLL_TEMP_URL'})
    cfg.CONF.set_override('shared_services_types', ['object-store'])
    cfg.CONF.set_override('region_name_for_shared_services', 'far')             # the catalog has no such one
    try:
        with pytest.raises(Exception, match='object-store'):
            life.create()
        life.delete()
    finally:
        cfg.CONF.clear_override('shared_services_types')
        cfg.CONF.clear_override('region_name_for_shared_services')


@pytest.mark.parametrize('url', [None, 'https://203.0.113.6:8003', 'https://203.0.113.6:8003/v1/'])
def test_where_the_tools_find_the_apis(cloud: Cloud, url):
    """cfn-push-stats gets its host from the file of boto; without a CloudWatch API there is no word of it."""
    cfg.CONF.set_override('heat_watch_server_url', url)
    try:
        life = Life(cloud, 'OS::Nova::Server', {**PLAIN, 'user_data_format': 'HEAT_CFNTOOLS'})
        life.create()
        parts = parts_of(cloud, life)
        life.delete()
    finally:
        cfg.CONF.clear_override('heat_watch_server_url')
    assert parts['cfn-metadata-server'] == 'http://203.0.113.5:8000/v1/'
    assert parts['cfn-boto-cfg'].startswith('[Boto]\n')
    assert 'cfn_region_endpoint = 203.0.113.5\n' in parts['cfn-boto-cfg']
    told = 'cloudwatch_region_name = heat\ncloudwatch_region_endpoint = 203.0.113.6\n'
    assert (parts.get('cfn-watch-server'), told in parts['cfn-boto-cfg']) == (
        ('https://203.0.113.6:8003/v1/', True) if url else (None, False))


@pytest.mark.parametrize('url, secure, validate, lines', [
    ('http://203.0.113.5:8000', None, '1', ['is_secure = 0', 'https_validate_certificates = 1']),
    ('https://203.0.113.5:8000', None, '0', ['is_secure = 1', 'https_validate_certificates = 0']),
    ('https://203.0.113.5:8000', '0', '1', ['is_secure = 0', 'https_validate_certificates = 1']),
    ('http://203.0.113.5:8000', '1', '0', ['is_secure = 1', 'https_validate_certificates = 0'])])
def test_how_the_tools_connect(cloud: Cloud, url, secure, validate, lines):
    """As the options say; without them, as the URL of the CFN API says."""
    values = {'heat_metadata_server_url': url, 'instance_connection_is_secure': secure,
              'instance_connection_https_validate_certificates': validate}
    for name, value in values.items():
        cfg.CONF.set_override(name, value)
    try:
        life = Life(cloud, 'OS::Nova::Server', {**PLAIN, 'user_data_format': 'HEAT_CFNTOOLS'})
        life.create()
        found = parts_of(cloud, life)['cfn-boto-cfg'].splitlines()
        life.delete()
    finally:
        for name in values:
            cfg.CONF.clear_override(name)
        cfg.CONF.set_override('heat_metadata_server_url', 'http://203.0.113.5:8000')
    assert found[2:4] == lines
