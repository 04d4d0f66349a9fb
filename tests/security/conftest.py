"""The three APIs over planted rows, for all tests of a file."""

import logging

import pytest

from tests.security.place import Place


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    made = Place(tmp_path_factory.mktemp('security'))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _quiet():
    """Hundreds of refusals would be logged, and kept for a failure."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
