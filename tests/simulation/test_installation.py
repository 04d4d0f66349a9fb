"""Twenty engines at once: who takes over what, and how many statements that takes (docs/operators/capacity.rst)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.installation import PERIODIC, Installation, until_driven

ENGINES, STACKS = 20, 100
TEMPLATE = {'heat_template_version': '2018-08-31', 'resources': {
    'wait': {'type': 'OS::Heat::Delay', 'properties': {'min_wait': 3000}}}}
# Of an engine without work, each second: a sweep every 0.5 s with five statements, a heartbeat every 0.6 s with two,
# a search every 5 s with three. Without those of a database's transactions.
IDLE = 5 / 0.5 + 2 / 0.6 + 3 / 5.0


@pytest.fixture(scope='module')
def place():
    """Twenty engines with six stacks each on average, whose services take an hour; nothing else happens."""
    with Installation(1, ENGINES, resources=100_000) as made:
        made.until(made.all_answer, 30.0)
        made.offer(STACKS, rate=100.0, template=TEMPLATE)
        made.until(lambda: len(made.driven()) == STACKS, 30.0)
        made.pass_time(11.0)                            # the waits are noted
        yield made


def test_engines_come_and_go(place):
    engines_without_work(place)
    some_die(place)
    half_is_replaced_at_once(place)


def engines_without_work(place):
    """What engines do by themselves grows with their number, and not with that of the stacks that wait."""
    place.counts.reset()
    place.pass_time(4.0)
    made = sum(count for (task, _verb), count in place.counts.statements.items() if task in PERIODIC)
    assert 0.9 < made / 4.0 / (ENGINES * IDLE) < 1.1
    assert max(place.counts.bins.values()) < 3 * ENGINES * IDLE / 10, 'engines do it at the same time'


def some_die(place):
    before = place.leases()
    gone = {service.engine_id for _runtime, service in place.engines}
    lost = place.kill(3)
    gone -= {service.engine_id for _runtime, service in place.engines}
    assert lost == {stack_id for stack_id, (engine_id, _epoch) in before.items() if engine_id in gone}
    assert until_driven(place, lost, 30.0) <= 5.0
    after = place.leases()
    assert {stack_id for stack_id in before if after[stack_id] != before[stack_id]} == lost
    assert all(after[stack_id][1] == before[stack_id][1] + 1 for stack_id in lost), 'taken more than once'
    assert set(Counter(place.driven()).values()) == {1}


def half_is_replaced_at_once(place):
    """The stacks of engines that hand them over are shared by those that stay."""
    place.counts.reset()
    old, here = len(place.engines), place.driven().keys()
    place.deploy(at_once=old // 2)
    until_driven(place, here, 10.0)
    assert len(place.engines) == old
    assert set(place.driven().values()) == {1}
    assert max(place.loads()) <= STACKS / 2, 'those who looked first took all'
