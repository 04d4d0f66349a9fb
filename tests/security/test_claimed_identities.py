"""What a client says of itself in headers does not reach the context of a request, in any flavour of any API.

Only a layer of ours may set who calls: from a token, a password or a signature that Keystone has accepted, or, in
flavour noauth, as the operator.
"""

from urllib.parse import urlencode

import pytest
from oslo_config import cfg

from heatlite.api import deploy, wsgi
from heatlite.api.aws import layers
from heatlite.api.cfn import answers as cfn
from heatlite.api.cloudwatch import answers as cloudwatch
from heatlite.api.middleware import context as contexts
from heatlite.cmd import simulated
from heatlite.common.policy import Policy
from tests.api import in_process
from tests.cloudsim.conftest import process  # noqa: F401
from tests.security.doors import Api
from tests.system import aws

HOST, WORD = 'heat.example:8000', 'claimed'
NAMES = ('X-Project-Id', 'X-Project-Name', 'X-Project-Domain-Id', 'X-Project-Domain-Name', 'X-Tenant-Id', 'X-Tenant',
         'X-Tenant-Name', 'X-User-Id', 'X-User-Name', 'X-User-Domain-Name', 'X-User', 'X-Role', 'X-Domain-Id',
         'X-Domain-Name', 'OpenStack-System-Scope', 'X-Service-Token', 'X-Service-User-Id', 'X-Service-User-Name',
         'X-Service-Project-Id', 'X-Service-Roles', 'X-Storage-Token')
CLAIMS = {**dict.fromkeys(NAMES, WORD), 'X-Roles': f'admin,{WORD}', 'X-Identity-Status': 'Confirmed',
          'X-Is-Admin-Project': 'True'}
FLAVOURS = {None: 'token', 'standalone': 'password', 'noauth': None}        # what its REST API takes
WAYS = {                                        # what a client shows -> its headers
    'nothing': {}, 'name': {'X-Auth-User': 'anybody'}, 'name and key': {'X-Auth-User': 'anybody', 'X-Auth-Key': 'x'},
    'wrong token': {'X-Auth-User': 'anybody', 'X-Auth-Token': 'x'}, 'token': None, 'password': None, 'signature': None}


class Caller:
    """The user demo of the simulated Keystone."""

    def __init__(self, sim):
        sim.reset()
        own = sim.session()
        self.project, self.user, self.token = own.get_project_id(), own.get_user_id(), own.get_token()
        made = own.post(f'{sim.url}/v3/users/{self.user}/credentials/OS-EC2', json={'tenant_id': self.project})
        key = made.json()['credential']
        self.key = key['access'], key['secret']

    def shows(self, way):
        """Parameters and headers."""
        match way:
            case 'token':
                return {}, {'X-Auth-User': 'anybody', 'X-Auth-Token': self.token}
            case 'password':
                return {}, {'X-Auth-User': 'demo', 'X-Auth-Key': 'secret'}
            case 'signature':
                return aws.version_2(self.key, 'GET', HOST, self.path, Action='ListStacks'), {}
        return {}, WAYS[way]

    @property
    def path(self):
        return f'/v1/{self.project}/stacks'


@pytest.fixture(scope='module')
def caller(process):                            # noqa: F811
    yield Caller(process)
    cfg.CONF.reset()


@pytest.fixture(scope='module', params=FLAVOURS, ids=str)
def flavour(request):
    return request.param


@pytest.fixture(scope='module', params=Api)
def reached(request, flavour, caller, process):     # noqa: F811
    """Sends a request; returns the context that it has behind all layers, or None if it is refused."""
    conf = in_process.options(paste_deploy__flavor=flavour, noauth__hosts=['heat.example'])
    simulated._log_in(conf, 'keystone_authtoken', process.url)
    seen = []

    def probe(environ, start_response):
        seen.append(environ[contexts.KEY])
        start_response('200 OK', [])
        return []

    policy, engine = Policy(conf), in_process.NoEngine()
    if request.param is Api.REST:
        app = probe
        for layer in reversed(deploy._layers(conf, policy, deploy.authentication(conf),
                                             deploy.outside(conf, None, engine), None)):
            app = layer(app)
    else:
        found = cfn if request.param is Api.CFN else cloudwatch
        app = layers.around(probe, wsgi.HandlerServices(conf, None, engine, policy), found.error, found.failure)

    def send(way, claims):
        seen.clear()
        parameters, headers = caller.shows(way)
        in_process.ask(app, 'GET', f'{caller.path}?{urlencode(parameters)}', project=None,
                       headers={**claims, **headers, 'Host': HOST})
        return seen[0] if seen else None

    send.api = request.param
    return send


def known(context):
    """All that a context says of its caller."""
    values = {**context.to_dict(), 'service_token': context.service_token, 'aws_creds': None}
    return {name: value for name, value in values.items() if name not in ('request_id', 'auth_token_info')}


@pytest.mark.parametrize('way', WAYS)
def test_claims_reach_no_context(reached, way):
    found = reached(way, CLAIMS)
    assert found is None or WORD not in str(known(found)), known(found)


@pytest.mark.parametrize('way', WAYS)
def test_who_is_let_in(reached, flavour, caller, way):
    """Without this the other test could not fail."""
    found = reached(way, {})
    is_rest = reached.api is Api.REST
    if flavour == 'noauth':
        lets_in = is_rest or way != 'nothing'
    elif way == 'signature':
        lets_in = not is_rest
    else:
        lets_in = way == FLAVOURS[flavour] and (is_rest or flavour is None)
    assert (found is not None) == lets_in
    if found is not None and flavour != 'noauth':
        assert (found.project_id, found.user_id) == (caller.project, caller.user)
        claimed = reached(way, CLAIMS)
        # A claimed token of a service is refused where Keystone's middleware sees it.
        assert claimed is None or (claimed.project_id, claimed.roles) == (caller.project, found.roles)
