"""The matrix in this process: identity from headers, the victim's rows in SQLite, every message to an engine recorded.

A seeded sample runs here; `python -m tests.isolation` runs everything, and a smaller one behind a real Keystone.
"""

import logging
import os

import pytest

from heatlite.api import routes
from tests.isolation import here

SEED = int(os.environ.get('HEATLITE_TEST_ISOLATION_SEED', '1'))
SAMPLE = int(os.environ.get('HEATLITE_TEST_ISOLATION_SAMPLE', '1500'))


@pytest.fixture(autouse=True)
def _quiet():
    """Thousands of refusals would be logged, and kept for a failure."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_no_request_tells_or_changes_anything_of_another_project(tmp_path):
    report = here.run(tmp_path, SAMPLE, SEED)
    print(report)
    assert not report.leaks, report
    assert report.requests > SAMPLE


def test_a_user_inside_a_stack_is_confined_to_its_own_resource(tmp_path):
    report = here.run_confined(tmp_path)
    print(report)
    assert not report.leaks, report
    assert report.requests > len(routes.TABLE)


def test_no_handler_reads_a_key_that_is_not_in_the_table(tmp_path):
    assert here.undeclared_keys(tmp_path) == {}
