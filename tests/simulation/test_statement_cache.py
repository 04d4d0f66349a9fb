"""SQLAlchemy keeps compiled statements. One whose length depends on the data would be kept once for each length, with
thousands of objects each, and be of no use to any other call."""

from heatlite.planning import text
from heatlite.testing.storage import COMPILED
from tests.simulation.cluster import Cluster, done
from tests.simulation.test_crashes import template

COUNT = 150
KEPT = 160                      # events: of most resources the last one only
MOST = 60                       # parameters of one statement; rows have fewer columns


def values(value):
    return template({f'r{number}': {'type': 'OS::Heat::Value', 'properties': {'value': value}}
                     for number in range(COUNT)})


def test_no_statement_that_is_kept_grows_with_the_data():
    with Cluster(interleaved=False, engines=1, max_events_per_stack=KEPT) as cluster:
        stack_id = cluster.create('s', values('a'))
        done(cluster, stack_id, 'CREATE')
        for value in 'bc':
            cluster.update(stack_id, values(value))
            done(cluster, stack_id, 'UPDATE')
        assert any(each[3] == text.completed('UPDATE') for each in cluster.events(stack_id))
        cluster.delete(stack_id)
        done(cluster, stack_id, 'DELETE')
    kept = COMPILED['sqlite'].values()
    assert len(kept) > 20
    assert [str(statement)[:300] for statement in kept if len(statement.bind_names) > MOST] == []
