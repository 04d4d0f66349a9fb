"""Users inside stacks that were made before there was a domain for them, as Heat has some.

Requests for them have the rights of the owner of the stack, not those of the administrator of the domain.
"""

import pytest
from keystoneauth1 import exceptions
from oslo_config import cfg

from tests.plugins.openstack.cloud import Cloud, Life

DOMAIN = {'stack_user_domain_name': 'heat', 'stack_domain_admin': 'heat_domain_admin',
          'stack_domain_admin_password': 'secret'}


@pytest.fixture
def user(cloud, simulator):
    """`user('admin')` -> a resource whose user is not of the project of its stack, in a stack of that user."""
    for name, value in DOMAIN.items():
        cfg.CONF.set_override(name, value)
    lives = []

    def make(owner):
        life = Life(Cloud(simulator, owner), 'AWS::IAM::User')
        life.run('CREATE')
        lives.append((life, life.stack.stack_user_project_id))
        life.stack.stack_user_project_id = life.cloud.context.project_id
        return life

    yield make
    for life, project_id in lives:
        life.stack.stack_user_project_id = project_id
        life.delete()
    for name in DOMAIN:
        cfg.CONF.clear_override(name)


def test_a_user_is_suspended_and_resumed(user):
    life = user('admin')
    user_id = life.record.data['user_id']
    for action, enabled in (('SUSPEND', False), ('RESUME', True)):
        life.run(action)
        assert life.cloud.client('keystone').client.users.get(user_id).enabled is enabled


def test_rights_are_those_of_the_owner_of_the_stack(user):
    life = user('demo')
    with pytest.raises(exceptions.Forbidden):
        life.run('SUSPEND')
