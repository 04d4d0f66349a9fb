"""The project of users inside a tree of stacks: one, whoever makes it, and there for as long as it is used."""

from __future__ import annotations

import itertools

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


FAILING = {'heat_template_version': '2018-08-31', 'resources': {
    'user': {'type': 'Sim::Thing', 'properties': {'user': True}},
    'bad': {'type': 'Sim::Thing', 'properties': {'fail': True}}}}


def projects_of_tree(cluster, stack_id):
    with cluster.database.reader() as tx:
        return {stacks.get(tx, each.id).user_project_id for each in stack_trees.tree(tx, stack_id)}


@pytest.mark.parametrize('own, below', [(2, 0), (4, 0), (0, 3), (1, 2)])
def test_one_project_for_all(own, below):
    for seed in range(12):
        # Engines with room for one stack each: what is nested is driven by others.
        with Cluster(seed, engines=3, **{'engine.max_stacks': 2}) as cluster:
            stack_id = cluster.create('s', tree(own, below), files={'file:///child.yaml': yaml.safe_dump(CHILD)})
            done(cluster, stack_id, 'CREATE')
            assert len(cluster.cloud.projects) == 1
            assert len(cluster.cloud.users) == own + 2 * below
            assert projects_of_tree(cluster, stack_id) == set(cluster.cloud.projects), seed
            assert set(cluster.cloud.users.values()) == set(cluster.cloud.projects), seed
            cluster.delete(stack_id)
            done(cluster, stack_id, 'DELETE')
            assert cluster.cloud.users == {}


def rolled_back_create(cluster):
    return cluster.create('s', FAILING, disable_rollback=False)


def rolled_back_update(cluster):
    stack_id = cluster.create('s', tree(0, 0))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, FAILING, disable_rollback=False)
    return stack_id


@pytest.mark.parametrize('requested', [rolled_back_create, rolled_back_update])
def test_a_rollback_does_not_lose_the_project_that_is_made_meanwhile(requested):
    """The first user is made while the engine stores the begin of the rollback and reads what it needs for it."""
    made_before = 0
    for seed in range(6):
        with Cluster(seed, engines=1) as cluster:
            known = known_until_rolled_back(cluster, requested(cluster))
            later = list(itertools.dropwhile(lambda each: each[1] is None, known))
            assert all(project is not None for _action, project in later), seed
            made_before += bool(later) and later[0][0] != 'ROLLBACK'
    assert made_before > 1


def known_until_rolled_back(cluster, stack_id):
    """Return what the engine knew at each step until the rollback had ended: (action, project of the users)."""
    [(_runtime, service)] = cluster.engines
    known = []

    def is_over():
        runner = service.runners.get(stack_id)
        if runner is not None:
            known.append((runner.leased.row.action, runner.leased.row.user_project_id))
        return runner is None and cluster.row(stack_id).action == 'ROLLBACK'

    assert cluster.universe.run(is_over)
    return known
