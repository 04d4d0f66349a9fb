"""A create reads nothing of the rows that it has just stored."""

from __future__ import annotations

from heatlite.common import metrics
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, wait


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


def changes_of_a_create(count):
    """The number of changes that the journal writes for a create of so many resources that may be created twice."""
    template = {'heat_template_version': '2018-08-31', 'resources': {
        f'r{number}': {'type': 'OS::Heat::Value', 'properties': {'value': number}} for number in range(count)}}
    with Cluster(engines=1) as cluster:
        before = written()
        done(cluster, cluster.create('s', template), 'CREATE')
        wait(cluster, 1.0)                          # what is written is counted after its commit
        return written() - before


def written():
    return next(sample.value for family in metrics.journal_changes.collect() for sample in family.samples
                if sample.name.endswith('_sum'))


def test_a_create_that_may_be_repeated_is_written_at_its_begin_and_at_its_end():
    assert changes_of_a_create(10) - changes_of_a_create(5) == 2 * 5
