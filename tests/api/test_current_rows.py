"""Which of several rows of a name is the resource: engine and API answer alike, also while a stack is rolled back."""

import pytest

from heatlite.db import resources, stacks
from heatlite.db.tables import resource, stack
from heatlite.planning.steps import current_rows_of
from tests.api import in_process, rows

BEFORE, WANTED, LEFT = (rows.number(7, n) for n in (21, 22, 23))     # applied earlier; the target; the one that failed
STACK = rows.number(1, 77)
OLD, NEW = 1, 2
# (the stack's action, its template, its previous one) -> the row that is the resource
CASES = {
    'while it is rolled back': ('ROLLBACK', WANTED, LEFT, OLD),
    'while it is updated': ('UPDATE', LEFT, WANTED, NEW),
    'with rows of neither template': ('UPDATE', WANTED, WANTED, NEW),
}


@pytest.fixture(params=CASES.values(), ids=list(CASES))
def case(request, tmp_path):
    """(database, number of the row that is the resource): `it` was applied earlier, a failed update replaced it."""
    action, template_id, previous, expected = request.param
    with rows.database(tmp_path) as made:
        with made.writer() as tx:
            tx.execute(stack.insert().values(rows.stack(
                STACK, 'rolled', 1, action=action, status='IN_PROGRESS', template_id=template_id,
                previous_template_id=previous)))
            tx.execute(resource.insert().values(rows.resource(
                STACK, OLD, 'it', 'OS::Heat::TestResource', physical_id='old', template_id=BEFORE)))
            tx.execute(resource.insert().values(rows.resource(
                STACK, NEW, 'it', 'OS::Heat::TestResource', physical_id='new', template_id=LEFT, replaces=OLD)))
        yield made, expected


def test_the_engine(case):
    database, expected = case
    with database.reader() as tx:
        assert current_rows_of(stacks.get(tx, STACK), resources.light(tx, STACK)) == {'it': expected}


@pytest.mark.parametrize('path', ['/resources', '/resources/it'])
def test_the_api(case, path):
    database, expected = case
    answer = in_process.ask(in_process.build(None, database), 'GET',
                            f'/v1/{in_process.PROJECT}/stacks/rolled/{STACK}{path}')
    shown = answer.json['resources'][0] if path == '/resources' else answer.json['resource']
    assert shown['physical_resource_id'] == {OLD: 'old', NEW: 'new'}[expected]
