"""The clock of the database's machine is set: nobody who lives loses a stack, and nobody who died keeps one."""

from __future__ import annotations

import pytest

from tests.simulation.house import House
from tests.simulation.test_crashes import assert_one_object_per_resource, twenty


def in_the_middle(house):
    stack_id = house.create('s', twenty())
    assert house.universe.run(lambda: len(house.cloud.made) >= 7)
    return stack_id


def lease(house, stack_id):
    with house.database.reader() as tx:
        return tx.exec_driver_sql('SELECT engine_id, epoch FROM lease WHERE stack_id = ?', (stack_id,)).one()


@pytest.mark.parametrize('seconds', [2.0, 100.0, -100.0, -5000.0])
def test_who_lives_keeps_his_stacks(seconds):
    for seed in range(4):
        with House(seed, engines=3) as house:
            stack_id = in_the_middle(house)
            epoch = lease(house, stack_id).epoch
            house.universe.database_ahead += seconds
            row = house.settle(stack_id)
            assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
            assert lease(house, stack_id).epoch == epoch, f'seed {seed}: somebody else took it'
            assert_one_object_per_resource(house, stack_id)


@pytest.mark.parametrize('seconds', [100.0, -5000.0])
def test_who_died_keeps_nothing(seconds):
    for seed in range(3):
        with House(seed, engines=3) as house:
            stack_id = in_the_middle(house)
            owner = lease(house, stack_id).engine_id
            for world, service in house.engines:
                if service.engine_id == owner:
                    world.kill()
            house.engines = [each for each in house.engines if not each[0].dead]
            house.universe.database_ahead += seconds
            row = house.settle(stack_id, limit=30)
            assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason
            assert_one_object_per_resource(house, stack_id)
