"""What a type asks of its stack while an engine drives it."""

from __future__ import annotations

from heatlite.engine import attributes, resource
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
