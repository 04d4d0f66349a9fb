"""What a plug-in, or we, get wrong costs its own stack and no other."""

from tests.simulation import cloud as clouds
from tests.simulation.cluster import Cluster


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
