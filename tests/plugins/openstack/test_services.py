"""The way to the services: logging in, repeating, giving up, names and ids - in the simulated cloud."""

from __future__ import annotations

from datetime import datetime

import pytest
from keystoneauth1 import exceptions
from oslo_config import cfg
from requests import Response

from heatlite.common import config, crypt, exception, log_throttle
from heatlite.common.context import RequestContext
from heatlite.db.credentials import Credentials
from heatlite.engine import clients
from heatlite.engine.clients import constraint_names, own_logins, sessions
from heatlite.engine.clients.os import http
from heatlite.engine.durability import fence
from heatlite.engine.durability.journal import LeaseLost
from heatlite.engine.reconcile.authority import Authority, context_of
from heatlite.engine.resources.rest import service as described_services
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.types import registry
from tests.plugins.openstack.cloud import Cloud


@pytest.fixture
def neutron(cloud: Cloud):
    return cloud.client('neutron')


def ports(cloud: Cloud) -> int:
    return cloud.count('network.ports')


EMPTY_IS_NONE = ('nova.keypair',)           # a server without one
ASKS_NOBODY = ('zaqar.queue',)              # a queue comes into being when it is used


# --- repeating and giving up -----------------------------------------------------------------------------------


def test_reading_is_repeated_when_the_reply_is_lost(cloud: Cloud, neutron):
    cloud.fault(kind='lost', service='network', method='GET', path='*/networks')
    assert neutron.list_networks(name='private')['networks'][0]['name'] == 'private'


def test_a_change_of_fields_is_repeated_when_the_reply_is_lost(simulator, cloud: Cloud):
    users = Cloud(simulator, 'admin').client('keystone').client.users
    user = users.create(name='patched', password='a-Secret1', domain='default')
    cloud.fault(kind='lost', service='identity', method='PATCH', path='*/users/*')
    users.update(user.id, enabled=False)
    assert users.get(user.id).enabled is False
    users.delete(user.id)


def test_a_json_patch_is_not_repeated_when_the_reply_is_lost(simulator, cloud: Cloud):
    users = Cloud(simulator, 'admin').client('keystone').client
    cloud.fault(kind='refused', service='identity', method='PATCH', path='*')
    with pytest.raises(exceptions.ConnectFailure):
        users.http.patch('/users/nobody', json=[{'op': 'add', 'path': '/tags/-', 'value': 'a'}])


def test_an_engine_that_lost_its_lease_sends_no_request(cloud: Cloud, neutron):
    good_checks = iter(['before the action'])

    def check() -> None:
        if next(good_checks, None) is None:
            raise LeaseLost('stack')

    before, network = ports(cloud), cloud.network()
    with pytest.raises(LeaseLost):
        fence.behind(check, lambda: neutron.create_port({'port': {'network_id': network}}))
    assert ports(cloud) == before


@pytest.mark.parametrize('kind, more', [('error', {'status': 503}), ('throttle', {'seconds': 0})])
def test_a_busy_service_is_asked_again(cloud: Cloud, neutron, kind, more):
    before = ports(cloud)
    cloud.fault(kind=kind, service='network', method='POST', path='*/ports', **more)
    port = neutron.create_port({'port': {'network_id': cloud.network()}})['port']['id']
    assert ports(cloud) == before + 1
    neutron.delete_port(port)


@pytest.mark.parametrize('kind, more', [('lost', {}), ('error_after', {'status': 502})])
def test_making_is_not_repeated_when_nobody_knows(cloud: Cloud, neutron, kind, more):
    before = ports(cloud)
    cloud.fault(kind=kind, service='network', method='POST', path='*/ports', **more)
    with pytest.raises(exceptions.ClientException) as failed:
        neutron.create_port({'port': {'network_id': cloud.network(), 'name': 'once'}})
    assert http.reply_was_lost(failed.value)
    assert ports(cloud) == before + 1
    neutron.delete_port(neutron.list_ports(name='once')['ports'][0]['id'])


@pytest.fixture
def impatient(cloud: Cloud):
    """The cloud for a caller that waits one second for a byte."""
    cfg.CONF.set_override('timeout', 1.0, group='clients')
    cloud.context = RequestContext.from_dict(cloud.context.to_dict())       # with clients of its own
    yield cloud
    cfg.CONF.clear_override('timeout', group='clients')


def test_a_service_that_never_answers_is_given_up(impatient):
    impatient.fault(kind='hang', service='network', method='POST', path='*/ports', seconds=5)
    with pytest.raises(exceptions.ConnectTimeout) as failed:
        impatient.client('neutron').create_port({'port': {'network_id': 'x'}})
    assert http.reply_was_lost(failed.value)


def test_a_service_that_never_answers_is_read_from_twice(impatient):
    impatient.fault(kind='hang', service='network', method='GET', path='*/networks', seconds=5)
    networks = impatient.client('neutron').list_networks
    assert networks(name='private')['networks'], 'one lost connection is no outage'
    impatient.fault(kind='hang', service='network', method='GET', path='*/networks', seconds=5, count=2)
    with pytest.raises(exceptions.ConnectTimeout):
        networks(name='private')
    assert networks(name='private')['networks'], 'two requests have hung'


def test_nobody_at_home_is_known_not_to_have_done_it(cloud: Cloud):
    context = RequestContext.from_dict({**cloud.context.to_dict(), 'auth_url': 'http://127.0.0.1:1/v3'})
    with pytest.raises(exceptions.ClientException) as failed:
        clients.of(context).client('neutron').list_networks()
    assert not http.reply_was_lost(failed.value)


def test_errors_are_told_in_the_services_words(cloud: Cloud, neutron):
    with pytest.raises(exceptions.NotFound, match='could not be found'):
        neutron.show_network('00000000-0000-0000-0000-000000000000')
    with pytest.raises(exceptions.NotFound, match='Instance'):
        cloud.client('nova').servers.get('00000000-0000-0000-0000-000000000000')
    with pytest.raises(exceptions.NotFound, match='^Node nowhere'):
        cloud.client('ironic').http.get('/nodes/nowhere')


def test_meaning_of_errors(cloud: Cloud):
    plugin = cloud.plugin('nova')
    assert plugin.is_not_found(exceptions.NotFound()) and plugin.is_conflict(exceptions.Conflict())
    assert plugin.is_over_limit(exceptions.from_response(type('Answer', (), {
        'status_code': 413, 'headers': {}, 'json': dict, 'text': ''})(), 'GET', '/'))
    assert plugin.is_not_found(exception.EntityNotFound(entity='x', name='y'))
    assert not plugin.is_conflict(exception.PhysicalResourceExists(name='x'))
    with plugin.ignore_not_found:
        raise exceptions.NotFound()
    with pytest.raises(exceptions.Conflict), plugin.ignore_not_found:
        raise exceptions.Conflict()


@pytest.mark.parametrize('fault, conflict', [({'kind': 'error', 'status': 409}, True), ({'kind': 'quota'}, False)])
def test_a_used_up_quota_of_networks_is_no_conflict(cloud: Cloud, fault: dict[str, object], conflict: bool):
    cloud.fault(service='network', method='POST', **fault)
    with pytest.raises(exceptions.Conflict) as failed:
        cloud.client('neutron').create_network({'network': {'name': 'n'}})
    assert cloud.plugin('neutron').is_conflict(failed.value) is conflict
    assert not cloud.plugin('neutron').is_not_found(failed.value)


def test_the_quota_error_of_the_library_is_no_conflict(cloud: Cloud):
    class OverQuotaClient(Exception):
        status_code = 409

    assert not cloud.plugin('neutron').is_conflict(OverQuotaClient())


# --- sessions --------------------------------------------------------------------------------------------------


def test_version_documents_are_read_once(cloud: Cloud):
    sessions.forget()
    cloud.client('neutron').list_networks()
    for _turn in range(2):
        context = RequestContext.from_dict(cloud.context.to_dict())
        cloud.forget_requests()
        clients.of(context).client('neutron').list_networks()
    assert [path for service, _method, path, _status in cloud.requests() if service == 'network'] == ['/v2.0/networks']


def test_a_token_of_the_caller_is_enough(cloud: Cloud):
    session = cloud.context.keystone_session
    token = session.get_token()
    access = session.auth.get_access(session)
    context = RequestContext(auth_token=token, auth_url=cloud.context.auth_url, project_id=cloud.context.project_id,
                             auth_token_info=access._data, region_name='RegionOne', overwrite=False)
    assert clients.of(context).client('neutron').list_networks(name='private')['networks']


@pytest.fixture
def trustee(cloud: Cloud):
    """The login of the service user."""
    from keystoneauth1 import loading
    loading.register_auth_conf_options(cfg.CONF, 'trustee')
    cfg.CONF.register_opts(loading.get_auth_plugin_conf_options('password'), group='trustee')
    for option, value in (('auth_type', 'password'), ('auth_url', f'{cloud.url}/v3'), ('username', 'heat'),
                          ('password', 'secret'), ('user_domain_id', 'default')):
        cfg.CONF.set_override(option, value, group='trustee')


@pytest.fixture
def domain_admin():
    """The login of the administrator of the domain of stacks."""
    values = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
              'stack_domain_admin_password': 'secret'}
    for option, value in values.items():
        cfg.CONF.set_override(option, value)
    yield
    for option in values:
        cfg.CONF.clear_override(option)


def test_the_client_names_the_administrator_of_the_domain(cloud: Cloud, domain_admin):
    """As Heat's, which plug-ins of avi read."""
    keystone = cloud.client('keystone')
    assert (keystone.domain_admin_user, keystone.domain_admin_password) == ('heat_domain_admin', 'secret')


def test_without_a_domain_there_is_no_administrator_of_it(cloud: Cloud):
    keystone = cloud.client('keystone')
    assert keystone.domain_admin_user is None and keystone.domain_admin_password is None


@pytest.mark.parametrize('uses, options', [
    pytest.param(lambda keystone: keystone.create_trust_context(), '[trustee]', id='trustee'),
    pytest.param(lambda keystone: keystone.create_stack_domain_project('p'), '[DEFAULT] stack_domain_admin',
                 id='domain')])
def test_a_refused_login_of_the_service_is_not_an_error_of_the_caller(cloud: Cloud, trustee, domain_admin, caplog, uses,
                                                                      options):
    log_throttle.forget()
    keystone = cloud.client('keystone')
    keystone.auth_ref()
    for _again in range(2):
        cloud.fault(kind='error', service='identity', method='POST', path='*/auth/tokens', status=401, count=1)
        with pytest.raises(exception.ServiceLoginRefused) as refused:
            uses(keystone)
        assert refused.value.http_code == 503 and options in str(refused.value)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == 'WARNING']
    assert len(warnings) == 1 and options in warnings[0] and 'doctor --only keystone-' in warnings[0], warnings
    assert 'secret' not in warnings[0] + str(refused.value)


@pytest.mark.parametrize('name', sorted(name for name in vars(sessions.Session) if name.startswith('get_')))
def test_whatever_needs_the_login_of_the_service_says_whose_it_is(cloud: Cloud, domain_admin, name):
    session = own_logins.of_domain_admin(cloud.client('keystone').v3_endpoint)
    wanted = {'service_type': 'identity'} if {'endpoint', 'version'} & set(name.split('_')) else {}
    cloud.fault(kind='error', service='identity', method='POST', path='*/auth/tokens', status=401, count=1)
    with pytest.raises(exception.ServiceLoginRefused, match='stack_domain_admin'):
        getattr(session, name)(**wanted)


def logins_at(cloud: Cloud) -> int:
    return sum((method, path.rpartition('/')[2]) == ('POST', 'tokens')
               for _service, method, path, _status in cloud.requests())


def test_the_service_logs_in_once_for_all_stacks(cloud: Cloud, trustee, domain_admin):
    def act() -> list[tuple[str, str]]:
        """What a new stack with a user asks Keystone for, in a context of its own."""
        keystone = clients.of(RequestContext.from_dict(cloud.context.to_dict())).client('keystone')
        keystone.auth_ref()                     # the caller's own login
        cloud.forget_requests()
        trusted, project = keystone.create_trust_context(), keystone.create_stack_domain_project('logins')
        asked = [(method, path.rpartition('/v3/')[2]) for _service, method, path, _status in cloud.requests()]
        keystone.delete_trust(trusted.trust_id)
        keystone.delete_stack_domain_project(project)
        return asked

    assert sum(asked == ('POST', 'auth/tokens') for asked in act()) == 2
    assert act() == [('POST', 'OS-TRUST/trusts'), ('POST', 'projects')]


def test_a_login_of_the_service_that_ends_is_made_again(cloud: Cloud, trustee, domain_admin):
    """Its token is refused when the administrator's password has changed."""
    log_throttle.forget()
    keystone = cloud.client('keystone')
    projects = keystone.domain_admin_client.projects
    cloud.fault(kind='error', service='identity', method='GET', path='*/projects', status=401, count=1)
    assert projects.list(name='none') == []
    cloud.fault(kind='error', service='identity', method='GET', path='*/projects', status=401, count=1)
    cloud.fault(kind='error', service='identity', method='POST', path='*/auth/tokens', status=401, count=1)
    with pytest.raises(exception.ServiceLoginRefused, match='stack_domain_admin'):
        projects.list(name='none')


def test_another_service_user_is_found_after_a_refused_trust(cloud: Cloud, trustee):
    keystone = cloud.client('keystone')
    made = [keystone.create_trust_context()]
    cloud.forget_requests()
    cloud.fault(kind='error', service='identity', method='POST', path='*/OS-TRUST/trusts', status=404, count=1)
    with pytest.raises(exception.MissingCredentialError):
        keystone.create_trust_context()
    assert not logins_at(cloud)
    made.append(keystone.create_trust_context())
    assert logins_at(cloud) == 1
    for trusted in made:
        keystone.delete_trust(trusted.trust_id)


def test_a_trust_acts_for_the_caller(cloud: Cloud, request, trustee):
    """Keystone at times refuses to delete one, and the same request a moment later is fine."""
    from keystoneauth1.exceptions import NotFound
    trusted = cloud.client('keystone').create_trust_context()
    over = RequestContext(auth_token='long-over', trust_id=trusted.trust_id, auth_url=cloud.context.auth_url,
                          project_id=cloud.context.project_id, region_name='RegionOne', overwrite=False,
                          auth_token_info=cloud.context.keystone_session.auth.get_access(
                              cloud.context.keystone_session)._data)
    assert clients.of(over).client('neutron').list_networks(name='private')['networks']
    assert trusted.trust_id and trusted.trustor_user_id == cloud.context.user_id and trusted.password is None
    assert clients.of(trusted).client('neutron').list_networks(name='private')['networks']
    assert trusted.keystone_session.get_project_id() == cloud.context.project_id
    other = cloud.client('keystone').create_trust_context()
    assert other.trust_id != trusted.trust_id
    cloud.client('keystone').delete_trust(other.trust_id)
    for times in (2, 1):
        cloud.fault(kind='error', service='identity', method='DELETE', path='*/OS-TRUST/trusts/*', status=403,
                    count=times)
        cloud.client('keystone').delete_trust(trusted.trust_id)
    with pytest.raises(NotFound):
        cloud.client('keystone').client.trusts.get(trusted.trust_id)


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    config.register(made)
    made([], default_config_files=[])
    return made


@pytest.fixture
def key():
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    yield
    cfg.CONF.clear_override('auth_encryption_key')


def credentials_of(cloud: Cloud, trust_id: str, token: str | None = None) -> Credentials:
    """Those of a stack with a trust."""
    def sealed(secret: str | None) -> str | None:
        return None if secret is None else crypt.encrypt(secret)[1]

    context = cloud.context
    return Credentials(
        id='c', project_id=context.project_id, project_name='demo', user_id=context.user_id, username=context.username,
        auth_url=context.auth_url, region_name=context.region_name, trust_id=sealed(trust_id),
        trustor_user_id=context.user_id, password=None, token=sealed(token), method=crypt.encrypt('')[0],
        created_at=datetime(2030, 1, 1))


def stored(cloud: Cloud, trust_id: str, token: str | None = None) -> RequestContext:
    """The context of a stack with a trust."""
    return context_of(credentials_of(cloud, trust_id, token))


def test_rules_for_types_count_the_roles_of_a_trust(cloud: Cloud, trustee, key, conf):
    """A nested stack may be made by an engine that has only read the stack."""
    trusted = cloud.client('keystone').create_trust_context()
    context = stored(cloud, trusted.trust_id)
    known = registry.create(conf)
    assert not context.roles and context.as_logged_in.roles
    assert known.allows(context, 'OS::Nova::Flavor') == ('admin' in context.as_logged_in.roles)
    assert known.allows(context, 'OS::Nova::Server')
    cloud.client('keystone').delete_trust(trusted.trust_id)


def test_a_type_without_a_rule_needs_no_login(cloud: Cloud, trustee, key, conf):
    cloud.forget_requests()
    assert registry.create(conf).allows(stored(cloud, 'gone'), 'OS::Nova::Server')
    assert not cloud.requests()


def test_a_trust_is_dead_if_keystone_refuses_it_and_accepts_the_service_user(cloud: Cloud, trustee, key):
    def is_dead() -> bool:
        return clients.of(stored(cloud, trusted.trust_id)).client('keystone').is_trust_dead()

    trusted = cloud.client('keystone').create_trust_context()
    assert not is_dead()
    cfg.CONF.set_override('password', 'changed', group='trustee')
    assert not is_dead(), 'the service user cannot log in at all'
    cfg.CONF.set_override('password', 'secret', group='trustee')
    cloud.client('keystone').delete_trust(trusted.trust_id)
    assert is_dead()


def test_whether_a_trust_is_dead_is_not_known_during_an_outage(cloud: Cloud, trustee, key, monkeypatch):
    trusted = cloud.client('keystone').create_trust_context()
    kept = credentials_of(cloud, trusted.trust_id)
    cloud.fault(kind='error', service='identity', method='POST', path='*/auth/tokens', status=503, count=0)
    assert not Authority.is_dead(kept)
    cloud.clear_faults()
    assert not Authority.is_dead(kept)
    cloud.client('keystone').delete_trust(trusted.trust_id)
    assert Authority.is_dead(kept)


def test_a_plug_in_reads_the_token_of_a_trust(cloud: Cloud, trustee, key):
    """As Heat's updates and deletes have that of the request: avi's types pass it on to a service of their own."""
    trusted = cloud.client('keystone').create_trust_context()
    context = stored(cloud, trusted.trust_id)
    cloud.forget_requests()
    copied = RequestContext.from_dict(context.to_dict(), overwrite=False)
    assert context.own_token is None and copied.auth_token is None and copied.trust_id == context.trust_id
    assert context.get_logging_values()['auth_token'] is None and not cloud.requests()
    token = context.auth_token
    assert token and token == context.keystone_session.get_token() == context.of_request('req-2').auth_token
    assert context.auth_token_info['token']['project']['id'] == cloud.context.project_id
    assert context.auth_token_info['token']['user']['name'] == cloud.context.username
    by_token = RequestContext(auth_token=token, auth_url=cloud.context.auth_url, project_id=cloud.context.project_id,
                              auth_token_info=context.auth_token_info, region_name='RegionOne', overwrite=False)
    assert clients.of(by_token).client('neutron').list_networks(name='private')['networks']
    assert context.own_token is None and context.to_dict()['auth_token'] is None
    logins = [path for service, method, path, _status in cloud.requests() if method == 'POST']
    assert logins == ['/v3/auth/tokens'], 'the session logs in once'
    cloud.client('keystone').delete_trust(trusted.trust_id)


def test_a_stored_token_comes_before_that_of_a_trust(cloud: Cloud, key):
    context = stored(cloud, 'trust', token='of a request')
    cloud.forget_requests()
    assert context.auth_token == context.own_token == context.to_dict()['auth_token'] == 'of a request'
    assert context.auth_token_info is None and not cloud.requests()
    assert not hasattr(context, 'another')


# --- names and ids ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize('client, finder, arguments', [
    ('nova', 'find_flavor_by_name_or_id', ('m1.tiny',)), ('glance', 'find_image_by_name_or_id', ('cirros',)),
    ('neutron', 'find_resourceid_by_name_or_id', ('network', 'private')),
    ('neutron', 'find_resourceid_by_name_or_id', ('subnet', 'private-subnet')),
    ('openstack', 'find_network_port', None), ('trove', 'find_flavor_by_name_or_id', ('m1.tiny',))])
def test_a_name_and_its_id_find_the_same(cloud: Cloud, neutron, client, finder, arguments):
    if arguments is None:
        port = neutron.create_port({'port': {'network_id': cloud.network(), 'name': 'door'}})['port']['id']
        arguments = ('door',)
    find = getattr(cloud.plugin(client), finder)
    found = find(*arguments)
    assert find(*arguments[:-1], found) == found
    with pytest.raises(exception.HeatException):
        find(*arguments[:-1], 'no-such-thing')
    if arguments == ('door',):
        neutron.delete_port(port)


def test_a_name_of_two_things_is_refused(cloud: Cloud, neutron):
    made = [neutron.create_port({'port': {'network_id': cloud.network(), 'name': 'twin'}})['port']['id']
            for _twin in range(2)]
    plugin = cloud.plugin('neutron')
    with pytest.raises(Exception, match='Multiple') as failed:
        plugin.find_resourceid_by_name_or_id('port', 'twin')
    assert plugin.is_no_unique(failed.value)
    for port in made:
        neutron.delete_port(port)


def test_a_name_is_looked_up_once_in_one_piece_of_work(cloud: Cloud):
    context = RequestContext.from_dict(cloud.context.to_dict())
    plugin = clients.of(context).client_plugin('neutron')
    plugin.find_resourceid_by_name_or_id('network', 'private')
    cloud.forget_requests()
    plugin.find_resourceid_by_name_or_id('network', 'private')
    assert cloud.requests() == []


def test_names_in_domains(cloud: Cloud):
    admin = RequestContext.from_dict({**cloud.context.to_dict(), 'username': 'admin'})
    admin.project_id = cloud.plugin('keystone').client().session.get_project_id()
    keystone = clients.of(RequestContext(
        username='admin', password='secret', auth_url=cloud.context.auth_url, overwrite=False, region_name='RegionOne',
        user_domain_id='default', project_id=_admin_project(cloud))).client_plugin('keystone')
    assert keystone.get_project_id('demo') == keystone.get_project_id('demo{default}') == cloud.context.project_id
    assert keystone.get_role_id('member') and keystone.get_domain_id('heat') and keystone.get_user_id('demo')
    with pytest.raises(exception.EntityNotFound):
        keystone.get_project_id('demo{heat}')


def _admin_project(cloud: Cloud) -> str:
    found = cloud._sim('GET', 'objects/identity.projects', params={'full': '1'})['objects']['identity.projects']
    return next(each['id'] for each in found['objects'] if each['name'] == 'admin')


@pytest.mark.parametrize('name', sorted(constraint_names.NAMES))
def test_every_constraint_says_what_is_not_there(simulator, name):
    cloud = Cloud(simulator, user='admin')
    check = registry.create().constraint(name)()
    assert check.validate('nowhere', cloud.context) == (name in ASKS_NOBODY)
    assert name in ASKS_NOBODY or check.error('nowhere').startswith("Error validating value 'nowhere': ")


@pytest.mark.parametrize('name, right', [
    ('nova.flavor', 'm1.tiny'), ('glance.image', 'cirros'), ('neutron.network', 'private'), ('nova.keypair', ''),
    ('neutron.subnet', 'private-subnet'), ('zaqar.queue', 'any'), ('neutron.security_group', 'default')])
def test_constraints_that_ask(cloud: Cloud, name, right):
    check = registry.create().constraint(name)
    assert check().validate(right, cloud.context)
    wrong = check()
    assert not wrong.validate('x' * 100, cloud.context)
    assert wrong.error('x' * 100).startswith("Error validating value 'xxx")


@pytest.mark.parametrize('name', sorted(constraint_names.NAMES))
def test_an_empty_value_names_nothing(simulator, unnamed, name):
    """It is no name of things without one."""
    check = registry.create().constraint(name)()
    assert check.validate('', Cloud(simulator, user='admin').context) == (name in EMPTY_IS_NONE)


@pytest.fixture(scope='module')
def unnamed(simulator):
    """One of each kind that needs no name, in the project of the tests."""
    cloud = Cloud(simulator)
    network = cloud.client('neutron').create_network({'network': {}})['network']['id']
    made = {'port': {'network_id': network}, 'router': {},
            'subnet': {'network_id': network, 'ip_version': 4, 'cidr': '10.77.0.0/24'}}
    ids = {kind: cloud.client('neutron').post(f'/{kind}s', {kind: body})[kind]['id'] for kind, body in made.items()}
    volume = cloud.client('cinder').volumes.create(size=1)
    image = cloud.client('glance').images.create(disk_format='raw', container_format='bare')
    yield
    for kind, identity in ids.items():
        cloud.client('neutron').delete(f'/{kind}s/{identity}')
    cloud.client('neutron').delete_network(network)
    cloud.client('glance').images.delete(image.id)
    cloud.advance(60)                           # until it is there, and until it is gone
    cloud.client('cinder').volumes.delete(volume.id)
    cloud.advance(60)


def test_a_user_of_a_try_before_a_crash_is_taken(cloud: Cloud, request):
    for name, value in (('stack_user_domain_name', 'heat'), ('stack_domain_admin', 'heat_domain_admin'),
                        ('stack_domain_admin_password', 'secret')):
        cfg.CONF.set_override(name, value)
        request.addfinalizer(lambda name=name: cfg.CONF.clear_override(name))
    keystone = cloud.client('keystone')
    project = keystone.create_stack_domain_project('stack')
    assert keystone.create_stack_domain_project('stack') == project
    user = keystone.create_stack_domain_user('agent', project, 'first-Secret1')
    assert keystone.create_stack_domain_user('agent', project, 'other-Secret1') == user
    assert keystone.stack_domain_user_token(user, project, 'other-Secret1')
    key = keystone.create_stack_domain_user_keypair(user, project)
    assert key.access and key.secret
    with pytest.raises(ValueError, match='create_keypair refused'):
        keystone.create_stack_domain_user_keypair(user, 'another-project')
    with pytest.raises(ValueError, match='create_keypair refused'):         # an adopted document may name any user
        keystone.create_stack_domain_user_keypair(cloud.context.user_id, project)
    keystone.disable_stack_domain_user(user, project)
    with pytest.raises(exceptions.Unauthorized):
        keystone.stack_domain_user_token(user, project, 'other-Secret1')
    keystone.enable_stack_domain_user(user, project)
    with pytest.raises(ValueError, match='invalid'):
        keystone.delete_stack_domain_user(user, 'another-project')
    keystone.delete_stack_domain_user_keypair(user, project, key.id)
    keystone.delete_stack_domain_user(user, project)
    keystone.delete_stack_domain_user(user, project)
    keystone.delete_stack_domain_project(project)
    keystone.delete_stack_domain_project(project)


@pytest.mark.parametrize('name', ['pool', 'listener', 'loadbalancer', 'flavor'])
def test_what_octavia_does_not_have_is_named_as_by_its_client(cloud: Cloud, name):
    with pytest.raises(exception.EntityNotFound, match=r'^x not found \(HTTP 404\)$'):
        getattr(cloud.plugin('octavia'), f'get_{name}')('x')


def test_a_long_message_of_a_service_is_shortened():
    """An OS::Heat::Stack can have credentials for a service of the user's own."""
    response = Response()
    response.status_code, response._content = 409, b'{"message": "' + b'Maximum number of ' * 100_000 + b'"}'
    error = exceptions.Conflict('Conflict', response=response, http_status=409)
    http.say_it_in_the_services_words(error)
    assert len(error.message) < len(str(error)) < exception.LONGEST_TEXT + 100
    assert str(error).startswith('Maximum number of Max') and str(error).endswith('... (HTTP 409)')


def test_an_answer_that_nests_too_deep_says_nothing():
    response = Response()
    response.status_code, response._content = 409, b'[' * 100_000
    assert list(http.messages(response)) == [] and http.reported_name(response) == ''


NGINX = '<html><head><title>409 Conflict</title></head><body><h1>409 Conflict</h1><hr>nginx</body></html>'
SWIFT = '<html><h1>Conflict</h1><p>There was a conflict.</p></html>'
PAGE = '<html><head><style>p {}</style></head><body class="x"><h1>409 Conflict</h1>\nIt is locked.\n</body></html>'


def refused(content: str) -> Response:
    """An answer 409."""
    found = Response()
    found.status_code, found._content = 409, content.encode()
    return found


@pytest.mark.parametrize('content, message', [
    ('{"title": "Conflict", "error": {"title": "Conflict", "message": "it is locked"}}', 'it is locked'),
    ('{"error_message": "{\\"faultstring\\": \\"it is locked\\"}"}', 'it is locked'),
    ('{"errors": 5, "message": "it is locked"}', 'it is locked'),
    ('{"error": {"title": "Conflict"}}', 'Conflict'), ('{}', 'Conflict'), ('', 'Conflict'),
    ('{"message": "' + 'A' * 50_000 + '"}', 'A' * exception.LONGEST_TEXT + '...'),
    ('it is locked', 'it is locked'), (PAGE, 'It is locked.'), (SWIFT, 'Conflict'), (NGINX, 'Conflict')])
def test_an_error_has_the_message_of_the_service_whoever_sends_the_request(content, message):
    """Client plug-ins, and described types, which make the error themselves."""
    error = exceptions.from_response(refused(content), 'POST', '/x')
    http.say_it_in_the_services_words(error)
    described = described_services.error_of(refused(content), DescribedCall('POST', '/x'))
    assert str(error) == str(described) == f'{message} (HTTP 409)'
    assert type(error) is type(described) is exceptions.Conflict and error.message == described.message


def test_the_error_for_the_page_of_a_proxy_has_its_own_message():
    response = refused(PAGE)
    response.status_code = 404
    with pytest.raises(exceptions.ServiceUnavailable) as refusal:
        http.refuse_page(response)
    http.say_it_in_the_services_words(refusal.value)
    assert str(refusal.value) == 'The answer 404 is no answer of the service, but a page of a proxy (HTTP 503)'
