"""An update of a stack that changes nothing ends in the transaction that accepts it, and only such an update does."""

from __future__ import annotations

import pytest
import yaml

from heatlite.db import settled_stacks
from heatlite.rpc import messages
from tests.simulation import statements
from tests.simulation.cluster import Cluster, done, wait
from tests.simulation.test_settled import FILES, LEAF, id_of, tree


def flat(value='one', **more):
    return {'heat_template_version': '2018-08-31', 'resources': {
        'a': {'type': 'Sim::Thing', 'properties': {'value': value}},
        'b': {'type': 'Sim::Thing', 'properties': {'value': {'get_resource': 'a'}}}, **more},
        'outputs': {'ident': {'value': {'get_resource': 'a'}}}}


def loads():
    """Collect the statements with which an engine loads the resources of a stack."""
    return statements.noted(lambda statement: statement.startswith('SELECT') and 'FROM resource' in statement
                            and 'DISTINCT' not in statement)


def is_driven(cluster, stack_id, template, environment=None, **options):
    """Update; whether an engine loaded the resources."""
    before = cluster.row(stack_id)
    events = len(cluster.events(stack_id))
    with loads() as seen:
        cluster.update(stack_id, template, environment, **options)
        done(cluster, stack_id, 'UPDATE')
    after = cluster.row(stack_id)
    assert after.generation == before.generation + 1 and after.updated_at >= (before.updated_at or before.created_at)
    assert {each[1:3] for each in cluster.events(stack_id)[events:] if each[0] == 's'} >= {
        ('UPDATE', 'IN_PROGRESS'), ('UPDATE', 'COMPLETE')}
    return bool(seen)


@pytest.fixture
def made():
    """A cluster, and the id of a stack in which nothing has happened since it was made."""
    with Cluster() as cluster:
        stack_id = cluster.create('s', flat())
        done(cluster, stack_id, 'CREATE')
        wait(cluster, 10)
        yield cluster, stack_id


def test_an_update_without_a_change_loads_nothing(made):
    cluster, stack_id = made
    outputs, calls = cluster.row(stack_id).outputs, list(cluster.cloud.calls)
    for _ in range(2):
        assert not is_driven(cluster, stack_id, flat())
    row = cluster.row(stack_id)
    assert (row.status, row.reason) == ('COMPLETE', 'Stack UPDATE completed successfully')
    assert (row.outputs, cluster.cloud.calls, row.revision) == (outputs, calls, 1)
    with cluster.database.reader() as tx:
        assert settled_stacks.settled_below(tx, stack_id, None).keys() == {stack_id}


def test_the_request_is_stored_as_of_any_update(made):
    cluster, stack_id = made
    assert not is_driven(cluster, stack_id, flat(), tags=('x', 'y'), timeout_mins=7, disable_rollback=False)
    row = cluster.row(stack_id)
    assert (row.tags, row.timeout_mins, row.disable_rollback) == (['x', 'y'], 7, False)


@pytest.mark.parametrize('change', [
    {'template': flat('two')},
    {'template': flat(c={'type': 'Sim::Thing'})},
    {'environment': {'parameter_defaults': {'x': 'y'}}},
    {'environment': {'resource_registry': {'Other::Thing': 'Sim::Thing'}}},
    {'files': {'other': 'text'}},
    {'converge': True}], ids=lambda change: next(iter(change)))
def test_another_definition_is_applied(made, change):
    cluster, stack_id = made
    options = {'template': flat(), **change}
    assert is_driven(cluster, stack_id, **options)
    options.pop('converge', None)
    wait(cluster, 10)
    assert not is_driven(cluster, stack_id, **options)


def test_after_a_change_and_back_nothing_is_left_out(made):
    cluster, stack_id = made
    assert is_driven(cluster, stack_id, flat('two'))
    assert is_driven(cluster, stack_id, flat('one'))
    assert 'one' in [each['value'] for each in cluster.cloud.objects.values()]


def test_a_marked_resource_is_replaced(made):
    cluster, stack_id = made
    cluster.ask(messages.MarkUnhealthy(stack_id, 'a', True, 'felt so'))
    assert is_driven(cluster, stack_id, flat())
    assert len(cluster.cloud.made) == 3


def test_a_signal_has_the_stack_looked_at(made):
    cluster, stack_id = made
    cluster.ask(messages.SignalResource(stack_id, 'a', {'word': 'x'}))
    wait(cluster, 30)
    assert is_driven(cluster, stack_id, flat())


@pytest.mark.parametrize('actions', [['suspend', 'resume'], ['check']])
def test_another_action_has_the_stack_looked_at(made, actions):
    cluster, stack_id = made
    for name in actions:
        cluster.ask(messages.StackAction(stack_id, name))
        done(cluster, stack_id, name.upper())
    wait(cluster, 10)
    assert is_driven(cluster, stack_id, flat())


def test_a_failed_update_is_repeated(made):
    cluster, stack_id = made
    failing = flat(c={'type': 'Sim::Thing', 'properties': {'fail': True}})
    for _ in range(2):
        cluster.update(stack_id, failing)
        cluster.settle(stack_id)
        assert cluster.row(stack_id).status == 'FAILED'


@pytest.mark.parametrize('environment', [
    {'resource_registry': {'resources': {'a': {'hooks': 'pre-update'}}}},
    {'event_sinks': [{'type': 'zaqar-queue', 'target': 'q', 'ttl': 60}]}], ids=['hook', 'sink'])
def test_a_hook_or_a_sink_has_the_stack_driven(environment):
    with Cluster() as cluster:
        stack_id = cluster.create('s', flat(), environment)
        done(cluster, stack_id, 'CREATE')
        with cluster.database.reader() as tx:
            assert settled_stacks.settled_below(tx, stack_id, None) == {}


def test_a_live_attribute_has_the_stack_driven():
    live = flat(c={'type': 'Sim::Thing', 'properties': {
        'value': {'list_join': [',', [{'get_attr': ['a', 'show', 'value']}]]}}})
    with Cluster() as cluster:
        stack_id = cluster.create('s', live)
        done(cluster, stack_id, 'CREATE')
        wait(cluster, 10)
        assert is_driven(cluster, stack_id, live)


@pytest.mark.parametrize('what', ['nothing', 'a signal', 'an update of its own'])
def test_a_tree_is_unchanged_if_all_of_it_is(what):
    with Cluster() as cluster:
        stack_id = cluster.create('s', tree(), files=FILES)
        done(cluster, stack_id, 'CREATE')
        wait(cluster, 10)
        leaf = id_of(cluster, stack_id, 'm/l1')
        if what == 'a signal':
            cluster.ask(messages.SignalResource(leaf, 'a', {'word': 'x'}))
            wait(cluster, 30)
        elif what == 'an update of its own':
            mine = {**yaml.safe_load(LEAF), 'heat_template_version': '2018-08-31'}
            cluster.update(leaf, mine, {'parameters': {'value': 'mine'}}, files=FILES)
            done(cluster, leaf, 'UPDATE')
            wait(cluster, 10)
        assert is_driven(cluster, stack_id, tree(), files=FILES) == (what != 'nothing')



def values(cluster):
    return sorted(each['value'] for each in cluster.cloud.objects.values())


def indirect(value='one', **sections):
    """A resource whose text never changes: what it gets comes from elsewhere in the definition."""
    return {'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string', 'default': value}},
            'resources': {'a': {'type': 'Sim::Thing', 'properties': {'value': {'list_join': [
                '-', [{'get_param': 'p'}, {'get_file': 'f'}]]}}}, 'b': {'type': 'Sim::Thing'}}, **sections}


@pytest.mark.parametrize('change, wanted', [
    ({'template': indirect('two')}, ['', 'two-text']),
    ({'environment': {'parameters': {'p': 'given'}}}, ['', 'given-text']),
    ({'files': {'f': 'other'}}, ['', 'one-other'])], ids=['default', 'parameter', 'file'])
def test_a_resource_with_the_same_text_follows_what_it_uses(change, wanted):
    with Cluster() as cluster:
        stack_id = cluster.create('s', indirect(), files={'f': 'text'})
        done(cluster, stack_id, 'CREATE')
        assert values(cluster) == ['', 'one-text']
        cluster.update(stack_id, **{'template': indirect(), 'files': {'f': 'text'}, **change})
        done(cluster, stack_id, 'UPDATE')
        assert values(cluster) == wanted


def test_what_a_failed_update_did_not_reach_is_brought_by_the_next(made):
    """Its text is as in the failed one, which it never got."""
    cluster, stack_id = made
    later = {'type': 'Sim::Thing', 'depends_on': 'c', 'properties': {'value': 'later'}}
    both = {'c': {'type': 'Sim::Thing'}, 'd': {**later, 'properties': {'value': 'sooner'}}}
    assert is_driven(cluster, stack_id, flat(**both))
    cluster.update(stack_id, flat(c={'type': 'Sim::Thing', 'properties': {'fail': True}}, d=later))
    cluster.settle(stack_id)
    assert cluster.row(stack_id).status == 'FAILED' and 'sooner' in values(cluster)
    assert is_driven(cluster, stack_id, flat(c={'type': 'Sim::Thing'}, d=later))
    assert 'later' in values(cluster)


def test_of_two_updates_at_once_the_second_compares_all(made):
    """What it was compared with when it came was never applied."""
    cluster, stack_id = made
    cluster.update(stack_id, flat('two', c={'type': 'Sim::Thing'}))
    cluster.update(stack_id, flat('three', c={'type': 'Sim::Thing'}))
    cluster.update(stack_id, flat('one', c={'type': 'Sim::Thing'}))
    done(cluster, stack_id, 'UPDATE')
    assert next(iter(cluster.cloud.objects.values()))['value'] == 'one'
