"""A database with the rows of tests/api/rows.py, shared by the tests that only read."""

import pytest

from heatlite.db.connection import Database
from tests.api import in_process, rows


@pytest.fixture(scope='session')
def database(tmp_path_factory):
    made = Database(f'sqlite:///{tmp_path_factory.mktemp("api")}/db.sqlite')
    rows.fill(made.engine)
    yield made
    made.close()


@pytest.fixture(scope='session')
def api(database):
    """The API over that database while no engine runs."""
    return in_process.build(in_process.options(hidden_stack_tags=['hidden']), database, in_process.NoEngine())
