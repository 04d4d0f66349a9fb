"""heatlite-manage, as an operator calls it."""

import io
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from heatlite.cmd import manage
from heatlite.common import crypt, runtime
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import alarms, changes, engines, leases, metrics, stacks, sync, templates
from heatlite.db.alarms import HistoryEntry
from heatlite.monitoring.alarms import Datapoint, Metric
from heatlite.planning.states import Datum
from tests.db.rows import NOW, change, delete_soft, engine, leased, stack, state


@pytest.fixture
def run(db, capsys):
    """`run('db_sync')` -> (exit code, standard output, standard error)."""
    def call(*arguments, database=db):
        capsys.readouterr()
        code = manage.main(['--config-file', '/dev/null', '--database-connection',
                            database.url.render_as_string(hide_password=False), *arguments])
        said = capsys.readouterr()
        return code, said.out.strip(), said.err.strip()
    return call


def test_schema(run, make_database):
    database = make_database()
    assert run('db_version', database=database)[:2] == (0, 'none: run db_sync')
    code, _, error = run('service', 'list', database=database)
    assert code == 1
    assert 'run heatlite-manage db_sync' in error
    assert run('db_sync', database=database)[:2] == (0, f'The tables have version {sync.HEAD}.')
    assert run('db_sync', database=database)[0] == 0
    assert run('db_version', database=database)[:2] == (0, sync.HEAD)


def test_engines(run, db):
    now = GreenRuntime().now().timestamp()
    with db.writer() as tx:
        engine(tx, 'alive', ttl=now)                # the command knows only the real clock
        engine(tx, 'dead', host='h2', ttl=-1)
        leased(tx, stack('s1'), by='dead')
    code, out, _ = run('service', 'list')
    assert code == 0
    assert out.splitlines()[0].split()[-1] == 'Stacks'
    assert [(line.split()[5], line.split()[-1]) for line in out.splitlines()[1:]] == [('up', '0'), ('down', '1')]
    code, out, error = run('service', 'clean')
    assert (code, out) == (0, 'dead\nEngines removed: 1')
    assert 'Silent engines: 1.' in error
    with db.reader() as tx:
        assert [each.id for each in engines.page(tx)] == ['alive']
        assert leases.owner(tx, 's1') is None
    assert run('service', 'clean') == (0, 'Engines removed: 0', '')


def test_an_engine_that_renews_its_leases_is_not_removed(run, db, monkeypatch):
    """By the database's clock it is expired, because that clock has just been set forward."""
    class Waiting(GreenRuntime):
        def sleep(self, seconds):
            slept.append(seconds)
            with db.writer() as tx:
                engines.renew(tx, 'alive', -1, self.now())      # expired still: its deadline is another one

    slept = []
    monkeypatch.setattr(runtime, '_current', Waiting())
    with db.writer() as tx:
        engine(tx, 'alive', ttl=-3)
        engine(tx, 'dead', host='h2', ttl=-2)
        leased(tx, stack('s1'), by='alive')
    assert run('service', 'clean')[:2] == (0, 'dead\nEngines removed: 1')
    assert slept == [3.0]                                       # lease_ttl
    with db.reader() as tx:
        assert [each.id for each in engines.page(tx)] == ['alive']
        assert [held.stack_id for held in leases.held(tx, 'alive')] == ['s1']


def test_purge(run, db):
    now = GreenRuntime().now()
    with db.writer() as tx:
        for number in range(5):
            stacks.insert(tx, stack(f's{number}', project_id='p2' if number == 4 else 'p1'))
            delete_soft(tx, f's{number}', now)
    assert run('purge_deleted')[:2] == (0, 'Stacks purged: 0')
    assert run('purge_deleted', '-g', 'hours', '1')[1] == 'Stacks purged: 0'
    assert run('purge_deleted', '9999999999')[1] == 'Stacks purged: 0'
    assert run('purge_deleted', '-g', 'seconds', '-p', 'p1', '-b', '2', '0')[:2] == (0, 'Stacks purged: 4')
    assert run('purge_deleted', '0')[1] == 'Stacks purged: 1'
    assert run('purge_deleted', '-g', 'years')[0] == 2
    assert run('purge_deleted', '--', '-1')[0] == 2


def test_old_metrics_and_history_are_purged_too(run, db):
    now = GreenRuntime().now()
    seconds = (now - datetime(1970, 1, 1)).total_seconds()
    points = [Datapoint(Metric('n', f'm{number}'), seconds - age * 86_400, 'None', 1.0, 1.0, 1.0, 1.0)
              for number, age in enumerate((1, 20, 70, 500))]
    with db.writer() as tx:
        metrics.store(tx, 'p1', points, seconds)
        alarms.remember(tx, [HistoryEntry('i', 'p1', 'a', 'Action', 'text', None, now - timedelta(days=age))
                             for age in (1, 15)])
    assert run('purge_deleted', '-p', 'p1')[1] == 'Stacks purged: 0'
    # The first remains as it is; the others move on by one step, by two, or are removed in the end.
    assert run('purge_deleted')[1] == 'Stacks purged: 0\nRows of metrics and alarms removed: 4'
    while 'removed' in run('purge_deleted')[1]:
        continue
    with db.reader() as tx:
        found = tx.execute(sa.text('SELECT length FROM metric_period ORDER BY length')).scalars().all()
        assert found == [60, 300, 3600]
        assert len(alarms.history(tx, 'p1')) == 1


def test_reset(run, db, monkeypatch):
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'))
    code, asked, error = run('reset_stack_status', 'missing')
    assert (code, asked) == (1, '') and 'missing' in error
    monkeypatch.setattr('sys.stdin', io.StringIO('n\n'))
    code, _, error = run('reset_stack_status', 's1')
    assert (code, error) == (1, 'heatlite-manage: Nothing was changed.')
    monkeypatch.setattr('sys.stdin', io.StringIO('y\n'))
    assert run('reset_stack_status', 's1')[0] == 0
    with db.reader() as tx:
        assert stacks.get(tx, 's1').status == 'FAILED'
    code, _, error = run('reset_stack_status', '--yes', 'missing')
    assert code == 1
    assert 'missing' in error


def test_data(run, db):
    key = 'k' * 32
    with db.writer() as tx:
        engine(tx)
        leased(tx, stack('s1'))
        method, value = crypt.encrypt('hush', key)
        changes.write(tx, [change(row=state(1, physical_id='server-1'), data=(Datum('a', '1'),))])
        tx.exec_driver_sql(f"UPDATE resource_data SET method = '{method}', value = '{value}'")
    assert run('--set', f'auth_encryption_key={key}', 'resource_data_list', 'server-1')[:2] == (
        0, 'Key  Value\na    hush')
    assert run('--set', f'auth_encryption_key={"x" * 32}', 'resource_data_list', 'server-1')[0] == 1
    code, _, error = run('resource_data_list', 'nothing')
    assert code == 1
    assert 'nothing' in error


def test_encryption(run, db):
    def stored():
        with db.reader() as tx:
            return tx.exec_driver_sql('SELECT environment FROM template').scalar()

    old, new = (f'auth_encryption_key={letter * 32}' for letter in 'ab')
    with db.writer() as tx:
        for number in range(250):
            templates.insert(tx, f't{number}', {}, {'parameters': {'password': 'hush'}}, None, NOW)
    clear = stored()
    assert run('--set', old, 'update_params', 'encrypt')[:2] == (0, 'Rows rewritten: 250')
    assert 'hush' not in stored()
    assert run('--set', old, 'update_params', 'encrypt')[:2] == (0, 'Rows rewritten: 0')
    code, _, error = run('--set', new, 'update_params', 'decrypt')
    assert (code, error) == (1, 'heatlite-manage: Can not decrypt data with the auth_encryption_key in heat config.')
    assert run('--set', new, 'update_params', 'encrypt', 'a' * 32)[:2] == (0, 'Rows rewritten: 250')
    assert run('--set', new, 'update_params', 'decrypt')[:2] == (0, 'Rows rewritten: 250')
    assert stored() == clear
    assert run('update_params', 'encrypt')[0] == 1
    assert run('--set', new, 'update_params', 'hide')[0] == 2


def test_the_keys_of_stored_values(run, db):
    a, b, c = (letter * 32 for letter in 'abc')
    with db.writer() as tx:
        for number in range(30):
            templates.insert(tx, f't{number}', {}, {'parameters': {'password': 'hush'}}, None, NOW)
    assert run('--set', f'auth_encryption_key={a}', 'update_params', 'encrypt')[0] == 0
    keys = ['--set', f'auth_encryption_key={b}', '--set', f'auth_decryption_keys={a}', '--set',
            f'auth_decryption_keys={c}', 'encryption_keys']
    code, text, _ = run(*keys, 'list', '--unused', '1')
    assert code == 1 and [line.split()[-1] for line in text.splitlines()[1:]] == ['0', '30', '0', '0']
    assert run(*keys, 'list', '--unused', '2')[0] == 0
    assert run(*keys, 'list', '--unused', '3')[0] == 1
    code, text, _ = run(*keys, 'reencrypt', '--batch-size', '7')
    assert code == 0 and 'template' in text and text.endswith('Rows rewritten: 30')
    code, text, _ = run(*keys, 'list', '--unused', '1')
    assert code == 0 and [line.split()[-1] for line in text.splitlines()[1:]] == ['30', '0', '0', '0']
    code, text, _ = run('--set', f'auth_encryption_key={c}', 'encryption_keys', 'list')
    assert code == 0 and text.splitlines()[-1].split() == ['another', 'key', '30']
    code, text, error = run('--set', f'auth_encryption_key={c}', 'encryption_keys', 'reencrypt')
    assert (code, error) == (1, 'template: none of the keys decrypts 30 rows') and text.endswith('Rows rewritten: 0')
    for wrong in (['reencrypt', '--batch-size', '0'], ['list', '--unused', 'x'], ['reencrypt', '--pause', '-1'], []):
        assert run(*keys, *wrong)[0] == 2, wrong
    code, _, error = run('--set', f'auth_encryption_key={a}', '--set', 'auth_decryption_keys=short', 'encryption_keys',
                         'list')
    assert code == 1 and 'auth_decryption_keys' in error and 'short' not in error


@pytest.mark.parametrize('arguments', [['--database-connection', 'mysql://u:p@127.0.0.1:9/d', 'db_version'],
                                       ['--config-file', '/dev/null', 'db_version'],
                                       ['--config-file', '/no/such/file', 'db_version'],
                                       ['--database-connection', 'oracle://x', 'db_version'],
                                       ['--database-connection', 'nonsense', 'db_version']])
def test_one_line_says_what_is_wrong(arguments, capsys):
    assert manage.main(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ''
    assert len(said.err.strip().splitlines()) == 1


def test_wrong_usage(capsys):
    assert manage.main(['no_such_command']) == 2
    assert manage.main(['--help']) == 0
    assert 'purge_deleted' in capsys.readouterr().out


@pytest.mark.parametrize('arguments', [
    ('purge_deleted', '--project-id', 'p', '--batch-size', '5', '30'), ('purge_deleted', '--project_id', 'p'),
    ('migrate_properties_data',), ('migrate_convergence_1', 's1', 's2'),
    ('--set', f'DEFAULT.auth_encryption_key={"k" * 32}', 'update_params', 'encrypt', '--verbose-update-params')])
def test_what_scripts_give_to_heat_manage(run, arguments):
    code, said, error = run(*arguments)
    assert (code, error, bool(said)) == (0, '', True)


@pytest.mark.parametrize('arguments, words', [
    (('purge_deleted', 'much'), "argument AGE: 'much' is no number from 0"),
    (('purge_deleted', '-b', '-1'), "'-1' is no number from 0"),
    (('encryption_keys', 'reencrypt', '--pause', 'long'), "'long' is no number"),
    (('restored', '--taken-at', 'noon'), "'noon' is no time")])
def test_a_value_that_is_wrong_is_named(run, arguments, words):
    code, _said, error = run(*arguments)
    assert (code, words in error) == (2, True), error
