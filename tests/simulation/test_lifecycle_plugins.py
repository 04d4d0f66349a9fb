"""What is reported of the actions of a stack: to the lifecycle plug-ins of the operator, and on the message bus."""

from __future__ import annotations

import pytest

from heatlite.engine.lifecycle_plugin import LifecyclePlugin, LifecyclePlugins
from tests.simulation.cluster import Cluster, wait
from tests.simulation.test_nested import template

FAILING = {'type': 'Sim::Thing', 'properties': {'fail': True}}


class Calls(LifecyclePlugin):
    """Notes its calls. `refuses`: the action that it refuses."""

    def __init__(self, refuses=None):
        self.refuses = refuses
        self.noted = []

    def do_pre_op(self, cnxt, stack, current_stack=None, action=None):
        self.noted.append(('before', str(action)))
        if action == self.refuses:
            raise ValueError('not on a Sunday')

    def do_post_op(self, cnxt, stack, current_stack=None, action=None, is_stack_failure=False):
        self.noted.append(('failed' if is_stack_failure else 'completed', str(action)))


@pytest.fixture
def reported(monkeypatch):
    """Returns a function: what is reported of the create of a template, and the row of its stack."""
    def create(plugin, resources, **request):
        monkeypatch.setattr(LifecyclePlugins, 'installed', lambda: LifecyclePlugins([plugin]))
        with Cluster(engines=1) as cluster:
            row = cluster.settle(cluster.create('s', template(resources), **request))
            wait(cluster, 5)                        # an end is reported once it is stored
            return row, plugin.noted, [f'{action}_{status}' for _row, action, status, *_more in cluster.notified]

    return create


def test_of_a_create(reported):
    row, calls, notified = reported(Calls(), {'a': {'type': 'Sim::Thing'}})
    assert (row.action, row.status) == ('CREATE', 'COMPLETE')
    assert calls == [('before', 'CREATE'), ('completed', 'CREATE')]
    assert notified == ['CREATE_IN_PROGRESS', 'CREATE_COMPLETE']


def test_of_one_that_fails(reported):
    row, calls, notified = reported(Calls(), {'a': FAILING})
    assert (row.action, row.status) == ('CREATE', 'FAILED')
    assert calls == [('before', 'CREATE'), ('failed', 'CREATE')]
    assert notified == ['CREATE_IN_PROGRESS', 'CREATE_FAILED']


def test_of_one_that_is_rolled_back(reported):
    row, calls, notified = reported(Calls(), {'a': FAILING}, disable_rollback=False)
    assert (row.action, row.status) == ('ROLLBACK', 'COMPLETE')
    assert calls == [('before', 'CREATE'), ('failed', 'CREATE'), ('completed', 'ROLLBACK')]
    assert notified == ['CREATE_IN_PROGRESS', 'CREATE_FAILED', 'ROLLBACK_IN_PROGRESS', 'ROLLBACK_COMPLETE']


def test_of_one_that_a_plugin_refuses(reported):
    row, calls, notified = reported(Calls(refuses='CREATE'), {'a': {'type': 'Sim::Thing'}})
    assert (row.action, row.status, row.reason) == ('CREATE', 'FAILED', 'not on a Sunday')
    assert calls == [('before', 'CREATE'), ('failed', 'CREATE')]
    assert notified == ['CREATE_IN_PROGRESS', 'CREATE_FAILED']
