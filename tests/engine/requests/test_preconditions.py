"""Changes of a stack under the condition that its definition has a tag: engines judge it as they accept the request."""

import json

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import stack_trees, stacks
from heatlite.planning import definition_tags
from heatlite.rpc import messages
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_unchanged import flat

REFUSED = exception.PreconditionFailed


@pytest.fixture
def made():
    """A cluster with one engine, and the id of a stack."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', flat(), tags=('x',), timeout_mins=7)
        done(cluster, stack_id, 'CREATE')
        wait(cluster, 10)
        yield cluster, stack_id


def tag(cluster, stack_id):
    return definition_tags.of(cluster.row(stack_id))


def update(cluster, stack_id, template=None, if_match=None, **fields):
    """Update with the present values of what is not given. The answer, or the refusal."""
    return cluster.ask(messages.UpdateStack(**{
        'stack_id': stack_id, 'template': template or flat(), 'tags': ('x',), 'if_match': if_match, **fields}),
        allowed=[REFUSED])


def stored(cluster, stack_id):
    """All that a refused request must not change."""
    with cluster.database.reader() as tx:
        counts = [tx.execute(sa.text(f'SELECT count(*) FROM {table}')).scalar()
                  for table in ('template', 'event', 'revision', 'credentials')]
    return counts, cluster.row(stack_id), list(cluster.cloud.calls)


def test_the_answers_have_the_tag_of_what_was_accepted():
    with Cluster(engines=1) as cluster:
        made = cluster.ask(messages.CreateStack(stack_name='s', template=flat(), tags=('x', 'y'), timeout_mins=3))
        stack_id = made['stack_id']
        assert made[messages.DEFINITION_TAG] == tag(cluster, stack_id)
        done(cluster, stack_id, 'CREATE')
        assert made[messages.DEFINITION_TAG] == tag(cluster, stack_id)
        updated = update(cluster, stack_id, flat('two'))
        assert made[messages.DEFINITION_TAG] != updated[messages.DEFINITION_TAG] == tag(cluster, stack_id)
        done(cluster, stack_id, 'UPDATE')
        assert updated[messages.DEFINITION_TAG] == tag(cluster, stack_id)


@pytest.mark.parametrize('fields', [
    {'template': flat('two')}, {'environment': {'parameter_defaults': {'x': 'y'}}}, {'files': {'f': 'text'}},
    {'tags': ('x', 'y')}, {'timeout_mins': 8}, {'disable_rollback': False},
    {'existing': True, 'template': None, 'environment': {'parameter_defaults': {'x': 'y'}}}],
    ids=lambda fields: '-'.join(fields))
def test_each_change_of_the_definition_has_another_tag(made, fields):
    cluster, stack_id = made
    before = tag(cluster, stack_id)
    updated = cluster.ask(messages.UpdateStack(**{
        'stack_id': stack_id, 'template': flat(), 'tags': ('x',), 'if_match': ('other', before), **fields}))
    assert updated[messages.DEFINITION_TAG] == tag(cluster, stack_id) != before
    done(cluster, stack_id, 'UPDATE')
    assert updated[messages.DEFINITION_TAG] == tag(cluster, stack_id)


def test_an_update_that_changes_nothing_leaves_the_tag(made):
    cluster, stack_id = made
    before = tag(cluster, stack_id)
    for _ in range(2):
        assert update(cluster, stack_id, if_match=(before,))[messages.DEFINITION_TAG] == before
        assert done(cluster, stack_id, 'UPDATE').revision == 1


@pytest.mark.parametrize('action', ['suspend', 'resume', 'check'])
def test_actions_leave_the_tag(made, action):
    cluster, stack_id = made
    before = tag(cluster, stack_id)
    if action == 'resume':
        cluster.ask(messages.StackAction(stack_id, 'suspend'))
        done(cluster, stack_id, 'SUSPEND')
    cluster.ask(messages.StackAction(stack_id, action))
    assert tag(cluster, stack_id) == before
    done(cluster, stack_id, action.upper())
    assert tag(cluster, stack_id) == before


def test_a_rollback_brings_the_former_tag_back(made):
    cluster, stack_id = made
    update(cluster, stack_id, disable_rollback=False)
    before = tag(cluster, done(cluster, stack_id, 'UPDATE').id)
    failing = flat(c={'type': 'Sim::Thing', 'properties': {'fail': True}})
    updated = update(cluster, stack_id, failing, (before,), disable_rollback=False)
    assert updated[messages.DEFINITION_TAG] != before
    done(cluster, stack_id, 'ROLLBACK')
    assert tag(cluster, stack_id) == before


@pytest.mark.parametrize('wanted', [(), ('other',), ('other', 'another')])
@pytest.mark.parametrize('message', [
    lambda stack_id, wanted: messages.UpdateStack(stack_id=stack_id, template=flat('two'), if_match=wanted),
    lambda stack_id, wanted: messages.UpdateStack(stack_id=stack_id, template=flat(), if_match=wanted),
    lambda stack_id, wanted: messages.UpdateStack(stack_id=stack_id, existing=True, if_match=wanted),
    lambda stack_id, wanted: messages.UpdateStack(stack_id=stack_id, template={'no': 'template'}, if_match=wanted),
    lambda stack_id, wanted: messages.DeleteStack(stack_id, wanted)],
    ids=['change', 'no change', 'patch', 'invalid', 'delete'])
def test_another_tag_is_refused_and_nothing_is_done(made, message, wanted):
    cluster, stack_id = made
    before = stored(cluster, stack_id)
    why = 'the stack was changed since it was read' if wanted else 'it has only weak ones, which never match'
    with pytest.raises(REFUSED, match=f'The ETag of stack s is none of those in the header If-Match: {why}'):
        cluster.ask(message(stack_id, wanted))
    wait(cluster, 10)
    assert stored(cluster, stack_id) == before


def cost(message):
    """The number of statements of a request. `message(stack_id, tag)`: the request."""
    with Cluster(engines=1, interleaved=False) as cluster:      # no other thread executes statements meanwhile
        stack_id = cluster.create('s', flat())
        done(cluster, stack_id, 'CREATE')
        wait(cluster, 10)
        wanted, found = message(stack_id, tag(cluster, stack_id)), []
        service = cluster.engines[0][1]

        def handle():
            with statements.noted(lambda statement: True) as seen:
                service.endpoint.handle(cluster.context, wanted)
            found.append(len(seen))

        cluster.user.spawn(handle)
        assert cluster.universe.run(lambda: bool(found))
        return found[0]


def test_what_a_condition_costs():
    """One SELECT before a delete."""
    plain = cost(lambda stack_id, _tag: messages.UpdateStack(stack_id=stack_id, template=flat('two')))
    assert plain == cost(lambda stack_id, tag: messages.UpdateStack(
        stack_id=stack_id, template=flat('two'), if_match=(tag,)))
    plain = cost(lambda stack_id, _tag: messages.DeleteStack(stack_id))
    assert plain + 1 == cost(lambda stack_id, tag: messages.DeleteStack(stack_id, (tag,)))


def test_a_delete_with_the_present_tag(made):
    cluster, stack_id = made
    cluster.ask(messages.DeleteStack(stack_id, (tag(cluster, stack_id),)))
    cluster.until_deleted(stack_id)


@pytest.mark.parametrize('template', [flat('two'), flat()], ids=['change', 'no change'])
@pytest.mark.parametrize('kind', ['update', 'delete'])
def test_it_is_judged_by_the_row_that_the_accepting_transaction_reads(made, monkeypatch, kind, template):
    """Another update comes between what a request reads first and its transaction."""
    cluster, stack_id = made
    before = tag(cluster, stack_id)
    read, between = stacks.get, []

    def get(tx, *arguments, **options):
        if options.get('for_update') and not between:
            between.append(tx.execute(stacks.stack.update().where(stacks.stack.c.id == stack_id).values(
                tags=json.dumps(['mine']))))
        return read(tx, *arguments, **options)

    monkeypatch.setattr(stacks, 'get', get)
    message = (messages.DeleteStack(stack_id, (before,)) if kind == 'delete' else
               messages.UpdateStack(stack_id=stack_id, template=template, tags=('x',), if_match=(before,)))
    assert isinstance(cluster.ask(message, allowed=[REFUSED]), REFUSED)
    assert between and cluster.row(stack_id).action == 'CREATE'


def test_a_nested_stack_has_a_tag_of_its_own():
    child = json.dumps(flat())
    with Cluster(engines=1) as cluster:
        parent = {'heat_template_version': '2018-08-31', 'resources': {'n': {'type': 'child.yaml'}}}
        stack_id = cluster.create('s', parent, files={'child.yaml': child})
        done(cluster, stack_id, 'CREATE')
        with cluster.database.reader() as tx:
            nested = stack_trees.child(tx, stack_id, 'n').id
        above, before = tag(cluster, stack_id), tag(cluster, nested)
        assert before != above
        assert isinstance(update(cluster, nested, flat('two'), (above,)), REFUSED)
        update(cluster, nested, flat('two'), (before,))
        done(cluster, nested, 'UPDATE')
        assert (tag(cluster, stack_id), tag(cluster, nested) == before) == (above, False)
