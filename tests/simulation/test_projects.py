"""The project of users inside a tree of stacks: one, whoever makes it, and there for as long as it is used."""

from __future__ import annotations

import pytest
import yaml

from heatlite.db import stacks
from tests.simulation.house import House, done

CHILD = {'heat_template_version': '2018-08-31', 'resources': {
    name: {'type': 'Sim::Thing', 'properties': {'user': True}} for name in ('x', 'y')}}


def tree(own, below):
    """A stack with `own` users, and `below` nested ones with two each."""
    return {'heat_template_version': '2018-08-31', 'resources': {
        **{f'u{n}': {'type': 'Sim::Thing', 'properties': {'user': True}} for n in range(own)},
        **{f'n{n}': {'type': 'file:///child.yaml'} for n in range(below)}}}


def projects_of_tree(house, stack_id):
    with house.database.reader() as tx:
        return {stacks.get(tx, each.id).user_project_id for each in stacks.tree(tx, stack_id)}


@pytest.mark.parametrize('own, below', [(2, 0), (4, 0), (0, 3), (1, 2)])
def test_one_project_for_all(own, below):
    for seed in range(12):
        # Engines with room for one stack each: what is nested is driven by others.
        with House(seed, engines=3) as house:
            for _, service in house.engines:
                object.__setattr__(service.controller._limits, 'stacks', 2)
            stack_id = house.create('s', tree(own, below), files={'file:///child.yaml': yaml.safe_dump(CHILD)})
            done(house, stack_id, 'CREATE')
            assert len(house.cloud.projects) == 1
            assert len(house.cloud.users) == own + 2 * below
            assert projects_of_tree(house, stack_id) == set(house.cloud.projects), seed
            assert set(house.cloud.users.values()) == set(house.cloud.projects), seed
            house.delete(stack_id)
            done(house, stack_id, 'DELETE')
            assert house.cloud.users == {}
