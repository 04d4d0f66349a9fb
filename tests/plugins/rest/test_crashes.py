"""An engine that dies at any moment of a creation: another one goes on, and in the end there is one thing, whole."""

from __future__ import annotations

import copy
import re

import pytest

from heatlite.common import exception
from heatlite.engine.reconcile import step_failures
from heatlite.engine.resources.rest import service, types
from heatlite.planning.states import Action
from tests.plugins.bench import Memory, Stack
from tests.plugins.rest import samples
from tests.plugins.rest.generic_service import Fault

TURNS = 20
IDS = ('id', 'uuid', 'alarm_id', 'subscription_id')
RANDOM = '[0-9a-f]{8}-[0-9a-f-]{27}'

MANY_CALLS = {
    'OS::Neutron::AddressScope': {},
    'OS::Neutron::Router': {'l3_agent_ids': ['known-1', 'known-2'], 'tags': ['a', 'b']},
    'OS::Keystone::User': {'groups': ['known-1', 'known-2'], 'roles': [
        {'role': 'known-r', 'project': 'known-p'}, {'role': 'known-r', 'domain': 'known-d'}]},
    'OS::Glance::WebImage': {'container_format': 'bare', 'disk_format': 'qcow2', 'location': 'http://lamp.acme',
                             'members': ['known-1', 'known-2'], 'active': False},
    'OS::Manila::Share': {'size': 1, 'share_protocol': 'NFS', 'access_rules': [
        {'access_to': '10.0.0.1', 'access_type': 'ip'}, {'access_to': '10.0.0.2', 'access_type': 'ip'}]},
    'OS::Octavia::PoolMember': {'pool': 'known-pool', 'address': '10.0.0.7', 'protocol_port': 80},
    'OS::Neutron::Net': {'dhcp_agent_ids': ['known-1', 'known-2'], 'tags': ['a']},
    'OS::Neutron::FloatingIP': {'floating_network': 'known-outside'},
    'OS::Neutron::RouterInterface': {'router': 'known-router', 'subnet': 'known-subnet'},
}


class Killed(BaseException):
    """The process is gone."""


class Journal(Memory):
    """Knows what would be on the disk: data goes there with the next physical id, or by `store_data`."""

    def __init__(self):
        super().__init__()
        self.physical_id_stored = None
        self.data_stored = {}

    def physical_id(self, resource, value):
        super().physical_id(resource, value)
        self.physical_id_stored = value
        self.data_stored = resource.data()

    def store_data(self, resource):
        super().store_data(resource)
        self.data_stored = resource.data()


class Engine:
    """Drives one creation as the real one does, and loses everything that is not on the disk when it is killed."""

    def __init__(self, bench):
        self.bench = bench
        self.journal = bench.memory = Journal()
        self.handle = None
        self.has_handle = False

    def begin(self):
        acting = self.bench.fresh('CREATE')
        handle = acting.handle_create()
        return self.poll(acting, handle)

    def poll(self, acting, handle):
        for _turn in range(TURNS):
            if acting.check_create_complete(handle):
                return acting
            self.handle, self.has_handle = copy.deepcopy(handle), True
        raise AssertionError('the check never ends')

    def recover(self):
        """Another engine, with what is stored."""
        self.bench.memory = self.journal
        self.bench.record.data = dict(self.journal.data_stored)
        acting = self.bench.fresh('CREATE')
        acting.resource_id = self.journal.physical_id_stored
        if self.has_handle:
            return self.poll(acting, self.handle)
        if acting.resource_id is not None:
            self.bench.run('DELETE')
            self.journal.physical_id(acting, None)
            return self.begin()
        found = acting.find_existing()
        if found is None:
            return self.begin()
        self.journal.physical_id(acting, found)
        return self.poll(self.bench.fresh('CREATE'), None)


def killed_at(monkeypatch, number, before):
    """The `number`-th request from now is the last thing this process does, or its reply never reaches it."""
    real, sent = service.send, []

    def send(resource, call):
        sent.append(call)
        if len(sent) == number and before:
            raise Killed
        answer = real(resource, call)
        if len(sent) == number:
            raise Killed
        return answer

    monkeypatch.setattr(service, 'send', send)


def ready(cloud):
    for path, said in samples.THERE.items():
        cloud.seed(path, **said)


def prepare(cloud, name):
    ready(cloud)
    if 'Glance' in name:
        cloud.born['status'] = 'active'
    if 'Manila' in name:
        cloud.born['status'] = 'available'


def outcome(cloud, physical_id):
    """Everything there is that has to do with a thing, and everything of its own collection."""
    own = next((path.rpartition('/')[0] for path in cloud.things if path.endswith(physical_id)), '')
    def said(thing):
        return str(sorted((key, str(value)) for key, value in thing.items()
                          if key not in IDS and not key.endswith('_ref')))

    told = [(path, said(thing)) for path, thing in cloud.things.items() if path not in samples.THERE]
    return sorted((re.sub(RANDOM, 'SOME', path.replace(physical_id, 'ID')), said.replace(physical_id, 'ID'))
                  for path, said in told if physical_id in path + said or path.rpartition('/')[0] == own)


@pytest.mark.parametrize('name', MANY_CALLS)
def test_a_kill_at_any_request_leaves_one_whole_thing(cloud, bench, monkeypatch, name):
    prepare(cloud, name)
    made = Engine(bench(name, MANY_CALLS[name])).begin()
    undisturbed, requests = outcome(cloud, made.resource_id), len(cloud.requests)
    assert undisturbed or 'Interface' in name
    for number in range(1, requests + 1):
        for before in (True, False):
            cloud.things.clear()
            prepare(cloud, name)
            engine = Engine(bench(name, MANY_CALLS[name]))
            killed_at(monkeypatch, number, before)
            try:
                made = engine.begin()
            except Killed:
                monkeypatch.undo()
                made = engine.recover()
            monkeypatch.undo()
            when = f'killed {"before" if before else "after"} request {number}'
            assert outcome(cloud, made.resource_id) == undisturbed, when
            own = types.description_of(name).path
            if own and '{' not in own:
                assert len(set(cloud.collection(own)) - set(samples.THERE)) == 1


def test_steps_that_were_made_are_not_made_again(cloud, bench, monkeypatch):
    """Ready only at the second question, so the handle is stored; then killed between two members."""
    prepare(cloud, 'Glance')
    cloud.born['status'] = 'queued'
    engine = Engine(bench('OS::Glance::WebImage', MANY_CALLS['OS::Glance::WebImage']))
    acting = engine.bench.fresh('CREATE')
    handle = acting.handle_create()
    assert not acting.check_create_complete(handle)
    engine.handle, engine.has_handle = handle, True
    for thing in cloud.things.values():
        thing['status'] = 'active'
    killed_at(monkeypatch, 3, before=True)      # after the look and the first member
    with pytest.raises(Killed):
        acting.check_create_complete(handle)
    monkeypatch.undo()
    engine.recover()
    image = f'/images/{acting.resource_id}'
    assert cloud.said('POST') == ['POST /images', f'POST {image}/import', f'POST {image}/members',
                                  f'POST {image}/members', f'POST {image}/actions/deactivate']


# --- replies that never come -------------------------------------------------------------------------------

def test_a_lost_reply_makes_no_second_thing(cloud, bench):
    cloud.faults.append(Fault('POST /address-scopes', lost=True))
    made = bench('OS::Neutron::AddressScope').create()
    assert cloud.said('POST') == ['POST /address-scopes']
    assert list(cloud.things) == [f'/address-scopes/{made.resource_id}']


def test_a_request_that_was_not_carried_out_is_sent_again(cloud, bench):
    cloud.faults.append(Fault('POST /address-scopes', 504))
    bench('OS::Neutron::AddressScope').create()
    assert len(cloud.things) == 1


SCOPE = 'OS::Neutron::AddressScope'
NAMED = {'name': 'inner'}


def interrupted(cloud, bench, monkeypatch, name, properties, before=False):
    """An engine that dies at the request that makes the thing: before it goes out, or before the answer comes."""
    engine = Engine(bench(name, properties))
    killed_at(monkeypatch, 2, before)           # the first one looks around
    with pytest.raises(Killed):
        engine.begin()
    monkeypatch.undo()
    return engine


@pytest.mark.parametrize('before', [True, False])
def test_a_thing_of_that_name_that_was_there_is_not_taken(cloud, bench, monkeypatch, before):
    cloud.seed('/address-scopes/theirs', name='inner', ip_version=4)
    made = interrupted(cloud, bench, monkeypatch, SCOPE, NAMED, before).recover()
    assert set(cloud.collection('/address-scopes')) == {'/address-scopes/theirs', f'/address-scopes/{made.resource_id}'}
    assert made.resource_id != 'theirs'


def test_two_that_have_come_since_are_nobodys(cloud, bench, monkeypatch):
    engine = interrupted(cloud, bench, monkeypatch, SCOPE, NAMED)
    cloud.seed('/address-scopes/twin', name='inner', ip_version=4, shared=False)
    with pytest.raises(exception.Error, match='Engine went down during resource CREATE'):
        engine.recover()


def test_of_two_that_have_come_since_the_one_that_looks_different_is_somebody_elses(cloud, bench, monkeypatch):
    engine = interrupted(cloud, bench, monkeypatch, SCOPE, NAMED)
    cloud.seed('/address-scopes/other', name='inner', ip_version=6, shared=False)
    assert engine.recover().resource_id != 'other' and len(cloud.things) == 2


def test_what_the_service_writes_in_its_own_way_is_still_ours(cloud, bench, monkeypatch):
    engine = interrupted(cloud, bench, monkeypatch, SCOPE, NAMED)
    (path, made), = cloud.things.items()
    made['ip_version'] = 'IPv4'
    assert path.endswith(engine.recover().resource_id)


class Neighbours(Stack):
    """A stack with the resources that are given."""

    def __init__(self, like, **resources):
        super().__init__(like.runtime)
        self.context, self.resources = like.context, resources

    def __getitem__(self, name):
        return self.resources[name]

    def __iter__(self):
        return iter(self.resources)

    def __len__(self):
        return len(self.resources)


@pytest.mark.parametrize('known', [True, False])
def test_what_a_twin_in_the_stack_has_or_may_have_made_is_not_taken(cloud, bench, monkeypatch, known):
    engine = interrupted(cloud, bench, monkeypatch, SCOPE, NAMED, before=True)
    cloud.seed('/address-scopes/new', name='inner', ip_version=4, shared=False)
    other = bench(SCOPE, NAMED, name='twin').fresh('CREATE')
    other.resource_id = 'new' if known else None
    engine.bench.stack = Neighbours(engine.bench.stack, twin=other)
    if known:
        assert engine.recover().resource_id != 'new'
    else:
        with pytest.raises(exception.Error, match='Engine went down during resource CREATE'):
            engine.recover()


def test_who_may_create_but_not_list_still_creates(cloud, bench, monkeypatch):
    cloud.faults.append(Fault('GET /address-scopes', 403))
    engine = interrupted(cloud, bench, monkeypatch, SCOPE, NAMED)
    assert len(cloud.things) == 1
    with pytest.raises(exception.Error, match='Engine went down during resource CREATE'):
        engine.recover()


def test_a_random_name_needs_no_look(cloud, bench):
    bench(SCOPE).create()
    assert 'GET /address-scopes' not in [each.partition('?')[0] for each in cloud.said('GET')]
    bench(SCOPE, NAMED).create()
    assert 'GET /address-scopes' in [each.partition('?')[0] for each in cloud.said('GET')]


def test_a_key_that_only_the_lost_answer_told_is_made_anew(cloud, bench, monkeypatch):
    properties = {'name': 'acme', 'save_private_key': True}
    cloud.born['private_key'] = 'secret'
    engine = interrupted(cloud, bench, monkeypatch, 'OS::Nova::KeyPair', properties)
    made = engine.recover()
    assert cloud.said() == ['POST /os-keypairs', 'DELETE /os-keypairs/acme', 'POST /os-keypairs']
    assert made.data()['private_key'] == 'secret'


# --- a service that is busy --------------------------------------------------------------------------------

def test_one_change_at_a_time(cloud, bench):
    """Octavia refuses changes while another one goes on: they are asked for again at each turn."""
    cloud.faults.append(Fault('POST .*/members', 409, count=2))
    member = bench('OS::Octavia::PoolMember', MANY_CALLS['OS::Octavia::PoolMember'])
    made = member.create()
    assert member.polls == [False, False, True]
    path = f'/lbaas/pools/known-pool/members/{made.resource_id}'
    cloud.faults.append(Fault('PUT .*/members', 409, count=1))
    member.update({**MANY_CALLS['OS::Octavia::PoolMember'], 'weight': 7})
    assert cloud.body(f'PUT {path}') == {'member': {'weight': 7}}
    cloud.faults.append(Fault('DELETE .*/members', 409, count=3))
    member.run('DELETE')
    assert cloud.said('DELETE') == [f'DELETE {path}'] * 4


def test_a_delete_that_the_service_gives_up_fails(cloud, bench):
    member = bench('OS::Octavia::PoolMember', MANY_CALLS['OS::Octavia::PoolMember'])
    path = f'/lbaas/pools/known-pool/members/{member.create().resource_id}'
    cloud.answers[f'DELETE {path}'] = 204, None
    cloud.answers[f'GET {path}'] = 200, {'member': {'provisioning_status': 'ERROR'}}
    with pytest.raises(exception.ResourceInError, match='ERROR'):
        member.run('DELETE')


def test_a_private_volume_type_becomes_public_and_private_again(cloud, bench):
    """The service refuses to change the list of projects of a public type."""
    private, public = {'is_public': False, 'projects': ['known-p']}, {'is_public': True}
    kind = bench('OS::Cinder::VolumeType', {'name': 'fast', **private})
    path = f'/types/{kind.create().resource_id}'
    assert cloud.said()[-1] == f'POST {path}/action'
    cloud.requests.clear()
    kind.update({'name': 'fast', **public})
    assert cloud.said() == [f'PUT {path}']
    cloud.requests.clear()
    kind.update({'name': 'fast', **private})
    assert cloud.said() == [f'PUT {path}', f'POST {path}/action']


def test_a_vlan_needs_no_physical_network(bench):
    """The service takes one that has a free VLAN."""
    bench('OS::Neutron::ProviderNet', {'network_type': 'vlan'}).validate()
    with pytest.raises(exception.StackValidationFailed, match='physical_network'):
        bench('OS::Neutron::ProviderNet', {'network_type': 'flat'}).validate()


def test_a_deletion_that_is_refused_is_worth_another_try(cloud, bench):
    """The engine makes it, with growing pauses, as for every type."""
    network = bench('OS::Neutron::Net')
    made = network.create()
    cloud.faults.append(Fault('DELETE', 409))
    with pytest.raises(Exception, match='the lamp is busy') as refused:
        network.run('DELETE')
    assert step_failures.is_worth_retrying(made, refused.value, Action.DELETE)
    network.run('DELETE')
    assert not cloud.things
