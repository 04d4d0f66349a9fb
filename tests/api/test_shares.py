"""Whose share of the engines' threads a request uses: users inside stacks have a project for each tree of stacks."""

from urllib.parse import urlencode

import pytest

from heatlite.api import deploy
from heatlite.api.cfn import deploy as cfn
from heatlite.api.cloudwatch import deploy as cloudwatch
from heatlite.rpc import messages
from tests.api import in_process, rows

OF_USERS = f'users inside {in_process.PROJECT}'
USER = {'project': rows.USERS, 'roles': 'heat_stack_user'}
ADMIN = {'project': in_process.OTHER, 'roles': 'admin,member,reader'}
GUEST = {'X-User-Id': 'guest'}
ARN = f'arn:openstack:heat::{in_process.PROJECT}:stacks/web/{rows.WEB}/resources/handle'
DATUM = urlencode({'Action': 'PutMetricData', 'Version': '2010-08-01', 'Namespace': 'n',
                   'MetricData.member.1.MetricName': 'm', 'MetricData.member.1.Value': '1'}).encode()
FORM = {'Content-Type': 'application/x-www-form-urlencoded'}


class Engine:
    """Notes whose share each message uses."""

    def __init__(self):
        self.found = []

    def call(self, context, message):
        self.found.append((type(message), context.share))


@pytest.fixture(scope='module')
def served(tmp_path_factory):
    with rows.database(tmp_path_factory.mktemp('shares')) as made:
        engine = Engine()
        yield {api: api.build(in_process.options(), made, engine, identity=in_process.Verified)
               for api in (deploy, cfn, cloudwatch)}, engine


@pytest.mark.parametrize('caller, share', [
    (USER, OF_USERS), ({}, in_process.PROJECT), (ADMIN, in_process.OTHER)], ids=['user', 'owner', 'admin'])
def test_signals(served, caller, share):
    apis, engine = served
    engine.found.clear()
    project = in_process.PROJECT if caller is ADMIN else caller.get('project', in_process.PROJECT)
    for api, method, path in ((deploy, 'POST', f'/v1/{project}/stacks/web/{rows.WEB}/resources/handle/signal'),
                              (cfn, 'POST', f'/v1/signal/{ARN}'), (cfn, 'PUT', f'/v1/waitcondition/{ARN}')):
        answer = in_process.ask(apis[api], method, path, {}, headers=GUEST, **caller)
        assert answer.status_code == 200, answer.text
    assert engine.found == [(messages.SignalResource, share)] * 3


@pytest.mark.parametrize('caller, share', [(USER, OF_USERS), ({}, in_process.PROJECT)], ids=['user', 'owner'])
def test_metrics(served, caller, share):
    apis, engine = served
    engine.found.clear()
    answer = in_process.ask(apis[cloudwatch], 'POST', '/v1/', DATUM, headers={**GUEST, **FORM}, **caller)
    assert answer.status_code == 200, answer.text
    assert engine.found == [(messages.PutMetricData, share)]
