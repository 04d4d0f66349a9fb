"""Statements whose results nothing needs are sent as one message, and fail as if each were sent by itself."""

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from heatlite.common import exception
from heatlite.db import bulk, gathered, mysql_connections, postgresql_connections, stacks, sync
from tests.db.rows import stack

COLUMNS = ('id', 'stack_id', 'document', 'environment', 'created_at')


@pytest.fixture
def messages(monkeypatch):
    """What connections have sent, as texts."""
    found = []
    send = mysql_connections.MysqlConnection._execute_command

    def note(connection, command, sql):
        found.append(bytes(sql).decode() if not isinstance(sql, str) else sql)
        return send(connection, command, sql)

    monkeypatch.setattr(mysql_connections.MysqlConnection, '_execute_command', note)
    made = postgresql_connections.PostgresqlConnection.messages

    def note_made(connection, statement):
        for message in made(connection, statement):
            found.append(message.decode())
            yield message

    monkeypatch.setattr(postgresql_connections.PostgresqlConnection, 'messages', note_made)
    return found


@pytest.fixture
def only_servers(db):
    if db.dialect == 'sqlite':
        pytest.skip('nothing is sent')


@pytest.fixture
def only_mysql(db):
    if db.dialect != 'mysql':
        pytest.skip('PostgreSQL does not say how many statements it has answered, and takes several at any time')


def insert(tx, *names, size=1):
    bulk.texts(tx.dialect.name).insert(tx, 'template', COLUMNS, [
        (name, 's1', f'"{"x" * size}"', '{}', '2026-11-27 00:00:00') for name in names])


def names(db):
    with db.reader() as tx:
        return sorted(tx.execute(sa.text('SELECT id FROM template')).scalars())


@pytest.mark.parametrize('traced', [False, True])
def test_all_are_executed(make_database, traced):
    """[database] connection_trace ends each statement with a comment, which hides nothing after it."""
    database = make_database(connection_trace=traced)
    sync.upgrade(database)
    with database.writer() as tx, bulk.one_message(tx):
        insert(tx, 'a;b', "c'd", 'e')
        insert(tx, 'f')
        tx.exec_driver_sql("DELETE FROM template WHERE id = 'e' -- of the first")
        tx.exec_driver_sql("DELETE FROM template WHERE id = 'f'")
        insert(tx, 'g')
    assert names(database) == ['a;b', "c'd", 'g']


def test_they_are_one_message(db, only_servers, messages):
    with db.writer() as tx:
        insert(tx, 'a')
        del messages[:]
        with bulk.one_message(tx):
            insert(tx, 'b')
            insert(tx, 'c')
            assert messages == []
        assert len(messages) == 1 and messages[0].count('INSERT INTO') == 2
        assert tx.execute(sa.text('SELECT count(*) FROM template')).scalar_one() == 3
        insert(tx, 'd')
    assert len(messages) == 4                       # the last one is COMMIT
    assert names(db) == ['a', 'b', 'c', 'd']


def test_no_message_is_larger_than_what_is_gathered_or_one_statement(db, only_servers, messages):
    sizes = [gathered.ENOUGH // 3] * 10 + [1, 2 * gathered.ENOUGH, 1]
    with db.writer() as tx:
        del messages[:]
        with bulk.one_message(tx):
            for number, size in enumerate(sizes, 10):
                insert(tx, f't{number}', size=size)
        sent = list(messages)
    assert names(db) == [f't{number}' for number in range(10, 23)]
    assert len(sent) == 7
    for each in sent:
        assert len(each) <= gathered.ENOUGH + 500 or each.count('INSERT INTO') == 1


def test_an_empty_block_sends_nothing(db, only_servers, messages):
    with db.writer() as tx:
        del messages[:]
        with bulk.one_message(tx):
            pass
        assert messages == []


def test_a_message_that_is_not_answered_as_a_whole_is_an_error(db, only_mysql):
    with pytest.raises(exception.DatabaseUnavailable, match='4 of 3'), db.writer() as tx, bulk.one_message(tx):
        insert(tx, 'a')
        tx.exec_driver_sql("DELETE FROM template WHERE id = 'b'; DELETE FROM template WHERE id = 'c'")
    assert names(db) == []


def test_other_statements_keep_all_their_results(db, only_mysql):
    with db.writer() as tx:
        cursor = tx.connection.cursor()
        cursor.execute('SELECT 1; SELECT 2')
        assert cursor.fetchall() == ((1,),) and cursor.nextset() and cursor.fetchall() == ((2,),)


@pytest.mark.parametrize('with_commit', [False, True])
@pytest.mark.parametrize('place', [0, 1, 2])
def test_the_error_of_any_of_them_is_raised_and_none_is_kept(db, place, with_commit):
    with db.writer() as tx:
        insert(tx, 'taken')
    with pytest.raises(db_exception.DBDuplicateEntry), db.writer() as tx, bulk.one_message(tx, with_commit):
        for number in range(3):
            insert(tx, 'taken' if number == place else f't{number}')
    assert names(db) == ['taken']
    with db.writer() as tx:                         # the connection is as good as before
        insert(tx, 'next')
    assert names(db) == ['next', 'taken']


def test_an_error_of_the_block_forgets_them(db, only_servers, messages):
    with pytest.raises(ZeroDivisionError), db.writer() as tx:
        tx.exec_driver_sql('DELETE FROM template')
        del messages[:]
        with bulk.one_message(tx):
            insert(tx, 'a')
            raise ZeroDivisionError
    assert messages == ['ROLLBACK']
    with db.writer() as tx:
        insert(tx, 'b')
    assert names(db) == ['b']


def test_a_transaction_begins_with_its_first_statement(db, messages):
    if db.dialect != 'postgresql':
        pytest.skip('MySQL begins one by itself')
    with db.writer() as tx:
        insert(tx, 'a')
    with db.writer() as tx, bulk.one_message(tx):
        insert(tx, 'b')
        insert(tx, 'c')
    with db.writer() as tx:
        tx.execute(sa.text('DELETE FROM template WHERE id = :id'), [{'id': 'a'}, {'id': 'b'}])
    with db.writer():
        pass
    begin = postgresql_connections.BEGIN.decode()
    assert [message.replace(begin, 'BEGIN').count('BEGIN') for message in messages] == [1, 0, 1, 0, 1, 0, 0]
    assert names(db) == ['c']


def test_they_may_be_sent_with_the_commit(db, only_servers, messages):
    with db.writer() as tx, bulk.one_message(tx, with_commit=True):
        insert(tx, 'a')
        insert(tx, 'b')
    with db.writer() as tx:
        with bulk.one_message(tx, with_commit=True):
            insert(tx, 'c')
        assert tx.execute(sa.text('SELECT count(*) FROM template')).scalar_one() == 3
    assert len(messages) == 3 and messages[0].count('INSERT') == 2 and 'COMMIT' in messages[0]
    assert names(db) == ['a', 'b', 'c']


def test_a_block_that_fails_after_them_keeps_none(db, messages):
    with pytest.raises(ZeroDivisionError), db.writer() as tx:
        with bulk.one_message(tx, with_commit=True):
            insert(tx, 'a')
        raise ZeroDivisionError
    with db.writer() as tx:
        insert(tx, 'b')
    assert names(db) == ['b']


def test_readers_take_one_statement_at_a_time(db, only_mysql):
    twice = 'SELECT 1; SELECT 2'
    with db.reader() as tx, pytest.raises(db_exception.DBError):
        tx.exec_driver_sql(twice)


def test_a_stack_whose_name_is_taken_is_still_that_error(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1', 'web'))
    with pytest.raises(db_exception.DBDuplicateEntry), db.writer() as tx, bulk.together(tx):
        stacks.insert(tx, stack('s2', 'web'))
