"""What holds for all tests: properties are judged by what they find, never by how busy the machine is, and no test
hears of an outage that another one has caused."""

import gc
import itertools
import os

import pytest
from hypothesis import HealthCheck, settings
from oslo_config import cfg

from heatlite.common import config, log_throttle, outages, runtime
from tests import leftovers, shares

settings.register_profile('unhurried', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('unhurried')
runtime.collect_rarely()


# Files that take minutes, or wait for processes. With several workers, the last file to begin decides when a run ends.
FIRST = ('tests/simulation/', 'tests/system/', 'tests/hostile/', 'tests/plugins/test_changes', 'tests/cloud/',
         'tests/console/', 'tests/rpc/test_broker.py', 'tests/upgrade/')
SHARE = tuple(map(int, os.environ.get('HEATLITE_TEST_SHARE', '1/1').split('/')))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    if shares.is_thorough(item.nodeid):
        item.add_marker(pytest.mark.thorough)


def pytest_collection_finish():
    gc.freeze()             # tests and modules stay until the end: each collection would go through them again


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Begins with those files, and makes what a module shares once for each parameter, also in a random order."""
    executed = shares.of({item.nodeid for item in items}, *SHARE)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in executed])
    items[:] = [item for item in items if item.nodeid in executed]
    groups = {}
    for item in items:
        groups.setdefault((item.path, shared(item)), []).append(item)
    modules = {}
    for (path, _shared), group in groups.items():
        modules.setdefault(path, []).extend(group)
    items[:] = itertools.chain.from_iterable(modules.values())
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.fixture
def encryption_key():
    """For what is stored encrypted, such as the logins of handles."""
    config.register(cfg.CONF)
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    yield
    cfg.CONF.clear_override('auth_encryption_key')


@pytest.fixture
def guest_urls(encryption_key):
    """For what servers signal to."""
    cfg.CONF.set_override('heat_metadata_server_url', 'http://here:8000')
    yield
    cfg.CONF.clear_override('heat_metadata_server_url')


def shared(item):
    """The parameters of what the item shares with other tests of its module: (fixture, index)."""
    callspec = getattr(item, 'callspec', None)
    if callspec is None:
        return ()
    fixtures = item._fixtureinfo.name2fixturedefs
    return tuple((name, callspec.indices[name]) for name in callspec.params
                 if name in fixtures and fixtures[name][-1].scope in ('module', 'package', 'session'))


@pytest.fixture(autouse=True, scope='module')
def nothing_left_behind():
    """No module hands on to those that happen to run after it what it changed in the process."""
    before = leftovers.noted()
    with leftovers.all_put_back():
        yield
    left = leftovers.left_behind(before)
    assert not left, f'the tests of this module leave behind: {left}'


@pytest.fixture(autouse=True)
def put_back():
    with leftovers.all_put_back():
        yield


@pytest.fixture(autouse=True)
def no_outage():
    yield
    outages.forget()
    log_throttle.forget()
