"""The sinks there are: the built-in one and those of installed packages."""

from __future__ import annotations

import textwrap

import pytest

from heatlite.engine.compat import extensions
from heatlite.engine.notify import event_sinks
from heatlite.engine.types import event_sink_types
from tests.plugins.openstack.cloud import Cloud


def test_events_are_posted_to_the_queue(cloud: Cloud):
    event_sinks.ZaqarQueue('told', ttl=60).consume(cloud.context, {'id': 'e'})
    queue = cloud.client('zaqar').queue('told')
    assert [(message.body, message.ttl) for message in queue.pop(5)] == [({'id': 'e'}, 60)]
    queue.delete()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with a sink, written for the original."""
    (tmp_path / 'acme_sinks.py').write_text(textwrap.dedent('''
        from heat.common import context
        class Crier:
            def __init__(self, square):
                self.square = square
            def consume(self, context, event):
                print(event)
    '''))
    folder = tmp_path / 'acme-1.dist-info'
    folder.mkdir()
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme\nVersion: 1\n')
    (folder / 'entry_points.txt').write_text('[heat.event_sinks]\ncrier = acme_sinks:Crier\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.forget()
    yield
    monkeypatch.undo()
    extensions.forget()


def test_installed_packages_bring_their_own(installed):
    assert event_sink_types.names() == {'zaqar-queue', 'crier'}
    assert event_sink_types.make({'type': 'crier', 'square': 'north'}).square == 'north'
