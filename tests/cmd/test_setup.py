"""heatlite-manage setup keystone: makes what is missing, once; changes nothing without --change."""

import configparser
import os
import stat
import subprocess
import sys
from dataclasses import replace

import pytest

from heatlite.cmd.setup import identity
from heatlite.cmd.setup.identity import CHANGED, DIFFERS, MADE, THERE, Setup, WantedIdentity
from tests.system.identities import Simulated
from tests.system.processes import ROOT

WANTED = WantedIdentity('Two', 'one secret', 'another secret', {
    kind: dict.fromkeys(identity.INTERFACES, url)
    for kind, url in identity.urls('http', 'api.example', {}).items()})


@pytest.fixture
def cloud(tmp_path):
    with Simulated('setup', tmp_path, 'http://a', 'http://b', 'http://c') as made:
        yield made


class Keystone:
    """Asks the simulated one, and counts the requests that change something."""

    def __init__(self, cloud):
        self._adapter = cloud.keystone
        self.changes = 0

    def call(self, method, path, body):
        self.changes += method != 'GET'
        answer = self._adapter.request(f'/{path}', method, json=body)
        return answer.json() if answer.content else None

    def logs_in(self, user_id, _name, password):
        answer = self._adapter.post('/auth/tokens', authenticated=False, raise_exc=False, json={'auth': {'identity': {
            'methods': ['password'], 'password': {'user': {'id': user_id, 'password': password}}}}})
        return answer.status_code == 201

    def setup(self, wanted, **how):
        self.changes = 0
        setup = Setup(self.call, self.logs_in, **how)
        setup.run(wanted)
        return setup.done


def outcomes(done):
    return {outcome for outcome, _what in done}


def test_it_is_made_once(cloud):
    keystone = Keystone(cloud)
    planned = keystone.setup(WANTED, dry_run=True)
    assert keystone.changes == 0
    made = keystone.setup(WANTED)
    assert planned == made and outcomes(made) == {MADE, THERE}
    assert (MADE, 'role service of user heatlite in project service') in made
    assert (MADE, 'internal endpoint of orchestration in Two: http://api.example:8004/v1/%(project_id)s') in made
    again = keystone.setup(WANTED)
    assert keystone.changes == 0 and outcomes(again) == {THERE}
    assert [what for _outcome, what in again] == [what for _outcome, what in made]


def test_what_is_missing_is_made(cloud):
    keystone = Keystone(cloud)
    keystone.setup(replace(WANTED, roles=('service',), endpoints={}))
    done = keystone.setup(WANTED)
    assert (MADE, 'role admin of user heatlite in project service') in done
    assert (THERE, 'user heatlite') in done and (MADE, 'region Two') in done


def test_a_region_without_keystone_is_noticed(cloud):
    keystone = Keystone(cloud)
    setup = Setup(keystone.call, keystone.logs_in)
    assert setup.has_identity('RegionOne') and not setup.has_identity('Two')


def test_differences_are_changed_on_demand(cloud):
    keystone = Keystone(cloud)
    keystone.setup(WANTED)
    moved = replace(WANTED, password='a new one', endpoints={
        **WANTED.endpoints, 'cloudwatch': {'public': 'https://new.example/v1'}})
    differing = [(DIFFERS, 'password of user heatlite'),
                 (DIFFERS, 'public endpoint of cloudwatch in Two: https://new.example/v1, now '
                           'http://api.example:8003/v1')]
    assert [each for each in keystone.setup(moved) if each[0] != THERE] == differing and keystone.changes == 0
    wanted = [(CHANGED, what) for _outcome, what in differing]
    assert [each for each in keystone.setup(moved, may_change=True, dry_run=True) if each[0] != THERE] == wanted
    assert keystone.changes == 0
    assert [each for each in keystone.setup(moved, may_change=True) if each[0] != THERE] == wanted
    assert outcomes(keystone.setup(moved)) == {THERE}


def test_unknown_passwords_are_left_alone(cloud):
    keystone = Keystone(cloud)
    keystone.setup(WANTED)
    unknown = replace(WANTED, password=None, domain_admin_password=None)
    assert outcomes(keystone.setup(unknown, may_change=True)) == {THERE} and keystone.changes == 0
    written = identity.sections(unknown, 'http://keystone/v3')
    assert written['keystone_authtoken']['password'] == written['DEFAULT']['stack_domain_admin_password'] == ''


# --- the command ------------------------------------------------------------------------------------------

def run(cloud, folder, *arguments, **environment):
    """(exit code, what is printed, errors)."""
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', 'setup', 'keystone', *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, env={
            'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(folder), 'OS_AUTH_URL': cloud.url,
            'OS_USERNAME': 'admin', 'OS_PASSWORD': 'secret', 'OS_PROJECT_NAME': 'admin', 'OS_USER_DOMAIN_ID': 'default',
            'OS_PROJECT_DOMAIN_ID': 'default', **environment})
    return done.returncode, done.stdout, done.stderr


def test_the_command(cloud, tmp_path):
    file = tmp_path / 'made.conf'
    place = ('--host', 'api.example', '--region', 'Two', '--url', 'cloudwatch=https://cw.example/v1')
    code, said, errors = run(cloud, tmp_path, *place, '--dry-run')
    assert (code, said) == (0, '') and 'would make   user heatlite' in errors
    assert 'no endpoint of its own (type identity) in the region Two' in errors
    code, said, errors = run(cloud, tmp_path, *place, '--output', file, HEATLITE_DOMAIN_ADMIN_PASSWORD='of $ domain')
    assert (code, said) == (0, '') and 'made         user heatlite' in errors and 'of $ domain' not in errors
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    written = configparser.ConfigParser(interpolation=None)
    written.read(file)
    assert written['DEFAULT']['stack_domain_admin_password'] == 'of $$ domain'
    assert len(written['trustee']['password']) >= 32
    assert run(cloud, tmp_path, *place, '--output', file)[0] == 1           # it exists
    code, said, errors = run(cloud, tmp_path, *place)
    assert code == 0 and 'nothing was changed' in errors
    assert '# password: that of the existing user' in said
    code, _said, errors = run(cloud, tmp_path, *place, HEATLITE_SERVICE_PASSWORD='another')
    assert code == 1 and 'differs      password of user heatlite' in errors and '--change' in errors


@pytest.mark.parametrize('arguments, code, words', [
    ((), 2, 'Wanted is --host or --url'),
    (('--url', 'orchestration'), 2, 'wanted TYPE[.INTERFACE]=URL'),
    (('--url', 'orchestration=ftp://x'), 2, 'not the URL of an HTTP service'),
    (('--host', 'x', '--os-cloud', 'nowhere'), 1, 'Cloud nowhere was not found'),
    (('--host', 'x', '--output', '/no/such/folder/file'), 1, 'cannot be written')])
def test_wrong_usage(cloud, tmp_path, arguments, code, words):
    found, said, errors = run(cloud, tmp_path, *arguments)
    assert found == code and said == '' and words in errors


def test_no_endpoints(cloud, tmp_path):
    without = [part for kind in identity.SERVICES for part in ('--without', kind)]
    code, _said, errors = run(cloud, tmp_path, *without, '--dry-run')
    assert code == 0 and 'endpoint' not in errors and 'would make   user heatlite' in errors


def test_a_user_without_rights_is_told_so(cloud, tmp_path):
    code, _said, errors = run(cloud, tmp_path, '--host', 'x', OS_USERNAME='demo', OS_PROJECT_NAME='demo')
    assert code == 1 and errors.splitlines()[-1].startswith('heatlite-manage: Keystone: ')
