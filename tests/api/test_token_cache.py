"""Tokens are cached in a bounded store of ours, without a warning at each start, unless a memcached is configured."""

import logging

import pytest

from heatlite.api import deploy
from heatlite.api.middleware import token_cache
from tests.api import in_process
from tests.common.clock import stopped

CONF = """
[keystone_authtoken]
auth_type = password
auth_url = http://127.0.0.1:9/v3
username = heatlite
password = secret
user_domain_id = default
project_name = service
project_domain_id = default
"""


@pytest.mark.parametrize('more, is_ours', [('', True), ('memcached_servers = 127.0.0.1:9\n', False),
                                           ('cache = of.another.layer\n', False)])
def test_the_store_of_the_middleware(more, is_ours, database, tmp_path, caplog):
    file = tmp_path / 'heatlite.conf'
    file.write_text(CONF + more)
    conf = in_process.options(files=[str(file)])
    app = in_process.build(conf, database, in_process.NoEngine(), identity=None)
    with caplog.at_level(logging.WARNING, 'keystonemiddleware'):
        answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None)
    assert answer.status_code == 401
    layer = deploy._keystone(lambda environ, start: [], conf)._identity._identity
    assert (layer.__module__ == token_cache.__name__) is is_ours
    if is_ours:
        assert [line for line in caplog.messages if 'cache' in line] == []


def test_tokens_expire_and_are_bounded():
    with stopped() as clock:
        cache = token_cache.TokenCache(300, most=2)
        for name in 'abc':
            cache.set(name, name.encode(), time=300)
        assert [cache.get(name) for name in 'abc'] == [None, b'b', b'c']
        clock.time = 301
        assert cache.get('c') is None


@pytest.mark.parametrize('seconds', [0, -1])
def test_without_a_time_nothing_is_cached(seconds):
    with stopped():
        cache = token_cache.TokenCache(seconds)
        cache.set('a', b'a', time=seconds)
        assert cache.get('a') is None
