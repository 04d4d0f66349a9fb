"""A create reads nothing of the rows that it has just stored."""

from __future__ import annotations

from tests.simulation import statements
from tests.simulation.cluster import Cluster, done


def stored_definitions_read():
    """Collect the statements that read what is stored of resources."""
    return statements.noted(lambda statement: statement.startswith('SELECT') and 'resource.properties' in statement)


def things(count, value):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f't{number}': {'type': 'Sim::Thing', 'properties': {'value': value}} for number in range(count)}}


def test_a_create_reads_no_stored_definition():
    with Cluster(engines=1) as cluster:
        with stored_definitions_read() as seen:
            stack_id = cluster.create('s', things(5, 'one'))
            done(cluster, stack_id, 'CREATE')
        assert not seen
        with stored_definitions_read() as seen:                 # an update compares with what is stored
            cluster.update(stack_id, things(5, 'two'))
            done(cluster, stack_id, 'UPDATE')
        assert seen
