"""A service that takes a connection and says nothing delays a request for a bounded time."""

import ast

from oslo_config import cfg

from heatlite.api import deploy
from heatlite.common import config
from tests.architecture import source

# Calls that wait for another program, and have a keyword for how long.
WAITING = frozenset({'requests.get', 'requests.post', 'requests.put', 'requests.request', 'request.urlopen',
                     'socket.create_connection', 'http.client.HTTPConnection', 'http.client.HTTPSConnection'})
SESSIONS = ('session.Session', 'keystone_session.Session', 'sessions.Session')
# Modules whose sockets get their time-out otherwise.
OTHERWISE = {'heatlite.common.urlfetch': 'the socket is connected beforehand, with the time that is left'}


def without_timeout(name, path):
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if (called in WAITING or called in SESSIONS or called.endswith(SESSIONS)) and not any(
                    each.arg == 'timeout' for each in node.keywords):
                found.append(f'{name}:{node.lineno}: {called}')
    return found


def test_what_waits_for_a_service_has_a_timeout():
    assert [each for name, path in source.modules().items() if name not in OTHERWISE
            for each in without_timeout(name, path)] == []


def test_validating_a_token_has_one():
    """The library has no default. It waits so long again for each retry."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    deploy.register_token_options(conf)
    assert conf.keystone_authtoken.http_connect_timeout == conf.clients.timeout
    assert conf.keystone_authtoken.http_request_max_retries == 1
    conf.set_override('http_connect_timeout', 7, group='keystone_authtoken')
    deploy.register_token_options(conf)
    assert conf.keystone_authtoken.http_connect_timeout == 7
