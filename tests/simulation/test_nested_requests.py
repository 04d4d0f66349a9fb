"""What a request to a stack means for the stacks below it: its time-out, and what they do not take."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from heatlite.db import tables
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_nested import child_of, group, template

LEVELS = 2                          # of nested stacks below the root
CHAIN = 8                           # resources in the innermost stack, each after the one before


def chain(value='v'):
    return {f'x{number}': {'type': 'Sim::Thing', 'properties': {'value': value},
                           'depends_on': [f'x{number - 1}'] if number else []} for number in range(CHAIN)}


def tree(value='v'):
    """Return the template and the files of a stack with LEVELS stacks below it, of which the innermost has a chain."""
    files = {f'{LEVELS}.yaml': json.dumps(template(chain(value)))}
    for level in range(1, LEVELS):
        files[f'{level}.yaml'] = json.dumps(template({'n': {'type': f'{level + 1}.yaml'}}))
    return template({'n': {'type': '1.yaml'}}), files


def create(cluster, **options):
    wanted, files = tree()
    return cluster.ask(messages.CreateStack(stack_name='s', template=wanted, files=files, **options))['stack_id']


def below(cluster):
    """Return the rows of the nested stacks, from the outermost."""
    with cluster.database.reader() as tx:
        return list(tx.execute(sa.select(tables.stack).where(
            tables.stack.c.owner_id.isnot(None)).order_by(tables.stack.c.depth)))


# --- time-outs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize('minutes', [120, 1])
def test_the_timeout_of_an_update_holds_for_all_stacks_that_it_visits(minutes):
    with Cluster(engines=1) as cluster:
        stack_id = create(cluster, timeout_mins=10)
        done(cluster, stack_id, 'CREATE')
        wanted, files = tree('w')
        cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, files=files, timeout_mins=minutes))
        done(cluster, stack_id, 'UPDATE')
        assert [row.timeout_mins for row in below(cluster)] == [minutes] * LEVELS


# --- suspended nested stacks -----------------------------------------------------------------------------


def suspended_group(cluster):
    """Return the ids of a stack with a group, and of the group's stack, which a user has suspended."""
    stack_id = cluster.create('s', group(2))
    done(cluster, stack_id, 'CREATE')
    child = child_of(cluster, stack_id, 'g')
    cluster.ask(messages.StackAction(child.id, 'suspend'))
    done(cluster, child.id, 'SUSPEND')
    return stack_id, child.id


def test_an_update_of_a_stack_does_not_update_a_suspended_nested_stack():
    with Cluster(engines=1) as cluster:
        stack_id, child_id = suspended_group(cluster)
        members = cluster.states(child_id)
        cluster.update(stack_id, group(3))
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('UPDATE', 'FAILED')
        assert 'Updating a stack when it is suspended is not supported.' in row.reason
        assert cluster.states(child_id) == members
        cluster.ask(messages.StackAction(child_id, 'resume'))
        done(cluster, child_id, 'RESUME')
        cluster.update(stack_id, group(3))
        done(cluster, stack_id, 'UPDATE')
        assert len(cluster.states(child_id)) == 3
