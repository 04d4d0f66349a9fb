"""A database with the rows of tests/api/rows.py, shared by the tests that only read."""

import pytest

from tests.api import in_process, rows


@pytest.fixture(scope='session')
def database(tmp_path_factory):
    with rows.database(tmp_path_factory.mktemp('api')) as made:
        yield made


@pytest.fixture(scope='session')
def api(database):
    """The API over that database while no engine runs."""
    return in_process.build(in_process.options(hidden_stack_tags=['hidden']), database, in_process.NoEngine())
