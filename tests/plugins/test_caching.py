"""The cache of services' answers in a real memcached: shared between processes, and not needed by anybody."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys

import pytest
from oslo_config import cfg

from heatlite.common import outages
from heatlite.common.context import RequestContext
from heatlite.engine.clients import caching, constraint_cache
from heatlite.engine.clients.os import nova
from tests.architecture.source import ROOT
from tests.system.processes import free_port

GROUP = 'resource_finder_cache'
BACKENDS = ('dogpile.cache.pymemcache', 'oslo_cache.memcache_pool')
READ = '''
import sys
from oslo_config import cfg
from heatlite.common import config
from heatlite.engine.clients import caching
config.register(cfg.CONF)
caching.is_shared(sys.argv[1])
cfg.CONF.set_override('enabled', True, group='cache')
cfg.CONF.set_override('backend', sys.argv[2], group='cache')
cfg.CONF.set_override('memcache_servers', [sys.argv[3]], group='cache')
print(caching.of(sys.argv[1], None).get(('a name', 1)))
'''


@pytest.fixture(scope='module')
def memcached():
    """HOST:PORT of a server."""
    program = shutil.which('memcached')
    if program is None:
        pytest.skip('needs memcached')
    port = free_port()
    process = subprocess.Popen([program, '-l', '127.0.0.1', '-p', str(port), '-U', '0', '-m', '8', '-u', 'nobody'])
    while True:
        assert process.poll() is None
        try:
            socket.create_connection(('127.0.0.1', port)).close()
            break
        except ConnectionRefusedError:
            continue
    yield f'127.0.0.1:{port}'
    process.kill()
    process.wait()


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
def enabled(backend):
    """A function that lets [cache] use a server."""
    caching.is_shared(GROUP)                # registers the options
    names = ('enabled', 'backend', 'memcache_servers')

    def use(server: str) -> None:
        for name, value in zip(names, (True, backend, [server]), strict=True):
            cfg.CONF.set_override(name, value, group='cache')
        caching.forget()

    yield use
    for name in names:
        cfg.CONF.clear_override(name, group='cache')
    caching.forget()
    outages.forget()


class Finder:
    def __init__(self, context):
        self.context = context
        self.asked = []

    @caching.MEMOIZE_FINDER
    def find(self, name):
        self.asked.append(name)
        return f'id of {name}'


def project(name='p'):
    return RequestContext(project_id=name, overwrite=False)


def test_another_process_has_the_answer(enabled, backend, memcached):
    enabled(memcached)
    caching.of(GROUP, None).put(('a name', 1), ['an', 'answer'])
    found = subprocess.run([sys.executable, '-W', 'ignore', '-c', READ, GROUP, backend, memcached], cwd=ROOT,
                           capture_output=True, text=True)
    assert found.stdout.strip() == "['an', 'answer']", found.stderr


def test_one_request_asks_for_all_of_its_project_but_for_no_other(enabled, backend, memcached):
    enabled(memcached)
    finders = [Finder(project(name)) for name in (f'p {backend}', f'p {backend}', f'other {backend}')]
    assert [each.find('a') for each in finders] == ['id of a'] * 3
    assert [each.asked for each in finders] == [['a'], [], ['a']]


def test_another_region_has_other_answers(enabled, backend, memcached):
    enabled(memcached)
    contexts = [RequestContext(project_id=f'r {backend}', region_name=region, overwrite=False)
                for region in ('one', 'one', 'two', None)]
    finders = [Finder(context) for context in contexts]
    assert [each.find('a') for each in finders] == ['id of a'] * 4
    assert [each.asked for each in finders] == [['a'], [], ['a'], ['a']]


@pytest.mark.parametrize('check, asked', [
    (nova.KeypairConstraint, ['ann', 'bob']), (nova.FlavorConstraint, ['ann'])])
def test_another_user_has_other_key_pairs(enabled, backend, memcached, check, asked):
    seen = []

    class Constraint(check):
        def validate(self, value, context):
            seen.append(context.user_id)
            return True

    enabled(memcached)
    for user_id in ('ann', 'ann', 'bob'):
        context = RequestContext(project_id=f'u {backend}', user_id=user_id, overwrite=False)
        assert constraint_cache.CachedConstraint(Constraint(), context).validate(f'{check.__name__}')
    assert seen == asked


def test_a_value_that_a_service_has_accepted_is_not_asked_for_again(enabled, backend, memcached):
    asked = []

    class Constraint:
        def validate(self, value, context):
            asked.append(value)
            return value == 'right'

    enabled(memcached)
    checks = [constraint_cache.CachedConstraint(Constraint(), project(f'p {backend}')) for _request in range(2)]
    assert [each.validate(value) for value in ('right', 'wrong') for each in checks] == [True, True, False, False]
    assert asked == ['right', 'wrong', 'wrong']


def test_without_a_server_the_service_is_asked(enabled):
    enabled(f'127.0.0.1:{free_port()}')
    finder = Finder(project())
    assert [finder.find('a'), finder.find('a')] == ['id of a'] * 2
    assert finder.asked == ['a', 'a']
