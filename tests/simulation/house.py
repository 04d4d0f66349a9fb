"""The engines and the user of the conformance kit, with a cloud of one type that counts what exists."""

from __future__ import annotations

from collections.abc import Iterable

from heatlite.conformance import house
from tests.simulation import cloud as clouds

PROJECT = house.PROJECT


class House(house.House):
    """Two engines, a cloud and a user who does not give up."""

    def __init__(self, seed: int = 0, kill_at: Iterable[int] = (), engines: int = 2,
                 restart_after: float = 2.0) -> None:
        super().__init__(seed, kill_at, engines, restart_after,
                         prepare=lambda service: service.registry.register('Sim::Thing', clouds.Thing))
        self.cloud = clouds.Cloud(self.chaos)
        clouds.use(self.cloud)
