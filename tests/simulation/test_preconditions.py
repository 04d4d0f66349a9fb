"""Requests with the same tag that arrive at once: exactly one is accepted, whatever the order in which threads run."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.planning import definition_tags
from heatlite.rpc import messages
from tests.simulation import stores
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_unchanged import flat

SEEDS = 20


def race(cluster, requests):
    """Send all messages at once, each to an engine of its own. The answer or the error of each."""
    found = [None] * len(requests)

    def ask(number, service, message):
        try:
            found[number] = service.endpoint.handle(cluster.context, message)
        except exception.HeatException as error:
            found[number] = error

    for number, message in enumerate(requests):
        runtime, service = cluster.engines[number % len(cluster.engines)]
        runtime.spawn(ask, number, service, message)
        found[number] = cluster
    assert cluster.universe.run(lambda: cluster not in found), found
    return found


def updates(stack_id, if_match):
    return [messages.UpdateStack(stack_id=stack_id, template=flat(value), if_match=if_match)
            for value in ('two', 'three')]


@pytest.mark.parametrize('store', stores.AVAILABLE)
def test_of_two_updates_with_one_tag_one_is_accepted(store):
    winners = set()
    for seed in range(SEEDS):
        with Cluster(seed, storage=stores.storage(store)) as cluster:
            stack_id = cluster.create('s', flat())
            done(cluster, stack_id, 'CREATE')
            tag = definition_tags.of(cluster.row(stack_id))
            found = race(cluster, updates(stack_id, (tag,)))
            refused = [isinstance(each, exception.PreconditionFailed) for each in found]
            assert sorted(refused) == [False, True], (seed, found)
            winner = refused.index(False)
            winners.add(winner)
            row = done(cluster, stack_id, 'UPDATE')
            assert found[winner][messages.DEFINITION_TAG] == definition_tags.of(row) != tag
            assert (row.generation, row.revision) == (2, 2)
            assert next(each['value'] for each in cluster.cloud.objects.values()) == ('two', 'three')[winner], seed
    assert winners == {0, 1}


def test_without_a_tag_both_are_accepted():
    with Cluster() as cluster:
        stack_id = cluster.create('s', flat())
        done(cluster, stack_id, 'CREATE')
        assert not [each for each in race(cluster, updates(stack_id, None)) if isinstance(each, Exception)]
        assert done(cluster, stack_id, 'UPDATE').revision == 3


@pytest.mark.parametrize('store', stores.AVAILABLE)
def test_an_update_and_a_delete_with_one_tag(store):
    """A delete that comes first has the update refused, as any update of a stack that is being deleted."""
    firsts = set()
    for seed in range(SEEDS):
        with Cluster(seed, storage=stores.storage(store)) as cluster:
            stack_id = cluster.create('s', flat())
            done(cluster, stack_id, 'CREATE')
            tag = (definition_tags.of(cluster.row(stack_id)),)
            updated, deleted = race(cluster, [updates(stack_id, tag)[0], messages.DeleteStack(stack_id, tag)])
            assert isinstance(updated, Exception) != isinstance(deleted, Exception), (seed, updated, deleted)
            if deleted is None:
                assert isinstance(updated, exception.NotSupported | exception.EntityNotFound), updated
                cluster.until_deleted(stack_id)
            else:
                assert isinstance(deleted, exception.PreconditionFailed)
                done(cluster, stack_id, 'UPDATE')
            firsts.add(deleted is None)
    assert firsts == {True, False}


@pytest.mark.parametrize('if_match', [None, ('other',)])
def test_a_stack_of_another_project_is_not_found(if_match):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', flat())
        done(cluster, stack_id, 'CREATE')
        cluster.context.project_id, cluster.context.is_admin = 'other', False
        for message in (messages.UpdateStack(stack_id=stack_id, template=flat(), if_match=if_match),
                        messages.DeleteStack(stack_id, if_match)):
            with pytest.raises(exception.EntityNotFound):
                cluster.ask(message)
