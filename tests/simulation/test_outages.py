"""A short outage of the database while the runner of a stack itself needs it."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db.errors import TakesNoWrites
from heatlite.engine import resource
from heatlite.engine.reconcile import step_calls
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done, lose_database_in, wait
from tests.simulation.test_signals import pending, signal, until


class Slow(resource.Resource):
    """Its create takes long, and nothing but its handle tells what became of it."""

    def handle_create(self):
        clouds.CLOUD.made.append(self.name)
        self.runtime.sleep(30.0)
        return {'made': True}

    def check_create_complete(self, handle):
        assert handle == {'made': True}
        return True


@pytest.fixture(autouse=True)
def types(monkeypatch):
    found = {**clouds.resource_mapping(), 'Sim::Slow': Slow, 'Sim::Asked': Asked, 'Sim::Outage': Outage,
             'Sim::Refused': Refused, 'Sim::FullDisk': FullDisk}
    monkeypatch.setattr(clouds, 'resource_mapping', lambda: found)       # also for engines that start later


def template(kind):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'target': {'type': kind}, 'slow': {'type': 'Sim::Slow'}}}


class Asked(clouds.Thing):
    """A service keeps its attribute `show`, so it is read when another resource needs it. It is read from the database,
    as the attributes of nested stacks are."""

    default_client_name = 'nova'
    outages = 0

    @classmethod
    def is_service_available(cls, context):
        return True, None

    def get_attribute(self, key, *path):
        if Asked.outages:
            Asked.outages -= 1
            raise exception.DatabaseUnavailable(reason='away')
        return 'shown'


def test_a_definition_that_cannot_be_resolved_yet(monkeypatch):
    """The step waits. It has no error, and stores its definition with its intent."""
    monkeypatch.setattr(Asked, 'outages', 5)
    with Cluster(engines=1, seal=None) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'asked': {'type': 'Sim::Asked'},
            'thing': {'type': 'Sim::Thing', 'properties': {'value': {'get_attr': ['asked', 'show']}}}}})
        done(cluster, stack_id, 'CREATE')
        assert not Asked.outages
        assert [each['value'] for each in cluster.cloud.objects.values()] == ['', 'shown']
        with cluster.database.reader() as tx:
            stored = tx.exec_driver_sql("SELECT properties FROM resource WHERE name = 'thing'").scalar_one()
        assert 'shown' in str(stored)
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)


class Outage(clouds.Thing):
    """The database is away while its handler is at work for the first time."""

    seen: list[str | None] = []

    def handle_signal(self, details=None):
        self.seen.append(self.resource_id)
        self.resource_id_set(f'id-{len(self.seen)}')
        self.state_set('UPDATE', 'FAILED', 'half')
        if len(self.seen) == 1:
            raise exception.DatabaseUnavailable(reason='away')
        self.state_set('CREATE', 'COMPLETE', 'whole')


def test_the_database_is_away_in_a_handler():
    """It is called again, and finds nothing of what it has not stored; the steps of the stack go on meanwhile."""
    Outage.seen.clear()
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template('Sim::Outage'))
        until(cluster, stack_id, 'target', ('CREATE', 'COMPLETE'))
        signal(cluster, stack_id, 'target')
        done(cluster, stack_id, 'CREATE')
        assert Outage.seen == ['obj-1', 'obj-1'] and not pending(cluster)
        assert cluster.states(stack_id)['target'] == [('CREATE', 'COMPLETE', 'id-2')]
        assert cluster.cloud.made.count('slow') == 1


class Refused(clouds.Thing):
    """Stores what the database refuses each time, as MariaDB a value larger than its largest packet."""

    tries = 0

    def handle_create(self):
        Refused.tries += 1
        raise exception.DatabaseUnavailable(reason='Lost connection to MySQL server during query at 10.1.2.3')


def test_what_the_database_refuses_while_it_accepts_other_writes_fails_its_step(monkeypatch):
    monkeypatch.setattr(Refused, 'tries', 0)
    with Cluster(engines=1, seal=None) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'large': {'type': 'Sim::Refused'}, 'other': {'type': 'Sim::Thing'}}})
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert 'the database refuses what it stores' in row.reason and '10.1.2.3' not in row.reason
        assert Refused.tries <= step_calls.REFUSALS
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)


class FullDisk(clouds.Thing):
    """The database has no space for what it stores, while it accepts writes that need none."""

    outages = 0

    def handle_create(self):
        if FullDisk.outages:
            FullDisk.outages -= 1
            raise TakesNoWrites(reason='disk full')
        return super().handle_create()


def test_a_step_waits_for_space_in_the_database(monkeypatch):
    monkeypatch.setattr(FullDisk, 'outages', 3 * step_calls.REFUSALS)
    with Cluster(engines=1, seal=None) as cluster:
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'large': {'type': 'Sim::FullDisk'}, 'other': {'type': 'Sim::Thing'}}})
        done(cluster, stack_id, 'CREATE')
        assert not FullDisk.outages
        cluster.delete(stack_id)
        cluster.until_deleted(stack_id)


def signalled(cluster):
    stack_id = cluster.create('s', template('Sim::Thing'))
    until(cluster, stack_id, 'target', ('CREATE', 'COMPLETE'))
    until(cluster, stack_id, 'slow', ('CREATE', 'IN_PROGRESS'))
    cluster.chaos.enabled = True
    signal(cluster, stack_id, 'target', {'word': 'w'})
    assert cluster.universe.run(lambda: not pending(cluster), limit=100)
    wait(cluster, 1.0)
    cluster.chaos.enabled = False
    done(cluster, stack_id, 'CREATE')
    assert cluster.cloud.made.count('slow') == 1 and cluster.cloud.heard == {'w'}


def test_the_database_is_away_at_any_time_of_a_signal():
    """No call under way loses its result: nothing but that tells what has become of it."""
    assert lose_database_in(signalled, 1, from_the_start=False, engines=1) > 10
