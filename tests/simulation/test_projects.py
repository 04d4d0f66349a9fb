"""The project of users inside a tree of stacks: one, whoever makes it, and there for as long as it is used."""

from __future__ import annotations

import pytest
import yaml

from heatlite.db import stack_trees, stacks
from tests.simulation.cluster import Cluster, done

CHILD = {'heat_template_version': '2018-08-31', 'resources': {
    name: {'type': 'Sim::Thing', 'properties': {'user': True}} for name in ('x', 'y')}}


def tree(own, below):
    """A stack with `own` users, and `below` nested ones with two each."""
    return {'heat_template_version': '2018-08-31', 'resources': {
        **{f'u{n}': {'type': 'Sim::Thing', 'properties': {'user': True}} for n in range(own)},
        **{f'n{n}': {'type': 'file:///child.yaml'} for n in range(below)}}}


def projects_of_tree(cluster, stack_id):
    with cluster.database.reader() as tx:
        return {stacks.get(tx, each.id).user_project_id for each in stack_trees.tree(tx, stack_id)}


@pytest.mark.parametrize('own, below', [(2, 0), (4, 0), (0, 3), (1, 2)])
def test_one_project_for_all(own, below):
    for seed in range(12):
        # Engines with room for one stack each: what is nested is driven by others.
        with Cluster(seed, engines=3) as cluster:
            for _, service in cluster.engines:
                service.controller._capacity._stacks = 2
            stack_id = cluster.create('s', tree(own, below), files={'file:///child.yaml': yaml.safe_dump(CHILD)})
            done(cluster, stack_id, 'CREATE')
            assert len(cluster.cloud.projects) == 1
            assert len(cluster.cloud.users) == own + 2 * below
            assert projects_of_tree(cluster, stack_id) == set(cluster.cloud.projects), seed
            assert set(cluster.cloud.users.values()) == set(cluster.cloud.projects), seed
            cluster.delete(stack_id)
            done(cluster, stack_id, 'DELETE')
            assert cluster.cloud.users == {}
