"""Definitions that Heat refuses before anything is made: services would, half-way, after others were made."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from tests.plugins.rest import samples

IMAGE = {'container_format': 'bare', 'disk_format': 'qcow2', 'location': 'http://lamp.acme'}
SEGMENT = {'network': 'known-net', 'network_type': 'vlan', 'physical_network': 'lamp'}
CLUSTER = {'datastore_type': 'known-datastore_type', 'datastore_version': 'known-datastore_version'}
BYTES = {'payload_content_type': 'application/octet-stream', 'payload_content_encoding': 'base64'}
CERTIFICATE = {'type': 'certificate'}


def instances(*nics):
    return {'instances': [{'flavor': 'known-flavor', 'volume_size': 1, 'networks': list(nics)}]}


@pytest.fixture
def there(cloud, bench):
    for path, said in samples.THERE.items():
        cloud.seed(path, **said)
    cloud.seed('/subnets/known-inside', network_id='known-net')
    return bench


@pytest.mark.parametrize('kind, right, wrong', [
    ('OS::Glance::WebImage', {**IMAGE, 'members': ['known-1'], 'visibility': 'shared'}, {'visibility': 'private'}),
    ('OS::Neutron::Segment', {**SEGMENT, 'segmentation_id': 4094}, {'segmentation_id': 4095}),
    ('OS::Manila::ShareNetwork', {'neutron_network': 'known-net', 'neutron_subnet': 'known-inside'},
     {'neutron_subnet': None}),
    ('OS::Manila::ShareNetwork', {'neutron_network': 'known-net', 'neutron_subnet': 'known-inside'},
     {'neutron_network': 'known-other'}),
    ('OS::Trove::Cluster', {**CLUSTER, **instances({'network': 'known-net'})}, instances({'fixed_ip': '10.0.0.1'})),
    ('OS::Trove::Cluster', {**CLUSTER, **instances({'port': 'known-port'})},
     instances({'network': 'known-net', 'port': 'known-port'})),
    ('OS::Trove::Cluster', {**CLUSTER, **instances()}, {'datastore_version': 'another'}),
    ('OS::Barbican::Secret', {**BYTES, 'payload': 'YWJj'}, {'payload': 'YWJ'}),
    ('OS::Barbican::Secret', {**BYTES, 'payload': 'YWJj'}, {'payload_content_type': 'text/plain'}),
    ('OS::Barbican::Order', {**CERTIFICATE, 'profile': 'p', 'ca_id': 'c'}, {'ca_id': None})])
def test_what_is_refused(there, kind, right, wrong):
    there(kind, right).validate()
    with pytest.raises(exception.HeatException) as refused:
        there(kind, {**right, **wrong}).validate()
    assert refused.value.http_code == 400 and 'YWJ' not in str(refused.value)
