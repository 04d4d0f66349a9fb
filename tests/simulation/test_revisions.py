"""Revisions in whole lives: each accepted definition has a number, an outcome and its content."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import plans, revisions, tables
from heatlite.planning.states import Action
from heatlite.rpc import messages
from tests.simulation import planned, statements
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait
from tests.simulation.test_plans import failing, template


@pytest.fixture
def cluster():
    with Cluster(engines=1) as found:
        found.context.user_id, found.context.username = 'u1', 'ann'
        yield found


def create(cluster, **values):
    stack_id = cluster.create('s', template(**values))
    done(cluster, stack_id, 'CREATE')
    return stack_id


def update(cluster, stack_id, **values):
    cluster.update(stack_id, template(**values))
    return cluster.settle(stack_id)


def history(cluster, stack_id):
    """Oldest first."""
    with cluster.database.reader() as tx:
        return revisions.page(tx, stack_id)[::-1]


def listed(cluster, stack_id):
    return [(each.number, each.action, each.outcome) for each in history(cluster, stack_id)]


def templates_of(cluster, stack_id):
    with cluster.database.reader() as tx:
        return set(tx.execute(sa.select(tables.template.c.id).where(tables.template.c.stack_id == stack_id)).scalars())


def values_of(cluster):
    return sorted(each['value'] for each in cluster.cloud.objects.values())


def slow(name='slow', **values):
    found = template(**values)
    found['resources'][name] = {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 30}}
    return found


def back(cluster, stack_id, number, **fields):
    """A plan to go back."""
    made = planned.plan(cluster, action='update', stack_id=stack_id, revision=number, **fields)
    assert isinstance(made, plans.StoredPlan), made
    return made


def test_numbers_authors_and_outcomes(cluster):
    stack_id = create(cluster, a='one')
    cluster.context.user_id, cluster.context.username = 'u2', 'bob'
    update(cluster, stack_id, a='two')
    cluster.update(stack_id, failing(a='three'))
    cluster.settle(stack_id)
    assert listed(cluster, stack_id) == [(1, 'CREATE', 'COMPLETE'), (2, 'UPDATE', 'COMPLETE'), (3, 'UPDATE', 'FAILED')]
    assert [each.author for each in history(cluster, stack_id)] == ['ann', 'bob', 'bob']
    assert [each.author_id for each in history(cluster, stack_id)] == ['u1', 'u2', 'u2']
    cluster.ask(messages.StackAction(stack_id, 'check'))
    cluster.settle(stack_id)
    assert listed(cluster, stack_id)[2:] == [(3, 'UPDATE', 'FAILED')]         # not what the check came to
    cluster.update(stack_id, slow(a='four'))
    assert listed(cluster, stack_id)[2:] == [(3, 'UPDATE', 'FAILED'), (4, 'UPDATE', 'IN_PROGRESS')]


def test_an_adopted_stack():
    with Cluster(engines=1, enable_stack_adopt=True) as cluster:
        stack_id = cluster.create('s', template(a='one'), adopt={'resources': {}})
        cluster.settle(stack_id)
        assert listed(cluster, stack_id) == [(1, 'ADOPT', 'FAILED')]          # the id of the resource was not given


def test_rollbacks(cluster):
    stack_id = create(cluster, a='one')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=failing(a='two'), disable_rollback=False))
    done(cluster, stack_id, Action.ROLLBACK)
    cluster.update(stack_id, slow(a='three'))
    cluster.ask(messages.CancelStack(stack_id, rollback=True))
    done(cluster, stack_id, Action.ROLLBACK)
    assert listed(cluster, stack_id) == [
        (1, 'CREATE', 'COMPLETE'), (2, 'UPDATE', 'ROLLED_BACK'), (3, 'ROLLBACK', 'COMPLETE'),
        (4, 'UPDATE', 'ROLLED_BACK'), (5, 'ROLLBACK', 'COMPLETE')]
    found = history(cluster, stack_id)
    assert [each.author for each in found] == ['ann', 'ann', None, 'ann', 'ann']
    assert found[0].template_id == found[2].template_id == found[4].template_id
    assert found[0].digest == found[2].digest == found[4].digest


def test_a_failed_create_that_is_rolled_back(cluster):
    stack_id = cluster.create('s', failing(a='one'), disable_rollback=False)
    cluster.settle(stack_id)
    assert listed(cluster, stack_id) == [(1, 'CREATE', 'ROLLED_BACK'), (2, 'ROLLBACK', 'COMPLETE')]


def test_requests_that_interrupt_others(cluster):
    stack_id = create(cluster, a='one')
    cluster.update(stack_id, slow(a='two'))
    cluster.update(stack_id, slow(a='three'))
    cluster.ask(messages.CancelStack(stack_id, rollback=False))
    cluster.settle(stack_id)
    cluster.update(stack_id, slow('slow_again', a='four'))
    cluster.delete(stack_id)
    assert [outcome for _number, _action, outcome in listed(cluster, stack_id)] == [
        'COMPLETE', 'SUPERSEDED', 'FAILED', 'FAILED']


def test_snapshots_that_are_restored(cluster):
    stack_id = create(cluster, a='one')
    made = cluster.ask(messages.SnapshotStack(stack_id, 'monday'))
    done(cluster, stack_id, 'SNAPSHOT')
    update(cluster, stack_id, a='two')
    cluster.ask(messages.RestoreSnapshot(stack_id, made['id']))
    done(cluster, stack_id, 'RESTORE')
    assert listed(cluster, stack_id)[1:] == [(2, 'UPDATE', 'COMPLETE'), (3, 'RESTORE', 'COMPLETE')]
    found = history(cluster, stack_id)
    assert found[0].template_id == found[2].template_id


def test_nested_stacks_have_none(cluster):
    grown = {'heat_template_version': '2018-08-31', 'resources': {'group': {
        'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': {'type': 'Sim::Thing'}}}}}
    stack_id = cluster.create('s', grown)
    done(cluster, stack_id, 'CREATE')
    with cluster.database.reader() as tx:
        assert tx.execute(sa.select(tables.revision.c.stack_id)).scalars().all() == [stack_id]
        nested = sa.select(tables.stack.c.revision).where(tables.stack.c.owner_id == stack_id)
        assert tx.execute(nested).scalars().all() == [None]


def test_equal_content_is_stored_once(cluster):
    stack_id = create(cluster, a='one')
    for value in ('two', 'one', 'two', 'one'):
        done(cluster, stack_id, update(cluster, stack_id, a=value).action)
    found = history(cluster, stack_id)
    assert [found[0].template_id == each.template_id for each in found] == [True, False, True, False, True]
    assert len({each.digest for each in found}) == len({each.template_id for each in found}) == 2
    wait(cluster, 1.0)                              # for what follows the end of an action
    assert len(templates_of(cluster, stack_id)) == 4            # and those of the present one and of the one before


def test_an_update_without_a_change_keeps_the_revision():
    with Cluster(engines=1, **{'revisions.keep': 2}) as cluster:
        stack_id = create(cluster, a='one')
        update(cluster, stack_id, a='two')
        with changes_of_revisions() as seen:
            for _ in range(3):
                update(cluster, stack_id, a='two')
                cluster.ask(messages.UpdateStack(stack_id=stack_id, existing=True))
                done(cluster, stack_id, Action.UPDATE)
            plan = planned.plan(cluster, action='update', stack_id=stack_id, template=template(a='two'))
            planned.applied(cluster, plan.id)
            done(cluster, stack_id, Action.UPDATE)
        assert seen == []
        assert listed(cluster, stack_id) == [(1, 'CREATE', 'COMPLETE'), (2, 'UPDATE', 'COMPLETE')]


def test_a_failed_update_that_is_repeated_is_one_revision(cluster):
    stack_id = create(cluster, a='one')
    cluster.update(stack_id, failing(a='two'))
    cluster.settle(stack_id)
    cluster.update(stack_id, failing(a='two'))
    assert listed(cluster, stack_id)[1:] == [(2, 'UPDATE', 'IN_PROGRESS')]
    cluster.settle(stack_id)
    assert listed(cluster, stack_id)[1:] == [(2, 'UPDATE', 'FAILED')]


def test_another_stack_has_another_digest(cluster):
    stack_id = create(cluster, a='one')
    other = cluster.create('other', template(a='one'))
    assert history(cluster, stack_id)[0].digest != history(cluster, other)[0].digest


def changes_of_revisions():
    """Collect the statements that change the table."""
    return statements.noted(re.compile(r'(INSERT INTO|UPDATE|DELETE FROM) revision\b').match)


def words(seen):
    return [statement.split()[0] for statement in seen]


def test_what_requests_and_actions_cost():
    with Cluster(engines=1, **{'revisions.keep': 2}) as cluster:
        with changes_of_revisions() as seen:
            stack_id = create(cluster, a='one', b='one')
            wait(cluster, 1.0)
        assert words(seen) == ['INSERT']
        with changes_of_revisions() as seen:
            update(cluster, stack_id, a='two', c='one')
            cluster.ask(messages.StackAction(stack_id, 'check'))
            cluster.settle(stack_id)
            wait(cluster, 1.0)
        assert words(seen) == ['INSERT']
        with changes_of_revisions() as seen:
            update(cluster, stack_id, a='three')
            wait(cluster, 1.0)
        assert words(seen) == ['INSERT', 'DELETE']             # one more than are kept, when the action has ended


@pytest.mark.parametrize('keep', [3, 1, 0])
def test_retention(keep):
    with Cluster(engines=1, **{'revisions.keep': keep}) as cluster:
        stack_id = create(cluster, a='0')
        for number in range(1, 6):
            update(cluster, stack_id, a=str(number))
            wait(cluster, 1.0)                      # for what follows the end of an action
            assert len(history(cluster, stack_id)) <= keep
        found = history(cluster, stack_id)
        assert [each.number for each in found] == [4, 5, 6][3 - keep:]
        used = {cluster.row(stack_id).template_id, cluster.row(stack_id).previous_template_id}
        assert templates_of(cluster, stack_id) == {each.template_id for each in found} | used
        cluster.update(stack_id, slow(a='x'))       # while an action is in progress nothing is tidied up
        for number in range(6):
            cluster.update(stack_id, slow(a=str(number)))
            assert len(history(cluster, stack_id)) <= keep
        assert cluster.row(stack_id).revision == 13


def test_a_stack_from_before(cluster):
    """The migration leaves the columns empty: the present definition gets its number when the stack is next changed."""
    stack_id = create(cluster, a='one')
    with cluster.database.writer() as tx:
        tx.execute(tables.revision.delete())
        tx.execute(tables.stack.update().values(revision=None, outcome=None))
    cluster.ask(messages.StackAction(stack_id, 'check'))
    cluster.settle(stack_id)
    assert history(cluster, stack_id) == []
    update(cluster, stack_id, a='two')
    first, _second = history(cluster, stack_id)
    assert listed(cluster, stack_id) == [(1, None, 'COMPLETE'), (2, 'UPDATE', 'COMPLETE')]
    assert (first.author, first.digest) == (None, None)
    planned.apply(cluster, back(cluster, stack_id, 1).id)
    done(cluster, stack_id, 'UPDATE')
    assert values_of(cluster) == ['one']


def test_going_back_gives_the_same_cloud(cluster):
    stack_id = create(cluster, a='one', b='one')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=template(a='two', c='new'), tags=('kept',)))
    done(cluster, stack_id, 'UPDATE')
    made = back(cluster, stack_id, 1)
    assert made.summary['create'] == made.summary['delete'] == made.summary['update'] == 1
    assert made.document['revision'] == 1
    planned.apply(cluster, made.id)
    assert done(cluster, stack_id, 'UPDATE').tags == ['kept']
    assert values_of(cluster) == ['one', 'one']
    first, _second, third = history(cluster, stack_id)
    assert (third.plan_id, third.template_id, third.digest) == (made.id, first.template_id, first.digest)


def test_random_lives_that_go_back():
    assert sum(planned.live(seed, goes_back=True) for seed in range(6)) > 30


HIDDEN = {'heat_template_version': '2018-08-31', 'parameters': {'word': {'type': 'string', 'hidden': True}},
          'resources': {'thing': {'type': 'Sim::Thing', 'properties': {'value': {'get_param': 'word'}}}}}


def test_going_back_uses_hidden_parameters_and_does_not_show_them(cluster):
    stack_id = cluster.create('s', HIDDEN, {'parameters': {'word': 'open-sesame'}})
    done(cluster, stack_id, 'CREATE')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=HIDDEN, environment={
        'parameters': {'word': 'shut-sesame'}}))
    done(cluster, stack_id, 'UPDATE')
    first, second = history(cluster, stack_id)
    assert first.digest != second.digest and first.template_id != second.template_id
    made = back(cluster, stack_id, 1)
    assert 'sesame' not in str(made.document) and made.summary['update'] == 1
    planned.apply(cluster, made.id)
    done(cluster, stack_id, 'UPDATE')
    assert values_of(cluster) == ['open-sesame']
    assert history(cluster, stack_id)[2].template_id == first.template_id


def test_a_revision_that_is_gone(cluster):
    stack_id = create(cluster, a='one')
    refused = planned.plan(cluster, action='update', stack_id=stack_id, revision=7)
    assert isinstance(refused, exception.EntityNotFound) and 'Revision (7)' in str(refused)
    other = cluster.create('other', template(a='one'))
    update(cluster, stack_id, a='two')
    assert isinstance(planned.plan(cluster, action='update', stack_id=other, revision=2), exception.EntityNotFound)
    cluster.context = replace_project(cluster.context)
    assert isinstance(planned.plan(cluster, action='update', stack_id=stack_id, revision=1), exception.EntityNotFound)


def replace_project(context):
    context.project_id, context.roles, context.is_admin = 'another', [], False
    return context


def test_a_plan_outlives_its_revision():
    with Cluster(engines=1, **{'revisions.keep': 1}) as cluster:
        stack_id = create(cluster, a='one')
        made = back(cluster, stack_id, 1)
        update(cluster, stack_id, a='two')
        assert isinstance(planned.apply(cluster, made.id), exception.Conflict)


def test_killed_anywhere_no_number_is_missing_or_used_twice():
    assert kill_engines_in(life, 9) > 15


def life(cluster):
    stack_id = cluster.create('s', template(a='one', b='one'))
    done(cluster, stack_id, 'CREATE')
    cluster.update(stack_id, template(a='two', c='new'))
    done(cluster, stack_id, 'UPDATE')
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=failing(a='three'), disable_rollback=False))
    done(cluster, stack_id, Action.ROLLBACK)
    found = listed(cluster, stack_id)
    assert [number for number, _action, _outcome in found] == list(range(1, len(found) + 1))
    assert cluster.row(stack_id).revision == len(found)
    # A request that was accepted by an engine that died before it answered is sent again.
    assert [action for _number, action, _outcome in found if action != 'UPDATE'] == ['CREATE', 'ROLLBACK']
    assert found[-2][2] == 'ROLLED_BACK' and found[-1] == (len(found), 'ROLLBACK', 'COMPLETE')
    assert values_of(cluster) == ['new', 'two']
