"""What an engine reads of a stack is what the last action left, whichever engine carried it out."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine import attributes, properties, resource
from tests.simulation.cluster import Cluster, done, outputs


def template(value):
    return {'heat_template_version': '2018-08-31',
            'resources': {'a': {'type': 'Sim::Thing', 'properties': {'value': value}},
                          value: {'type': 'Sim::Thing'}},
            'outputs': {'value': {'value': value}, 'id': {'value': {'get_resource': value}}}}


def driving(cluster, stack_id):
    """(its runtime, an engine, its runner of the stack), as soon as one drives it."""
    def found():
        return [(runtime, service, service.runners.get(stack_id)) for runtime, service in cluster.engines
                if service.runners.get(stack_id)]

    assert cluster.universe.run(lambda: bool(found()))
    return found()[0]


@pytest.fixture
def late():
    """A cluster, a stack that one engine has made and another one updated, and the first one, whose runner has not
    ended since it released the lease: its process was stopped in between."""
    with Cluster() as cluster:
        for number in range(50):
            stack_id = cluster.create(f's{number}', template('first'))
            runtime, service, runner = driving(cluster, stack_id)
            done(cluster, stack_id, 'CREATE')
            assert cluster.universe.run(lambda: stack_id not in service.runners)    # noqa: B023 - called at once
            cluster.update(stack_id, template('second'))
            _runtime, other, _runner = driving(cluster, stack_id)
            done(cluster, stack_id, 'UPDATE')
            if other is not service:
                break
        assert other is not service
        service.runners.add(runner)
        yield cluster, stack_id, runtime, service


def asked(cluster, runtime, question):
    answers = []
    runtime.spawn(lambda: answers.append(question()))
    assert cluster.universe.run(lambda: bool(answers))
    return answers[0]


def test_resources_of_the_last_update_are_seen(late):
    cluster, stack_id, runtime, service = late
    names = asked(cluster, runtime, lambda: service.reader.asked(stack_id, cluster.context, list))
    assert sorted(names) == ['a', 'second']


def test_outputs_of_the_last_update_are_read(late):
    cluster, stack_id, runtime, service = late
    found = asked(cluster, runtime, lambda: service.reader.outputs(stack_id, cluster.context))
    values = {each['output_key']: each['output_value'] for each in found}
    assert values['value'] == 'second' and values['id']


def test_a_stack_deleted_elsewhere_is_gone(late):
    cluster, stack_id, runtime, service = late
    runner = service.runners.get(stack_id)
    service.runners.remove(runner)          # this engine may carry out the delete, too
    cluster.delete(stack_id)
    done(cluster, stack_id, 'DELETE')
    service.runners.add(runner)

    def question():
        with pytest.raises(exception.EntityNotFound):
            service.reader.outputs(stack_id, cluster.context)
        return True

    assert asked(cluster, runtime, question)


class Painted(resource.Resource):
    """A type whose attributes are read only where something refers to them, as of all types that have a service."""

    default_client_name = 'nova'
    properties_schema = {'colour': properties.Schema(properties.Schema.STRING, update_allowed=True)}
    attributes_schema = {'colour': attributes.Schema('as it is painted')}

    @classmethod
    def check_service_available(cls, context, type_name):
        pass

    def handle_create(self):
        self.resource_id_set('wall')

    def handle_update(self, definition, template, changed):
        pass

    def _resolve_attribute(self, name):
        return self.properties['colour']


def test_an_attribute_that_nothing_referred_to_for_a_while_is_read_anew():
    def painted(colour, shown):
        return {'heat_template_version': '2018-08-31', 'outputs': shown,
                'resources': {'wall': {'type': 'Test::Painted', 'properties': {'colour': colour}}}}

    shown = {'colour': {'value': {'get_attr': ['wall', 'colour']}}}
    with Cluster(engines=1) as cluster:
        cluster.engines[0][1].registry.register('Test::Painted', Painted)
        stack_id = cluster.create('s', painted('white', shown))
        assert outputs(done(cluster, stack_id, 'CREATE')) == {'colour': 'white'}
        for wanted in ({}, shown):
            cluster.update(stack_id, painted('green', wanted))
            row = done(cluster, stack_id, 'UPDATE')
        assert outputs(row) == {'colour': 'green'}
