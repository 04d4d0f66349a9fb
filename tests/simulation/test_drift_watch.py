"""Scheduled looks: policies, repairs, what they hold to, and what they cost."""

from __future__ import annotations

import pytest

from heatlite.common import metrics
from heatlite.db import drift_reports
from heatlite.engine.clients import batched_reads
from heatlite.engine.requests.drift_watch import COUNTED
from heatlite.rpc import messages
from heatlite.testing.clouds import simulated
from tests.simulation import openstack
from tests.simulation.cluster import Cluster, done, kill_engines_in, wait

INTERVAL = 20.0
TWO_LOOKS = 3.5 * INTERVAL              # at most, with the random parts of the pauses between two searches
EVERY = {'drift.interval': INTERVAL, 'drift.repair_interval': 0.0}
UNLISTED = {'server_groups'}             # Nova shows them for a single server only
LISTED = {
    'net': ('OS::Neutron::Net', {}), 'router': ('OS::Neutron::Router', {}),
    'subnet': ('OS::Neutron::Subnet', {'network': {'get_resource': 'net'}, 'cidr': '10.9.0.0/24'}),
    'group': ('OS::Neutron::SecurityGroup', {}), 'address': ('OS::Neutron::FloatingIP', {'floating_network': 'public'}),
    'server': ('OS::Nova::Server', {'image': 'cirros', 'flavor': 'm1.tiny', 'networks': [{'network': 'private'}]}),
    'disk': ('OS::Cinder::Volume', {'size': 1})}
THING = {'type': 'Sim::Thing', 'properties': {'value': 'v'}}
RESOURCES = {'a': THING, 'b': THING, 'group': {
    'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 1, 'resource_def': THING}}}


def template(**resources):
    return {'heat_template_version': '2018-08-31', 'resources': resources or RESOURCES}


@pytest.fixture
def place():
    with Cluster(**EVERY) as cluster:
        yield cluster


def made(place, policies=None, **more):
    """A stack with policies about drift: the section `resource_registry` of its environment."""
    stack_id = place.create('s', template(), environment={'resource_registry': policies or {}, **more})
    done(place, stack_id, 'CREATE')
    return stack_id


def spoil(place):
    """Change objects behind the engine's back."""
    for each in place.cloud.objects.values():
        if each['value'] == 'v':
            each['value'] = 'drifted'


def report(place, stack_id):
    with place.database.reader() as tx:
        found = drift_reports.report(tx, stack_id)
    return {} if found is None else {'/'.join(each.path): (each.finding, each.reason) for each in found.resources}


def values(place):
    return sorted(each['value'] for each in place.cloud.objects.values())


def counted(name, **labels):
    return metrics.of_engines.get_sample_value(f'heatlite_drift_{name}', labels) or 0


@pytest.mark.parametrize('actions', [('suspend',), ('suspend', 'check'), ('suspend', 'check', 'check')])
def test_a_suspended_stack_is_left_alone(place, actions):
    stack_id = made(place, {'drift': {'*': 'repair'}})
    for action in actions:
        place.ask(messages.StackAction(stack_id, action))
        done(place, stack_id, action.upper())
    spoil(place)
    before = len(place.events(stack_id))
    wait(place, 2 * TWO_LOOKS)
    assert len(place.events(stack_id)) == before and 'v' not in values(place)
    place.ask(messages.StackAction(stack_id, 'resume'))
    done(place, stack_id, 'RESUME')


def test_a_nested_stack_that_was_suspended_alone_is_left_alone(place):
    stack_id = made(place, {'resources': {'group': {'drift': {'*': 'repair'}}}})
    nested_id = place.states(stack_id)['group'][0][2]
    for action in ('suspend', 'check'):
        place.ask(messages.StackAction(nested_id, action))
        done(place, nested_id, action.upper())
    spoil(place)
    wait(place, TWO_LOOKS)
    assert report(place, stack_id)['group/0'][1] == 'The stack is suspended.'
    place.ask(messages.StackAction(nested_id, 'resume'))
    done(place, nested_id, 'RESUME')


def test_drift_is_reported_and_left_alone(place):
    stack_id = made(place)
    looks, changed = counted('looks_total', by='schedule', outcome='drifted'), counted(
        'resources_total', finding='changed')
    spoil(place)
    wait(place, COUNTED + TWO_LOOKS)
    looks = counted('looks_total', by='schedule', outcome='drifted') - looks
    assert looks > 0 and counted('resources_total', finding='changed') - changed == 3 * looks
    assert counted('stacks') == 1
    assert report(place, stack_id) == {'a': ('changed', ''), 'b': ('changed', ''), 'group/0': ('changed', '')}
    assert values(place) == ['drifted'] * 3
    assert done(place, stack_id, 'CREATE')


@pytest.mark.parametrize('policies, left', [
    ({'drift': {'*': 'repair'}}, 0),
    ({'drift': {'Sim::Thing': 'repair'}, 'resources': {'a': {'drift': 'report'}}}, 1),
    ({'resources': {'group': {'drift': {'*': 'repair'}}}}, 2),
    ({'resources': {'?': {'drift': {'Sim::*': 'repair'}}, 'b': {'drift': {'*': 'ignore'}}}}, 2)])
def test_what_policies_want_repaired_is_repaired_and_nothing_else(place, policies, left):
    stack_id = made(place, policies)
    made_before = len(place.cloud.made)
    spoil(place)
    wait(place, TWO_LOOKS)
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['drifted'] * left + ['v'] * (3 - left)
    assert len(place.cloud.made) == made_before             # in place
    reasons = [reason for _name, _action, _status, reason in place.events(stack_id) if 'repaired' in reason]
    assert all(each == 'Drift is repaired: changed: value' for each in reasons)


def test_what_is_to_be_replaced_is_made_anew(place):
    stack_id = made(place, {'drift': {'*': 'replace'}})
    spoil(place)
    wait(place, TWO_LOOKS)
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['v'] * 3 and len(place.cloud.made) == 6


def test_what_is_gone_is_made_again(place):
    stack_id = made(place, {'drift': {'*': 'repair'}})
    place.cloud.objects.clear()
    wait(place, TWO_LOOKS)
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['v'] * 3


def test_a_protection_is_held_to(place):
    stack_id = made(place, {'drift': {'*': 'repair'}})
    place.ask(messages.SetProtections(stack_id, ({'path': 'a', 'deny': ['update'], 'reason': 'ours'},
                                                 {'path': 'group/0', 'deny': ['replace'], 'reason': ''})))
    spoil(place)
    wait(place, TWO_LOOKS)
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['drifted', 'v', 'v']
    assert report(place, stack_id) == {'a': ('changed', 'a: update is denied by the protection of a (ours)')}


def test_a_nested_stack_that_must_not_be_updated_prevents_repairs_inside_it_only(place):
    stack_id = made(place, {'drift': {'*': 'repair'}})
    place.ask(messages.SetProtections(stack_id, ({'path': 'group', 'deny': ['update'], 'reason': ''},)))
    spoil(place)
    wait(place, TWO_LOOKS)
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['drifted', 'v', 'v']
    assert report(place, stack_id) == {'group/0': ('changed', 'group/0: update is denied by the protection of group')}


def test_a_lock_is_held_to(place):
    stack_id = made(place, {'drift': {'*': 'repair'}})
    place.ask(messages.LockStack(stack_id, 'maintenance'))
    spoil(place)
    wait(place, TWO_LOOKS)
    assert values(place) == ['drifted'] * 3
    assert report(place, stack_id)['a'] == ('changed', 'The stack is locked.')


def test_nothing_is_repaired_where_plans_are_required():
    with Cluster(**EVERY | {'plans.required': True}) as place:
        made = place.ask(messages.CreatePlan(
            action='create', stack_name='s', template=template(),
            environment={'resource_registry': {'drift': {'*': 'repair'}}}))
        stack_id = place.ask(messages.ApplyPlan(made['id']))['stack_id']
        done(place, stack_id, 'CREATE')
        spoil(place)
        wait(place, TWO_LOOKS)
        done(place, stack_id, 'CREATE')
        assert set(report(place, stack_id).values()) == {('changed', 'Stacks are updated only by plans.')}
        assert not any('repaired' in reason for _name, _action, _status, reason in place.events(stack_id))


def test_a_restricted_action_is_not_done(place):
    stack_id = made(place, {'drift': {'*': 'repair'}, 'resources': {'a': {'restricted_actions': 'update'}}})
    spoil(place)
    wait(place, TWO_LOOKS)
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['drifted', 'v', 'v']
    assert report(place, stack_id) == {'a': ('changed', 'update is restricted.')}


def test_a_stack_is_repaired_once_in_a_while():
    with Cluster(**EVERY | {'drift.repair_interval': 10 * INTERVAL}) as place:
        stack_id = made(place, {'drift': {'*': 'repair'}})
        for repaired in (True, False):
            spoil(place)
            wait(place, TWO_LOOKS)
            done(place, stack_id, 'UPDATE')
            assert (values(place) == ['v'] * 3) == repaired
        assert report(place, stack_id)['a'][1].startswith('The last repair of the stack was at ')


def test_an_update_that_converges_leaves_alone_what_is_ignored(place):
    stack_id = made(place, {'resources': {'a': {'drift': {'*': 'ignore'}}}})
    spoil(place)
    place.ask(messages.UpdateStack(stack_id=stack_id, existing=True, converge=True))
    done(place, stack_id, 'UPDATE')
    assert values(place) == ['drifted', 'v', 'v']


@pytest.mark.parametrize('wrong', [
    {'drift': 'mend'}, {'drift': {'*': 'mend'}}, {'drift': ['repair']}, {'resources': {'a': {'drift': {'*': 5}}}}])
def test_a_wrong_policy_is_refused(place, wrong):
    with pytest.raises(Exception, match='Invalid drift policy'):
        place.ask(messages.CreateStack(template=template(), stack_name='s', environment={'resource_registry': wrong}))


def test_engines_share_the_stacks_and_each_is_looked_at_once_in_an_interval():
    with Cluster(engines=3, **EVERY) as place:
        ids = [place.create(f's{number}', template(a=THING)) for number in range(5)]
        for stack_id in ids:
            done(place, stack_id, 'CREATE')
        place.cloud.chaos.counts.clear()
        place.cloud.chaos.enabled = True
        wait(place, 5.25 * INTERVAL)
        shown = place.cloud.chaos.counts['show']
        assert 3 * len(ids) <= shown <= 6 * len(ids)


def test_repairs_survive_engines_that_die_at_any_point():
    def life(place):
        stack_id = made(place, {'drift': {'*': 'repair'}})
        spoil(place)
        wait(place, TWO_LOOKS)
        place.ask(messages.UpdateStack(stack_id=stack_id, existing=True))
        row = place.settle(stack_id)
        assert row.status == 'COMPLETE', row.reason
        assert values(place) == ['v'] * 3

    assert kill_engines_in(life, 151, **EVERY) > 50


def test_stacks_of_one_project_share_lists():
    with simulated() as cloud, openstack.stack(cloud, engines=1, **EVERY) as it:
        for number in range(5):
            stack_id = it.cluster.create(f's{number}', openstack.template({
                f'n{each}': ('OS::Neutron::Net', {'name': f'n{each}'}) for each in range(3)}))
            done(it.cluster, stack_id, 'CREATE')
        wait(it.cluster, TWO_LOOKS)              # all are looked at together from now on
        before = it.requests()
        wait(it.cluster, 4 * INTERVAL)
        sent = it.requests()[len(before):]
        listed = [each for each in sent if each.endswith('network/v2.0/networks')]
        alone = [each for each in sent if 'networks/' in each]
        assert report(it.cluster, stack_id) == {} and listed
        assert len(sent) < 4 * 5 * 3 / 2, sent
        assert len(alone) <= 2 * len(listed) + 4


@pytest.mark.parametrize('status', [403, 500])
def test_objects_that_cannot_be_listed_are_asked_for_alone(status):
    networks = {f'n{number}': ('OS::Neutron::Net', {'name': f'n{number}'}) for number in range(5)}
    with simulated() as cloud, openstack.stack(cloud, engines=1) as it:
        it.create(networks)
        it.fault(kind='error', status=status, service='network', method='GET', path='re:/networks$', count=0)
        report = it.cluster.ask(messages.LookForDrift(it.id))
        assert report['summary']['same'] == 5 and report['resources'] == []


def test_a_listed_object_is_the_object_that_is_shown():
    with simulated() as cloud, openstack.stack(cloud, engines=1) as it:
        it.create(LISTED)
        for service, collections in batched_reads.COLLECTIONS.items():
            client = {'network': 'neutron', 'compute': 'nova', 'block-storage': 'cinder'}[service]
            for each in collections:
                listed = it.request(client, 'GET', each.listed)[each.many]
                assert listed, each.many
                for one in listed:
                    shown = it.request(client, 'GET', f"{each.path}/{one['id']}")[each.one]
                    assert {name: value for name, value in shown.items() if name not in UNLISTED} == one


def test_objects_of_one_project_come_from_lists():
    networks = {f'n{number}': ('OS::Neutron::Net', {'name': f'n{number}'}) for number in range(12)}
    with simulated() as cloud, openstack.stack(cloud, engines=1) as it:
        it.create(networks)
        before = it.count_requests()
        report = it.cluster.ask(messages.LookForDrift(it.id))
        assert report['summary']['same'] == 12
        assert it.count_requests() - before == 3        # two alone, and the list
        it.request('neutron', 'PUT', f"/networks/{it.physical_id('n7')}", {'network': {'name': 'x'}})
        it.request('neutron', 'DELETE', f"/networks/{it.physical_id('n9')}")
        found = it.cluster.ask(messages.LookForDrift(it.id))['resources']
        assert [(each['path'], each['finding']) for each in found] == [(['n7'], 'changed'), (['n9'], 'gone')]
