"""A rule for a type gives one answer for a request and for the stack that acts later with its stored credentials."""

import pytest
from keystoneauth1 import session
from keystoneauth1.access import access
from keystoneauth1.identity.access import AccessInfoPlugin
from oslo_config import cfg
from oslo_policy import opts as policy_options

from heatlite.common import config, policy
from heatlite.common.context import RequestContext, StoredContext
from heatlite.engine.types import registry

DOMAIN = {'id': 'd1', 'name': 'd'}
RULES = ('', '!', 'role:member', 'not role:member', 'role:trial', 'not role:trial', 'project_domain_id:d1',
         'not project_domain_id:d1', 'user_domain_id:d1', 'not user_domain_id:d1', 'is_admin_project:True',
         'not is_admin_project:True', 'rule:context_is_admin', 'not rule:context_is_admin', 'user_id:ann',
         'not user_id:ann', 'user:ann', 'tenant:p', 'not tenant:p', 'is_admin:True', 'not is_admin:True',
         'auth_token_info.token.project.domain.id:d1', 'project_id:p', 'not project_id:p')


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    config.register(made)
    policy_options.set_defaults(made)
    made([], default_config_files=[])
    yield made
    registry.use(None)


def access_of(roles, is_admin_project):
    return access.create(auth_token='t', body={'token': {
        'methods': ['password'], 'user': {'id': 'ann', 'name': 'ann', 'domain': DOMAIN},
        'project': {'id': 'p', 'name': 'p', 'domain': DOMAIN}, 'roles': [{'id': each, 'name': each} for each in roles],
        'is_admin_project': is_admin_project, 'expires_at': '2099-01-01T00:00:00Z',
        'issued_at': '2026-01-01T00:00:00Z'}})


def request_of(rules, roles, is_admin_project):
    found = RequestContext.from_environ({
        'HTTP_X_USER_ID': 'ann', 'HTTP_X_PROJECT_ID': 'p', 'HTTP_X_ROLES': ','.join(roles),
        'HTTP_X_IS_ADMIN_PROJECT': str(is_admin_project), 'HTTP_X_PROJECT_DOMAIN_ID': 'd1',
        'HTTP_X_USER_DOMAIN_ID': 'd1'}, overwrite=False, auth_token_info=access_of(roles, is_admin_project)._data)
    found.is_admin = rules.is_admin(found)
    return found


def stored_of(roles, is_admin_project):
    found = StoredContext(project_id='p', user_id='ann', trust_id='t', overwrite=False)
    found.__dict__['_session'] = session.Session(AccessInfoPlugin(access_of(roles, is_admin_project)))
    return found


@pytest.mark.parametrize('roles', [('member',), ('member', 'trial'), ('admin', 'member')])
@pytest.mark.parametrize('is_admin_project', [True, False])
@pytest.mark.parametrize('rule', RULES)
def test_stored_credentials_may_use_what_the_request_may(tmp_path, conf, rule, roles, is_admin_project):
    file = tmp_path / 'policy.yaml'
    file.write_text(f'"resource_types:OS::Nova::Server": "{rule}"\n')
    conf.set_override('policy_file', str(file), group='oslo_policy')
    known = registry.create(conf)
    asked = known.allows(request_of(policy.Policy(conf), roles, is_admin_project), 'OS::Nova::Server')
    assert known.allows(stored_of(roles, is_admin_project), 'OS::Nova::Server') is asked
