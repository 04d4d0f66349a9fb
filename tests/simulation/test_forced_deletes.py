"""Deletes that always end: whatever an object's delete does, in time, and with a list of what is left."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import forced_deletes, stacks, tables
from heatlite.engine import properties
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done, kill_engines_in

TIMEOUT = 60.0
SOON = {'engine.force_delete_timeout': TIMEOUT}
WHY = {'refuse': 'the service says no', 'hang': 'Its delete was not over in time.',
       'never': 'Its delete was not over in time.'}


class Stubborn(clouds.Thing):
    """A thing whose delete does what `how` says."""

    HOW = 'how'
    properties_schema = {**clouds.Thing.properties_schema, HOW: properties.Schema(properties.Schema.STRING)}

    def handle_delete(self):
        match self.properties[self.HOW]:
            case 'refuse':
                raise exception.Error('the service says no')
            case 'hang':
                self.runtime.sleep(10 * TIMEOUT)
            case 'never':
                return True
        super().handle_delete()
        return False

    def check_delete_complete(self, waits):
        return not waits


@pytest.fixture(autouse=True)
def stubborn(monkeypatch):
    monkeypatch.setattr(clouds, 'Thing', Stubborn)


def thing(how=None):
    return {'type': 'Sim::Thing', 'properties': {'value': 'v', **({'how': how} if how else {})}}


def template(how):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'it': thing(how), 'well': thing(), 'group': {
            'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 2, 'resource_def': thing(how)}}}}


def made(place, how):
    stack_id = place.create('s', template(how))
    done(place, stack_id, 'CREATE')
    return stack_id


def forced(place, stack_id):
    """How long a forced delete takes, in seconds, and what it leaves: {path: reason}."""
    began = place.universe.time
    place.ask(messages.ForceDeleteStack(stack_id))
    place.until_deleted(stack_id, 20 * TIMEOUT)
    return place.universe.time - began, left(place, stack_id)


def left(place, stack_id):
    with place.database.reader() as tx:
        found = forced_deletes.show(tx, stack_id)
    return {'/'.join(each.path): each.reason for each in found.left_behind or ()}


@pytest.mark.parametrize('how', WHY)
def test_a_forced_delete_ends_and_lists_what_is_left(how):
    with Cluster(**SOON) as place:
        stack_id = made(place, how)
        ids = {name: each['name'] for name, each in place.cloud.objects.items()}
        seconds, found = forced(place, stack_id)
        assert seconds <= TIMEOUT + 50.0
        assert set(found) == {'it', 'group/0', 'group/1'}
        assert all(WHY[how] in reason or 'Its delete' in reason for reason in found.values())
        assert WHY[how] in found['it']
        with place.database.reader() as tx:
            listed = {each.physical_resource_id for each in forced_deletes.show(tx, stack_id).left_behind}
        assert listed <= set(ids)
        if how != 'hang':                       # whose call ends some day
            assert listed == set(place.cloud.objects)


def unreadable(place, stack_id, table, column):
    """As with another key: nothing of that column can be decoded for the stack."""
    own = {tables.stack: tables.stack.c.id, tables.template: tables.template.c.stack_id,
           tables.resource: tables.resource.c.stack_id}[table]
    with place.database.writer() as tx:
        assert tx.execute(table.update().where(own == stack_id).values({column: '{"broken'})).rowcount


@pytest.mark.parametrize('table, column', [
    (tables.template, 'document'), (tables.stack, 'request'), (tables.resource, 'handle')],
    ids=lambda each: getattr(each, 'name', each))
def test_what_cannot_be_read_of_a_stack_costs_no_other_one_and_keeps_it_from_no_end(table, column):
    small = {'heat_template_version': '2018-08-31', 'resources': {'it': thing('refuse')}}
    with Cluster(engines=1, **{'engine.force_delete_timeout': 10.0}) as place:
        bad, good = sorted(place.create(name, small) for name in 'ab')      # in the order in which they are found
        for stack_id in (bad, good):
            done(place, stack_id, 'CREATE')
        place.ask(messages.ForceDeleteStack(bad))
        unreadable(place, bad, table, column)
        assert place.universe.run(lambda: is_left_by(place, bad), limit=20 * TIMEOUT)
        place.ask(messages.ForceDeleteStack(good))
        place.until_deleted(good, 20 * TIMEOUT)
        assert set(left(place, good)) == {'it'} and WHY['refuse'] in left(place, good)['it']
        assert place.universe.run(lambda: is_gone(place, bad), limit=20 * TIMEOUT)
        assert set(left(place, bad)) == {'it'}


def is_left_by(place, stack_id):
    with place.database.reader() as tx:
        return forced_deletes.is_decided(tx, stack_id)


def is_gone(place, stack_id):
    with place.database.reader() as tx:
        return stacks.identity(tx, stack_id).deleted_at is not None


def test_what_can_be_deleted_is_deleted_and_nothing_is_left():
    with Cluster(**SOON) as place:
        stack_id = made(place, None)
        seconds, found = forced(place, stack_id)
        assert found == {} and place.cloud.objects == {} and seconds < TIMEOUT


def test_a_delete_that_has_failed_is_forced_afterwards():
    with Cluster(**SOON) as place:
        stack_id = made(place, 'refuse')
        place.delete(stack_id)
        assert place.settle(stack_id).status == 'FAILED'
        _seconds, found = forced(place, stack_id)
        assert set(found) == {'it', 'group/0', 'group/1'}


@pytest.mark.parametrize('action', ['check', 'suspend', 'resume'])
def test_no_action_takes_its_place_when_it_has_failed(action):
    """Else a plain delete, weeks later, would leave its objects."""
    with Cluster(**SOON) as place:
        stack_id = made(place, 'refuse')
        place.ask(messages.ForceDeleteStack(stack_id))
        assert place.universe.run(lambda: place.row(stack_id).status == 'FAILED', limit=TIMEOUT)
        with pytest.raises(exception.NotSupported, match='being deleted'):
            place.ask(messages.StackAction(stack_id, action))
        place.until_deleted(stack_id, 20 * TIMEOUT)
        assert set(left(place, stack_id)) == {'it', 'group/0', 'group/1'}


def test_a_create_in_progress_is_forced_away():
    with Cluster(**SOON) as place:
        stack_id = place.create('s', template('never'))
        forced(place, stack_id)


def test_protections_and_locks_are_held_to():
    with Cluster(**SOON) as place:
        stack_id = made(place, 'refuse')
        place.ask(messages.SetProtections(stack_id, ({'path': 'it', 'deny': ['delete'], 'reason': ''},)))
        refused = place.ask(messages.ForceDeleteStack(stack_id), (exception.StackProtected,))
        assert isinstance(refused, exception.StackProtected)
        place.ask(messages.SetProtections(stack_id))
        place.ask(messages.LockStack(stack_id, 'maintenance'))
        assert isinstance(place.ask(messages.ForceDeleteStack(stack_id), (exception.StackLocked,)),
                          exception.StackLocked)
        assert len(place.cloud.objects) == 4 and done(place, stack_id, 'CREATE')


def test_what_is_released_stays():
    with Cluster(**SOON) as place:
        stack_id = made(place, 'refuse')
        objects = dict(place.cloud.objects)
        place.ask(messages.ReleaseStack(stack_id))
        place.until_deleted(stack_id, TIMEOUT)
        assert place.cloud.objects == objects
        assert left(place, stack_id) == dict.fromkeys(('it', 'well', 'group/0', 'group/1'), 'It was released.')
        assert not any(kind in ('update', 'delete') for kind, _name in place.cloud.calls)


def test_a_nested_stack_is_not_forced_alone():
    with Cluster(**SOON) as place:
        stack_id = made(place, 'refuse')
        nested = place.states(stack_id)['group'][0][2]
        assert isinstance(place.ask(messages.ForceDeleteStack(nested), (exception.HTTPBadRequest,)),
                          exception.HTTPBadRequest)


def test_it_ends_whenever_engines_die():
    def life(place):
        stack_id = made(place, 'refuse')
        _seconds, found = forced(place, stack_id)
        assert set(found) == {'it', 'group/0', 'group/1'}
        assert len(place.cloud.objects) == 3

    assert kill_engines_in(life, 61, **SOON) > 50


def test_a_stack_that_is_being_deleted_is_not_released():
    """What is being deleted may be gone already, so a list of what was released would not be true."""
    with Cluster(**SOON) as place:
        stack_id = made(place, 'never')
        place.ask(messages.ForceDeleteStack(stack_id))
        refused = place.ask(messages.ReleaseStack(stack_id), (exception.ActionInProgress,))
        assert isinstance(refused, exception.ActionInProgress)
        place.until_deleted(stack_id, 20 * TIMEOUT)
        assert set(left(place, stack_id).values()) == {WHY['never']}
