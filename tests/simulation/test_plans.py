"""Plans in whole lives: what is applied is what was planned, also after a crash, or nothing is done."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import plans
from heatlite.planning.states import Action
from heatlite.rpc import messages
from tests.simulation import planned
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait
from tests.simulation.test_statements import stored_definitions_read


def template(**values):
    return {'heat_template_version': '2018-08-31', 'resources': {
        name: {'type': 'Sim::Thing', 'properties': {'value': value}} for name, value in values.items()}}


def failing(**values):
    found = template(**values)
    found['resources']['bad'] = {'type': 'Sim::Thing', 'properties': {'fail': True}}
    return found


@pytest.mark.parametrize('first', range(0, 40, 10))
def test_random_lives(first):
    assert sum(planned.live(seed) for seed in range(first, first + 10)) > 50


def test_random_lives_in_a_cloud_that_changes():
    """Each plan of an update looks at reality, which is not as stored. In seed 9 a scaling group gets new members."""
    assert sum(planned.live(seed, drifts=True) for seed in range(7, 13)) > 30


@pytest.fixture
def cluster():
    with Cluster(engines=1) as found:
        yield found


@pytest.fixture
def stack_id(cluster):
    found = cluster.create('s', template(a='one', b='one'))
    done(cluster, found, 'CREATE')
    return found


def update(cluster, stack_id, **values):
    made = planned.plan(cluster, action='update', stack_id=stack_id, template=template(**values))
    assert isinstance(made, plans.StoredPlan), made
    return made


def state_of(cluster, plan_id):
    with cluster.database.reader() as tx:
        return plans.show(tx, plan_id, str(cluster.context.project_id)).state


def test_a_plan_is_applied_once(cluster, stack_id):
    made = update(cluster, stack_id, a='two', b='one')
    assert made.summary['update'] == 1 and made.summary['none'] == 1
    planned.apply(cluster, made.id)
    done(cluster, stack_id, 'UPDATE')
    again = planned.apply(cluster, made.id)
    assert isinstance(again, exception.Conflict) and 'was applied at' in str(again)
    assert state_of(cluster, made.id) == plans.APPLIED


def test_a_changed_stack_refuses_the_plan_and_names_the_differences(cluster, stack_id):
    made = update(cluster, stack_id, a='two', b='one')
    cluster.update(stack_id, template(a='two', b='three'))
    done(cluster, stack_id, 'UPDATE')
    calls = len(cluster.cloud.calls)
    refused = planned.apply(cluster, made.id)
    assert isinstance(refused, exception.Conflict)
    assert 'a: update was planned, now it would be none' in str(refused)
    assert 'b: none was planned, now it would be update' in str(refused)
    assert len(cluster.cloud.calls) == calls and state_of(cluster, made.id) == plans.READY


def test_a_wrong_digest_is_refused(cluster, stack_id):
    made = update(cluster, stack_id, a='two', b='one')
    refused = cluster.ask(messages.ApplyPlan(made.id, '0' * 64), (exception.Conflict,))
    assert isinstance(refused, exception.Conflict) and state_of(cluster, made.id) == plans.READY
    assert cluster.ask(messages.ApplyPlan(made.id, made.digest))['stack_id'] == stack_id


def test_a_stack_in_progress_cannot_be_planned(cluster, stack_id):
    slow = template(a='two', b='one')
    slow['resources']['slow'] = {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 1000}}
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=slow))
    wait(cluster, 30)                           # the update itself calls nothing any more
    refused = planned.plan(cluster, action='update', stack_id=stack_id, template=template(a='three', b='one'))
    assert isinstance(refused, exception.ActionInProgress)


def test_an_expired_plan_is_refused(cluster, stack_id):
    made = update(cluster, stack_id, a='two', b='one')
    with cluster.database.writer() as tx:
        tx.exec_driver_sql('UPDATE plan SET expires_at = created_at')
    refused = planned.apply(cluster, made.id)
    assert isinstance(refused, exception.Conflict) and 'expired' in str(refused)


def test_a_plan_of_another_project_is_not_found(cluster, stack_id):
    made = update(cluster, stack_id, a='two', b='one')
    cluster.context.project_id = 'another'
    for message in (messages.ApplyPlan(made.id), messages.ApprovePlan(made.id), messages.DeletePlan(made.id)):
        assert isinstance(cluster.ask(message, (exception.EntityNotFound,)), exception.EntityNotFound)


def test_what_the_plan_does_not_allow_is_not_begun(cluster, stack_id):
    """The permissions are taken away behind the plan's back: the engine is held to them, not to the template."""
    made = update(cluster, stack_id, a='two', b='two')
    with cluster.database.writer() as tx:
        tx.exec_driver_sql("UPDATE plan_permission SET permissions = REPLACE(permissions, '\"b\":[\"UPDATE\"]', "
                           "'\"b\":[]')")
    planned.apply(cluster, made.id)
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED')
    assert 'NotPlanned: resources.b: UPDATE is not part of the applied plan' in row.reason
    assert sorted(each['value'] for each in cluster.cloud.objects.values())[0] == 'one'
    cluster.update(stack_id, template(a='two', b='two'))        # the plan does not hold for what comes after
    done(cluster, stack_id, 'UPDATE')


def test_killed_anywhere_a_planned_group_is_made():
    """An engine that takes the update over visits the new group, which the plan only allows to create."""
    assert kill_engines_in(group_by_plan, 3) > 20


def test_a_rollback_stays_inside_the_plan(cluster, stack_id):
    changed = template(a='two', b='one', c='new')
    changed['resources']['c']['properties']['fail'] = True
    made = planned.plan(cluster, action='update', stack_id=stack_id, template=changed, disable_rollback=False)
    assert made.document['rollback_may_change'] == ['a', 'c']
    planned.apply(cluster, made.id)
    done(cluster, stack_id, Action.ROLLBACK)
    assert sorted(each['value'] for each in cluster.cloud.objects.values()) == ['one', 'one']


def test_killed_anywhere_the_plan_is_carried_out():
    """A whole life by plans, killed at each durable write and call."""
    assert kill_engines_in(by_plans, 5) > 30


def test_a_plan_to_delete_reads_rows_in_blocks(cluster):
    stack_id = cluster.create('big', template(**{f't{number}': 'one' for number in range(300)}))
    done(cluster, stack_id, 'CREATE')
    with stored_definitions_read() as seen:
        made = planned.plan(cluster, action='delete', stack_id=stack_id)
    assert made.summary['delete'] == 300 and 0 < len(seen) <= 3


def by_plans(cluster):
    made = planned.plan(cluster, stack_name='s', template=template(a='one', b='one'))
    stack_id = planned.applied(cluster, made.id)
    done(cluster, stack_id, 'CREATE')
    made = update(cluster, stack_id, a='two', c='new')
    planned.applied(cluster, made.id)
    done(cluster, stack_id, 'UPDATE')
    assert sorted(each['value'] for each in cluster.cloud.objects.values()) == ['new', 'two']


def group_by_plan(cluster):
    stack_id = cluster.create('s', template(a='one'))
    done(cluster, stack_id, 'CREATE')
    wanted = template(a='one', last='two')
    wanted['resources']['last']['depends_on'] = 'group'
    wanted['resources']['group'] = {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 1, 'resource_def': template(member='one')['resources']['member']}}
    made = planned.plan(cluster, action='update', stack_id=stack_id, template=wanted)
    planned.applied(cluster, made.id)
    done(cluster, stack_id, 'UPDATE')
    assert sorted(each['value'] for each in cluster.cloud.objects.values()) == ['one', 'one', 'two']


def test_a_plan_that_shows_a_large_value_many_times_is_refused(cluster):
    """One parameter of the request is written once for each resource that gets it, before and after the change."""
    def wanted(letter, count):
        return {'heat_template_version': '2018-08-31',
                'parameters': {'large': {'type': 'string', 'default': letter * 30_000}},
                'resources': {f'r{each}': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'large'}}}
                              for each in range(count)}}

    stack_id = cluster.create('large', wanted('x', 300))
    done(cluster, stack_id, 'CREATE')
    refused = planned.plan(cluster, action='update', stack_id=stack_id, template=wanted('y', 300))
    assert isinstance(refused, exception.RequestLimitExceeded)
    assert 'more than 16777216 characters' in str(refused)
    with cluster.database.reader() as tx:
        assert plans.page(tx, str(cluster.context.project_id)) == []
    made = planned.plan(cluster, action='update', stack_id=stack_id, template=wanted('y', 5))
    assert isinstance(made, plans.StoredPlan)
