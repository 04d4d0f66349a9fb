"""What holds for all tests: properties are judged by what they find, never by how busy the machine is, and no test
hears of an outage that another one has caused."""

import pytest
from hypothesis import HealthCheck, settings

from heatlite.common import outages, runtime

settings.register_profile('unhurried', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('unhurried')


# Files that take minutes, or wait for processes. With several workers, the last file to begin decides when a run ends.
FIRST = ('tests/simulation/', 'tests/system/', 'tests/hostile/', 'tests/plugins/test_changes')


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begins with those files; among them, and after them, the order stays as it was."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.fixture(autouse=True, scope='module')
def no_clock_left_behind():
    """No module hands its clock on to the modules that happen to run after it."""
    clock = runtime.current()
    yield
    assert runtime.current() is clock, 'the tests of this module leave a runtime behind'


@pytest.fixture(autouse=True)
def no_outage():
    yield
    outages.forget()
