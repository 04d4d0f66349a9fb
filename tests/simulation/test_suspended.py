"""A suspended stack stays suspended, whatever looks at it, until it is resumed."""

from __future__ import annotations

import itertools
import json

import pytest

from heatlite.common import exception
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done

THINGS = {'heat_template_version': '2018-08-31', 'resources': {'x': {'type': 'Sim::Thing'}}}
TREE = {'heat_template_version': '2018-08-31', 'resources': {
    'a': {'type': 'Sim::Thing'}, 'n': {'type': 'child.yaml', 'depends_on': 'a'}}}


def act(cluster, stack_id, action):
    cluster.ask(messages.SnapshotStack(stack_id) if action == 'snapshot' else messages.StackAction(stack_id, action))
    done(cluster, stack_id, action.upper())


@pytest.mark.parametrize('between', [each for length in (1, 2) for each in itertools.product(
    ('check', 'snapshot'), repeat=length)])
def test_it_takes_no_update_and_is_resumed(between):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.ask(messages.CreateStack(stack_name='s', template=TREE, files={
            'child.yaml': json.dumps(THINGS)}))['stack_id']
        done(cluster, stack_id, 'CREATE')
        snapshot_id = cluster.ask(messages.SnapshotStack(stack_id))['id']
        done(cluster, stack_id, 'SNAPSHOT')
        for action in ('suspend', *between):
            act(cluster, stack_id, action)
        for request in (messages.UpdateStack(stack_id=stack_id, template=None, existing=True),
                        messages.RestoreSnapshot(stack_id, snapshot_id)):
            refused = cluster.ask(request, [exception.NotSupported])
            assert str(refused) == 'Updating a stack when it is suspended is not supported.'
        act(cluster, stack_id, 'resume')
        assert {rows[0][:2] for rows in cluster.states(stack_id).values()} == {('RESUME', 'COMPLETE')}
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=None, existing=True))
        done(cluster, stack_id, 'UPDATE')
        act(cluster, stack_id, 'check')
        error = cluster.ask(messages.StackAction(stack_id, 'resume'))
        assert error is None and 'invalid for resume' in cluster.settle(stack_id).reason, 'it is not suspended any more'
