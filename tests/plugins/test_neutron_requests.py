"""The network client makes the requests that plug-ins know from the library of the service."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from heatlite.common.context import RequestContext
from heatlite.engine.clients.os.neutron.client import NetworkClient

REQUESTS = yaml.safe_load(Path(__file__).with_name('neutron_requests.yaml').read_text(encoding='utf-8'))


class Wire:
    """In the place of an adapter: what was asked, and answers in which any list has one entry."""

    service_type = 'network'

    def __init__(self):
        self.asked, self.sent, self.entries = [], [], [{'id': 'x', 'name': 'n'}]

    def request(self, url, method, json=None, params=None, headers=None):
        self.asked.append((method, url))
        self.sent.append((json, dict(params or {}), headers))
        return Answer(self.entries)

    def get(self, url, **parts):
        return self.request(url, 'GET', **parts)

    def post(self, url, **parts):
        return self.request(url, 'POST', **parts)

    def put(self, url, **parts):
        return self.request(url, 'PUT', **parts)

    def delete(self, url, **parts):
        return self.request(url, 'DELETE', **parts)


class Answer(SimpleNamespace):
    def __init__(self, entries):
        super().__init__(content=json.dumps(entries), json=lambda: Lists(entries))


class Lists(dict):
    """An answer that has a list at each key but those of links to further pages, and notes which one is read."""

    def __init__(self, entries):
        super().__init__()
        self.entries = entries

    def __getitem__(self, key):
        return self.entries


@pytest.fixture
def wire():
    return Wire()


@pytest.fixture
def client(wire):
    return NetworkClient(wire, RequestContext(overwrite=False))


@pytest.mark.parametrize('method', REQUESTS)
def test_a_method_makes_the_request_of_the_library(client, wire, method):
    verb, path, arguments, *key = REQUESTS[method]
    answer = getattr(client, method)(*arguments)
    assert wire.asked == [(verb, path)]
    if {} in arguments and method != 'add_gateway_router':
        assert wire.sent[0][0] == {}
    if key:
        assert answer == {key[0]: wire.entries}


def test_further_arguments_are_filters_and_fields(client, wire):
    client.show_network('a', fields='id')
    client.list_bandwidth_limit_rules('a', True, name='n', retrieve_all=False)
    assert [params for _body, params, _headers in wire.sent] == [{'fields': 'id'}, {'name': 'n'}]


def test_a_body_may_be_named_and_an_update_may_expect_a_revision(client, wire):
    client.create_lbaas_member('a', body={'member': {}})
    client.update_port('a', {'port': {}}, revision_number=3)
    assert wire.asked == [('POST', '/lbaas/pools/a/members'), ('PUT', '/ports/a')]
    assert [(body, headers) for body, _params, headers in wire.sent] == [
        ({'member': {}}, None), ({'port': {}}, {'If-Match': 'revision_number=3'})]


@pytest.mark.parametrize('method, arguments', [
    ('show_bandwidth_limit_rule', ['a']), ('delete_network', ['a', 'b']), ('delete_network', []),
    ('create_bgpvpn_port_assoc', []), ('create_network', [{}, {}]), ('list_lbaas_members', [])])
def test_a_wrong_number_of_arguments_names_the_method(client, wire, method, arguments):
    with pytest.raises(TypeError, match=method):
        getattr(client, method)(*arguments)
    assert wire.asked == []


def test_things_of_extensions_have_the_path_of_their_name(client, wire):
    client.create_vendor_policy({'vendor_policy': {}})
    client.delete_vendor_gateway('a')
    client.show_ext('/vendor/things/%s', 'a')
    assert client.list_ext('things', '/vendor/things', name='n') == {'things': wire.entries}
    assert wire.asked == [('POST', '/vendor-policies'), ('DELETE', '/vendor-gateways/a'), ('GET', '/vendor/things/a'),
                          ('GET', '/vendor/things')]


def test_other_names_are_no_methods(client):
    for name in ('frobnicate_network', 'create_', '_private', 'network'):
        assert not hasattr(client, name)


def test_a_thing_within_another_one_is_found_there(client, wire):
    assert client.find_resource('bandwidth_limit_rule', 'x', parent_id='a') == wire.entries[0]
    assert wire.asked == [('GET', '/qos/policies/a/bandwidth_limit_rules')]
