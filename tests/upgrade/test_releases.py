"""No migration, message or document breaks the releases that may run beside this one: the last two."""

import json

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception
from heatlite.db import sync, tables
from tests.db.conftest import databases, kind, make_database
from tests.upgrade import data_keys, rules, state, statements

__all__ = ['databases', 'kind', 'make_database']
SUPPORTED = state.names()[-2:]


@pytest.fixture(params=SUPPORTED)
def former(request):
    return state.load(request.param)


def test_the_first_release_is_known():
    assert state.names()[0] == '0.1.0'
    for name in state.names():
        assert set(state.load(name)) == {*state.PARTS, 'statements'}


def test_no_migration_breaks_it(former):
    assert list(rules.schema(former['schema'], state.schema(), former['statements']['used'])) == []


def test_no_message_breaks_it(former):
    assert list(rules.messages(former['messages'], state.wire())) == []


def test_no_document_breaks_it(former):
    assert list(rules.documents(former['documents'], state.durable())) == []


def test_its_documents_are_read(former):
    read = state.documents()
    for name, sample in former['documents']['documents'].items():
        assert read[name].read(sample) == read[name].read(json.loads(json.dumps(read[name].sample))), name


def test_every_column_of_texts_has_a_sample_or_a_reason():
    texts = {f'{table.name}.{column.name}' for table in tables.metadata.tables.values() for column in table.c
             if isinstance(column.type, sa.Text)}
    sampled = {name.partition(',')[0] for name in state.documents()}
    without = [name for names in state.WITHOUT_SAMPLE.values() for name in names]
    assert len(without) == len(set(without))
    assert (sampled - {'signal.request'}) | set(without) == texts
    assert sampled.isdisjoint(without)


@pytest.mark.parametrize('source, found', [
    ("self.data_set('a', 1)", ['a']), ("KEY = 'b'\nself.data_set(KEY, 1)", ['b']),
    ("class T:\n    X, Y = 'c', 'd'\n    def f(self):\n        return self.data().get(self.Y)", ['d']),
    ("self.data()['e']", ['e']), ("'f' in self.data()", ['f']), ("data['g'] = self.data", []),
    ("KEY = 'h'\nstored_json.write(resource, KEY, {})", ['h']), ("self.data_set(computed(), 1)", [])])
def test_keys_of_values_are_found(tmp_path, source, found):
    (tmp_path / 'module.py').write_text(source)
    assert data_keys.found(tmp_path) == found


def test_keys_of_described_types_are_found(tmp_path):
    (tmp_path / 'types.yaml').write_text('T:\n  keep:\n    h: {redact: true}\n    i: {}\n')
    assert data_keys.found(tmp_path) == ['h', 'i']


def test_documents_of_the_next_release_are_read():
    """They have more keys. What this release writes itself, it reads alike."""
    for name, document in state.documents().items():
        sample = json.loads(json.dumps(document.sample))
        assert document.read({**sample, 'added_later': [1]}) == document.read(sample), name


def migrated(database, former):
    """A database of the former release, with the schema of this one."""
    with database.writer() as tx:
        statements.metadata(former['schema']).create_all(tx)
        sync.VERSION_TABLE.create(tx)
        tx.execute(sync.VERSION_TABLE.insert().values(version_num=former['schema']['revision']))
    sync.up(database)
    return database


def test_its_statements_work_on_the_new_schema(former, make_database):
    database = migrated(make_database(), former)
    with database.writer() as tx:
        assert statements.replay(tx, former['schema'], former['statements']) > 100


REFUSED = (sa.exc.DBAPIError, db_exception.DBError, exception.DatabaseUnavailable)
BROKEN = {
    'a column is dropped': 'ALTER TABLE event DROP COLUMN reason',
    'a column is renamed': 'ALTER TABLE resource RENAME COLUMN uuid TO object_id',
    'a new column is not null': 'ALTER TABLE snapshot ADD COLUMN kind VARCHAR(9) NOT NULL CHECK (kind <> \'\')',
    'a table is dropped': 'DROP TABLE guard',
    'a new unique index': 'CREATE UNIQUE INDEX uq_new ON stack (action)',
    'a column is shortened': {'mysql': 'ALTER TABLE stack MODIFY name VARCHAR(20) NOT NULL',
                              'postgresql': 'ALTER TABLE stack ALTER name TYPE VARCHAR(20)'}}


@pytest.mark.parametrize('what', BROKEN)
def test_a_migration_that_breaks_them_is_found(what, make_database):
    former = state.load(SUPPORTED[-1])
    database = migrated(make_database(), former)
    wanted = BROKEN[what]
    text = wanted if isinstance(wanted, str) else wanted.get(database.dialect)
    if text is None:
        pytest.skip('SQLite ignores the length of texts')
    if database.dialect == 'sqlite' and 'NOT NULL CHECK' in text:
        text = text.replace("NOT NULL", "NOT NULL DEFAULT ''")         # it allows no other
    with database.writer() as tx:
        tx.exec_driver_sql(text)
    with pytest.raises(REFUSED), database.writer() as tx:
        statements.replay(tx, former['schema'], former['statements'])
