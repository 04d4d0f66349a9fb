"""A change that is refused before anything was done leaves the resource as it was: its undo changes nothing."""

from __future__ import annotations

import pytest

from heatlite.engine import properties
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_nested import template


class Engraved(cloud.Thing):
    """Its text cannot be changed."""

    properties_schema = {**cloud.Thing.properties_schema,
                         'text': properties.Schema(properties.Schema.STRING, default='first', immutable=True)}


def wanted(**more):
    return template({'e': {'type': 'Sim::Engraved', **more}})


@pytest.mark.parametrize(('refused', 'what'), [
    (wanted(external_id='obj-1'), 'property external_id'), (wanted(external_id='other'), 'property external_id'),
    (wanted(properties={'text': 'second'}), 'properties text')])
def test_the_undo_of_a_refused_change_replaces_nothing(refused, what):
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Engraved', Engraved)
        stack_id = cluster.create('s', wanted())
        done(cluster, stack_id, 'CREATE')
        before, calls = cluster.states(stack_id), list(cluster.cloud.calls)

        cluster.update(stack_id, refused)
        row = cluster.settle(stack_id)
        why = f'Update to {what} of e (Sim::Engraved) is not supported.'
        assert (row.status, row.reason) == ('FAILED', f'Resource UPDATE failed: NotSupported: resources.e: {why}')
        assert ('e', 'UPDATE', 'FAILED', why) in cluster.events(stack_id)
        assert cluster.states(stack_id) == before

        cluster.update(stack_id, wanted())
        done(cluster, stack_id, 'UPDATE')
        assert cluster.states(stack_id) == before and cluster.cloud.calls == calls
