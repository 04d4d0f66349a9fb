import contextlib
import subprocess
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from heatlite.common import exception
from heatlite.db import connection, engines, errors, pooling, sqlite_connections, stack_lists, stacks, sync
from heatlite.db.connection import Database
from heatlite.db.errors import Contention
from tests.db.conftest import SERVERS
from tests.db.rows import Wanted, engine, stack


@pytest.fixture(autouse=True)
def one_server(request):
    """Connections to a node are those to a MariaDB; what is special about nodes is in test_galera.py."""
    if 'kind' in request.fixturenames and request.getfixturevalue('kind') == 'galera':
        pytest.skip('a node is reached as a MariaDB is')


def ids(db):
    with db.reader() as tx:
        return [each.id for each in stack_lists.page(tx, None, Wanted())]


def test_a_writer_commits_at_its_end(db):
    with db.writer() as tx:
        stacks.insert(tx, stack('s1'))
        assert ids(db) == []
    assert ids(db) == ['s1']


def test_an_error_takes_everything_back(db):
    with pytest.raises(ZeroDivisionError), db.writer() as tx:
        stacks.insert(tx, stack('s1'))
        raise ZeroDivisionError
    assert ids(db) == []
    with pytest.raises(exception.StackExists), db.writer() as tx:
        stacks.insert(tx, stack('s1'))
        stacks.insert(tx, stack('s2', 'name-s1'))
    assert ids(db) == []


def test_a_reader_sees_what_was_committed_meanwhile(db):
    with db.reader() as reading:
        assert stack_lists.page(reading, None, Wanted()) == []
        with db.writer() as tx:
            stacks.insert(tx, stack('s1'))
        assert len(stack_lists.page(reading, None, Wanted())) == 1


def test_the_clock_is_the_databases(make_database):
    database = make_database()
    before = time.time()
    with database.reader() as tx:
        found = tx.execute(sa.select(database.clock(), connection.clock(tx))).one()
    assert all(isinstance(each, float) and abs(each - before) < 60 for each in found)


def test_a_clock_of_ones_own(db, clock):
    clock.seconds = 5.25
    with db.reader() as tx:
        assert tx.execute(sa.select(db.clock() + 1, connection.clock(tx))).one() == (6.25, 5.25)


def test_a_deadline_survives_the_real_clock(make_database):
    from heatlite.db import sync
    database = make_database()
    sync.up(database)
    with database.writer() as tx:
        engine(tx, 'alive', ttl=1000)
        engine(tx, 'dead', ttl=-1)
    with database.reader() as tx:
        assert {each.id: each.is_up for each in engines.page(tx)} == {'alive': True, 'dead': False}


def test_retry_after_contention(db):
    slept, tries = [], []
    database = Database(db.url.render_as_string(hide_password=False), sleep=slept.append)

    def crowded(tx):
        tries.append(1)
        stacks.insert(tx, stack('s1'))
        if len(tries) < 4:
            raise Contention(reason='test')
        return 'done'

    assert database.retry(crowded) == 'done'
    assert len(tries) == 4
    assert slept == [0, 0.01, 0.02]
    assert ids(db) == ['s1']
    with pytest.raises(Contention):
        database.retry(lambda tx: (_ for _ in ()).throw(Contention(reason='for ever')))
    with pytest.raises(ZeroDivisionError):
        database.retry(lambda tx: 1 / 0)
    database.close()


def test_a_deadlock_is_contention_and_retried(db, kind):
    if kind == 'sqlite':
        pytest.skip('SQLite has one lock, taken at the beginning: there are no deadlocks')
    with db.writer() as tx:
        for name in ('a', 'b'):
            stacks.insert(tx, stack(name))
    both, errors = threading.Barrier(2, timeout=30), []

    def cross(first, second):
        try:
            with db.writer() as tx:
                stacks.get(tx, first, for_update=True)
                both.wait()
                stacks.get(tx, second, for_update=True)
        except exception.DatabaseUnavailable as error:
            errors.append(error)

    threads = [threading.Thread(target=cross, args=pair) for pair in (('a', 'b'), ('b', 'a'))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(error) for error in errors] == [Contention]


def test_a_server_that_is_away(kind, tmp_path):
    url = {'sqlite': f'sqlite:///{tmp_path}/no/such/folder.sqlite', 'mysql': 'mysql+pymysql://x:y@127.0.0.1:9/z',
           'postgresql': 'postgresql+psycopg2://x:y@127.0.0.1:9/z'}[kind]
    database = Database(url)
    for block in (database.reader, database.writer):
        with pytest.raises(exception.DatabaseUnavailable) as raised, block():
            pass
        assert raised.value.http_code == 503


OUT_OF_ORDER = {
    'sqlite': ['PRAGMA max_page_count = 1', 'PRAGMA query_only = 1'],       # a full disk, one that is read-only
    'mysql': [f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'no'" for number in (1021, 1290)],
    'postgresql': ['SET TRANSACTION READ ONLY', "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END $$"]}


@pytest.mark.parametrize('case', [0, 1])
def test_a_server_that_cannot_write(make_database, kind, case):
    """It may again later: nobody's request is wrong."""
    database = make_database()
    sync.up(database)
    with pytest.raises(exception.DatabaseUnavailable), database.writer() as tx:
        tx.exec_driver_sql(OUT_OF_ORDER[kind][case])
        for number in range(100):
            stacks.insert(tx, stack(f's{number}'))
    database.close()
    with database.writer() as tx:
        stacks.insert(tx, stack('s1'))
    assert ids(database) == ['s1']


INTERRUPTED = {
    'mysql': [f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'no'" for number in (1317, 3024)]
    + ['SET STATEMENT max_statement_time = 0.01 FOR SELECT SLEEP(5)'],
    'postgresql': ["SET LOCAL statement_timeout = 10; SELECT pg_sleep(5)",
                   "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '57014'; END $$"]}


@pytest.mark.parametrize('case', [0, 1, 2])
def test_a_read_is_repeated_whose_statement_the_server_has_ended(make_database, kind, case):
    if len(INTERRUPTED.get(kind, ())) <= case:
        pytest.skip('no such error of this kind of database')
    attempts = []

    def read(tx):
        attempts.append(tx)
        if len(attempts) == 1:
            tx.exec_driver_sql(INTERRUPTED[kind][case])
        return 'read'

    database = make_database(sleep=lambda _seconds: None)
    assert database.retry_until_available(read) == 'read'
    assert len(attempts) == 2


ENDED = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1180, MESSAGE_TEXT = 'Got error 149 during COMMIT'"


def test_a_statement_whose_transaction_the_server_ended_is_repeated(db, kind):
    if kind != 'mysql':
        pytest.skip('only MariaDB answers so')
    attempts = []

    def write(tx):
        stacks.insert(tx, stack('s1'))
        attempts.append(tx)
        if len(attempts) == 1:
            tx.exec_driver_sql(ENDED)

    db.retry(write)
    assert (len(attempts), ids(db)) == (2, ['s1'])


def test_a_commit_with_the_same_answer_is_not_repeated():
    """A disk may be full, and what was written is unknown."""
    error = sa.exc.OperationalError(None, None, Exception(1180, 'Got error 28 during COMMIT'))
    with pytest.raises(exception.DatabaseUnavailable) as raised, errors.translated():
        raise error
    assert not isinstance(raised.value, Contention)


OWN = {'mysql': 'SELECT connection_id()', 'postgresql': 'SELECT pg_backend_pid()'}
CUT = {'mysql': 'KILL {}', 'postgresql': 'SELECT pg_terminate_backend({})'}
LIVES = {'mysql': 'SELECT 1 FROM information_schema.processlist WHERE id = {}',
         'postgresql': 'SELECT 1 FROM pg_stat_activity WHERE pid = {}'}


@pytest.fixture
def cut(db, kind):
    """`cut(number)`: end a connection, and wait until its server has done so. No later test gets one that was cut."""
    if kind == 'sqlite':
        pytest.skip('SQLite has no connections to cut')

    server = sa.create_engine(db.url, isolation_level='AUTOCOMMIT')     # sees what has changed meanwhile

    def end(number):
        with server.connect() as other:
            other.exec_driver_sql(CUT[kind].format(number))
            while other.exec_driver_sql(LIVES[kind].format(number)).first():
                time.sleep(0.01)

    yield end
    server.dispose()
    db.close()                      # opens new ones when it is used again


def test_a_connection_that_is_cut(db, kind, cut, monkeypatch):
    with pytest.raises(exception.DatabaseUnavailable), db.writer() as tx:
        stacks.insert(tx, stack('s1'))
        cut(tx.exec_driver_sql(OWN[kind]).scalar())
        stacks.insert(tx, stack('s2'))
    assert ids(db) == []
    monkeypatch.setattr(pooling, 'RESTED', 0.0)
    with db.reader() as tx:                         # one that is cut while it lies in the pool is replaced
        number = tx.exec_driver_sql(OWN[kind]).scalar()
    cut(number)
    assert ids(db) == []


def test_one_that_is_cut_a_moment_after_its_use_is_missed_once(db, kind, cut):
    with db.reader() as tx:
        number = tx.exec_driver_sql(OWN[kind]).scalar()
    cut(number)
    with suppress(exception.DatabaseUnavailable):
        ids(db)
    assert ids(db) == []


def test_writers_of_one_process_queue_on_sqlite(kind, db, monkeypatch):
    if kind != 'sqlite':
        pytest.skip('servers queue by themselves')
    monkeypatch.setattr(sqlite_connections, 'LOCK_TIMEOUT', 0.01)
    with db.writer(), pytest.raises(Contention), db.writer():
        pass
    with db.writer() as tx:
        stacks.insert(tx, stack('s1'))
    assert ids(db) == ['s1']


def test_another_process_that_writes_is_contention_on_sqlite(kind, make_database, monkeypatch):
    if kind != 'sqlite':
        pytest.skip('servers queue by themselves')
    monkeypatch.setattr(sqlite_connections, 'LOCK_TIMEOUT', 0.01)
    first = make_database()
    second = Database(first.url.render_as_string())
    with first.writer(), pytest.raises(Contention), second.writer():
        pass


def test_what_the_pool_has_not_is_unavailable(kind, make_database):
    if kind == 'sqlite':
        pytest.skip('a file has room for all')
    database = make_database(max_pool_size=1, max_overflow=0, pool_timeout=0.01)
    with database.reader(), pytest.raises(exception.DatabaseUnavailable, match='busy'), database.reader():
        pass


def test_connections_of_a_burst_are_kept(db):
    """Opening one costs many times as much as a read: sixteen callers at once must not open one each time."""
    with contextlib.ExitStack() as held:
        for _ in range(16):
            held.enter_context(db.engine.connect())
    assert db.engine.pool.checkedin() == 16


def test_sessions_are_as_they_should_be(db, kind):
    with db.writer() as tx:
        if kind == 'sqlite':
            found = [tx.exec_driver_sql(f'PRAGMA {name}').scalar() for name in ('journal_mode', 'synchronous')]
            assert found == ['wal', 2]
        elif kind == 'mysql':
            found = tx.exec_driver_sql('SELECT @@tx_isolation, @@character_set_connection, @@autocommit').one()
            assert found == ('READ-COMMITTED', 'utf8mb4', 0)
        else:
            assert tx.exec_driver_sql('SHOW transaction_isolation').scalar() == 'read committed'


@pytest.mark.parametrize('block, commits', [(Database.reader, 0), (Database.writer, 1)])
def test_no_round_trip_but_those_of_the_work(db, kind, block, commits):
    """What MySQL counts as statements of a session: the SELECTs, the COMMIT of the first; no BEGIN, ROLLBACK or SET."""
    if kind != 'mysql':
        pytest.skip('only MySQL counts them')
    question = "SHOW SESSION STATUS LIKE 'Questions'"
    with block(db) as tx:
        before = int(tx.exec_driver_sql(question).one()[1])
    with block(db) as tx:
        after = int(tx.exec_driver_sql(question).one()[1])
    assert after - before == 1 + commits


@pytest.mark.parametrize('url', ['sqlite://', 'sqlite:///:memory:', 'oracle://x', 'nonsense', 'mysql://h:port/d'])
def test_databases_that_cannot_be_used(url):
    with pytest.raises(exception.Error):
        Database(url)


@pytest.mark.parametrize('given, used', [
    ('mysql://u:p@h/d', 'mysql+pymysql://u:***@h/d?charset=utf8mb4'),
    ('mariadb://u:p@h/d?charset=utf8', 'mysql+pymysql://u:***@h/d?charset=utf8'),
    ('postgresql://u:p@h/d', 'postgresql+psycopg2://u:***@h/d'),
])
def test_urls_as_operators_write_them(given, used):
    assert repr(Database(given).url) == used


def test_options(tmp_path):
    from oslo_config import cfg
    conf = cfg.ConfigOpts()
    conf([], project='heatlite', default_config_files=[])
    with pytest.raises(exception.Error, match='connection'):
        Database.from_options(conf)
    conf.set_override('connection', f'sqlite:///{tmp_path}/x.sqlite', group='database')
    database = Database.from_options(conf)
    with database.reader() as tx:
        assert tx.exec_driver_sql('SELECT 1').scalar() == 1
    database.close()


def test_errors_name_no_statement():
    """Statements come with their parameters, and parameters may be secrets."""
    error = sa.exc.OperationalError('INSERT secret', ('hush',), Exception(1205, 'Lock wait timeout'))
    assert errors.reason(SimpleNamespace(inner_exception=error, args=())) == 'Lock wait timeout'


GREEN = '''
import sys
from heatlite.common import runtime
runtime.patch()
from eventlet import greenthread
from heatlite.db.connection import Database
database = Database(sys.argv[1])
ticks = []
def tick():
    while True:
        ticks.append(1)
        greenthread.sleep(0.01)
greenthread.spawn(tick)
greenthread.sleep(0)
with database.reader() as tx:
    tx.exec_driver_sql(sys.argv[2])
print(len(ticks) > 5)
'''


GREEN_WRITERS = '''
import sys
from heatlite.common import runtime
runtime.patch()
import eventlet
from heatlite.db.connection import Database
database = Database(sys.argv[1])
order = []
def write(name):
    with database.writer() as tx:
        order.append(name)
        tx.exec_driver_sql("DELETE FROM stack_tag")
        eventlet.sleep(0.05)
        order.append(name)
threads = [eventlet.spawn(write, name) for name in 'abc']
for thread in threads:
    thread.wait()
killed = eventlet.spawn(write, 'd')
while 'd' not in order:
    eventlet.sleep(0)
killed.kill()
eventlet.spawn(write, 'e').wait()
print(''.join(order))
'''


def test_green_writers_take_turns(db, kind):
    """One that waits inside its transaction must not stop the whole process; one that is killed lets go."""
    if kind != 'sqlite':
        pytest.skip('servers queue by themselves')
    done = subprocess.run([sys.executable, '-c', GREEN_WRITERS, db.url.render_as_string()],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == 'aabbccdee', done.stderr


def test_other_green_threads_run_while_a_server_works(db, kind):
    if kind == 'sqlite':
        pytest.skip('SQLite works in our own process')
    assert kind in SERVERS
    nap = {'mysql': 'SELECT sleep(0.5)', 'postgresql': 'SELECT pg_sleep(0.5)'}[kind]
    done = subprocess.run([sys.executable, '-c', GREEN, db.url.render_as_string(hide_password=False), nap],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == 'True', done.stderr


SILENT = '''
import sys
from heatlite.common import exception, runtime
runtime.patch()
from heatlite.db import connection, server_connections
server_connections.SILENCE = 1
database = connection.Database(sys.argv[1])
for block in (database.reader, database.writer):
    try:
        with block() as tx:
            tx.exec_driver_sql(sys.argv[2])
    except exception.DatabaseUnavailable:
        with block() as tx:
            print(tx.exec_driver_sql('SELECT 1').scalar())
'''


def test_a_server_that_says_nothing_for_long_is_away(db, kind):
    if kind == 'sqlite':
        pytest.skip('SQLite works in our own process')
    nap = {'mysql': 'SELECT sleep(20)', 'postgresql': 'SELECT pg_sleep(20)'}[kind]
    done = subprocess.run([sys.executable, '-c', SILENT, db.url.render_as_string(hide_password=False), nap],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ['1', '1'], done.stderr


def test_what_somebody_left_open_is_rolled_back_when_it_returns_to_the_pool(db):
    with db.engine.connect() as left:
        stacks.insert(left, stack('s1'))
    assert ids(db) == []
    with db.writer() as tx:
        stacks.insert(tx, stack('s2'))
    assert ids(db) == ['s2']


@pytest.mark.parametrize('url, driver', [
    ('sqlite:///file.sqlite', None), ('mysql+pymysql://host/heatlite', 'pymysql'),
    ('postgresql+psycopg2://host/heatlite', 'psycopg2'),
])
def test_only_the_driver_of_its_database_is_loaded_by_a_program(url, driver):
    """Each takes some MiB of every process."""
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', f'''
import sys
from heatlite.common import runtime
runtime.patch()
from heatlite.db.connection import Database
Database({url!r})
print([name for name in ('pymysql', 'psycopg2') if name in sys.modules])
'''], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str([driver] if driver else []), done.stderr
