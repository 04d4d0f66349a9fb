"""Stored resources are read in blocks, however often an action needs them."""

import re

from tests.simulation import statements
from tests.simulation.cluster import Cluster, done

COUNT = 300                             # in two blocks


def template(value):
    return {'heat_template_version': '2021-04-16', 'resources': {f'r{number}': {
        'type': 'OS::Heat::TestResource', 'properties': {'value': value, 'update_replace': True}}
        for number in range(COUNT)}}


def test_an_update_that_replaces_all_resources_reads_them_in_blocks():
    with Cluster(engines=1) as cluster:
        stack_id = cluster.create('s', template('a'))
        done(cluster, stack_id, 'CREATE')
        with statements.noted(re.compile(r'SELECT .*\sFROM resource_data', re.DOTALL).match) as seen:
            cluster.update(stack_id, template('b'))
            done(cluster, stack_id, 'UPDATE')
        assert 0 < len(seen) < 20       # for the comparisons, and for the deletions of what was replaced
