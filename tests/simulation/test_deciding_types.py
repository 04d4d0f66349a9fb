"""Types that decide by themselves whether they need an update are asked by each update of their stack.

As in Heat, types of plug-ins update, or replace, resources whose definition is as it was.
"""

from __future__ import annotations

import pytest

from heatlite.common import exception
from tests.simulation import cloud, planned
from tests.simulation.cluster import Cluster, done


class Eager(cloud.Thing):
    """Is updated by each update of its stack."""

    def _needs_update(self, *arguments, **options):
        return super()._needs_update(*arguments, **options) or True


class Renewed(cloud.Thing):
    """Is replaced by each update of its stack."""

    def needs_replace(self, after_props):
        return True


class Heir(Eager):
    """Inherits the decision."""


class Calm(Eager):
    """Says that it decides about differences only."""

    always_inspected = False

    def _needs_update(self, *arguments, **options):
        return cloud.Thing._needs_update(self, *arguments, **options)


class Refusing(cloud.Thing):
    def _needs_update(self, *arguments, **options):
        raise exception.UpdateReplace(self.name)


KINDS = {kind.__name__: kind for kind in (Eager, Renewed, Heir, Calm, Refusing)}


def one(kind, others=3):
    """A stack of a resource of this kind beside others, and of one inside a group."""
    own = {'type': f'Sim::{kind}', 'properties': {'value': 'v'}}
    return {'heat_template_version': '2018-08-31', 'resources': {
        'own': own, 'group': {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': own}},
        **{f'other{number}': {'type': 'Sim::Thing', 'properties': {'value': 'v'}} for number in range(others)}}}


@pytest.mark.parametrize('kind, calls', [
    ('Eager', {'update'}), ('Heir', {'update'}), ('Renewed', {'create', 'delete'}), ('Refusing', {'create', 'delete'}),
    ('Calm', set())])
def test_an_update_without_a_change_asks_them(kind, calls):
    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register(f'Sim::{kind}', KINDS[kind])
        stack_id = cluster.create('s', one(kind))
        done(cluster, stack_id, 'CREATE')
        for _turn in range(2):
            before = len(cluster.cloud.calls)
            cluster.update(stack_id, one(kind))
            done(cluster, stack_id, 'UPDATE')
            made = cluster.cloud.calls[before:]
            assert {call for call, _name in made} == calls
            assert len(made) == 2 * len(calls)          # the resource itself, and the member of the group


@pytest.mark.parametrize('kind, action', [('Eager', 'update'), ('Renewed', 'replace'), ('Calm', 'none')])
def test_a_plan_says_so(kind, action):
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register(f'Sim::{kind}', KINDS[kind])
        stack_id = cluster.create('s', one(kind))
        done(cluster, stack_id, 'CREATE')
        made = planned.plan(cluster, action='update', stack_id=stack_id, template=one(kind))
        found = {tuple(change['path']): change['action'] for change in made.document['changes']}
        assert (found['own',], found['group', '0'], found['other0',]) == (action, action, 'none')
