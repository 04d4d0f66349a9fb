"""The engines and the user of the conformance kit, with a cloud of one type that counts what exists."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from heatlite.conformance import house
from tests.simulation import cloud as clouds

PROJECT = house.PROJECT


class House(house.House):
    """Two engines, a cloud and a user who does not give up."""

    def __init__(self, seed: int = 0, kill_at: Iterable[int] = (), engines: int = 2,
                 restart_after: float = 2.0, **options: Any) -> None:
        super().__init__(seed, kill_at, engines, restart_after,
                         prepare=lambda service: service.registry.register('Sim::Thing', clouds.Thing), **options)
        self.cloud = clouds.Cloud(self.chaos)
        clouds.use(self.cloud)


def lose_database_in(life: Callable[[House], None], stride: int, from_the_start: bool = True) -> int:
    """As `kill_engines_in`, but nobody dies: the database goes away for a while, at another visit each time."""
    stride = int(os.environ.get('HEATLITE_TEST_STRIDE', stride))
    with House() as house:
        house.chaos.enabled = from_the_start
        life(house)
        count = house.chaos.visits
    for visit in range(1 + count % stride, count + 1, stride):
        with House(seed=visit) as house:
            house.chaos.enabled = from_the_start
            house.chaos.away_at, house.chaos.away_for = {visit}, (0.0, 2.0, 8.0)[visit % 3]
            try:
                life(house)
            except BaseException as error:
                raise AssertionError(
                    f'{life.__name__}, seed {visit}, away at {house.chaos.missed}: {error}') from error
    return count


def done(house: House, stack_id: str, action: str) -> Any:
    """The stack's row, once this action has ended well."""
    row = house.settle(stack_id)
    assert (row.action, row.status) == (action, 'COMPLETE'), row.reason
    return row


def outputs(row: Any) -> dict[str, Any]:
    """{name: value} of a stack's row."""
    return {output['output_key']: output['output_value'] for output in row.outputs}


def kill_engines_in(life: Callable[[House], None], stride: int, from_the_start: bool = True) -> int:
    """Lives `life(house)` again and again, with an engine killed at another point each time: every `stride`-th, or as
    HEATLITE_TEST_STRIDE says (1: all). How many points there are. `from_the_start` False: `life` says where they begin.
    """
    stride = int(os.environ.get('HEATLITE_TEST_STRIDE', stride))
    with House() as house:
        house.chaos.enabled = from_the_start
        life(house)
        count = house.chaos.count
    for point in range(1 + count % stride, count + 1, stride):
        with House(seed=point, kill_at=[point]) as house:
            house.chaos.enabled = from_the_start
            try:
                life(house)
            except BaseException as error:
                raise AssertionError(
                    f'{life.__name__}, seed {point}, killed at {house.chaos.killed}: {error}') from error
    return count
