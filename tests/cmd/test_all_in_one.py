"""The one-process door: its key, and who may talk to it."""

import os
from types import SimpleNamespace

import pytest

from heatlite.api.middleware import noauth
from heatlite.cmd import all_in_one
from heatlite.common import crypt
from heatlite.common.invalid_options import InvalidOptions
from heatlite.db import stacks, sync
from heatlite.db.connection import Database
from tests.cmd.test_keys import run
from tests.db.rows import stack


def answer(environ, **options):
    found = []

    def application(environ, start_response):
        start_response('200 OK', [])
        return [b'in']

    b''.join(noauth.OnlyFromHere(application, **options)(environ, lambda status, headers: found.append(status)))
    return found[0]


@pytest.mark.parametrize('environ, status', [
    ({'HTTP_HOST': '127.0.0.1:8004'}, '200 OK'),
    ({'HTTP_HOST': 'localhost:8004'}, '200 OK'),
    ({'HTTP_HOST': 'localhost'}, '200 OK'),
    ({}, '200 OK'),
    ({'HTTP_HOST': 'evil.example:8004'}, '403 Forbidden'),
    ({'HTTP_HOST': 'localhost.evil.example'}, '403 Forbidden'),
    ({'HTTP_HOST': '127.0.0.1:8004', 'HTTP_ORIGIN': 'https://evil.example'}, '403 Forbidden'),
    ({'HTTP_HOST': '127.0.0.1:8004', 'HTTP_ORIGIN': 'null'}, '403 Forbidden'),
    ({'HTTP_HOST': '127.0.0.1:8004', 'HTTP_ORIGIN': 'http://127.0.0.1:8004'}, '200 OK'),
    ({'HTTP_HOST': '127.0.0.1:8004', 'HTTP_ORIGIN': 'http://127.0.0.1:8080'}, '403 Forbidden'),
    ({'HTTP_HOST': '127.0.0.1:8004', 'HTTP_ORIGIN': 'http://127.0.0.1'}, '403 Forbidden'),
    ({'HTTP_HOST': 'evil.example:8004', 'HTTP_ORIGIN': 'http://evil.example:8004'}, '403 Forbidden'),
])
def test_web_pages_are_kept_out(environ, status):
    assert answer(environ) == status


@pytest.mark.parametrize('host, origin, status', [
    ('heat.example:8004', None, '200 OK'), ('HEAT.example', 'http://HEAT.example', '200 OK'),
    ('heat.example:8004', 'https://dashboard', '200 OK'), ('heat.example:8004', 'http://evil.example', '403 Forbidden'),
    ('other.example', None, '403 Forbidden'), ('[::1]:8004', None, '200 OK')])
def test_an_operator_may_name_hosts_and_origins(host, origin, status):
    environ = {'HTTP_HOST': host, **({} if origin is None else {'HTTP_ORIGIN': origin})}
    assert answer(environ, hosts=['Heat.example'], origins=['https://dashboard']) == status


@pytest.mark.parametrize('host, status', [
    ('[2001:db8::5]:8004', '200 OK'), ('[2001:DB8::5]', '200 OK'), ('192.0.2.5:8004', '200 OK'), ('api:8004', '200 OK'),
    ('192.0.2.5.evil.example:8004', '403 Forbidden'), ('api.evil.example', '403 Forbidden')])
def test_addresses_and_names_without_a_dot_need_no_entry(host, status):
    assert answer({'HTTP_HOST': host}) == status


def test_the_key_is_made_once_and_is_nobody_elses(tmp_path):
    made = all_in_one.key(tmp_path)
    assert len(made) == 32
    assert all_in_one.key(tmp_path) == made
    assert (tmp_path / 'encryption-key').stat().st_mode & 0o077 == 0


@pytest.mark.parametrize('name', ['cfn', 'cloudwatch'])
def test_ports_of_signed_apis_need_keystone(name, tmp_path):
    with pytest.raises(InvalidOptions, match=f'--{name}-port needs --auth keystone'):
        all_in_one.load([f'--{name}-port', '8000', '--state-dir', str(tmp_path / 'state')])
    assert not (tmp_path / 'state').exists()


@pytest.mark.parametrize('text, found', [('', '0 characters'), ('abc\n', '3 characters'), ('k' * 33, '33 characters'),
                                         ('\u00e9' * 32, 'not ASCII')])
def test_a_damaged_key_is_named_with_its_file(text, found, tmp_path):
    place = tmp_path / 'encryption-key'
    place.write_text(text)
    with pytest.raises(InvalidOptions) as refused:
        all_in_one.key(tmp_path)
    assert f'{place}: ' in str(refused.value) and found in str(refused.value) and '--state-dir' in str(refused.value)


def test_a_key_of_another_database_is_named_with_its_file(tmp_path):
    database = Database(f'sqlite:///{tmp_path}/heatlite.sqlite', seal=lambda text: crypt.seal(text, 'o' * 32))
    sync.up(database)
    with database.writer() as tx:
        stacks.insert(tx, stack('s1', parameters={'a': 'b'}))
    database.close()
    (tmp_path / 'encryption-key').write_text('k' * 32)
    code, lines = run('heatlite.cmd.all_in_one', '--state-dir', tmp_path, '--port', '0')
    assert code == os.EX_CONFIG and f"{tmp_path / 'encryption-key'} is not the key of this database" in lines[-1]


def test_the_key_is_on_the_disk_before_its_first_use(tmp_path, monkeypatch):
    """The file, its name, and then it is read; a power failure leaves the whole key or none."""
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, 'fsync', lambda file: (synced.append(os.readlink(f'/proc/self/fd/{file}')), fsync(file)))
    all_in_one.key(tmp_path)
    assert synced == [f'{tmp_path}/encryption-key.new', str(tmp_path)]


@pytest.mark.parametrize('cloud', ['http://127.0.0.1:5000', None])
def test_the_greeting_says_what_stays(cloud, tmp_path, capsys):
    conf = SimpleNamespace(state_dir=str(tmp_path), auth='none', console=SimpleNamespace(enabled=False))
    all_in_one.greet(conf, 8004, {}, cloud)
    said = capsys.readouterr().out
    assert f'Stacks stay in {tmp_path}' in said and 'go on when' not in said
    assert ('forgets its objects' in said) is (cloud is not None)
