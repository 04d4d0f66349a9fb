"""The table of attributes that give access to something names all that the built-in types have."""

from __future__ import annotations

import re

import pytest

from heatlite.common import policy
from heatlite.engine import attributes
from heatlite.engine.requests.live_values import LiveValues
from heatlite.rpc import messages

# Words in the name or the description of an attribute that may give access.
WORDS = re.compile(r'(?i)url|token|passw|passphrase|secret|signature|signed|credential|console|curl|private.?key|psk'
                   r'|login|collect_config')
# Attributes with such a word -> why all readers may see them.
HARMLESS = {
    'DomainName': 'a host name', 'RootURL': 'needs a token', 'WebsiteURL': 'public, or needs a token',
    'api_address': 'needs a certificate', 'consumers': 'URLs that need a token', 'status': 'a word',
    'auth_mode': 'the name of a method',
    'discovery_url': 'an entry in a list of nodes, without rights', 'endpoint': 'needs the token, or is a secret',
    'expires': 'a time', 'href': 'needs a token', 'methods': 'names of methods', 'password_expires_at': 'a time',
    'paths': 'names of paths', 'secret_ref': 'needs a token', 'secret_refs': 'needs a token',
    'signal_url': 'needs a token'}


@pytest.fixture(scope='module')
def described():
    """{attribute: texts} of all types."""
    from heatlite.engine.types import registry
    found: dict[str, list[str]] = {}
    for _name, kind in registry.create().classes():
        for attribute, schema in attributes.schemata(kind.attributes_schema).items():
            found.setdefault(attribute, []).append(schema.description or '')
    return found


def test_each_attribute_that_may_give_access_is_in_a_table(described):
    candidates = {name for name, texts in described.items() if WORDS.search(' '.join([name, *texts]))}
    assert candidates - policy.ACCESS_ATTRIBUTES == HARMLESS.keys()


def test_the_tables_name_attributes_that_there_are(described):
    assert described.keys() >= policy.ACCESS_ATTRIBUTES
    assert not policy.ACCESS_ATTRIBUTES & HARMLESS.keys()


@pytest.mark.parametrize('name, gives', [
    ('token', True), ('resource.0.token', True), ('resource.token.name', True), ('tokens', False), ('name', False)])
def test_attributes_of_resources_inside(name, gives):
    assert policy.gives_access(name) is gives


class Server:
    """Notes which attributes are read."""

    name = 'server'
    attributes = ('name', 'console_urls', 'show')

    def __init__(self):
        self.read = []

    def live_attribute(self, name):
        self.read.append(name)
        return None if name == 'show' else f'the {name}'


class Reader:
    def __init__(self, resource):
        self.resource = resource

    def asked(self, stack_id, context, ask, resource):
        return ask({resource: self.resource})


@pytest.mark.parametrize('without_access, expected', [
    (False, {'name': 'the name', 'console_urls': 'the console_urls', 'token': 'the token'}),
    (True, {'name': 'the name', 'console_urls': None, 'token': None})])
def test_a_service_is_not_asked_for_what_the_caller_may_not_see(without_access, expected):
    server = Server()
    found = LiveValues(Reader(server)).attributes(None, messages.ResourceAttributes(
        's', 'server', ('token',), without_access))
    assert found == expected
    assert set(server.read) == {'show'} | {name for name, value in expected.items() if value}
