"""The ways on which a guest says something to its stack, each gone as the guest would."""

from __future__ import annotations

import copy
import json
import threading
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
import requests
from keystoneauth1 import session
from keystoneauth1.identity import v3
from oslo_config import cfg

from heatlite.common import limits
from heatlite.common.timeutils import isotime
from heatlite.engine import clients
from heatlite.engine.clients.os import swift
from heatlite.engine.clients.os.zaqar import Queue
from heatlite.engine.notify.event_sinks import ZaqarQueue
from heatlite.engine.resources.openstack.heat import swiftsignal
from tests.plugins.openstack.cloud import Cloud, Life

HANDLE = 'OS::Heat::WaitConditionHandle'
SWIFT_HANDLE, SWIFT_SIGNAL = 'OS::Heat::SwiftSignalHandle', 'OS::Heat::SwiftSignal'


@pytest.fixture
def stack_domain():
    values = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
              'stack_domain_admin_password': 'secret'}
    for name, value in values.items():
        cfg.CONF.set_override(name, value)
    yield
    for name in values:
        cfg.CONF.clear_override(name)


@pytest.fixture
def handle(cloud: Cloud, stack_domain):
    """Makes a handle with the transport that it is given."""
    made: list[Life] = []

    def make(transport: str) -> Life:
        life = Life(cloud, HANDLE, {'signal_transport': transport})
        made.append(life)
        life.create()
        return life

    yield make
    for life in made:
        life.delete()


def guest(login: dict) -> session.Session:
    """Logged in with the login of a guest, and nothing else."""
    return session.Session(auth=v3.Password(
        auth_url=login['auth_url'], user_id=login['user_id'], password=login['password'],
        project_id=login['project_id']))


@pytest.mark.parametrize('transport', ['HEAT_SIGNAL', 'ZAQAR_SIGNAL'])
def test_a_guest_can_log_in(cloud: Cloud, handle, transport):
    login = json.loads(handle(transport).attribute('signal'))
    assert guest(login).get_project_id() == login['project_id'] != cloud.context.project_id


@pytest.mark.parametrize('transport', ['HEAT_SIGNAL', 'ZAQAR_SIGNAL'])
@pytest.mark.parametrize('own, services, expected', [
    ('RegionOne', '', 'RegionOne'), ('RegionOne', 'RegionTwo', 'RegionOne'), (None, 'RegionOne', 'RegionOne')])
def test_guests_get_the_region_that_the_engine_uses(cloud: Cloud, handle, transport, own, services, expected):
    """A token says nothing of a region: in a cluster, the region is the option."""
    before = cloud.context.region_name
    cloud.context.region_name = own
    cfg.CONF.set_override('region_name_for_services', services)
    try:
        assert json.loads(handle(transport).attribute('signal'))['region_name'] == expected
    finally:
        cloud.context.region_name = before
        cfg.CONF.clear_override('region_name_for_services')


def test_messages_of_a_queue_are_signals(cloud: Cloud, handle):
    life = handle('ZAQAR_SIGNAL')
    login = json.loads(life.attribute('signal'))
    here = life.fresh('CREATE', 'COMPLETE')
    assert here.get_status() == []
    guest(login).post(f'/v2/queues/{login["queue_id"]}/messages', headers={'Client-ID': life.runtime.uuid()},
                     endpoint_filter={'service_type': 'messaging'}, json={
                         'messages': [{'body': {'data': 'here', 'id': 'it'}, 'ttl': 60}]})
    assert here.get_status() == ['SUCCESS']
    assert here.metadata_get(True) == {'it': {'data': 'here', 'reason': 'Signal 1 received', 'status': 'SUCCESS'}}
    assert here.get_status() == ['SUCCESS']             # the message was taken, not read again
    guest(login).post(f'/v2/queues/{login["queue_id"]}/messages', endpoint_filter={'service_type': 'messaging'},
                     headers={'Client-ID': life.runtime.uuid(), 'Content-Type': 'application/json'},
                     data='{"messages": [{"body": {"data": NaN, "id": "other"}, "ttl": 60}]}')
    assert here.get_status() == ['SUCCESS']             # what could not be stored is no signal


def test_a_message_that_nests_too_deeply_is_ignored(caplog):
    deep = '[' * 100_000 + ']' * 100_000
    answer = requests.Response()
    answer.status_code, answer._content = 200, f'{{"messages": [{{"body": {deep}, "id": "i", "ttl": 60}}]}}'.encode()

    class Service:
        def delete(self, path, params):
            return answer

    assert Queue(Service(), 'q').pop() == []
    assert 'queue q nests too deeply' in caplog.text


@pytest.fixture(params=['', '/v2'])
def cloud_with_messages(request, cloud: Cloud):
    """The URL of Zaqar in its catalogue is without and with the version of the API."""
    admin = clients.of(Cloud(cloud.url, 'admin').context).client('keystone').session
    place = {'interface': 'public', 'region_name': 'RegionOne', 'service_type': 'identity'}
    [service] = admin.get('/v3/services', endpoint_filter=place, params={'type': 'messaging'}).json()['services']
    found = admin.get('/v3/endpoints', endpoint_filter=place, params={'service_id': service['id']})

    def end_with(version: str) -> None:
        for each in found.json()['endpoints']:
            admin.patch(f'/v3/endpoints/{each["id"]}', endpoint_filter=place,
                        json={'endpoint': {'url': each['url'] + version}})

    end_with(request.param)
    yield Cloud(cloud.url)
    end_with('')


def test_queues_are_found_with_and_without_a_version_in_the_catalogue(cloud_with_messages: Cloud):
    cloud = cloud_with_messages
    plugin, project = cloud.plugin('zaqar'), cloud.context.project_id
    queue = plugin.client().queue('q')
    queue.ensure_exists()
    queue.post({'body': 1, 'ttl': 60})
    signed = queue.signed_url(['messages'], methods=['DELETE'])
    by_url = plugin.create_from_signed_url(
        project, signed['paths'], signed['expires'], signed['methods'], signed['signature']).queue('q')
    assert [each.body for each in by_url.pop()] == [1]
    of_project = plugin.create_for_tenant(project, cloud.context.keystone_session.get_token()).queue('q')
    of_project.post({'body': 2, 'ttl': 60})
    assert [each.body for each in of_project.pop()] == [2]
    ZaqarQueue('q').consume(cloud.context, {'event': 1})            # an event sink
    assert [each.body for each in of_project.pop()] == [{'event': 1}]
    of_project.delete()


@pytest.fixture
def swift_handle(handle):
    """(a handle with an object, its URL)"""
    life = handle('TEMP_URL_SIGNAL')
    return life, json.loads(life.attribute('signal'))['alarm_url']


def put(url: str, data: object = None) -> None:
    """`data` as JSON; None: nothing at all."""
    requests.put(url, data=b'' if data is None else json.dumps(data), timeout=10).raise_for_status()


def signals(life: Life) -> dict[str, str]:
    """Id -> data of each signal, after one look at what has arrived."""
    here = life.fresh('CREATE', 'COMPLETE')
    here.get_status()
    return {name: each['data'] for name, each in here.metadata_get(True).items()}


def test_an_object_at_a_signed_address_is_one_signal(swift_handle):
    life, url = swift_handle
    assert signals(life) == {}
    put(url, {'data': 'a'})
    assert signals(life) == signals(life) == {'1': 'a'}


@pytest.mark.parametrize('action, begun, is_passed_over', [
    ('UPDATE', 60, True), ('UPDATE', -60, False), ('CREATE', 60, False), ('UPDATE', None, False)])
def test_a_deployment_that_heat_has_begun_over_another(cloud: Cloud, action, begun, is_passed_over):
    """Heat leaves the result of the former one in the object. `begun`: seconds after that result."""
    here = Life(cloud, 'OS::Heat::SoftwareDeployment', {
        'config': 'c', 'server': 's', 'signal_transport': 'TEMP_URL_SIGNAL'}).fresh(action, 'IN_PROGRESS')
    put(here._get_swift_signal_url(), {'deploy_status_code': 0})
    [signal] = here.client_plugin('swift').signals(here.stack.id, here.data()['swift_signal_object_name'])
    found = {'action': action, 'status': 'IN_PROGRESS'}
    if begun is not None:
        found['updated_time'] = isotime(datetime.fromtimestamp(float(signal.put_at) + begun, UTC).replace(tzinfo=None))
    here._deployment = lambda: found
    here._pass_over_former_answers()
    assert json.loads(here.data().get('swift_signals_read', '[]')) == [signal.put_at] * is_passed_over
    here._delete_swift_signal_url()


DEPLOYED = {'config': 'c', 'server': 's'}
NOT_STORED_BY_HEAT = {'CFN_SIGNAL': {'ec2_signed_url'}, 'TEMP_URL_SIGNAL': {'swift_signals_read'}}


def is_accepted(cloud: Cloud, url: str, verb: str) -> bool:
    """Whether Keystone accepts the signature of a URL of the CFN API."""
    place = urlsplit(url)
    params = dict(parse_qsl(place.query))
    said = {'host': place.netloc, 'verb': verb, 'path': unquote(place.path), 'params': params, 'body_hash': '',
            'access': params['AWSAccessKeyId'], 'signature': params['Signature'], 'headers': {}}
    answer = requests.post(f'{cloud.url}/v3/ec2tokens', json={'credentials': said}, timeout=10)
    return answer.status_code == 200


@pytest.fixture
def cfn():
    cfg.CONF.set_override('heat_waitcondition_server_url', 'http://cfn/v1/waitcondition')
    yield
    cfg.CONF.clear_override('heat_waitcondition_server_url')


@pytest.mark.parametrize('begun_by', ['this release', 'a former one'])
def test_a_later_deployment_has_an_address_that_is_accepted(cloud: Cloud, cfn, stack_domain, begun_by):
    """Keystone refuses what was signed more than 15 minutes ago. Former releases stored that for all deployments."""
    here = Life(cloud, 'OS::Heat::SoftwareDeployment', DEPLOYED).fresh('CREATE', 'COMPLETE')
    if begun_by == 'a former one':
        with_time = here._get_ec2_signed_url()
    list(here._derived_inputs('CREATE'))
    for action in ('UPDATE', 'SUSPEND', 'DELETE'):
        cloud.advance(3600)
        inputs = {name: value for name, value, _about in here._derived_inputs(action)}
        cloud.advance(3600)
        assert is_accepted(cloud, inputs['deploy_signal_id'], inputs['deploy_signal_verb'])
    if begun_by == 'a former one':
        assert not is_accepted(cloud, with_time, 'POST')
    here._delete_signals()
    assert not is_accepted(cloud, inputs['deploy_signal_id'], 'POST')
    here._delete_user()
    here.stack.give_up_project()


@pytest.mark.parametrize('method', ['_get_ec2_signed_url', '_get_signed_url'])
@pytest.mark.parametrize('name, given', [
    ('OS::Heat::SoftwareDeployment', DEPLOYED), (HANDLE, {'signal_transport': 'CFN_SIGNAL'})])
def test_an_address_with_a_time_stays_the_same(cloud: Cloud, cfn, stack_domain, name, given, method):
    """As in Heat, whose plug-ins show it as an attribute: else each update changes the resources that read that."""
    life = Life(cloud, name, given)
    here = life.fresh('CREATE', 'COMPLETE')
    first = getattr(here, method)()
    here.runtime.sleep(60)
    assert 'Timestamp' in first and getattr(here, method)() == first
    here._delete_signals()
    here._delete_user()
    life.stack.give_up_project()


@pytest.mark.parametrize('transport', ['CFN_SIGNAL', 'HEAT_SIGNAL', 'TEMP_URL_SIGNAL', 'ZAQAR_SIGNAL'])
@pytest.mark.parametrize('origin', ['heatlite', 'Heat', 'deletion'])
def test_a_deployment_has_an_address_for_signals_in_a_deletion(cloud: Cloud, request, stack_domain, transport, origin):
    """`origin`: what made the address: one of both services, before, or the deletion itself."""
    cfg.CONF.set_override('heat_waitcondition_server_url', 'http://cfn/v1/waitcondition')
    request.addfinalizer(lambda: cfg.CONF.clear_override('heat_waitcondition_server_url'))
    life = Life(cloud, 'OS::Heat::SoftwareDeployment', {**DEPLOYED, 'signal_transport': transport})
    if origin != 'deletion':
        before = life.fresh('CREATE', 'COMPLETE')
        list(before._derived_inputs('CREATE'))
        for name in NOT_STORED_BY_HEAT.get(transport, ()) if origin == 'Heat' else ():
            before.data_delete(name)
    here = life.fresh('DELETE', 'IN_PROGRESS')
    user = here.data().get('user_id')
    inputs = {name: value for name, value, _about in here._derived_inputs('DELETE')}
    assert None not in inputs.values()
    assert user in (None, here.data().get('user_id'))
    here._delete_signals()
    here._delete_user()
    life.stack.give_up_project()


@pytest.mark.parametrize('transport', ['CFN_SIGNAL', 'TEMP_URL_SIGNAL', 'ZAQAR_SIGNAL'])
def test_an_attribute_makes_nothing_in_a_deletion(cloud: Cloud, stack_domain, transport):
    life = Life(cloud, HANDLE, {'signal_transport': transport})
    here = life.fresh('DELETE', 'IN_PROGRESS')
    if transport == 'ZAQAR_SIGNAL':
        assert here._get_zaqar_signal_queue_id() is None
    else:
        assert here._get_signal() == {'alarm_url': None}
    assert here.data() == {}


def test_urls_that_are_made_at_once_in_an_account_without_a_key_are_all_accepted(cloud: Cloud, monkeypatch):
    """Each looks at the account before another one has stored a key."""
    client = cloud.client('swift')
    client.post_account({swift.KEY_HEADER: ''})
    client.put_container('box')
    both, begun, urls = threading.Barrier(2), threading.local(), {}
    look = swift.ObjectClient.head_account

    def look_together(asked):
        found = look(asked)
        if not hasattr(begun, 'is_past'):
            begun.is_past = True
            both.wait(30)
        return found

    def make(name: str) -> None:
        urls[name] = clients.of(copy.copy(cloud.context)).client_plugin('swift').get_temp_url('box', name)

    monkeypatch.setattr(swift.ObjectClient, 'head_account', look_together)
    threads = [threading.Thread(target=make, args=(name,)) for name in ('one', 'two')]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    for name, url in urls.items():
        put(url, name)
        client.delete_object('box', name)
    assert sorted(urls) == ['one', 'two']
    client.delete_container('box')


def test_versions_of_an_object_are_signals(swift_handle):
    """Those that came between two looks, and those that came after the newest one was read."""
    life, url = swift_handle
    for data in ('a', 'b'):
        put(url, {'data': data})
    assert signals(life) == {'1': 'a', '2': 'b'}
    for data in ('c', 'd', 'e'):
        put(url, {'data': data})
    assert signals(life) == signals(life) == {'1': 'a', '2': 'b', '3': 'c', '4': 'd', '5': 'e'}


def test_an_object_without_content_is_a_signal(swift_handle):
    life, url = swift_handle
    put(url)
    put(url)
    assert signals(life) == signals(life) == {'1': None, '2': None}


@pytest.mark.parametrize('content', [
    b'{', b'\xff', b'{"data": NaN}', b'{"data": 1e999}', b'{"data": "\\ud800"}',
    pytest.param(b'[' * 100_000, id='deep')])
def test_an_object_that_is_no_json_is_no_signal(swift_handle, content):
    life, url = swift_handle
    requests.put(url, data=content, timeout=10).raise_for_status()
    assert signals(life) == {}
    put(url, {'data': 'a'})
    assert signals(life) == {'1': 'a'}


def test_a_signal_and_the_note_that_it_was_read_are_stored_together(swift_handle):
    """What a type notes is stored with its next change. A crash between two changes would count the signal again."""
    life, url = swift_handle
    put(url, {'data': 'a'})
    before = len(life.memory.written)
    signals(life)
    assert [each[0] for each in life.memory.written[before:]][:2] == ['data', 'metadata']


def test_signals_that_were_read_leave_one_object(cloud: Cloud, swift_handle):
    life, url = swift_handle
    for number in range(5):
        put(url, {'data': str(number)})
        if number % 2:
            signals(life)
    assert len(signals(life)) == 5
    container, name = urlsplit(url).path.split('/')[-2:]
    _headers, objects = cloud.client('swift').get_container(container)
    assert [each['name'] for each in objects if each['name'].endswith(f'{name}')] == [name]
    assert len(objects) <= 2            # the version with what the URL was made with is no signal


@pytest.fixture
def waiting(cloud: Cloud):
    """Makes a SwiftSignal for its own handle, to whose URL was put what is given."""
    handle = Life(cloud, SWIFT_HANDLE)
    handle.create()
    url = handle.attribute('endpoint')

    def make(count: int, *sent: object) -> Life:
        for data in sent:
            put(url, data)
        return Life(cloud, SWIFT_SIGNAL, {'handle': url, 'timeout': 20, 'count': count})

    yield make
    handle.delete()


def test_a_swift_signal_counts_all_versions(waiting):
    life = waiting(3, {'data': 'a'}, None, {'data': 'c', 'id': 'it', 'host': 'a key of no signal'})
    life.create()
    assert json.loads(life.attribute('data')) == {'1': 'a', '2': None, 'it': 'c'}
    assert life.fresh('CREATE', 'COMPLETE').get_status_reason('SUCCESS') == [
        f'Signal {number} received' for number in (1, 2, 'it')]


def test_a_swift_signal_takes_the_later_of_two_with_one_id(waiting):
    with pytest.raises(swiftsignal.SwiftSignalTimeout, match='1 of 2 received'):
        waiting(2, {'data': 'a', 'id': 'it'}, {'data': 'b', 'id': 'it'}).create()


def test_a_failure_before_a_success_is_a_failure(waiting):
    with pytest.raises(swiftsignal.SwiftSignalFailure, match='no disk'):
        waiting(1, {'status': 'FAILURE', 'reason': 'no disk'}, {'status': 'SUCCESS'}).create()


def test_a_swift_signal_without_container_waits(cloud: Cloud, waiting):
    life = waiting(1)
    container, name = urlsplit(life.definition.properties(life.kind().properties_schema)['handle']).path.split('/')[-2:]
    cloud.plugin('swift').delete_versions(container, name)
    with pytest.raises(swiftsignal.SwiftSignalTimeout, match='0 of 1 received'):
        life.create()


def test_signals_have_a_bound(waiting, monkeypatch):
    monkeypatch.setattr(limits, 'MOST_METADATA', 100)
    with pytest.raises(Exception, match='more than the 100 bytes'):
        waiting(3, *({'data': 'x' * 40} for _ in range(3))).create()


# --- where a guest logs in ----------------------------------------------------------------------------------

INTERNAL = 'http://internal.example:5000'


@pytest.mark.parametrize('interface, auth_uri, region, expected', [
    ('public', INTERNAL, 'RegionOne', 'catalogue'), ('internal', '', 'RegionOne', 'catalogue'),
    ('', INTERNAL, 'RegionOne', f'{INTERNAL}/v3'), ('', f'{INTERNAL}/v3/', 'RegionOne', f'{INTERNAL}/v3'),
    ('', '', 'RegionOne', 'own'),
    ('public', INTERNAL, 'Nowhere', f'{INTERNAL}/v3'), ('public', '', 'Nowhere', 'own')])
def test_guests_get_the_keystone_of_the_catalogue(cloud: Cloud, interface, auth_uri, region, expected):
    """[clients_keystone] auth_uri of a file for Heat is the URL that the service uses, perhaps one that guests cannot
    reach. `region`: Nowhere has no such endpoint."""
    cfg.CONF.set_override('server_keystone_endpoint_type', interface)
    cfg.CONF.set_override('auth_uri', auth_uri, group='clients_keystone')
    before = cloud.context.region_name
    try:
        cloud.context.region_name = region
        keystone = cloud.client('keystone')
        found = keystone.server_keystone_endpoint_url(fallback_endpoint='http://own.example/v3')
    finally:
        cloud.context.region_name = before
        cfg.CONF.clear_override('server_keystone_endpoint_type')
        cfg.CONF.clear_override('auth_uri', group='clients_keystone')
    own = {'catalogue': f'{cloud.url}/identity/v3', 'own': 'http://own.example/v3'}
    assert found == own.get(expected, expected)


@pytest.mark.parametrize('transport', ['HEAT_SIGNAL', 'ZAQAR_SIGNAL'])
def test_a_handle_tells_the_keystone_of_the_catalogue(cloud: Cloud, handle, transport):
    cfg.CONF.set_override('server_keystone_endpoint_type', 'public')
    cfg.CONF.set_override('auth_uri', INTERNAL, group='clients_keystone')
    try:
        login = json.loads(handle(transport).attribute('signal'))
    finally:
        cfg.CONF.clear_override('server_keystone_endpoint_type')
        cfg.CONF.clear_override('auth_uri', group='clients_keystone')
    assert guest(login).get_project_id() == login['project_id']


# --- what is left -------------------------------------------------------------------------------------------

@pytest.mark.parametrize('kind, properties', [(HANDLE, {'signal_transport': 'TEMP_URL_SIGNAL'}),
                                              (SWIFT_HANDLE, {})])
def test_all_versions_of_an_object_are_deleted(cloud: Cloud, stack_domain, kind, properties):
    """Each signal is a version of the object, which comes back when the newer one is deleted."""
    life = Life(cloud, kind, properties)
    life.create()
    url = json.loads(life.attribute('signal'))['alarm_url'] if properties else life.attribute('endpoint')
    for number in range(3):
        requests.put(url, json={'id': number}, timeout=10).raise_for_status()
    life.delete()
    assert cloud.count('object-store.containers') == 0
