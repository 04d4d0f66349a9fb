"""Names as long as their columns, alone and put together."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.db import tables
from heatlite.engine.resource import Resource
from tests.simulation import stores
from tests.simulation.cluster import Cluster, done

LONGEST = 255                           # characters of a name
INNERMOST = 5                           # levels below the root, as many as the default allows
THING = {'type': 'Sim::Thing', 'properties': {'value': 'one'}}


def template(name, resource):
    return {'heat_template_version': '2018-08-31', 'resources': {name: resource}}


@pytest.fixture(params=stores.AVAILABLE)
def cluster(request):
    with Cluster(engines=1, storage=stores.storage(request.param)) as made:
        yield made


def shown_ids(cluster, stack_id):
    """The physical ids in the events of the resources of a stack, but for those of the stack itself."""
    with cluster.database.reader() as tx:
        return tx.execute(sa.select(tables.event.c.physical_id).where(
            tables.event.c.stack_id == stack_id, tables.event.c.resource_id.is_not(None))).scalars().all()


@pytest.mark.parametrize('limit', [LONGEST, None])
@pytest.mark.parametrize('stack, resource', [(LONGEST, LONGEST), (207, 45), (LONGEST, 1), (1, LONGEST)])
def test_a_stack_and_a_resource_with_long_names(cluster, monkeypatch, stack, resource, limit):
    """`limit`: what the type says of the names of its objects; None: they have any length."""
    monkeypatch.setattr(Resource, 'physical_resource_name_limit', limit)
    stack_id = cluster.create('s' * stack, template('r' * resource, THING))
    done(cluster, stack_id, 'CREATE')
    ids = shown_ids(cluster, stack_id)
    assert ids
    assert max(map(len, ids)) <= LONGEST
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')


def test_nested_stacks_with_long_names(cluster):
    files = {f'level-{level}.yaml': template('r' * 40, {'type': f'level-{level + 1}.yaml'})
             for level in range(1, INNERMOST)}
    files[f'level-{INNERMOST}.yaml'] = template('r' * 40, THING)
    stack_id = cluster.create('s' * 40, template('r' * 40, {'type': 'level-1.yaml'}),
                              files={name: json.dumps(document) for name, document in files.items()})
    done(cluster, stack_id, 'CREATE')
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
