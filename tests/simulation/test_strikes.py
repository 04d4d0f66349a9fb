"""Which stacks are given up because engines end while they execute them, in virtual time."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.db import engines, leases
from heatlite.engine import properties, resource
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_crashes import template, thing


class Slow(resource.Resource):
    """Waits until it is told that it is ready."""

    ready = False

    def handle_create(self):
        self.resource_id_set(self.physical_resource_name())

    def find_existing(self):
        return self.physical_resource_name()

    def check_create_complete(self, _handle):
        return Slow.ready


class Poison(resource.Resource):
    """Kills its engine in the call that `place` names."""

    PROPERTIES = (PLACE,) = ('place',)
    properties_schema = {PLACE: properties.Schema(properties.Schema.STRING, update_allowed=True)}
    attributes_schema = {}
    kill = None

    def _at(self, place):
        if self.properties[self.PLACE] == place:
            Poison.kill(self.runtime)

    def handle_create(self):
        self._at('create')
        self.resource_id_set(self.physical_resource_name())

    def check_create_complete(self, _handle):
        self._at('check')
        return True

    def handle_signal(self, details=None):
        self._at('signal')

    def handle_delete(self):
        self._at('delete')

    def get_reference_id(self):
        self._at('reference')
        return self.name


class Place(Cluster):
    """Deaths are told, as by the parent of an engine's process."""

    def __init__(self, seed=0, **options):
        self.deaths = 0
        self.tells = True
        super().__init__(seed, **options)
        Slow.ready = False
        Poison.kill = self.kill

    def start_engine(self):
        runtime, service = super().start_engine()
        runtime.engine_id = service.engine_id
        service.registry.register('Sim::Slow', Slow)
        service.registry.register('Sim::Poison', Poison)
        return runtime, service

    def kill(self, runtime):
        self.chaos.enabled = True
        # By label: threads of other stacks may come to points of theirs first.
        self.chaos.kill_at = {('poison', self.chaos.counts['poison'] + 1)}
        self.chaos.point('poison', runtime)

    def _died(self, runtime):
        self.deaths += 1
        super()._died(runtime)
        if self.tells:
            self.user.spawn(self.tell, runtime)

    def tell(self, runtime):
        with self.database.writer() as tx:
            engines.remove_dead(tx, runtime.engine_id, runtime.died_for, self.user.now())


def poison(place, **more):
    return template({'bad': {'type': 'Sim::Poison', 'properties': {'place': place}, **more}})


def slow():
    return template({'slow': {'type': 'Sim::Slow'}})


@pytest.mark.parametrize('place', ['create', 'check'])
@pytest.mark.parametrize('seed', range(5))
def test_three_deaths_are_enough_and_the_others_go_on(place, seed):
    with Place(seed) as cluster:
        innocent = cluster.create('innocent', slow())
        bad = cluster.create('bad', poison(place))
        row = cluster.settle(bad)
        assert (row.action, row.status) == ('CREATE', 'FAILED')
        assert '3 engines ended' in row.reason
        assert cluster.deaths == 3
        assert {state[:2] for rows in cluster.states(bad).values() for state in rows} <= {
            ('CREATE', 'FAILED'), ('INIT', 'COMPLETE'), ('DELETE', 'FAILED')}
        wait(cluster, 30.0)
        Slow.ready = True
        done(cluster, innocent, 'CREATE')
        cluster.delete(bad)
        done(cluster, bad, 'DELETE')
        assert cluster.deaths == 3


def test_a_stack_that_waits_while_engines_die_of_others_has_no_strikes():
    with Place() as cluster:
        innocent = cluster.create('innocent', slow())
        for number in range(4):
            cluster.settle(cluster.create(f'bad{number}', poison('check')))
        assert cluster.deaths == 12
        with cluster.database.reader() as tx:
            assert leases.excessive_strikes(tx, innocent) == 0
        Slow.ready = True
        done(cluster, innocent, 'CREATE')


def test_engines_that_die_for_other_reasons_do_not_count():
    """Nobody was executing anything, as when a host is switched off between two polls."""
    with Place() as cluster:
        innocent = cluster.create('innocent', slow())
        for _ in range(6):
            wait(cluster, 10.5)
            for runtime, _service in list(cluster.engines):
                runtime.kill()
                cluster._died(runtime)
        Slow.ready = True
        done(cluster, innocent, 'CREATE')


def test_engines_that_are_stopped_in_order_do_not_count():
    with Place() as cluster:
        innocent = cluster.create('innocent', slow())
        for _ in range(6):
            wait(cluster, 5.0)
            runtime, service = cluster.engines.pop(0)
            runtime.spawn(service.stop)
            wait(cluster, 5.0)
            runtime.kill()
            cluster.start_engine()
        Slow.ready = True
        done(cluster, innocent, 'CREATE')
        with cluster.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT max(strikes) FROM lease').scalar() == 0


def test_each_request_has_three_tries():
    with Place() as cluster:
        bad = cluster.create('bad', poison('delete'))
        done(cluster, bad, 'CREATE')
        for number in (1, 2):
            cluster.delete(bad)
            row = cluster.settle(bad)
            assert (row.action, row.status, cluster.deaths) == ('DELETE', 'FAILED', 3 * number)


def test_what_shall_stay_does_not_keep_a_stack_from_being_deleted():
    with Place() as cluster:
        bad = cluster.create('bad', poison('delete'))
        done(cluster, bad, 'CREATE')
        cluster.update(bad, poison('delete', deletion_policy='retain'))
        done(cluster, bad, 'UPDATE')
        cluster.delete(bad)
        done(cluster, bad, 'DELETE')
        assert cluster.deaths == 0


def test_progress_between_deaths_gives_new_tries():
    """An engine that is killed again and again finishes a long stack all the same."""
    with Place() as cluster:
        stack_id = cluster.create('s', template({
            f'r{number}': thing(needs=[f'r{number - 1}'] if number else []) for number in range(12)}))
        for _ in range(8):
            made = len(cluster.cloud.objects)
            cluster.universe.run(lambda made=made: len(cluster.cloud.objects) > made + 1, limit=100.0)
            with cluster.database.writer() as tx:
                leases.strike(tx, stack_id)
        row = cluster.settle(stack_id)
        assert (row.action, row.status) == ('CREATE', 'COMPLETE'), row.reason


def test_a_signal_that_ends_engines_is_dropped():
    with Place() as cluster:
        bad = cluster.create('bad', poison('signal'))
        done(cluster, bad, 'CREATE')
        cluster.ask(messages.SignalResource(bad, 'bad', {}), (exception.HeatException,))
        cluster.universe.run(lambda: cluster.deaths >= 3, limit=200.0)
        wait(cluster, 20.0)
        row = cluster.settle(bad)
        assert (row.action, row.status, cluster.deaths) == ('CREATE', 'FAILED', 3)
        with cluster.database.reader() as tx:
            assert tx.exec_driver_sql('SELECT count(*) FROM signal').scalar() == 0
        cluster.delete(bad)
        done(cluster, bad, 'DELETE')
