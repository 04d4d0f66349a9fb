"""Acting in another region or cloud: whose name, whose certificates."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from oslo_config import cfg

from heatlite.common import exception
from heatlite.engine.clients import remote_cloud
from heatlite.engine.clients.os import http
from tests.plugins.openstack.cloud import Cloud


def login(cloud: Cloud) -> str:
    return json.dumps({'auth_type': 'v3password', 'auth': {
        'auth_url': f'{cloud.url}/v3', 'username': 'admin', 'password': 'secret', 'user_domain_id': 'default',
        'project_name': 'admin', 'project_domain_id': 'default'}})


def test_another_region_keeps_who_asks(cloud: Cloud):
    found = remote_cloud.context(cloud.context, 'RegionTwo')
    assert (found.region_name, found.project_id) == ('RegionTwo', cloud.context.project_id)
    assert found.keystone_session.get_project_id() == cloud.context.project_id


def test_a_login_is_somebody_else(cloud: Cloud):
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    try:
        check_login(cloud)
    finally:
        cfg.CONF.clear_override('template_fetch_allow')


def check_login(cloud: Cloud) -> None:
    found = remote_cloud.context(cloud.context, 'RegionOne', login=login(cloud))
    assert found.project_id == found.keystone_session.get_project_id() != cloud.context.project_id
    assert found.password is None and found.user_id is None


@pytest.mark.parametrize('wrong', ['', 'x', '[]', '{}', '{"auth_type": "v3password"}', '{"auth": {}}'])
def test_a_secret_that_is_no_login(cloud: Cloud, wrong):
    with pytest.raises(exception.Error, match='"auth_type" and "auth"'):
        remote_cloud.context(cloud.context, None, login=wrong)


def test_certificates_are_those_given(cloud: Cloud):
    session = remote_cloud.context(cloud.context, None, ca_cert='-----BEGIN').keystone_session
    assert Path(session.verify).read_text() == '-----BEGIN'
    assert session.get_project_id() == cloud.context.project_id


def test_none_are_checked_when_the_template_says_so(cloud: Cloud):
    assert remote_cloud.context(cloud.context, None, insecure=True).keystone_session.verify is False


def test_requests_by_a_login_hold_permits_of_their_own(cloud: Cloud):
    """Servers of users that answer slowly must not use up the permits for the services of the operator."""
    cfg.CONF.set_override('template_fetch_allow', ['127.0.0.1'])
    try:
        there = remote_cloud.context(cloud.context, 'RegionOne', login=login(cloud))
        with contextlib.ExitStack() as held:
            for _ in range(cfg.CONF.clients.max_requests):
                held.enter_context(http.limit('orchestration'))
            adapter = http.ServiceAdapter(there.keystone_session, service_type='orchestration',
                                          endpoint_override=f'{cloud.url}/v3')
            assert adapter.get('', authenticated=False).status_code == 200
        assert there.keystone_session.permits is not cloud.context.keystone_session.permits is None
    finally:
        cfg.CONF.clear_override('template_fetch_allow')
