"""Which engine drives a stack: its host, for administrators."""

import pytest

from heatlite.db import stacks, tables
from heatlite.db.connection import Database
from heatlite.osc import explain
from heatlite.planning.states import Status
from tests.api import in_process
from tests.db.rows import engine, leased, stack


@pytest.fixture
def database(tmp_path):
    made = Database(f'sqlite:///{tmp_path}/db.sqlite')
    tables.metadata.create_all(made.engine)
    with made.writer() as tx:
        engine(tx, 'e1', host='h1', ttl=2.0e9)
        leased(tx, stack('s1', project_id=in_process.PROJECT, status=Status.IN_PROGRESS), by='e1')
        name = stacks.get(tx, 's1').name
    yield made, name
    made.close()


@pytest.mark.parametrize('roles, shown', [('admin', True), ('member,reader', False)])
def test_administrators_learn_which_host_drives_a_stack(database, roles, shown):
    rows, name = database
    app = in_process.build(database=rows, engine=in_process.NoEngine())
    answer = in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks/{name}/s1/explain',
                            roles=f'{roles},reader')
    found = answer.json['explanation']
    assert found['engine'] == 'e1' and ('engine_host' in found) == shown
    driven = [line for line in explain.lines(found) if 'driven by' in line]
    assert driven == ([f"  driven by {found['engine_host']} (e1)"] if shown else [])
    assert not shown or found['engine_host']
