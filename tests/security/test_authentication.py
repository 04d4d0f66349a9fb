"""Every route with no token, a garbled one, one that is over, and with claims instead of a token: 401, nothing read.

Behind the layers that are used in production, and a Keystone: that of the simulator.
"""

import pytest
import requests
from oslo_config import cfg

from heatlite.cmd import simulated
from tests.api import in_process
from tests.cloudsim.conftest import process  # noqa: F401
from tests.isolation import here
from tests.security.doors import DOORS, Api, asked, ids
from tests.security.place import Place

CLAIMS = {'X-Roles': 'admin,member,reader', 'X-Project-Id': here.VICTIM, 'X-User-Id': 'u', 'X-Tenant-Id': here.VICTIM,
          'X-Identity-Status': 'Confirmed', 'X-Is-Admin-Project': 'True', 'OpenStack-System-Scope': 'all',
          'X-Service-Roles': 'service', 'X-Auth-User': 'admin', 'X-Auth-Key': 'x'}


def token(sim):
    answer = requests.post(f'{sim.url}/v3/auth/tokens', timeout=30, json={'auth': {
        'identity': {'methods': ['password'], 'password': {'user': {
            'name': 'demo', 'domain': {'id': 'default'}, 'password': 'secret'}}},
        'scope': {'project': {'name': 'demo', 'domain': {'id': 'default'}}}}})
    assert answer.status_code == 201, answer.text
    return answer.headers['X-Subject-Token'], answer.json()['token']['project']['id']


class Guarded(Place):
    """The APIs behind Keystone's middleware and the check of signatures."""

    def __init__(self, folder, url):
        super().__init__(folder)
        conf = in_process.options()
        simulated._log_in(conf, 'keystone_authtoken', url)
        for api, build in ((Api.REST, in_process.build), (Api.CFN, here.deploy.build), (Api.CLOUDWATCH, self.watch)):
            self.apps[api] = build(conf, self.database, self.engine, identity=None)


@pytest.fixture(scope='module')
def guarded(tmp_path_factory, process):         # noqa: F811
    process.reset()
    made = Guarded(tmp_path_factory.mktemp('guarded'), process.url)
    made.sim = process
    yield made
    made.close()
    cfg.CONF.reset()


@pytest.fixture(scope='module')
def tokens(guarded):
    """name -> headers. The token of `expired` was never shown while it was good, so that no answer is remembered."""
    expired = token(guarded.sim)[0]
    guarded.sim.advance(365 * 24 * 3600)
    good, _project = token(guarded.sim)
    return {'none': {}, 'empty': {'X-Auth-Token': ''}, 'garbled': {'X-Auth-Token': f'{good[:-3]}zzz'},
            'not ascii': {'X-Auth-Token': 'caf\xe9'}, 'long': {'X-Auth-Token': 'a' * 9000},
            'expired': {'X-Auth-Token': expired}, 'claims': CLAIMS}


def test_a_good_token_is_let_in(guarded):
    """Without this the other tests could not fail."""
    good, project = token(guarded.sim)
    answer = in_process.ask(guarded.apps[Api.REST], 'GET', f'/v1/{project}/stacks', project=None,
                            headers={'X-Auth-Token': good})
    assert (answer.status_code, answer.json) == (200, {'stacks': []})


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_without_a_good_token_nothing_is_answered(guarded, tokens, door):
    wanted = asked(door, here.VICTIMS)
    for name, headers in tokens.items():
        answer = guarded.request(door, wanted, project=None, headers=headers)
        # The APIs for AWS's clients answer a request without a signature as AWS does.
        assert answer.status_code in ((401,) if door.api is Api.REST else (400, 401, 403)), (name, answer.text)
        assert not guarded.engine.sent, name
        assert not guarded.statements, name
        assert here.WORD not in answer.text.replace(door.path, ''), name
