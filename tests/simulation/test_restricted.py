"""What `restricted_actions` forbid does not happen - and leaves no mark that would make it happen later."""

from __future__ import annotations

import pytest

from heatlite.rpc import messages
from tests.simulation.cluster import Cluster, done


def template(value, fixed=''):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': 'Sim::Thing', 'properties': {'value': value, 'fixed': fixed}},
        'after': {'type': 'Sim::Thing', 'depends_on': 'r'}}}


def update(cluster, stack_id, wanted, restricted=None):
    sections = {'resource_registry': {'resources': {'r': {'restricted_actions': restricted}}}} if restricted else {}
    cluster.ask(messages.UpdateStack(stack_id=stack_id, template=wanted, environment=sections))
    return cluster.settle(stack_id)


@pytest.mark.parametrize(('restricted', 'refused', 'word'), [
    ('update', template('two'), 'update'), ('replace', template('one', 'new'), 'replace'),
    (['update', 'replace'], template('two'), 'update')])
def test_a_refused_update_leaves_the_resource_as_it_was(restricted, refused, word):
    with Cluster() as cluster:
        stack_id = cluster.create('s', template('one'))
        done(cluster, stack_id, 'CREATE')
        before = cluster.states(stack_id)
        row = update(cluster, stack_id, refused, restricted)
        assert (row.action, row.status) == ('UPDATE', 'FAILED')
        assert row.reason == ('Resource UPDATE failed: ResourceActionRestricted: resources.r: '
                              f'{word} is restricted for resource.')
        assert cluster.states(stack_id) == before
        assert ('r', 'UPDATE', 'FAILED', f'{word} is restricted for resource.') in cluster.events(stack_id)

        assert update(cluster, stack_id, template('two')).status == 'COMPLETE'        # allowed now, and in place
        after = cluster.states(stack_id)
        assert after['r'] == [('UPDATE', 'COMPLETE', before['r'][0][2])] and after['after'] == before['after']
        assert len(cluster.cloud.made) == 2
