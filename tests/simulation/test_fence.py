"""An engine that stands still in the middle of a handler of any kind sends nothing more of it when it goes on."""

import pytest

from heatlite.engine.resources.openstack.heat.resource_group import ResourceGroup
from heatlite.rpc import messages
from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_crashes import template, thing
from tests.simulation.test_signals import signal


class StandingStill(clouds.Cloud):
    """The engine that sends the first request of an action stands still before the next."""

    engine = None

    def create_user(self, runtime, name, project):
        super().create_user(runtime, name, project)
        if self.engine is None:
            self.engine = runtime
            runtime.frozen_until = runtime.universe.time + 60.0
            runtime.give_way()


@pytest.mark.parametrize('seed', range(8))
def test_only_its_successor_creates(seed):
    with Cluster(seed) as cluster:
        cluster.cloud = StandingStill(cluster.chaos)
        clouds.use(cluster.cloud)
        stack_id = cluster.create('s', template({'r': thing(user=True)}))
        done(cluster, stack_id, 'CREATE')
        cluster.universe.run(lambda: False, limit=100.0)
        assert cluster.cloud.engine is not None
        assert len(cluster.cloud.objects) == 1, cluster.cloud.objects


class StandingStillAtSignals(clouds.Cloud):
    """The first engine that handles a signal stands still right before the handler's request is sent."""

    engine = None

    def __init__(self, chaos):
        super().__init__(chaos)
        self.words = []
        self.told_by = []

    def _receive(self, label, runtime):
        if label == 'tell' and self.engine is None:
            self.engine = runtime
            runtime.frozen_until = runtime.universe.time + 60.0
            runtime.give_way()
        super()._receive(label, runtime)

    def tell(self, runtime, word):
        super().tell(runtime, word)
        self.words.append(word)
        self.told_by.append(runtime)


@pytest.mark.parametrize('seed', range(8))
def test_only_its_successor_handles_the_signal(seed):
    with Cluster(seed) as cluster:
        cluster.cloud = StandingStillAtSignals(cluster.chaos)
        clouds.use(cluster.cloud)
        stack_id = cluster.create('s', template({'r': thing()}))
        done(cluster, stack_id, 'CREATE')
        signal(cluster, stack_id, 'r', {'word': 'louder'})
        cluster.universe.run(lambda: False, limit=100.0)
        assert cluster.cloud.engine is not None
        assert cluster.cloud.words == ['louder']


class Interrupted(clouds.Thing):
    """Never becomes what it was changed into, and tells its service when it is not to go on."""

    def check_update_complete(self, handle):
        return False

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        return {}

    def handle_update_cancel(self, handle):
        self._tell('cancelled')

    def handle_preempt(self):
        self._tell('preempted')

    def _tell(self, word):
        clouds.CLOUD.tell(self.runtime, word)


def cancel(cluster, stack_id):
    cluster.ask(messages.DeleteStack(stack_id))


def preempt(cluster, stack_id):
    cluster.update(stack_id, interrupted('c'))


def interrupted(value):
    return template({'r': {'type': 'Sim::Interrupted', 'properties': {'value': value}}})


@pytest.mark.parametrize('interrupt', [cancel, preempt])
@pytest.mark.parametrize('seed', range(4))
def test_what_ends_a_handler_is_fenced_like_it(interrupt, seed):
    with Cluster(seed) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Sim::Interrupted', Interrupted)
        cluster.cloud = StandingStillAtSignals(cluster.chaos)
        clouds.use(cluster.cloud)
        stack_id = cluster.create('s', interrupted('a'))
        done(cluster, stack_id, 'CREATE')
        cluster.update(stack_id, interrupted('b'))
        cluster.universe.run(lambda: False, limit=5.0)
        interrupt(cluster, stack_id)
        cluster.universe.run(lambda: False, limit=100.0)
        assert cluster.cloud.engine is not None, 'nothing was interrupted'
        assert cluster.cloud.engine not in cluster.cloud.told_by, cluster.cloud.words


class HeldUpGroup(ResourceGroup):
    """The first engine that is about to change its nested stack stands still right before."""

    stands_still = False

    def update_with_template(self, *arguments, **named):
        self._stand_still()
        return super().update_with_template(*arguments, **named)

    def delete_nested(self):
        self._stand_still()
        return super().delete_nested()

    def _stand_still(self):
        if type(self).stands_still:
            type(self).stands_still = False
            self.runtime.frozen_until = self.runtime.universe.time + 60.0
            self.runtime.give_way()


@pytest.mark.parametrize('seed', range(4))
def test_only_its_successor_changes_the_nested_stack(seed, monkeypatch):
    def wanted(value):
        return template({'g': {'type': 'My::HeldUpGroup', 'properties': {
            'count': 2, 'resource_def': {'type': 'Sim::Thing', 'properties': {'value': value}}}}})

    monkeypatch.setattr(HeldUpGroup, 'stands_still', False)
    with Cluster(seed) as cluster:
        for _, service in cluster.engines:
            service.registry.register('My::HeldUpGroup', HeldUpGroup)
        stack_id = cluster.create('s', wanted('first'))
        done(cluster, stack_id, 'CREATE')
        HeldUpGroup.stands_still = True
        cluster.update(stack_id, wanted('second'))
        done(cluster, stack_id, 'UPDATE')
        assert not HeldUpGroup.stands_still
        cluster.update(stack_id, wanted('third'))
        done(cluster, stack_id, 'UPDATE')
        assert cluster.universe.time < 60.0         # the successor did both
        wait(cluster, 100.0)
        assert [each['value'] for each in cluster.cloud.objects.values()] == ['third'] * 2
