"""Lists of stacks, resources and events are whole at any length."""

import json

import pytest

from heatlite.api import wsgi
from heatlite.db import tables
from heatlite.db.connection import Database
from tests.api import in_process, rows

P = f'/v1/{in_process.PROJECT}'


@pytest.fixture
def database(tmp_path):
    made = Database(f'sqlite:///{tmp_path}/db.sqlite')
    rows.fill(made.engine)
    yield made
    made.close()


@pytest.fixture
def get(database):
    app = in_process.build(None, database, in_process.NoEngine())
    return lambda path, **more: in_process.ask(app, 'GET', path, **more).json


@pytest.mark.parametrize('number', [0, 1, *(pieces * wsgi.PIECE + more for pieces in (1, 2) for more in (-1, 0, 1))])
@pytest.mark.parametrize('count', [0, wsgi.PIECE + 1], ids=['at once', 'in pieces'])
def test_a_list_is_whole_at_any_length(number, count):
    answer = wsgi.StreamedList('numbers', range(number), count, {'more': [1], 'none': None})
    assert json.loads(wsgi.render(answer, 200).body) == {'numbers': list(range(number)), 'more': [1], 'none': None}


@pytest.mark.parametrize('query', ['name=nothing', 'type=No::Such::Type', 'status=FAILED&with_detail=true'])
def test_a_large_stack_of_which_no_resource_matches(database, get, query):
    with database.writer() as tx:
        tx.execute(tables.resource.insert(), [
            rows.resource(rows.BATCH, number, f'r{number}', 'OS::Heat::None') for number in range(1, wsgi.PIECE + 2)])
    path = f'{P}/stacks/batch/{rows.BATCH}/resources'
    assert len(get(path)['resources']) == wsgi.PIECE + 1
    assert get(f'{path}?{query}') == {'resources': []}
