"""How much the journal writes at a time, counted in characters."""

from __future__ import annotations

from heatlite.db import changes
from heatlite.engine.durability.journal import SHARED_CHARACTERS
from tests.simulation.cluster import Cluster, done

COUNT, SIZE = 60, 60_000


def values(size):
    return {
        'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string', 'default': 'x' * size}},
        'resources': {f'r{number}': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'p'}}}
                      for number in range(COUNT)}}


def test_a_stack_beside_one_with_large_values_waits_for_few_of_them(monkeypatch):
    """Counted: the characters of each transaction, while changes of both wait."""
    batches = []
    write = changes.write

    def counted(tx, batch, *arguments, **named):
        batches.append((sum(changes.encoded(change).size for change in batch), {change.stack_id for change in batch}))
        return write(tx, batch, *arguments, **named)

    monkeypatch.setattr(changes, 'write', counted)
    with Cluster(engines=1, interleaved=False) as cluster:
        small = cluster.create('small', {'heat_template_version': '2018-08-31', 'resources': {
            f'r{number}': {'type': 'OS::Heat::TestResource', 'properties': {'action_wait_secs': {'create': number}}}
            for number in range(5)}})
        large = cluster.create('large', values(SIZE))
        done(cluster, large, 'CREATE')
        done(cluster, small, 'CREATE')
    written = [size for size, ids in batches if large in ids]
    assert sum(written) > COUNT * SIZE
    assert max(written) < SHARED_CHARACTERS + 3 * SIZE
