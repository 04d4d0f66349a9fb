"""What holds for all tests: properties are judged by what they find, never by how busy the machine is, and no test
hears of an outage that another one has caused."""

import pytest
from hypothesis import HealthCheck, settings

from heatlite.common import outages

settings.register_profile('unhurried', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('unhurried')


@pytest.fixture(autouse=True)
def no_outage():
    yield
    outages.forget()
