"""A delete ends what is under way at whatever point that is, and nothing stays behind."""

import pytest

from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_crashes import template, thing

TARGET = template({f'r{number}': thing() for number in range(6)})


@pytest.mark.parametrize('first', [0, 125])
def test_a_delete_right_after_a_create(first):
    """Among the points is the one at which a create is written and its call not yet made."""
    left = {}
    for seed in range(first, first + 125):
        with Cluster(seed, engines=1) as cluster:
            stack_id = cluster.create('s', TARGET)
            cluster.ask(messages.DeleteStack(stack_id))
            done(cluster, stack_id, 'DELETE')
            if cluster.cloud.objects:
                left[seed] = sorted(cluster.cloud.objects)
    assert left == {}
