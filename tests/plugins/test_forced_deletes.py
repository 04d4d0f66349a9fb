"""A forced delete of each of our own types, while the service refuses, breaks or does not answer.

It ends in time, and no object stays in the cloud without being listed. Each type meets one of the faults here;
`HEATLITE_TEST_ALL_FAULTS=1` lets each meet all of them.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from heatlite.db import forced_deletes
from heatlite.engine.types import registry
from heatlite.rpc import messages
from heatlite.testing.scenario import ResourceScenario
from tests.plugins.own_types import own_types

TIMEOUT, GRACE = 120.0, 60.0
FAULTS: dict[str, dict[str, Any]] = {
    'conflict': {'kind': 'error', 'status': 409, 'count': 0},
    'broken': {'kind': 'error', 'status': 500, 'count': 0},
    'broken half way': {'kind': 'error', 'status': 500, 'count': 0, 'nth': 2},
    'lost': {'kind': 'lost', 'count': 1},
    'throttled': {'kind': 'throttle', 'seconds': 3, 'count': 2},
    'gone': {'kind': 'gone', 'count': 0, 'method': 'DELETE'}}
WRITES = {'method': 'DELETE'}
registry.create()
NAMES = sorted(name for group in own_types().groups for name in group.types)
registry.use(None)
CELLS = [(name, fault) for number, name in enumerate(NAMES) for which, fault in enumerate(FAULTS)
         if number % len(FAULTS) == which or os.environ.get('HEATLITE_TEST_ALL_FAULTS')]


@pytest.mark.parametrize('name, fault', CELLS)
def test_it_ends_and_lists_what_is_left(kit, name, fault):
    found, cloud_of = kit
    cloud = cloud_of(name)
    cloud.reset()
    with ResourceScenario(name, found.example(name)[1], cloud, found.register,
                          **{'engine.force_delete_timeout': TIMEOUT}) as scenario:
        assert scenario.prepare() is None
        example = found.example(name)[1]
        assert scenario.put(example.properties) is None
        cluster = scenario.cluster
        cloud._ask('POST', '/_sim/faults', {**WRITES, **FAULTS[fault]})
        began = cluster.universe.time
        cluster.ask(messages.ForceDeleteStack(scenario.stack_id))
        assert cluster.universe.run(lambda: cluster.row(scenario.stack_id).deleted_at is not None,
                                    limit=2 * (TIMEOUT + GRACE))
        assert cluster.universe.time - began <= TIMEOUT + GRACE
        with cluster.database.reader() as tx:
            left = forced_deletes.show(tx, scenario.stack_id).left_behind
        if fault in ('lost', 'throttled', 'gone'):
            assert not left, left
        assert all(each.reason for each in left or ())
        assert left or not scenario.new_things()
    cloud.reset()
