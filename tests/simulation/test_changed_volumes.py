"""Updates of volumes that Cinder accepts, and gives up later: it restores the former status then."""

from __future__ import annotations

import pytest

from tests.simulation.cluster import done
from tests.simulation.openstack import stack, template


def wanted(kind, size):
    return template({
        'fast': ('OS::Cinder::VolumeType', {'name': 'fast'}), 'slow': ('OS::Cinder::VolumeType', {'name': 'slow'}),
        'v': ('OS::Cinder::Volume', {'size': size, 'volume_type': {'get_resource': kind}})})


def volume(it):
    found = it.request('cinder', 'GET', f'/volumes/{it.physical_id("v")}')['volume']
    return found['volume_type'], found['size'], found['status']


@pytest.mark.parametrize('action, busy, kind, size, why', [
    ('os-retype', 'retyping', 'fast', 1, 'Volume retype failed - Unknown status available due to "the type is slow"'),
    ('os-extend', 'extending', 'slow', 2, 'Volume resize failed - Unknown status available due to "the size is 1 GiB"'),
])
def test_a_change_that_cinder_gives_up_has_failed_and_is_tried_again(cloud, action, busy, kind, size, why):
    with stack(cloud, engines=1) as it:
        it.id = it.cluster.create('s', wanted('slow', 1))
        done(it.cluster, it.id, 'CREATE')
        before, volume_id = volume(it), it.physical_id('v')
        it.fault(kind='stay', service='volumev3', method='POST', path='*/volumes/*/action', body=action, count=1)
        it.cluster.update(it.id, wanted(kind, size))
        assert it.cluster.universe.run(
            lambda: not it.cluster.universe.steps % 5 and volume(it)[-1] == busy, limit=200)
        it.request('cinder', 'POST', f'/volumes/{volume_id}/action', {'os-reset_status': {'status': 'available'}})
        row = it.cluster.settle(it.id)
        assert row.status == 'FAILED' and why in row.reason
        assert volume(it) == before
        it.cluster.update(it.id, wanted(kind, size))
        done(it.cluster, it.id, 'UPDATE')
        assert volume(it) == (kind, size, 'available') and it.physical_id('v') == volume_id
