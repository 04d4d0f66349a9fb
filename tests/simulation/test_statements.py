"""A create reads nothing of the rows that it has just stored."""

from __future__ import annotations

import contextlib

import sqlalchemy as sa

from tests.simulation.cluster import Cluster, done


@contextlib.contextmanager
def stored_definitions_read():
    """Collect the statements, on any connection, that read what is stored of resources."""
    seen = []

    def note(_connection, _cursor, statement, *_rest):
        if statement.startswith('SELECT') and 'resource.properties' in statement:
            seen.append(statement)

    sa.event.listen(sa.Engine, 'before_cursor_execute', note)
    try:
        yield seen
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', note)


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
