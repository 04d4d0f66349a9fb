"""What an engine logs when it takes over stacks: one line for each engine they come from, however many there are."""

from __future__ import annotations

import logging
import re

import pytest

from heatlite.engine.durability.lease_manager import MOST_NAMED
from tests.simulation.cluster import Cluster, owner, wait
from tests.simulation.test_crashes import template, thing

SUMMARY = re.compile(r'Engine (\S+) takes over (\d+) stacks from engine (\S+), which is silent(?:: (.*))?')
HELD = {'resource_registry': {'resources': {'a': {'hooks': 'pre-create'}}}}      # so that each stack stays under way
EACH = 'Taking over stack '


@pytest.mark.parametrize('count', [1, 3, MOST_NAMED + 2])
def test_of_a_dead_engine_one_line_tells_which_stacks_were_taken(count, caplog):
    caplog.set_level(logging.INFO, 'heatlite')
    with Cluster(0, engines=1) as cluster:
        ids = [cluster.create(f's{number}', template({'a': thing('1')}), HELD) for number in range(count)]
        former = cluster.engines[0][1].engine_id
        owner(cluster, ids[0]).kill()
        cluster.engines.clear()
        cluster.start_engine()
        wait(cluster, 60.0)
    lines = [found for found in map(SUMMARY.match, caplog.messages) if found]
    assert {found[3] for found in lines} == {former}
    assert sum(int(found[2]) for found in lines) == count
    named = [found[4] for found in lines] + [line for line in caplog.messages if line.startswith(EACH)]
    assert sum(any(stack_id in (text or '') for text in named) for stack_id in ids) >= min(count, MOST_NAMED)
    assert all(found[4].count(',') <= MOST_NAMED for found in lines if found[4])
    assert sum(line.startswith(EACH) for line in caplog.messages) == sum(
        int(found[2]) for found in lines if int(found[2]) <= MOST_NAMED)
