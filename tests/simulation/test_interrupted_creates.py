"""A create or adoption that is interrupted in any phase ends as one that is not, if the request is still the same."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine import resource
from tests.simulation import cloud
from tests.simulation.cluster import Cluster, wait
from tests.simulation.test_away import Shaky, refused
from tests.simulation.test_hooks import breakpoint_at, clear, held

PHASES = [('create', 1), ('created', 1), ('poll', 1), ('poll', 2)]     # of a type that finds its object by the name
KEPT = {'resource_registry': {'resources': {'b': {'restricted_actions': 'replace'}}}}


class Once(cloud.Thing):
    """The first check after the object is ready fails: with an error of the object, or for good."""

    def check_create_complete(self, handle):
        if not super().check_create_complete(handle):
            return False
        if cloud.CLOUD.failures:
            raise cloud.CLOUD.failures.pop()
        return True


class Nameless(resource.Resource):
    """Cannot find its object."""

    def handle_create(self):
        self.resource_id_set(cloud.CLOUD.create(self.runtime, self.name, ''))
        cloud.CLOUD.chaos.point('known', self.runtime)

    def handle_delete(self):
        if self.resource_id is not None:
            cloud.CLOUD.delete(self.runtime, self.resource_id)


class Given(cloud.Thing):
    """Its first adoption that is asked for to the end fails."""

    def handle_adopt(self, resource_data=None):
        cloud.CLOUD.chaos.point('adopt', self.runtime)
        if cloud.CLOUD.failures:
            raise cloud.CLOUD.failures.pop()
        return super().handle_adopt(resource_data)


@pytest.fixture(autouse=True)
def _types(monkeypatch):
    types = {**cloud.resource_mapping(), 'Sim::Once': Once, 'Sim::Nameless': Nameless, 'Sim::Given': Given,
             'Sim::Shaky': Shaky}
    monkeypatch.setattr(cloud, 'resource_mapping', lambda: types)       # also for engines that start later


def prepared(killed_at, failures=(), **options):
    """A cluster whose engine dies at that point; None: at none."""
    cluster = Cluster(engines=1, **options)
    cluster.cloud.failures = list(failures)
    cluster.cloud.now = lambda: cluster.universe.time
    cluster.cloud.away_until, cluster.cloud.tries, cluster.cloud.failure = 0, 0, refused
    cluster.chaos.begin([killed_at] if killed_at else [])
    return cluster


def template(kind='Sim::Thing', **more):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'b': {'type': kind}, 'c': {'type': 'Sim::Thing', 'depends_on': 'b'}, **more}}


def lines(cluster, stack_id):
    """The history without repetitions: of lines that a new owner writes again, and of retries."""
    return {(name, action, status) for name, action, status, _reason in cluster.events(stack_id)}


def ended(cluster, stack_id):
    """How a request has ended: the stack, its resources, and how many objects there are."""
    row = cluster.settle(stack_id)
    states = {name: [state[:2] for state in rows] for name, rows in cluster.states(stack_id).items()}
    return row.status, row.reason, states, lines(cluster, stack_id), len(cluster.cloud.objects)


def compared(life, phases, **options):
    """Compare the end of `life(cluster)` in a cluster whose engine dies in a phase with that in one which lives."""
    with prepared(None, **options) as cluster:
        expected = life(cluster)
    for phase in phases:
        with prepared(phase, **options) as cluster:
            found = life(cluster)
            assert cluster.chaos.killed, phase
            assert found == expected, phase
    return expected


@pytest.mark.parametrize('phase', PHASES)
def test_the_breakpoint_behind_the_create_holds(phase):
    with prepared(phase) as cluster:
        stack_id = cluster.create('s', template(), breakpoint_at('post-create'))
        assert cluster.universe.run(lambda: held(cluster, stack_id) == ['post-create'], limit=200)
        assert cluster.chaos.killed
        wait(cluster, 30.0)
        assert cluster.row(stack_id).status == 'IN_PROGRESS' and 'c' not in {
            name for name, rows in cluster.states(stack_id).items() if rows[0][0] != 'INIT'}
        clear(cluster, stack_id, 'post-create')
        assert ended(cluster, stack_id)[0] == 'COMPLETE'
        told = [why for _name, _action, _status, why in cluster.events(stack_id) if 'Hook' in why]
        assert len(told) == 2, told


def test_a_resource_that_an_update_makes_is_not_held_as_one_that_it_changes():
    def life(cluster):
        stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {}})
        cluster.settle(stack_id)
        cluster.update(stack_id, template(), breakpoint_at('pre-update'))
        return ended(cluster, stack_id)

    assert compared(life, PHASES)[0] == 'COMPLETE'


@pytest.mark.parametrize('phase', PHASES)
def test_a_service_that_is_away_is_waited_for(phase):
    def away(cluster):
        if cluster.chaos.killed and not cluster.cloud.away_until:
            cluster.cloud.away_until = cluster.universe.time + 60
        return cluster.cloud.away_until and cluster.universe.time > cluster.cloud.away_until

    with prepared(phase) as cluster:
        stack_id = cluster.create('s', template('Sim::Shaky'))
        assert cluster.universe.run(lambda: away(cluster), limit=200)
        status, reason, states, _lines, objects = ended(cluster, stack_id)
        assert (status, objects, [len(rows) for rows in states.values()]) == ('COMPLETE', 2, [1, 1]), (reason, states)
        assert len(cluster.cloud.made) == 2 and cluster.cloud.tries > 1


def in_error():
    return exception.ResourceInError(resource_status='ERROR', status_reason='No valid host was found.')


@pytest.mark.parametrize(('failure', 'status'), [(in_error, 'COMPLETE'), (lambda: exception.Error('no'), 'FAILED')])
@pytest.mark.parametrize('phase', PHASES)
def test_an_object_in_error_is_made_again_and_other_failures_are_final(phase, failure, status):
    def life(cluster):
        return ended(cluster, cluster.create('s', template('Sim::Once'), KEPT))

    assert compared(life, [phase], failures=[failure()])[0] == status


@pytest.mark.parametrize('action', ['create', 'update'])
def test_an_unfinished_object_that_cannot_be_found_is_made_anew_under_its_row(action):
    """Although the resource must not be replaced."""
    with prepared(('known', 1)) as cluster:
        if action == 'create':
            stack_id = cluster.create('s', template('Sim::Nameless'), KEPT)
        else:
            stack_id = cluster.create('s', {'heat_template_version': '2018-08-31', 'resources': {}})
            cluster.settle(stack_id)
            cluster.update(stack_id, template('Sim::Nameless'), KEPT)
        status, reason, states, _lines, objects = ended(cluster, stack_id)
        assert cluster.chaos.killed
        assert (status, objects) == ('COMPLETE', 2), reason
        assert states['b'] == [('CREATE', 'COMPLETE')]
        assert [entry[1:3] for entry in cluster.events(stack_id) if entry[0] == 'b'] == [
            ('CREATE', 'IN_PROGRESS'), ('DELETE', 'IN_PROGRESS'), ('DELETE', 'COMPLETE'), ('CREATE', 'IN_PROGRESS'),
            ('CREATE', 'COMPLETE')]


@pytest.mark.parametrize('phase', [('create', 1), ('created', 1)])
def test_a_create_of_which_nothing_is_known_has_failed_and_is_replaced(phase):
    with prepared(phase) as cluster:
        stack_id = cluster.create('s', template('Sim::Nameless'))
        status, reason, states, _lines, _objects = ended(cluster, stack_id)
        assert (status, states['b']) == ('COMPLETE', [('CREATE', 'COMPLETE')]), reason
        assert 'Engine went down during resource CREATE' in {entry[3] for entry in cluster.events(stack_id)}


@pytest.mark.parametrize('failures', [(), ['no']])
def test_an_adoption(failures):
    given = {'resources': {name: {'resource_id': f'obj-{name}', 'status': 'COMPLETE', 'action': 'CREATE'}
                           for name in 'bc'}}

    def life(cluster):
        return ended(cluster, cluster.create('s', template('Sim::Given'), adopt=given))

    expected = compared(life, [('adopt', 1)], failures=[exception.Error(each) for each in failures],
                        enable_stack_adopt=True)
    assert expected[0] == ('FAILED' if failures else 'COMPLETE')


class Watched(cloud.Thing):
    def handle_check(self):
        cloud.CLOUD.chaos.point('check', self.runtime)
        super().handle_check()


@pytest.mark.parametrize('exists', [True, False])
def test_an_object_that_the_template_names_is_checked(exists, monkeypatch):
    types = {**cloud.resource_mapping(), 'Sim::Watched': Watched}
    monkeypatch.setattr(cloud, 'resource_mapping', lambda: types)

    def life(cluster):
        if exists:
            cluster.cloud.objects['theirs'] = {'name': 'theirs', 'value': '', 'polls': 2}
        wanted = template('Sim::Watched')
        wanted['resources']['b']['external_id'] = 'theirs'
        return ended(cluster, cluster.create('s', wanted))

    assert compared(life, [('check', 1)])[0] == ('COMPLETE' if exists else 'FAILED')
