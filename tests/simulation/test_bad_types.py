"""What a bad type does to others: one that raises, one that hangs, one that leaks."""

from __future__ import annotations

import gc

import pytest

from heatlite.engine import properties, resource
from heatlite.engine.reconcile import stack_loader
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, wait

KEPT: list[resource.Resource] = []


class Raising(resource.Resource):
    def handle_create(self):
        raise KeyError('watts')


class Hanging(resource.Resource):
    def handle_create(self):
        self.runtime.flag().wait()


class Leaking(resource.Resource):
    def handle_create(self):
        KEPT.append(self)


class Unprintable(Exception):
    def __str__(self):
        return None


class WithoutText(resource.Resource):
    """Its error has no text, as those of some libraries."""

    def handle_create(self):
        raise Unprintable


class WithoutName(resource.Resource):
    """Cannot be named for the events of its actions."""

    def handle_create(self):
        pass

    def physical_resource_name(self):
        raise KeyError('name')


class HangingSignal(resource.Resource):
    def handle_create(self):
        pass

    def handle_signal(self, details=None):
        self.runtime.flag().wait()


class HangingPreemption(Hanging):
    PROPERTIES = (VALUE,) = ('value',)
    properties_schema = {VALUE: properties.Schema(properties.Schema.STRING, update_allowed=True)}

    def handle_preempt(self):
        self.runtime.flag().wait()


KINDS = {'Bad::Raising': Raising, 'Bad::Hanging': Hanging, 'Bad::Leaking': Leaking, 'Bad::WithoutText': WithoutText,
         'Bad::WithoutName': WithoutName, 'Bad::HangingSignal': HangingSignal,
         'Bad::HangingPreemption': HangingPreemption}


@pytest.fixture
def cluster():
    with Cluster(engines=1, error_wait_time=60) as cluster:
        for _runtime, service in cluster.engines:
            for name, kind in KINDS.items():
                service.registry.register(name, kind)
        yield cluster
    KEPT.clear()


def template(*kinds):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': kind} for number, kind in enumerate(kinds)}}


def test_one_that_raises_fails_with_its_error(cluster):
    stack_id = cluster.create('s', template('Bad::Raising'))
    other = cluster.create('other', template('Sim::Thing'))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert row.reason == "Resource CREATE failed: KeyError: resources.r0: 'watts'"
    assert cluster.settle(other).status == 'COMPLETE'
    cluster.delete(stack_id)
    assert cluster.settle(stack_id).status == 'COMPLETE'


def test_one_that_hangs_holds_up_its_own_stack_until_that_is_out_of_time(cluster):
    stack_id = cluster.create('s', template('Bad::Hanging', 'Sim::Thing'), timeout_mins=10)
    other = cluster.create('other', template('Sim::Thing'))
    assert cluster.settle(other).status == 'COMPLETE'
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert 'Timed out' in row.reason
    cluster.delete(stack_id)
    assert cluster.settle(stack_id).status == 'COMPLETE'


def test_a_stack_that_hangs_can_be_deleted(cluster):
    stack_id = cluster.create('s', template('Bad::Hanging'))
    cluster.settle(cluster.create('other', template('Sim::Thing')))
    cluster.delete(stack_id)
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('DELETE', 'COMPLETE')


def test_hanging_calls_that_are_killed_free_their_threads(cluster):
    many = cluster.engines[0][1]._pool._size // 2 + 1           # more than one project may have
    ids = [cluster.create(f's{number}', template('Bad::Hanging')) for number in range(many)]
    for stack_id in ids:
        cluster.delete(stack_id)
    for stack_id in ids:
        assert cluster.settle(stack_id).status == 'COMPLETE'
    assert cluster.settle(cluster.create('other', template('Sim::Thing'))).status == 'COMPLETE'


def test_one_whose_error_has_no_text_fails(cluster):
    stack_id = cluster.create('s', template('Bad::WithoutText'))
    began = cluster.universe.time
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('CREATE', 'FAILED') and cluster.universe.time - began < 60
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)


def test_one_without_a_name_for_events(cluster):
    stack_id = cluster.create('s', template('Bad::WithoutName'))
    done(cluster, stack_id, 'CREATE')
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id)


def runner_of(cluster, stack_id):
    return cluster.engines[0][1].runners.get(stack_id)


@pytest.fixture
def one_loader(monkeypatch):
    monkeypatch.setattr(stack_loader, 'LOADERS', 1)


def test_stacks_whose_runners_end_while_calls_hang_are_driven_again(one_loader, cluster):
    """And other stacks are loaded meanwhile, though more of these wait than are loaded at a time."""
    other = cluster.create('other', template('Sim::Thing'))
    done(cluster, other, 'CREATE')
    ids = [cluster.create(f's{number}', template('Bad::Hanging')) for number in range(2)]
    wait(cluster, 5.0)
    for stack_id in ids:
        runner_of(cluster, stack_id).stop()
    wait(cluster, 10.0)
    cluster.update(other, template('Sim::Thing', 'Sim::Thing'))
    row = cluster.settle(other, limit=20.0)
    assert (row.action, row.status) == ('UPDATE', 'COMPLETE')
    for stack_id in ids:
        cluster.delete(stack_id)
    for stack_id in ids:
        cluster.until_deleted(stack_id, limit=600.0)


def test_a_handler_of_signals_that_hangs(cluster):
    stack_id = cluster.create('s', template('Bad::HangingSignal'))
    done(cluster, stack_id, 'CREATE')
    cluster.ask(messages.SignalResource(stack_id, 'r0', None))
    wait(cluster, 5.0)
    runner_of(cluster, stack_id).stop()
    wait(cluster, 5.0)
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id, limit=600)


def test_a_preemption_that_hangs(cluster):
    def of(value):
        found = template('Bad::HangingPreemption')
        found['resources']['r0']['properties'] = {'value': value}
        return found

    stack_id = cluster.create('s', of('a'))
    wait(cluster, 5.0)
    cluster.update(stack_id, of('b'))
    wait(cluster, 5.0)
    runner = runner_of(cluster, stack_id)
    assert runner._calls._preempting
    runner.stop()
    wait(cluster, 5.0)
    cluster.delete(stack_id)
    cluster.until_deleted(stack_id, limit=1000)


def test_what_one_leaks_does_not_keep_its_stack_in_memory(cluster):
    cluster.settle(cluster.create('s', template('Bad::Leaking')))
    cluster.settle(cluster.create('other', template('Sim::Thing')))
    gc.collect()
    assert [it._stackref() for it in KEPT] == [None]
