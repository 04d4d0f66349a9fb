"""What somebody has changed behind our back, and an update that is to notice it.

Source: docs/spec/engine.rst, "Comparing with reality".
"""

from __future__ import annotations

import pytest

from tests.simulation.cluster import Cluster

MEMBER = {'type': 'Sim::Thing', 'properties': {'value': 'v'}}
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    'alone': MEMBER, 'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': MEMBER}}}}


@pytest.mark.parametrize('option, asked, noticed', [
    (False, {}, False), (True, {}, True), (False, {'converge': True}, True)])
def test_drift_is_brought_back_when_the_operator_or_the_user_wants_it(option, asked, noticed):
    with Cluster(observe_on_update=option) as cluster:
        stack_id = cluster.create('s', TEMPLATE)
        assert cluster.settle(stack_id).status == 'COMPLETE'
        for thing in cluster.cloud.objects.values():
            thing['value'] = 'drifted'
        cluster.update(stack_id, TEMPLATE, **asked)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'COMPLETE'), row.reason
        assert {thing['value'] for thing in cluster.cloud.objects.values()} == {'v' if noticed else 'drifted'}


@pytest.mark.parametrize('option, made_anew', [(False, 0), (True, 2)])
def test_what_is_gone_is_made_anew(option, made_anew):
    with Cluster(observe_on_update=option) as cluster:
        stack_id = cluster.create('s', TEMPLATE)
        cluster.settle(stack_id)
        cluster.cloud.objects.clear()
        cluster.update(stack_id, TEMPLATE)
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert len(cluster.cloud.objects) == made_anew


def test_a_value_that_the_cloud_has_already_becomes_the_wanted_one():
    """Somebody made the change before the template did: nothing is called for it, and the next update knows it."""
    def wanted(value):
        return {**TEMPLATE, 'resources': {'alone': {**MEMBER, 'properties': {'value': value}}}}

    with Cluster() as cluster:
        stack_id = cluster.create('s', wanted('v'))
        cluster.settle(stack_id)
        thing, = cluster.cloud.objects.values()
        thing['value'] = 'new'
        calls = len(cluster.cloud.calls)
        cluster.update(stack_id, wanted('new'), converge=True)
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert cluster.cloud.calls[calls:] == []
        cluster.update(stack_id, wanted('v'))
        assert cluster.settle(stack_id).status == 'COMPLETE'
        assert thing['value'] == 'v' and [call for call, _name in cluster.cloud.calls[calls:]] == ['update']
