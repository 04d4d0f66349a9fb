"""The application for any WSGI server is built at the first request, once, in the process that answers; its options are
checked before."""

import os
import subprocess
import sys

import pytest

from heatlite.common import crypt
from heatlite.db import stacks, sync
from heatlite.db.connection import Database
from heatlite.wsgi import lazy
from tests.db.rows import stack
from tests.system.processes import ROOT

MODULES = ('heatlite.wsgi.api', 'heatlite.wsgi.cfn', 'heatlite.wsgi.cloudwatch')
ASKED = """
import importlib, time
from heatlite.wsgi import lazy
application = importlib.import_module({module!r}).application
print('loaded', flush=True)
environ = {{'REQUEST_METHOD': 'GET', 'PATH_INFO': '/healthcheck', 'SERVER_NAME': 'x', 'SERVER_PORT': '80',
           'wsgi.url_scheme': 'http'}}
print(list(application(environ, lambda status, headers, error=None: None)), flush=True)
time.sleep(30)
"""


def load(folder, module, key, code=ASKED):
    """(exit code, standard output, standard error) of a server that loads a module and asks it once."""
    file = folder / 'heatlite.conf'
    file.write_text(f'[DEFAULT]\nauth_encryption_key = {key}\ntransport_url = rabbit://127.0.0.1:1/\n'
                    f'[database]\nconnection = sqlite:///{folder}/heatlite.sqlite\n'
                    '[paste_deploy]\nflavor = noauth\n[ec2authtoken]\nauth_uri = http://127.0.0.1:1/v3\n')
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', code.format(module=module)], cwd=ROOT, text=True,
                          capture_output=True, timeout=120, env={
                              **os.environ, 'PYTHONPATH': str(ROOT), 'HEATLITE_CONFIG': str(file)})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize('module', MODULES)
def test_a_wrong_key_ends_the_server_when_it_loads_the_module(tmp_path, module):
    code, said, error = load(tmp_path, module, 'short')
    assert (code != 0, said) == (True, '')
    assert 'exactly 32' in error and 'Traceback' not in error


def test_the_key_of_another_database_ends_the_process(tmp_path):
    database = Database(f'sqlite:///{tmp_path}/heatlite.sqlite', seal=lambda text: crypt.seal(text, 'o' * 32))
    sync.up(database)
    with database.writer() as tx:
        stacks.insert(tx, stack('s1', parameters={'a': 'b'}))
    database.close()
    code, said, error = load(tmp_path, MODULES[0], 'k' * 32)
    assert said.startswith('loaded')
    assert code == os.EX_CONFIG and 'is not the key of this database' in error


def test_nothing_is_built_before_the_first_request_and_once_after_it():
    built = []

    def build():
        built.append(None)
        return lambda environ, start_response: [environ['PATH_INFO'].encode()]

    application = lazy.Lazy(build)
    assert built == []
    assert application({'PATH_INFO': '/a'}, None) == [b'/a']
    assert application({'PATH_INFO': '/b'}, None) == [b'/b']
    assert len(built) == 1
