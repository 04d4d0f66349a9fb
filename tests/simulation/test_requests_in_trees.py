"""Requests for a stack and for the one below it, at each moment of an action of a tree. All that was asked for ends."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db.tables import lease, signal, stack
from heatlite.engine.reconcile.request_keys import is_suspended
from heatlite.planning.states import Status
from heatlite.rpc import messages
from tests.simulation.cluster import done, strike, wait
from tests.simulation.test_nested import FILES, nested, values
from tests.simulation.test_requests_at_any_moment import REFUSED, ask_during

STRIDE = 29
REQUESTS = {
    'update': lambda each: messages.UpdateStack(stack_id=each, template=nested('meanwhile'), environment={},
                                                files=FILES),
    'delete': messages.DeleteStack,
    'roll back': lambda each: messages.CancelStack(each, rollback=True),
    'stop': lambda each: messages.CancelStack(each, rollback=False),
    **{action: lambda each, action=action: messages.StackAction(each, action)
       for action in ('check', 'suspend', 'resume')},
    'snapshot': lambda each: messages.SnapshotStack(each, 'meanwhile'),
}
LIVES = {
    'replaced': [('root', 'update'), ('root', 'stop')],
    'stopped and replaced': [('root', 'stop'), ('root', 'update')],
    'rolled back and replaced': [('root', 'roll back'), ('root', 'update')],
    'suspended below': [('nested', 'suspend'), ('root', 'check')],
    'stopped below': [('nested', 'stop'), ('root', 'update')],
    'deleted below': [('nested', 'delete'), ('root', 'suspend')],
    'deleted': [('root', 'stop'), ('root', 'delete')],
    'snapshot': [('root', 'stop'), ('root', 'snapshot')],
}


def live(place):
    """The ids of the stacks that are not deleted, the root first."""
    with place.database.reader() as tx:
        return list(tx.execute(sa.select(stack.c.id).where(stack.c.live == 1).order_by(stack.c.depth)).scalars())


def settle(place):
    """Run until no stack has work."""
    def is_settled():
        if place.universe.steps % 20:
            return False
        with place.database.reader() as tx:
            wanted = tx.execute(sa.select(sa.func.count()).where(lease.c.wanted == sa.true())).scalar()
            busy = tx.execute(sa.select(sa.func.count()).where(
                stack.c.live == 1, stack.c.status == Status.IN_PROGRESS)).scalar()
            signals = tx.execute(sa.select(sa.func.count()).select_from(signal)).scalar()
        return not (wanted or busy or signals)

    assert place.universe.run(is_settled, limit=5000), [place.row(each) for each in live(place)]


def interrupts(requests):
    """What `strike` does: the requests arrive one after the other at neighbouring visits of the database."""
    def blow(place, number):
        left = list(requests)

        def visited(label, runtime):
            if left and place.chaos.visits >= number and label != 'before a commit':
                target, request = left.pop(0)
                found = live(place)
                if len(found) > (target == 'nested'):
                    ask_during(place, REQUESTS[request](found[target == 'nested']))

        place.chaos.on_visit = visited

    return blow


def lived(place, disable_rollback):
    """An update of a tree fails at its end. Whatever else was requested, another one leads to its definition."""
    root = place.create('stack', nested('one'), files=FILES)
    done(place, root, 'CREATE')
    settle(place)
    place.chaos.enabled = True
    place.ask(messages.UpdateStack(stack_id=root, template=nested('two', fail_after=True), environment={}, files=FILES,
                                   disable_rollback=disable_rollback), allowed=REFUSED)
    settle(place)
    place.chaos.enabled = False
    wait(place, 2.0)
    settle(place)
    for each in live(place):
        if is_suspended(place.row(each)):
            place.ask(messages.StackAction(each, 'resume'), allowed=(exception.HeatException,))
            settle(place)
    if live(place):
        place.update(root, nested('later'), files=FILES)
        done(place, root, 'UPDATE')
        assert 'later' in values(place) and len(place.cloud.objects) == 3
        place.delete(root)
        place.until_deleted(root)
    settle(place)
    assert live(place) == [] and place.cloud.objects == {}


@pytest.mark.parametrize('disable_rollback', [True, False], ids=['failed', 'rolled back'])
@pytest.mark.parametrize('name', LIVES)
def test_a_tree_at_any_moment(name, disable_rollback):
    def life(place):
        lived(place, disable_rollback)

    assert strike(life, STRIDE, False, lambda chaos: chaos.visits, interrupts(LIVES[name]), lambda chaos: name,
                  engines=1) > STRIDE
