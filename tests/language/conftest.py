"""Whichever file of cases starts the engine, its end leaves neither that engine nor silenced logs to other tests."""

import pytest

from tests.language import engine_driver


@pytest.fixture(scope='module', autouse=True)
def the_service():
    yield
    engine_driver.stop()
