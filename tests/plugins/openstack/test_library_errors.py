"""Plug-ins catch the errors of OpenStack's client libraries: our clients' errors are instances of those classes.

The libraries are not installed with the service. The modules here have the names and the class trees of the real ones.
"""

from __future__ import annotations

import copy
import logging
import pickle
import sys
import types

import pytest
from keystoneauth1 import exceptions

from heatlite.common import exception
from heatlite.engine import resource
from heatlite.engine.clients import client_plugin, library_errors
from heatlite.engine.types import registry
from heatlite.rpc import errors
from tests.plugins.openstack.cloud import Life

ABSENT = '5c0f1e66-3a1d-4a0f-9d57-0b5b8d1c7e11'


class NeutronException(Exception):
    message = 'An unknown exception occurred.'

    def __str__(self):
        return self._error_string


class NeutronClientException(NeutronException):
    status_code = 0
    request_ids = []


class NovaError(Exception):
    message = 'Unknown Error'

    def __init__(self, code, message=None):
        self.code = code


class ApiError(Exception):
    """Has no classes for each status."""


def _kinds(base, *names, **fields):
    return {name: type(name, (base,), dict(fields)) for name in names}


@pytest.fixture
def neutron_errors(monkeypatch):
    module = types.ModuleType('neutronclient.common.exceptions')
    vars(module).update({'NeutronException': NeutronException, 'NeutronClientException': NeutronClientException})
    vars(module).update(_kinds(NeutronClientException, 'NotFound', 'Conflict', 'BadRequest'))
    vars(module).update(_kinds(module.NotFound, 'PortNotFoundClient'))
    vars(module).update(_kinds(NeutronException, 'NeutronClientNoUniqueMatch'))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.fixture
def nova_errors(monkeypatch):
    module = types.ModuleType('novaclient.exceptions')
    vars(module).update({'ClientException': NovaError, **_kinds(NovaError, 'NotFound', http_status=404),
                         **_kinds(Exception, 'NoUniqueMatch')})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_an_error_has_the_librarys_class_the_text_and_the_status(cloud, neutron_errors):
    with pytest.raises(neutron_errors.PortNotFoundClient) as caught:
        cloud.client('neutron').show_port(ABSENT)
    error = caught.value
    assert isinstance(error, exceptions.NotFound) and isinstance(error, neutron_errors.NeutronClientException)
    assert (error.status_code, error.code, error.http_status) == (404, 404, 404)
    assert type(error).__name__ == 'NotFound' and ABSENT in str(error) and str(error) == error.args[0]
    assert cloud.plugin('neutron').is_not_found(error) and cloud.plugin('neutron').is_client_exception(error)
    assert not cloud.plugin('neutron').is_conflict(error)


def test_an_error_of_another_service_does_not_have_it(cloud, neutron_errors):
    with pytest.raises(exceptions.NotFound) as caught:
        cloud.client('nova').servers.get(ABSENT)
    assert type(caught.value) is exceptions.NotFound and not hasattr(caught.value, 'status_code')


@pytest.mark.parametrize('find', [
    lambda neutron, plugin: neutron.find_resource('network', 'absent'),
    lambda neutron, plugin: plugin.find_resourceid_by_name_or_id('network', 'absent')])
def test_a_name_that_is_not_found(cloud, neutron_errors, find):
    with pytest.raises(neutron_errors.NotFound):
        find(cloud.client('neutron'), cloud.plugin('neutron'))


@pytest.mark.parametrize('find', [
    lambda neutron, plugin: neutron.find_resource('network', 'two'),
    lambda neutron, plugin: plugin.find_resourceid_by_name_or_id('network', 'two')])
def test_a_name_of_several_things(cloud, neutron_errors, find):
    neutron = cloud.client('neutron')
    made = [neutron.create_network({'network': {'name': 'two'}})['network']['id'] for _each in range(2)]
    try:
        with pytest.raises(neutron_errors.NeutronClientNoUniqueMatch, match='^Multiple network matches'):
            find(neutron, cloud.plugin('neutron'))
    finally:
        for network in made:
            neutron.delete_network(network)


def test_the_errors_of_collections(cloud, nova_errors):
    nova = cloud.client('nova')
    for look in (lambda: nova.flavors.find(name='absent'), lambda: nova.servers.get(ABSENT),
                 lambda: nova.servers.get('')):
        with pytest.raises(nova_errors.NotFound) as caught:
            look()
        assert caught.value.code == 404
    with pytest.raises(nova_errors.NoUniqueMatch):
        nova.flavors.find()


class PortOfOthers(resource.Resource):
    """As plug-ins of many years are written."""

    def handle_create(self):
        self.resource_id_set(ABSENT)

    def handle_delete(self):
        from neutronclient.common import exceptions as neutron_exceptions
        try:
            self.client('neutron').delete_port(self.resource_id)
        except neutron_exceptions.NeutronClientException as error:
            self.client_plugin('neutron').ignore_not_found(error)


def test_a_plugin_deletes_what_is_gone(cloud, neutron_errors, monkeypatch):
    package = types.ModuleType('neutronclient.common')
    package.exceptions = neutron_errors
    monkeypatch.setitem(sys.modules, 'neutronclient', types.ModuleType('neutronclient'))
    monkeypatch.setitem(sys.modules, 'neutronclient.common', package)
    registry.current().register('Acme::PortOfOthers', PortOfOthers)
    life = Life(cloud, 'Acme::PortOfOthers', {})
    life.create()
    life.run('DELETE')


def _error(status=exceptions.NotFound):
    return status('gone', details='why', url='http://x', method='GET')


def test_only_the_classes_of_an_error_change(neutron_errors, caplog):
    before, after = _error(), library_errors.with_status(_error(), 'network', 404)
    assert type(after) is not type(before) and vars(after) == vars(before)
    assert (str(after), repr(after), after.args) == (str(before), repr(before), before.args)
    assert errors.to_wire(after) == errors.to_wire(before)
    assert exception.ResourceFailure(after, None).message == exception.ResourceFailure(before, None).message
    with caplog.at_level(logging.ERROR):
        for error in (before, after):
            logging.getLogger(__name__).error('failed', exc_info=error)
    assert caplog.records[0].exc_text == caplog.records[1].exc_text


def test_an_error_is_pickled_without_the_library(neutron_errors):
    packed = pickle.dumps(library_errors.with_status(_error(), 'network', 404))
    assert b'neutron' not in packed
    assert type(pickle.loads(packed)) is exceptions.NotFound


def test_an_error_of_our_own_is_copied_and_pickled(neutron_errors):
    error = library_errors.with_status(exception.EntityNotFound(entity='Port', name='p'), 'network', 404)
    assert type(error) is not exception.EntityNotFound
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(again), str(again)) == (exception.EntityNotFound, str(error))


def test_the_joint_class_is_made_once(neutron_errors):
    first, second = (type(library_errors.with_status(_error(), 'network', 404)) for _each in range(2))
    assert first is second
    again = library_errors.with_status(library_errors.with_status(_error(), 'network', 404), 'network', 404)
    assert type(again) is first


def test_nothing_changes_where_no_library_is_imported():
    assert type(library_errors.with_status(_error(), 'network', 404)) is exceptions.NotFound
    assert type(library_errors.with_status(_error(), 'acme', 404)) is exceptions.NotFound


def test_a_library_without_classes_of_statuses(monkeypatch):
    module = types.ModuleType('mistralclient.api.base')
    module.APIException = ApiError
    monkeypatch.setitem(sys.modules, module.__name__, module)
    error = library_errors.with_status(_error(), 'workflowv2', 404)
    assert isinstance(error, ApiError) and error.error_code == 404 and error.error_message == error.message


def test_classes_that_do_not_go_together(monkeypatch):
    """The error stays as it is."""
    module = types.ModuleType('novaclient.exceptions')
    module.ClientException = type('ClientException', (OSError,), {})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert type(library_errors.with_status(_error(), 'compute', 404)) is exceptions.NotFound


def test_the_own_errors_of_a_client_plugin(neutron_errors):
    class Plugin(client_plugin.ClientPlugin):
        exceptions_module = neutron_errors

        def _create(self):
            raise NotImplementedError

    plugin = Plugin(None)
    assert plugin.is_client_exception(library_errors.with_status(_error(), 'network', 404))
    assert not plugin.is_client_exception(_error())
