"""Clients of other services: who finds them, what their errors mean, where the service is."""

from __future__ import annotations

import textwrap

import pytest
from keystoneauth1 import exceptions as identity_errors
from oslo_config import cfg

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.engine import clients, resource
from heatlite.engine.clients import caching, client_plugin, sessions
from heatlite.engine.clients.caching import remember
from heatlite.engine.compat import aliases, extensions


@pytest.fixture
def context():
    token = {'token': {
        'methods': ['password'], 'expires_at': '2999-01-01T00:00:00.000000Z',
        'issued_at': '2026-01-01T00:00:00.000000Z',
        'user': {'id': 'u', 'name': 'user', 'domain': {'id': 'd', 'name': 'domain'}},
        'project': {'id': 'p', 'name': 'project', 'domain': {'id': 'd', 'name': 'domain'}},
        'catalog': [{'type': 'lighting', 'name': 'lantern', 'id': 's', 'endpoints': [
            {'interface': interface, 'region': region, 'region_id': region, 'url': url, 'id': url}
            for interface, region, url in (('public', 'west', 'http://lantern/public'),
                                           ('internal', 'west', 'http://lantern/internal'),
                                           ('public', 'east', 'http://east/public'))]}]}}
    return RequestContext(project_id='p', user_id='u', auth_token='t', auth_token_info=token,
                          auth_url='http://keystone/v3', region_name='west', overwrite=False)


class Gone(Exception):
    pass


class Busy(Exception):
    pass


class LanternPlugin(client_plugin.ClientPlugin):
    service_types = ['lighting']
    supported_versions = ['1', '2']
    default_version = '1'
    made = 0

    def _create(self, version=None):
        type(self).made += 1
        return f'lantern {version}'

    def is_not_found(self, ex):
        return isinstance(ex, Gone)

    def is_conflict(self, ex):
        return isinstance(ex, Busy)


@pytest.fixture
def lantern(monkeypatch):
    monkeypatch.setitem(clients.BUILT_IN, 'lantern', f'{__name__}:LanternPlugin')
    clients.initialise()
    yield
    clients.initialise()


def test_a_client_is_made_once_per_version(context, lantern):
    before = LanternPlugin.made
    found = context.clients
    assert clients.of(context) is found is context.clients
    assert found.client('lantern') == 'lantern 1'
    assert found.client('lantern') == found.client('lantern', version='1')
    assert found.client('lantern', version='2') == 'lantern 2'
    assert LanternPlugin.made == before + 2
    found.client_plugin('lantern').invalidate()
    found.client('lantern')
    assert LanternPlugin.made == before + 3
    with pytest.raises(exception.InvalidServiceVersion, match='Invalid service lighting version 9'):
        found.client('lantern', version='9')


def test_unknown_and_home_made_clients(context, lantern, caplog):
    class Own(clients.OpenStackClients):
        def _ship(self):
            return 'ship'

    assert Own(context).client('ship') == 'ship'
    assert Own(context).client('plane') is None
    assert 'Requested client "plane" not found' in caplog.text
    assert clients.has_client('lantern') and not clients.has_client('plane')


def test_the_operator_may_choose_another_class(context):
    cfg.CONF.set_override('cloud_backend', f'{__name__}.OwnClients')
    try:
        assert isinstance(clients.Clients(context), OwnClients)
        cfg.CONF.set_override('cloud_backend', 'heat.engine.clients.OpenStackClients')
        assert type(clients.Clients(context)) is clients.OpenStackClients
    finally:
        cfg.CONF.clear_override('cloud_backend')


class OwnClients(clients.OpenStackClients):
    pass


def test_entry_points_of_packages_but_not_of_the_original(context, tmp_path, monkeypatch):
    (tmp_path / 'acme_clients.py').write_text(textwrap.dedent('''
        from heat.engine.clients import client_plugin
        class Acme(client_plugin.ClientPlugin):
            def _create(self):
                return 'acme'
        class Away(Acme):
            @classmethod
            def is_available(cls):
                return False
    '''))
    for package, lines in (('acme', 'acme = acme_clients:Acme\naway = acme_clients:Away\nbad = nowhere:Bad'),
                           ('openstack_heat', 'original = heat.engine.clients.os.original:Original')):
        folder = tmp_path / f'{package}-1.dist-info'
        folder.mkdir()
        (folder / 'METADATA').write_text(f'Metadata-Version: 2.1\nName: {package}\nVersion: 1\n')
        (folder / 'entry_points.txt').write_text(f'[heat.clients]\n{lines}\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    extensions.forget()
    clients.initialise()
    try:
        assert context.clients.client('acme') == 'acme'
        assert context.clients.client('away') is None
        assert context.clients.client('bad') is None
        assert clients.has_client('bad') and not clients.has_client('original')
    finally:
        monkeypatch.undo()
        extensions.forget()
        clients.initialise()


def test_filters_are_functions_and_context_managers(context, lantern):
    plugin = context.clients.client_plugin('lantern')
    with plugin.ignore_not_found:
        raise Gone
    with plugin.ignore_conflict_and_not_found:
        raise Busy
    with pytest.raises(Busy), plugin.ignore_not_found:
        raise Busy
    try:
        raise Gone
    except Gone as error:
        plugin.ignore_not_found(error)
    with pytest.raises(Busy):
        try:
            raise Busy
        except Busy as error:
            plugin.ignore_not_found(error)


def test_a_call_says_whether_the_object_is_there(context, lantern):
    def call(number, error=None):
        asked.append(number)
        if error is not None:
            raise error

    asked = []
    plugin = context.clients.client_plugin('lantern')
    assert plugin.not_found_in_call(call, 1) is False and plugin.not_found_in_call(call, 2, error=Gone()) is True
    with pytest.raises(Busy):
        plugin.not_found_in_call(call, 3, error=Busy())
    assert asked == [1, 2, 3]


def test_the_endpoint_of_the_region(context, lantern):
    plugin = context.clients.client_plugin('lantern')
    assert plugin.url_for(service_type='lighting') == 'http://lantern/public'
    assert plugin.url_for(service_type='lighting', endpoint_type='internalURL') == 'http://lantern/internal'
    assert plugin.url_for(service_type='lighting', region_name='east') == 'http://east/public'
    with pytest.raises(identity_errors.EndpointNotFound):
        plugin.url_for(service_type='heating')
    assert plugin.does_endpoint_exist('lighting', 'lantern')
    assert not plugin.does_endpoint_exist('heating', 'lantern')
    assert plugin.auth_token == 't'


def test_availability_of_a_type(context, lantern):
    class Lamp(resource.Resource):
        default_client_name = 'lantern'

    assert Lamp.is_service_available(context) == (True, None)
    context.region_name = 'north'
    with pytest.raises(exception.ResourceTypeUnavailable) as error:
        Lamp.check_service_available(context, 'Acme::Lamp')
    assert str(error.value) == ('HEAT-E99001 Service lantern is not available for resource type Acme::Lamp, reason: '
                                'lantern lighting endpoint is not in service catalog.')
    Lamp.default_client_name = 'plane'
    with pytest.raises(exception.ClientNotAvailable):
        Lamp.is_service_available(context)
    Lamp.default_client_name = None
    assert Lamp.is_service_available(context) == (True, None)


def test_required_extensions(context, lantern, monkeypatch):
    monkeypatch.setattr(LanternPlugin, 'has_extension', lambda self, alias: alias == 'dimmer', raising=False)

    class Lamp(resource.Resource):
        default_client_name = 'lantern'
        required_service_extension = 'dimmer, colour'

    assert Lamp.is_service_available(context) == (
        False, 'Required extension colour in lantern service is not available.')
    Lamp.required_service_extension = 'dimmer'
    assert Lamp.is_service_available(context) == (True, None)


def test_which_credentials_are_used(context):
    assert type(sessions.auth_plugin(context)).__name__ == 'AccessInfoPlugin'
    token_only = RequestContext(auth_token='t', project_id='p', auth_url='http://keystone', overwrite=False)
    assert type(sessions.auth_plugin(token_only)).__name__ == 'Token'
    password = RequestContext(username='a', password='b', project_id='p', auth_url='http://k', overwrite=False)
    assert type(sessions.auth_plugin(password)).__name__ == 'Password'
    with pytest.raises(exception.AuthorizationFailure, match=r'\[trustee\] has no credentials'):
        sessions.auth_plugin(RequestContext(trust_id='x', overwrite=False))
    with pytest.raises(exception.AuthorizationFailure, match='URL of Keystone is not known'):
        sessions.auth_plugin(RequestContext(auth_token='t', overwrite=False))


def test_a_trust_acts_through_the_service_user(context):
    from keystoneauth1 import loading
    loading.register_auth_conf_options(cfg.CONF, 'trustee')
    cfg.CONF.set_override('auth_type', 'password', group='trustee')
    cfg.CONF.register_opts(loading.get_auth_plugin_conf_options('password'), group='trustee')
    for option, value in (('auth_url', 'http://keystone/v3'), ('username', 'heat'), ('password', 'secret'),
                          ('user_domain_id', 'default'), ('project_name', 'service')):
        cfg.CONF.set_override(option, value, group='trustee')
    plugin = sessions.auth_plugin(RequestContext(trust_id='the-trust', overwrite=False))
    assert plugin._trust_id == 'the-trust' and plugin._project_name is None


def test_answers_are_remembered_for_a_while(context, runtime):
    asked = []

    class Plugin:
        def __init__(self, context):
            self.context = context

        @remember('resource_finder_cache')
        def find(self, name):
            asked.append(name)
            return f'id of {name}'

    requests = [RequestContext(project_id='p', overwrite=False) for _request in range(2)]
    assert [Plugin(each).find('a') for each in requests] == ['id of a'] * 2 and len(asked) == 2     # off by default
    plugin = Plugin(context)
    cfg.CONF.set_override('enabled', True, group='cache')
    cfg.CONF.set_override('backend', 'dogpile.cache.memory', group='cache')
    caching.forget()
    try:
        assert [plugin.find('a'), plugin.find('a'), Plugin(context).find('a')] == ['id of a'] * 3
        assert len(asked) == 3
        runtime.sleep(3601)
        plugin.find('a')
        Plugin(RequestContext(project_id='other', overwrite=False)).find('a')
        assert len(asked) == 5
    finally:
        cfg.CONF.clear_override('enabled', group='cache')
        cfg.CONF.clear_override('backend', group='cache')
        caching.forget()


def test_names_of_2013_on_the_module():
    aliases.install()
    from heat.engine import clients as old
    assert old is clients
    assert old.novaclient is None               # not installed here
    assert not hasattr(old, 'nothing_like_that')
