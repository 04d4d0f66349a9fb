"""What a type asks of its stack while an engine drives it."""

from __future__ import annotations

import uuid

import pytest

from heatlite.common import exception
from heatlite.db import resources
from heatlite.engine import attributes, properties, resource
from heatlite.engine.resources.cooldown import IN_PROGRESS
from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done, outputs


class Asking(resource.Resource):
    """Tells at its creation which resources need it."""

    attributes_schema = {'needed_by': attributes.Schema('names of resources')}

    def handle_create(self):
        self.data_set('needed_by', ' '.join(self.required_by()))

    def get_attribute(self, key, *path):
        return self.data()['needed_by'].split()


def test_required_by_names_what_needs_it_directly():
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'a': {'type': 'Test::Asking'},
        'b': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'a'}}},
        'c': {'type': 'Sim::Thing', 'depends_on': ['a', 'b']},
        'd': {'type': 'Test::Asking', 'depends_on': 'c'}},
        'outputs': {name: {'value': {'get_attr': [name, 'needed_by']}} for name in ('a', 'd')}}
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Test::Asking', Asking)
        stack_id = cluster.create('s', template)
        assert outputs(done(cluster, stack_id, 'CREATE')) == {'a': ['b', 'c'], 'd': []}


class Grapher(resource.Resource):
    """Notes at its creation the graph of its stack, and that it cannot add to it."""

    attributes_schema = {'graph': attributes.Schema('name -> names of the resources that it requires')}

    def handle_create(self):
        graph = self.stack.dependencies.graph()
        self.metadata_set({one.name: sorted(other.name for other in needed) for one, needed in graph.items()})
        for refused in (self.stack.add_resource, self.stack.remove_resource):
            with pytest.raises(exception.NotSupported):
                refused(self)

    def _resolve_attribute(self, name):
        return self.metadata_get()


def test_the_graph_of_the_stack():
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'a': {'type': 'Sim::Thing'},
        'b': {'type': 'Sim::Thing', 'depends_on': 'a'},
        'c': {'type': 'Test::Grapher', 'depends_on': ['a', 'b']}},
        'outputs': {'graph': {'value': {'get_attr': ['c', 'graph']}}}}
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Test::Grapher', Grapher)
        stack_id = cluster.create('s', template)
        assert outputs(done(cluster, stack_id, 'CREATE')) == {'graph': {'a': [], 'b': ['a'], 'c': ['a', 'b']}}


class Referring(resource.Resource):
    """Gives an id that is no text, and asks whose reference an optional property without a value is."""

    ID = uuid.UUID('0f8fad5b-d9cb-469f-a165-70867728950e')
    attributes_schema = {'found': attributes.Schema('what was found for nothing')}

    def handle_create(self):
        self.data_set('found', str(self.stack.resource_by_refid(None)))
        self.resource_id_set(self.ID)
        assert self.resource_id == str(self.ID)

    def get_attribute(self, key, *path):
        return self.data()['found']


def test_nothing_is_no_reference_and_any_id_is_stored_as_text():
    template = {'heat_template_version': '2018-08-31', 'resources': {'r': {'type': 'Test::Referring'}},
                'outputs': {'found': {'value': {'get_attr': ['r', 'found']}},
                            'id': {'value': {'get_resource': 'r'}}}}
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Test::Referring', Referring)
        stack_id = cluster.create('s', template)
        assert outputs(done(cluster, stack_id, 'CREATE')) == {'found': 'None', 'id': str(Referring.ID)}


GROUP = {'heat_template_version': '2018-08-31', 'resources': {'g': {
    'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': 1, 'max_size': 2, 'resource': {'type': 'Sim::Thing'}}}}}


def metadata_of(cluster, stack_id):
    with cluster.database.reader() as tx:
        return resources.metadata(tx, stack_id, 1)


def test_a_resource_that_is_healthy_again_resets_its_metadata():
    """An adjustment that an engine has lost would refuse all others for ever."""
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', GROUP)
        done(cluster, stack_id, 'CREATE')
        value, version = metadata_of(cluster, stack_id)
        stuck = {**value, IN_PROGRESS: True}
        cluster.database.retry(lambda tx: resources.set_metadata(tx, stack_id, 1, stuck, version))
        cluster.ask(messages.MarkUnhealthy(stack_id, 'g', False, ''))       # is healthy: nothing changes
        assert metadata_of(cluster, stack_id)[0][IN_PROGRESS] is True
        cluster.ask(messages.MarkUnhealthy(stack_id, 'g', True, 'hangs'))
        assert metadata_of(cluster, stack_id)[0][IN_PROGRESS] is True
        cluster.ask(messages.MarkUnhealthy(stack_id, 'g', False, 'works'))
        assert metadata_of(cluster, stack_id)[0][IN_PROGRESS] is False
        assert cluster.states(stack_id)['g'][0][:2] == ('CHECK', 'COMPLETE')


class Unique(resource.Resource):
    """Decides in its handler that it must be replaced, while only one object may have its address."""

    properties_schema = {'value': properties.Schema(properties.Schema.STRING, update_allowed=True),
                         'fixed': properties.Schema(properties.Schema.STRING)}
    holders = []

    def handle_create(self):
        assert not self.holders, 'two at once'
        self.resource_id_set(f'unique-{self.uuid}')
        self.holders.append(self.resource_id)

    def handle_update(self, json_snippet, tmpl_diff, prop_diff):
        raise exception.UpdateReplace(self.name)

    def prepare_for_replace(self):
        if self.resource_id in self.holders:
            self.holders.remove(self.resource_id)

    def handle_delete(self):
        self.prepare_for_replace()


def unique(value, other='x'):
    """`other`: another value replaces the thing, whose new reference replaces `u`."""
    return {'heat_template_version': '2018-08-31', 'resources': {
        't': {'type': 'Sim::Thing', 'properties': {'fixed': other}},
        'u': {'type': 'Test::Unique', 'properties': {'value': value, 'fixed': {'get_resource': 't'}}}}}


@pytest.fixture
def uniques():
    Unique.holders.clear()
    with Cluster(engines=1) as cluster:
        for _runtime, service in cluster.engines:
            service.registry.register('Test::Unique', Unique)
        stack_id = cluster.create('s', unique('a'))
        done(cluster, stack_id, 'CREATE')
        yield cluster, stack_id


def test_what_its_handler_replaces_is_prepared_for_that(uniques):
    cluster, stack_id = uniques
    before = list(Unique.holders)
    cluster.update(stack_id, unique('b'))
    done(cluster, stack_id, 'UPDATE')
    assert len(Unique.holders) == 1
    assert Unique.holders != before


@pytest.mark.parametrize('change', [{'value': 'b'}, {'value': 'a', 'other': 'y'}])
def test_what_is_protected_is_not_prepared(uniques, change):
    """The address would be gone although the object stays."""
    cluster, stack_id = uniques
    before = list(Unique.holders)
    cluster.ask(messages.SetProtections(stack_id, ({'path': 'u', 'deny': ['replace'], 'reason': 'one of a kind'},)))
    cluster.update(stack_id, unique(**change))
    row = cluster.settle(stack_id)
    assert (row.action, row.status) == ('UPDATE', 'FAILED')
    assert Unique.holders == before
