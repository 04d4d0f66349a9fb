"""Values of one resource cost the same in a small stack and in a large one."""

from __future__ import annotations

import cProfile
import pstats

import pytest

from heatlite.rpc.messages import ResourceAttributes
from tests.simulation.cluster import Cluster, done


def things(count):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f't{number}': {'type': 'Sim::Thing', 'properties': {'value': str(number)}} for number in range(count)}}


def calls_to_ask(count, ask):
    """How many functions of heatlite's database package are called to ask an engine that does not drive the stack of so
    many resources, and the answer. Each row that is read takes some."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', things(count))
        done(cluster, stack_id, 'CREATE')
        [(runtime, service)] = cluster.engines
        assert cluster.universe.run(lambda: stack_id not in service.runners)
        profile, answers = cProfile.Profile(), []

        def asked():
            ask(service, cluster, stack_id)         # what is read once for each process is read
            profile.enable()
            answers.append(ask(service, cluster, stack_id))
            profile.disable()

        runtime.spawn(asked)
        assert cluster.universe.run(lambda: bool(answers))
        calls = sum(number for (path, *_place), (number, *_rest) in pstats.Stats(profile).stats.items()
                    if '/heatlite/db/' in path)
        return calls, answers[0]


def attributes(service, cluster, stack_id):
    return service.endpoint.handle(cluster.context, ResourceAttributes(stack_id, 't3', ('id',)))


def an_object(service, _cluster, stack_id):
    return service.reader.resource_of(stack_id, 't3', 4).properties['value']


def metadata(service, cluster, stack_id):
    return service.reader.reset_metadata(stack_id, cluster.context, 't3', 4)


@pytest.mark.parametrize('ask, answer', [(attributes, {'id': None}), (an_object, '3'), (metadata, None)])
def test_what_is_read_of_one_resource_does_not_grow_with_its_stack(ask, answer):
    few, found = calls_to_ask(10, ask)
    assert found == answer
    assert calls_to_ask(600, ask) == (few, found)


def test_another_resource_is_read_when_it_is_asked_for():
    def values(service, cluster, stack_id):
        return service.reader.asked(
            stack_id, cluster.context, lambda stack: [each.properties['value'] for each in stack.values()], 't3')

    _calls, found = calls_to_ask(10, values)
    assert found == [str(number) for number in range(10)]


def test_attributes_of_what_an_update_deletes_are_the_stored_ones():
    """No service is asked, and nothing is logged as a fault."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', things(2))
        done(cluster, stack_id, 'CREATE')
        asked = ResourceAttributes(stack_id, 't1', ('id',))
        assert cluster.ask(asked) == {'id': None}
        cluster.update(stack_id, things(1))
        assert cluster.universe.run(lambda: cluster.states(stack_id)['t1'][-1][0] == 'DELETE', limit=100)
        assert cluster.ask(asked) is None
        done(cluster, stack_id, 'UPDATE')
