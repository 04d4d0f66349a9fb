"""Fixtures of tests against the simulated OpenStack."""

import pytest

from heatlite.testing.clouds import simulated


@pytest.fixture(scope='module')
def cloud():
    with simulated() as found:
        yield found
