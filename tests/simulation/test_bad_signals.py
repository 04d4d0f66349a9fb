"""A signal that cannot be handled ends with an error. It costs its stack nothing: not its actions, not its deletion."""

from __future__ import annotations

import re

import pytest

from heatlite.common import crypt, exception
from heatlite.db import codec, signals, tables
from heatlite.rpc import messages
from heatlite.rpc.slots import Slots
from tests.simulation import cloud as clouds
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_outages import Slow
from tests.simulation.test_signals import pending, signal, until


class Unprintable(Exception):
    """As those of some libraries: the error has no text."""

    def __str__(self):
        return None


class NotMade(clouds.Thing):
    """Once it is broken, no object of it can be made."""

    is_broken = False

    def __init__(self, *arguments):
        if self.is_broken:
            raise RuntimeError('not with this version')
        super().__init__(*arguments)


class WithoutText(clouds.Thing):
    is_broken = False

    def handle_signal(self, details=None):
        if self.is_broken:
            raise Unprintable


class WithoutName(clouds.Thing):
    """Refuses signals, and cannot be named for the event about that."""

    is_broken = False

    def handle_signal(self, details=None):
        self.resource_id_set(None)
        raise exception.StackLocked(stack_name='s')

    def physical_resource_name(self):
        if self.is_broken:
            raise RuntimeError('no name')
        return super().physical_resource_name()


class Unstorable(clouds.Thing):
    """No database stores the id that it has from its signals."""

    is_broken = False

    def handle_signal(self, details=None):
        if self.is_broken:
            self.resource_id_set('\ud800')


class Unread(clouds.Thing):
    """Takes its signals; it cannot be read then."""

    is_broken = False

    def handle_signal(self, details=None):
        pass

    def get_reference_id(self):
        if self.is_broken:
            raise RuntimeError('no reference')
        return super().get_reference_id()


class NotUpdated(Unread):
    """Takes its signals, but there is no telling whether it wants the metadata of others."""

    def get_reference_id(self):
        return self.name

    def metadata_update(self, new_metadata=None):
        raise RuntimeError('no metadata')


class Hanging(clouds.Thing):
    """Its handler does not return. `stays`: it does, long after it was ended."""

    stays = False
    parallel_signals = False
    taken = []

    def handle_signal(self, details=None):
        try:
            if details is None:
                self.runtime.sleep(1e6)
        except BaseException:
            if not self.stays:
                raise
            self.runtime.sleep(1.0)
        self.taken.append(details)


class HangingBeside(Unread):
    """Never takes the metadata of others."""

    def get_reference_id(self):
        return self.name

    def metadata_update(self, new_metadata=None):
        self.runtime.sleep(1e6)


KINDS = (NotMade, WithoutText, WithoutName, Unread, NotUpdated)


@pytest.fixture(autouse=True)
def types(monkeypatch):
    found = {**clouds.resource_mapping(), 'Bad::Slow': Slow,
             **{f'Bad::{kind.__name__}': kind for kind in (*KINDS, Unstorable, Hanging, HangingBeside)}}
    monkeypatch.setattr(clouds, 'resource_mapping', lambda: found)       # also for engines that start later


def template(kind, **more):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'target': {'type': f'Bad::{kind.__name__}'}, **more}}


def is_free(cluster, stack_id):
    with cluster.database.reader() as tx:
        return tx.exec_driver_sql('SELECT engine_id, wanted FROM lease WHERE stack_id = ?',
                                  (stack_id,)).one_or_none() in (None, (None, 0))


@pytest.mark.parametrize('kind', KINDS)
def test_the_action_of_the_stack_goes_on(kind, monkeypatch):
    follower = {'type': 'Bad::NotUpdated', 'metadata': {'of': {'get_resource': 'target'}}}
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template(kind, follower=follower, slow={'type': 'Bad::Slow'}))
        until(cluster, stack_id, 'target', ('CREATE', 'COMPLETE'))
        until(cluster, stack_id, 'follower', ('CREATE', 'COMPLETE'))
        monkeypatch.setattr(kind, 'is_broken', True)
        signal(cluster, stack_id, 'target', {'word': 'w'})
        assert cluster.universe.run(lambda: not pending(cluster), limit=20)
        done(cluster, stack_id, 'CREATE')
        assert cluster.cloud.made.count('slow') == 1 and len(reloads(cluster)) == 0


def reloads(cluster):
    """The leases that changed hands."""
    with cluster.database.reader() as tx:
        return tx.exec_driver_sql('SELECT stack_id FROM lease WHERE epoch > 1').all()


@pytest.mark.parametrize('kind', [*KINDS, Unstorable])
def test_the_stack_is_free_again_and_can_be_deleted(kind, monkeypatch):
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(kind))
        done(cluster, stack_id, 'CREATE')
        monkeypatch.setattr(kind, 'is_broken', True)
        for _ in range(3):
            signal(cluster, stack_id, 'target', {'word': 'w'})
        assert cluster.universe.run(lambda: not pending(cluster), limit=60)
        assert cluster.universe.run(lambda: is_free(cluster, stack_id), limit=60)
        assert cluster.row(stack_id).status == 'COMPLETE'
        signal(cluster, stack_id, 'target', {'word': 'w'})
        monkeypatch.setattr(kind, 'is_broken', kind not in (NotMade, WithoutName))
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id, limit=100)


def test_a_type_that_was_removed():
    """Its sender gets the reason, and the stack is free again."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(Unread))
        done(cluster, stack_id, 'CREATE')
        for _runtime, service in cluster.engines:
            service.registry.load_environment({'resource_registry': {'Bad::Unread': None}})
        answer = signal(cluster, stack_id, 'target', {'word': 'w'}, wait=True,
                        allowed=(exception.StackValidationFailed,))
        assert 'Bad::Unread' in str(answer)
        assert not pending(cluster)
        assert cluster.universe.run(lambda: is_free(cluster, stack_id), limit=60)


def test_what_was_written_for_a_signal_and_cannot_be_stored(monkeypatch):
    with Cluster() as cluster:
        stack_id = cluster.create('s', template(Unstorable))
        done(cluster, stack_id, 'CREATE')
        monkeypatch.setattr(Unstorable, 'is_broken', True)
        answer = signal(cluster, stack_id, 'target', {'word': 'w'}, wait=True, allowed=(exception.Error,))
        assert 'target has written' in str(answer)


def stored_unreadable(cluster, stack_id, column, text):
    """Store a signal of which a column cannot be decoded: it is from a backup of a time with another key, perhaps."""
    with cluster.database.writer() as tx:
        number = signals.insert(tx, stack_id, 'target', {'word': 'lost'}, cluster.user.now(), {'request_id': 'r'})
        tx.execute(tables.signal.update().where(tables.signal.c.id == number).values({column: text}))


@pytest.mark.parametrize('column, text', [
    ('details', '{"broken'), ('details', crypt.seal('{}', 'o' * 32)), ('request', '{"broken')],
    ids=['details', 'sealed details', 'request'])
def test_a_signal_that_cannot_be_read_costs_only_itself(column, text):
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'target': {'type': 'Sim::Thing'}}})
        done(cluster, stack_id, 'CREATE')
        stored_unreadable(cluster, stack_id, column, text)
        signal(cluster, stack_id, 'target', {'word': 'heard'})
        assert cluster.universe.run(lambda: not pending(cluster), limit=60)
        assert cluster.cloud.heard == ({'heard', 'lost'} if column == 'request' else {'heard'})
        assert cluster.row(stack_id).status == 'COMPLETE'
        assert cluster.universe.run(lambda: is_free(cluster, stack_id), limit=60)
        with cluster.database.reader() as tx:
            errors = [codec.decode(each) for each in tx.execute(tables.signal_error.select().with_only_columns(
                tables.signal_error.c.error)).scalars()]
        assert ['cannot be read' in str(each) for each in errors] == [True] * (column == 'details')
        stored_unreadable(cluster, stack_id, column, text)
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id, limit=100)


@pytest.mark.parametrize('stays', [False, True])
@pytest.mark.parametrize('parallel', [False, True])
def test_a_handler_that_hangs_fails_its_signal_and_no_other(monkeypatch, parallel, stays):
    """Within the timeout of an action of the stack."""
    monkeypatch.setattr(Hanging, 'taken', [])
    monkeypatch.setattr(Hanging, 'parallel_signals', parallel)
    monkeypatch.setattr(Hanging, 'stays', stays)
    with Cluster(engines=1, stack_action_timeout=5) as cluster:
        stack_id = cluster.create('s', template(Hanging))
        done(cluster, stack_id, 'CREATE')
        signal(cluster, stack_id, 'target')
        signal(cluster, stack_id, 'target', {'word': 'w'})
        assert cluster.universe.run(lambda: not pending(cluster), limit=20)
        wait(cluster, 3.0)
        assert Hanging.taken == [{'word': 'w'}, *[None] * stays]
        failed = ('target', 'SIGNAL', 'COMPLETE',
                  'The signal was refused: The handler of the signal did not return within 5 seconds.')
        assert cluster.events(stack_id).count(failed) == 1
        assert cluster.universe.run(lambda: is_free(cluster, stack_id), limit=60)
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id, limit=100)


def test_a_refresh_that_hangs_ends():
    beside = {'type': 'Bad::HangingBeside', 'metadata': {'of': {'get_resource': 'target'}}}
    with Cluster(engines=1, stack_action_timeout=5) as cluster:
        stack_id = cluster.create('s', template(NotUpdated, beside=beside))
        done(cluster, stack_id, 'CREATE')
        for word in 'vw':
            signal(cluster, stack_id, 'target', {'word': word})
        assert cluster.universe.run(lambda: not pending(cluster), limit=60)
        assert cluster.universe.run(lambda: is_free(cluster, stack_id), limit=60)


def test_requests_that_wait_for_a_slow_handler_hold_no_slots():
    with Cluster(engines=1, stack_action_timeout=5) as cluster:
        stack_id = cluster.create('s', template(Hanging))
        done(cluster, stack_id, 'CREATE')
        (runtime, service), = cluster.engines
        shared, ended = Slots(runtime, 16), []          # one slot

        def request():
            try:
                with shared.taken(cluster.context, 60):
                    service.endpoint.handle(cluster.context, messages.SignalResource(stack_id, 'target', None, True))
            except exception.Error as error:
                ended.append(str(error))

        for _ in range(2):
            runtime.spawn(request)
        assert cluster.universe.run(lambda: pending(cluster) == 2 and not shared._taken, limit=4)
        assert not ended
        assert cluster.universe.run(lambda: len(ended) == 2, limit=60)
        assert all('did not return within 5 seconds' in each for each in ended)


def test_signals_that_wait_are_read_once_however_many_arrive(monkeypatch):
    decode, read = codec.decode, []

    def note(text):
        value = decode(text)
        if isinstance(value, dict) and 'large' in value:
            read.append(value['large'])
        return value

    monkeypatch.setattr(codec, 'decode', note)
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template(Hanging))
        done(cluster, stack_id, 'CREATE')
        signal(cluster, stack_id, 'target')
        for number in range(10):
            signal(cluster, stack_id, 'target', {'large': number})
        assert cluster.universe.run(lambda: len(read) >= 10, limit=60)
        wait(cluster, 5.0)
        assert read == list(range(10))


def test_a_runner_that_is_woken_many_times_at_once_looks_once(monkeypatch):
    monkeypatch.setattr(Hanging, 'parallel_signals', True)
    monkeypatch.setattr(Hanging, 'taken', [])
    with Cluster(engines=1, interleaved=False) as cluster:
        stack_id = cluster.create('s', template(Hanging))
        done(cluster, stack_id, 'CREATE')
        signal(cluster, stack_id, 'target')
        wait(cluster, 1.0)
        (runtime, service), = cluster.engines

        def wake():
            for _ in range(50):
                service.controller.wake(stack_id)

        with statements.noted(re.compile('SELECT signal.id').match) as seen:
            runtime.spawn(wake)
            wait(cluster, 1.0)
        assert 1 <= len(seen) <= 3          # sweeps look, too
        signal(cluster, stack_id, 'target', {'word': 'later'})
        assert cluster.universe.run(lambda: Hanging.taken, limit=60)
