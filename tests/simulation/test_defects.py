"""What a plug-in, or we, get wrong costs its own stack and no other."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import pytest

from heatlite.common import metrics
from heatlite.engine import properties
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done


class Hoarder(clouds.Thing):
    """Keeps what no database can keep."""

    def handle_create(self):
        self.data_set('treasure', {'a': {'map'}})

    def check_create_complete(self, handle):
        return True


def test_what_cannot_be_stored_fails_its_resource():
    with Cluster() as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Hoarder', Hoarder)
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {
            'hoard': {'type': 'Sim::Hoarder'}}})
        other = cluster.create('o', {'heat_template_version': '2018-08-31', 'resources': {'a': {'type': 'Sim::Thing'}}})
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert row.reason == 'Resource CREATE failed: TypeError: resources.hoard: ' \
            'Data "treasure" of a resource must be text, not dict'
        assert cluster.settle(other).status == 'COMPLETE'
        cluster.delete(stack_id)
        assert cluster.settle(stack_id).status == 'COMPLETE'


class BadId(clouds.Thing):
    """No database stores the id of its object: the call that has made it waits for the journal."""

    def handle_create(self):
        self.resource_id_set('\ud800')


class BadName(clouds.Thing):
    """Has no id. No database stores its name, which is in the event of its update: the intent waits for the journal."""

    VALUE = 'value'
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, update_allowed=True)}
    is_broken = False

    def handle_create(self):
        pass

    def check_create_complete(self, handle):
        return True

    def physical_resource_name(self):
        return '\ud800' if self.is_broken else super().physical_resource_name()


def single(kind, **properties):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'a': {'type': f'Sim::{kind.__name__}', 'properties': properties}}}


def create(cluster, monkeypatch):
    return cluster.create('s', single(BadId))


def update(cluster, monkeypatch):
    stack_id = cluster.create('s', single(BadName, value='1'))
    done(cluster, stack_id, 'CREATE')
    monkeypatch.setattr(BadName, 'is_broken', True)
    cluster.update(stack_id, single(BadName, value='2'))
    return stack_id


@contextmanager
def other_threads_run_at_lines_of(name, runtime):
    """As with lines that are sent through a socket."""
    def wait(record):
        runtime.sleep(0.1)
        return True

    logger = logging.getLogger(name)
    logger.addFilter(wait)
    try:
        yield
    finally:
        logger.removeFilter(wait)


@pytest.mark.parametrize('act', [create, update])
def test_a_change_that_cannot_be_stored_takes_the_stack_from_no_engine(act, monkeypatch, caplog):
    with Cluster(engines=1) as cluster:
        (runtime, service), lost = cluster.engines[0], metrics.leases_lost._value.get()
        for kind in (BadId, BadName):
            service.registry.register(f'Sim::{kind.__name__}', kind)
        with other_threads_run_at_lines_of('heatlite.engine.reconcile.runners', runtime):
            row = cluster.settle(act(cluster, monkeypatch), limit=200.0)
        assert (row.status, row.reason.partition(';')[0]) == ('FAILED', 'Internal error: DBInvalidUnicodeParameter')
        assert metrics.leases_lost._value.get() == lost
        assert 'belongs to another engine' not in caplog.text
