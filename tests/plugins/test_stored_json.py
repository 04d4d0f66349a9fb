"""Notes that types store before requests, in the forms that rows of former releases have."""

from __future__ import annotations

import pytest

from heatlite.engine.resources import stored_json
from heatlite.engine.resources.openstack.cinder import taken_out
from heatlite.engine.resources.openstack.nova import begun_networks
from heatlite.engine.resources.rest import begun_additions, call_progress
from tests.plugins.bench import Bench

ADDED = [{'roles': [{'role': 'reader', 'project': 'p1'}]}]
STORED = {                                  # key, text of the release 0.1.0 -> what it means
    ('taken_out', '[{"server": "s1", "device": "/dev/vdb"}, {"server": "s2", "device": null}]'): (
        taken_out.DATA_KEY, [{'server': 's1', 'device': '/dev/vdb'}, {'server': 's2', 'device': None}]),
    ('begun_networks', '[[{"network": "n1", "fixed_ip": "10.0.0.9"}], []]'): (
        begun_networks.DATA_KEY, [[{'network': 'n1', 'fixed_ip': '10.0.0.9'}], []]),
    ('rest_begun', '[{"roles": [{"role": "reader", "project": "p1"}]}]'): (begun_additions.DATA_KEY, ADDED),
    ('rest_progress', '{"then": 2}'): (call_progress.DATA_KEY, {'then': 2}),
}


@pytest.fixture
def bench():
    return Bench('OS::Heat::Value', {'value': 'x'})


@pytest.mark.parametrize('stored', STORED, ids=lambda stored: stored[0])
def test_forms(bench, stored):
    key, text = stored
    current, value = STORED[stored]
    assert current == key
    bench.record.data = {key: text}
    assert stored_json.read(bench.fresh('UPDATE'), key, None) == value
    bench.record.data = {}
    stored_json.note(bench.fresh('UPDATE'), key, value)
    assert bench.memory.written == [('data', key, text, False), ('store_data',)]


def test_a_note_that_is_stored_or_removed_adds_no_write(bench):
    it = bench.fresh('UPDATE')
    stored_json.note(it, 'k', [])
    assert bench.memory.written == []
    stored_json.note(it, 'k', [1])
    bench.memory.written.clear()
    stored_json.note(it, 'k', [1])
    assert bench.memory.written == []
    stored_json.note(it, 'k', [])
    assert bench.memory.written == [('data', 'k', None, False)]     # stored with the next change
    assert stored_json.read(it, 'k', [2]) == [2]
