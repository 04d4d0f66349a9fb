"""A stack is asked for any of its resources while an update of it begins with some of its rows in memory."""

from __future__ import annotations

from heatlite.common import turns
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_crashes import assert_one_object_per_resource, template, thing
from tests.simulation.test_unvisited import made

COUNT = turns.EVERY + 10
# Rows that require others are read at the start, so many that others have a turn meanwhile.
RESOURCES = {f'r{number}': thing('x') for number in range(COUNT)} | {
    f's{number}': thing({'get_resource': f'r{number}'}) for number in range(COUNT)}


def asked_in(cluster, stack_id, number, update):
    """Update while another thread asks in the turn of that number since the engine drives the stack. Return the stack,
    and whether there was that turn before all rows were in memory."""
    [(_runtime, service)] = cluster.engines
    seen, left = [], iter(range(number))

    def turn(*_owners):
        runner = service.runners.get(stack_id)
        if runner is None:
            return
        if not seen:
            seen.append(runner.leased)
        if runner.leased.traversal.is_partial and next(left, None) is None:
            turns.use(None)
            seen.append([runner.leased.current(name).name for name in RESOURCES])

    turns.use(turn)
    try:
        update()
    finally:
        turns.use(None)
    return seen[0], len(seen) > 1


def test_others_may_ask_at_each_turn(caplog):
    with Cluster(engines=1) as cluster:
        stack_id, number = made(cluster, template(RESOURCES)), 0
        was_asked = True
        while was_asked:
            wanted = template({**RESOURCES, 'r0': thing(f'v{number}')})

            def update():
                cluster.update(stack_id, wanted)        # noqa: B023 - called at once
                done(cluster, stack_id, 'UPDATE')

            leased, was_asked = asked_in(cluster, stack_id, number, update)
            assert all(leased.current(name) for name in RESOURCES), number
            number += 1
        assert number > 3
        assert_one_object_per_resource(cluster, stack_id)
    assert [record for record in caplog.records if record.exc_info] == []
