"""The types against a QingCloud that speaks real HTTP and checks every signature."""

import datetime
import shutil
import sys
import urllib.parse

import pytest
from oslo_config import cfg
from qingcloud_stand_in import BUSY, DENIED, INTERNAL, KEY_ID, SECRET, Failure, for_conformance, signature

from heatlite.common import exception
from heatlite.engine.types import plugin_loading, registry
from tests.plugins.bench import Bench

SERVER, KEY_PAIR, ATTACHMENT, EIP = (
    f'COM::TwoFellows::{name}' for name in ('Server', 'KeyPair', 'KeyPairAttachment', 'EIPAssociation'))
PASSWORD = 'Correct-horse-1'
GIVEN = {'image_id': 'img-1', 'instance_type': 's1.small.r1', 'login_mode': 'passwd', 'login_passwd': PASSWORD}
LATER = Failure(DENIED, 'PermissionDenied, resource [i-1] lease info not ready yet, please try later')


@pytest.fixture
def plugin(request, tmp_path):
    """The package, installed as an operator does; everything of it is forgotten afterwards."""
    shutil.copytree(request.path.parent / 'twofellows', tmp_path / 'twofellows')
    found = plugin_loading.load([str(tmp_path)])
    assert not found.failures
    types = registry.create()
    for name, kind in found.types.items():
        types.register(name, kind)
    for name, kind in found.constraints.items():
        types.register_constraint(name, kind)
    yield found
    registry.use(None)
    plugin_loading.package.__path__.remove(str(tmp_path))
    forget()


def forget():
    for name in [name for name in sys.modules if '.plugins.twofellows' in name]:
        del sys.modules[name]


@pytest.fixture
def cloud(plugin):
    with for_conformance() as cloud:
        yield cloud


def server(**given):
    return Bench(SERVER, {**GIVEN, **given})


# --- servers -----------------------------------------------------------------------------------------------


def test_a_server_is_waited_for_and_named(cloud):
    bench = server(name='web', description='shop')
    bench.validate()
    made = bench.create()
    instance = cloud.instances[made.resource_id]
    assert (instance['instance_name'], instance['description'], instance['status']) == ('web', 'shop', 'running')
    assert cloud.said('RunInstances') == ['RunInstances']
    assert made.FnGetAtt('private_ip') == instance['vxnets'][0]['private_ip']
    assert made.FnGetAtt('status') == 'running'
    assert made.FnGetAtt('show')['image'] == {'image_id': 'img-1'}


def test_a_lost_answer_makes_no_second_server(cloud):
    cloud.fault('RunInstances', 'lost')
    bench = server()
    creating = bench.fresh('CREATE')
    with pytest.raises(exception.HeatException, match='did not answer run_instances'):
        creating.handler('CREATE')()
    assert [creating.find_existing()] == list(cloud.instances)
    assert cloud.said('RunInstances') == ['RunInstances']


@pytest.mark.parametrize('failure', [Failure(BUSY, 'ServerBusy, try again'), LATER])
def test_who_is_busy_is_asked_again(cloud, failure):
    for action in ('RunInstances', 'DescribeInstances', 'TerminateInstances'):
        cloud.fault(action, failure)
    bench = server()
    bench.create()
    assert len(cloud.instances) == 1
    bench.run('DELETE')
    assert not cloud.alive()


def test_an_internal_error_while_asking_is_no_failure(cloud):
    cloud.fault('DescribeInstances', Failure(INTERNAL, 'InternalError'))
    cloud.fault('DescribeInstances', 'lost')
    server().create()
    assert len(cloud.alive()) == 1


def test_a_quota_is_a_failure_in_its_words(cloud):
    cloud.quota = 0
    with pytest.raises(exception.HeatException, match=r'can not create more instances \(2500, quota exceeded\)'):
        server().create()


def test_the_password_is_in_no_message(cloud):
    with pytest.raises(exception.HeatException, match=r'login_passwd .* is too weak') as caught:
        server(login_passwd='all-lower-case').create()
    assert 'all-lower-case' not in str(caught.value)


def test_a_job_that_fails_fails_the_server(cloud):
    bench = server()
    creating = bench.fresh('CREATE')
    progress = creating.handler('CREATE')()
    cloud.jobs[progress['job']]['status'] = 'failed'
    with pytest.raises(exception.Error, match='RunInstances, has failed'):
        bench.fresh('CREATE').checker('CREATE')(progress)


def test_a_new_size_stops_resizes_and_starts(cloud):
    bench = server(name='web')
    made = bench.create()
    del cloud.calls[:]
    bench.update({**GIVEN, 'name': 'shop', 'instance_type': 's1.large.r1'})
    instance = cloud.instances[made.resource_id]
    assert (instance['instance_type'], instance['instance_name'], instance['status']) == (
        's1.large.r1', 'shop', 'running')
    assert cloud.said('ModifyInstanceAttributes', 'StopInstances', 'ResizeInstances', 'StartInstances',
                      'RunInstances') == ['ModifyInstanceAttributes', 'StopInstances', 'ResizeInstances',
                                          'StartInstances']


def test_what_cannot_change_replaces(cloud):
    bench = server()
    bench.create()
    assert bench.update(GIVEN) is None
    with pytest.raises(exception.UpdateReplace):
        bench.update({**GIVEN, 'image_id': 'img-2'})


def test_what_somebody_else_has_changed(cloud):
    bench = server(name='web')
    made = bench.create()
    assert made.get_live_state(made.properties) == {'name': 'web', 'instance_type': 's1.small.r1'}
    cloud.instances[made.resource_id]['instance_type'] = 's1.large.r1'
    assert made.get_live_state(made.properties)['instance_type'] == 's1.large.r1'
    bench.run('DELETE')
    with pytest.raises(exception.EntityNotFound):
        made.get_live_state(made.properties)


def test_suspended_is_stopped(cloud):
    bench = server()
    made = bench.create()
    bench.run('SUSPEND')
    assert cloud.instances[made.resource_id]['status'] == 'stopped'
    with pytest.raises(exception.Error, match="'status': expected 'running', got 'stopped'"):
        bench.run('CHECK')
    bench.run('RESUME')
    bench.run('CHECK')


def test_deleted_twice_and_what_is_gone(cloud):
    bench = server()
    made = bench.create()
    bench.run('DELETE')
    assert cloud.instances.pop(made.resource_id)['status'] == 'terminated'
    bench.run('DELETE')
    assert bench.fresh('DELETE').FnGetAtt('status') is None
    assert bench.fresh('CREATE', 'FAILED').needs_replace_failed()


@pytest.mark.parametrize('given, text', [
    ({'instance_type': None}, 'either instance_type, or cpu and memory'),
    ({'cpu': 1, 'memory': 1024}, 'either instance_type, or cpu and memory'),
    ({'instance_type': None, 'cpu': 1}, 'cpu and memory go together'),
    ({'login_mode': 'keypair'}, 'needs login_keypair'),
    ({'login_mode': 'smoke'}, 'not an allowed value'),
    ({'zone': 'ap1'}, 'Zone .*ap1.* could not be found'),
])
def test_what_it_refuses(cloud, given, text):
    properties = {name: value for name, value in {**GIVEN, **given}.items() if value is not None}
    with pytest.raises(exception.StackValidationFailed, match=text):
        Bench(SERVER, properties).validate()


# --- keys and addresses ------------------------------------------------------------------------------------


def test_the_private_key_is_kept_as_a_secret(cloud):
    bench = Bench(KEY_PAIR, {'name': 'mine'})
    bench.validate()
    made = bench.create()
    assert cloud.keypairs[made.resource_id]['keypair_name'] == 'mine'
    assert ('data', 'private_key', f'-----BEGIN {made.resource_id}-----', True) in bench.memory.written
    bench.update({'name': 'yours'})
    assert cloud.keypairs[made.resource_id]['keypair_name'] == 'yours'
    bench.run('DELETE')
    bench.run('DELETE')
    assert not cloud.keypairs


def test_a_key_pair_without_its_private_key_is_removed(cloud):
    cloud.fault('CreateKeyPair', 'lost')
    bench = Bench(KEY_PAIR, {})
    creating = bench.fresh('CREATE')
    with pytest.raises(exception.HeatException, match='did not answer create_keypair'):
        creating.handler('CREATE')()
    assert len(cloud.keypairs) == 1
    assert creating.find_existing() is None and not cloud.keypairs


def test_a_public_key_of_ones_own_is_found_again(cloud):
    cloud.fault('CreateKeyPair', 'lost')
    bench = Bench(KEY_PAIR, {'public_key': 'ssh-rsa MINE'})
    creating = bench.fresh('CREATE')
    with pytest.raises(exception.HeatException, match='did not answer'):
        creating.handler('CREATE')()
    assert [creating.find_existing()] == list(cloud.keypairs)


def test_a_key_goes_onto_a_server_and_off_it(cloud):
    instance, key = server().create().resource_id, Bench(KEY_PAIR, {}).create().resource_id
    bench = Bench(ATTACHMENT, {'instance_id': instance, 'key_pair_id': key})
    assert bench.fresh('CREATE').find_existing() is None
    made = bench.create()
    assert cloud.instances[instance]['keypair_ids'] == [key]
    assert made.find_existing() == made.resource_id == f'{instance}/{key}'
    bench.run('CHECK')
    with pytest.raises(exception.HeatException, match='is in use'):
        key_bench(key).run('DELETE')
    bench.run('DELETE')
    assert cloud.instances[instance]['keypair_ids'] == []
    del cloud.instances[instance]
    bench.run('DELETE')


def key_bench(key):
    bench = Bench(KEY_PAIR, {})
    bench.fresh('CREATE').resource_id_set(key)
    return bench


def test_an_address_moves_with_its_server(cloud):
    old, new = (server().create().resource_id for _ in range(2))
    bench = Bench(EIP, {'eip_id': 'eip-1', 'instance_id': old})
    made = bench.create()
    assert (made.resource_id, made.FnGetAtt('address')) == ('eip-1', '203.0.113.7')
    bench.update({'eip_id': 'eip-1', 'instance_id': new})
    assert cloud.eips['eip-1']['resource'] == {'resource_id': new}
    assert cloud.instances[old]['eip'] == {}
    bench.run('CHECK')
    bench.run('DELETE')
    assert cloud.eips['eip-1']['status'] == 'available'
    bench.run('DELETE')


def test_an_address_in_use_is_left_alone(cloud):
    holder, other = (server().create().resource_id for _ in range(2))
    Bench(EIP, {'eip_id': 'eip-1', 'instance_id': holder}).create()
    bench = Bench(EIP, {'eip_id': 'eip-1', 'instance_id': other})
    with pytest.raises(exception.Error, match=f'in use at {holder}'):
        bench.create()
    bench.run('DELETE')
    assert cloud.eips['eip-1']['resource'] == {'resource_id': holder}


# --- the way there -----------------------------------------------------------------------------------------


@pytest.mark.parametrize('option, value, text', [
    ('secret_access_key', 'wrong', 'signature not matched \\(1200, authentication failed\\)'),
    ('access_key_id', None, 'access_key_id and secret_access_key are not set'),
    ('zone', None, 'Neither the property zone'),
    ('endpoint', 'http://127.0.0.1:9/iaas/', 'did not answer run_instances: ConnectionRefusedError'),
])
def test_a_wrong_option(cloud, option, value, text):
    cfg.CONF.set_override(option, value, group='twofellows')
    with pytest.raises(exception.HeatException, match=text) as caught:
        server().create()
    assert SECRET not in str(caught.value) and PASSWORD not in str(caught.value)


def test_the_stand_in_believes_only_what_is_signed_now(cloud):
    given = {'action': 'DescribeZones', 'access_key_id': KEY_ID, 'signature_method': 'HmacSHA256',
             'signature_version': '1', 'time_stamp': '2020-01-01T00:00:00Z'}

    def answered(**more):
        return cloud.answer('/iaas/', urllib.parse.urlencode({**given, **more}))[0]['ret_code']

    assert answered() == answered(signature='AAAA') == 1200
    assert answered(signature=signature('/iaas/', given)) == 1300
    given['time_stamp'] = datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
    assert answered(signature=signature('/iaas/', given)) == 0
    assert answered(signature=signature('/iaas/', given), limit='1') == 1200


def test_without_the_sdk_there_are_no_types(request, tmp_path, monkeypatch):
    shutil.copytree(request.path.parent / 'twofellows', tmp_path / 'twofellows')
    monkeypatch.setitem(sys.modules, 'qingcloud.iaas', None)
    found = plugin_loading.load([str(tmp_path)])
    plugin_loading.package.__path__.remove(str(tmp_path))
    forget()
    assert (found.types, found.failures) == ({}, [])
