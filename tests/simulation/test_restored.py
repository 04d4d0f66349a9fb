"""Some of the random histories with a restore; more by `python -m tests.simulation.restored 0 1000`.

HEATLITE_TEST_RESTORES: how many; HEATLITE_TEST_FIRST_HISTORY: the number of the first one.
"""

import os

import pytest

from heatlite.rpc import messages
from tests.simulation import restored
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.restored import Copy
from tests.simulation.test_crashes import template, thing

FIRST = int(os.environ.get('HEATLITE_TEST_FIRST_HISTORY', '0'))
COUNT = int(os.environ.get('HEATLITE_TEST_RESTORES', '30'))
PORTION = 5


@pytest.mark.parametrize('first', range(FIRST, FIRST + COUNT, PORTION))
def test_histories_with_a_restore(first):
    for seed in range(first, min(first + PORTION, FIRST + COUNT)):
        restored.run(seed)


CHAIN = template({'a': thing('1'), 'b': thing('2', needs=['a']), 'c': thing('3', needs=['b'])})
GROUP = template({
    'first': thing('1'),
    'group': {'type': 'OS::Heat::ResourceGroup', 'depends_on': ['first'], 'properties': {
        'count': 3, 'resource_def': {'type': 'Sim::Thing', 'properties': {'value': 'm'}}}}})


def lost_and_found(wanted, before=None):
    """The objects of an action that ended after the backup, and those after the restore has ended it again."""
    with Cluster() as cluster:
        if before is not None:
            stack_id = cluster.create('s', before)
            done(cluster, stack_id, 'CREATE')
            cluster.update(stack_id, wanted)
        else:
            stack_id = cluster.create('s', wanted)
        saved = Copy(cluster)
        cluster.settle(stack_id)
        made = sorted(cluster.cloud.objects)
        found = saved.restore()
        assert (found.stacks, found.unfinished) == (1, 1)
        done(cluster, stack_id, 'UPDATE' if before is not None else 'CREATE')
        assert sorted(cluster.cloud.objects) == made and len(cluster.cloud.made) == len(set(cluster.cloud.made))
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}


def test_a_create_that_had_begun_takes_over_what_was_made():
    lost_and_found(CHAIN)


def test_members_of_groups_are_taken_over():
    lost_and_found(GROUP)


def test_an_update_that_had_begun_takes_over_new_objects_and_replacements():
    wanted = template({'a': thing('1', fixed='new'), 'b': thing('2', needs=['a']), 'd': thing('4', needs=['b']),
                       'e': thing('5', needs=['d'])})
    lost_and_found(wanted, before=CHAIN)


def test_an_update_that_overtook_the_create_takes_over_its_replacements():
    """In the backup nothing was begun. After it the engine began the create, and heard of the update then."""
    objects = {'a': thing('1'), 'b': thing('2')}
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(objects))
        cluster.update(stack_id, template({'a': thing('1', fixed='new'), 'b': thing('2', fixed='new')}))
        saved = Copy(cluster)
        done(cluster, stack_id, 'UPDATE')
        made = sorted(cluster.cloud.objects)
        assert len(cluster.cloud.made) == 4
        saved.restore()
        done(cluster, stack_id, 'UPDATE')
        assert sorted(cluster.cloud.objects) == made
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}


def test_the_same_update_again_takes_over_what_the_lost_one_made():
    wanted = template({'a': thing('1', fixed='new'), 'b': thing('2'), 'c': thing('3'), 'd': thing('4')})
    with Cluster() as cluster:
        stack_id = cluster.create('s', CHAIN)
        done(cluster, stack_id, 'CREATE')
        saved = Copy(cluster)
        cluster.update(stack_id, wanted)
        done(cluster, stack_id, 'UPDATE')
        made = sorted(cluster.cloud.objects)
        saved.restore()
        cluster.update(stack_id, wanted)
        done(cluster, stack_id, 'UPDATE')
        assert sorted(cluster.cloud.objects) == made


def test_a_delete_at_once_removes_what_was_made_after_the_backup():
    with Cluster() as cluster:
        stack_id = cluster.create('s', CHAIN)
        saved = Copy(cluster)
        done(cluster, stack_id, 'CREATE')
        saved.restore()
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
        assert cluster.cloud.objects == {}


def test_engines_of_the_former_site_cannot_write():
    """They stood still during the restore, and have the leases in memory that the backup has, too."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', CHAIN)
        saved = Copy(cluster)
        [(former, _service)] = cluster.engines
        former.freeze(60.0)
        cluster.engines.clear()
        wait(cluster, 10.0)
        saved.restore()
        wait(cluster, 100.0)
        done(cluster, stack_id, 'CREATE')
        assert len(cluster.cloud.made) == len(set(cluster.cloud.made)) == 3
        cluster.ask(messages.StackAction(stack_id, 'check'))
        done(cluster, stack_id, 'CHECK')


def test_plans_made_before_the_backup_are_void():
    with Cluster() as cluster:
        stack_id = cluster.create('s', CHAIN)
        done(cluster, stack_id, 'CREATE')
        plan = cluster.ask(messages.CreatePlan(action='delete', stack_id=stack_id))
        saved = Copy(cluster)
        assert saved.restore().plans == 1
        answer = cluster.ask(messages.ApplyPlan(plan['id']), allowed=[Exception])
        assert 'expired' in str(answer)
        assert cluster.row(stack_id).action == 'CREATE'
