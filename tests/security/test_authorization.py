"""Every route with the objects of others, and with the roles of others."""

import re

import pytest

from heatlite.api import routes
from heatlite.common import policy
from tests.isolation import here, matrix
from tests.security.doors import DOORS, Api, asked, ids

ACTIONS = [door for door in DOORS if door.api is Api.CFN]
RULES = {name: check for name, check, _before, _text in policy.RULES}
PASSES = {policy.READER: {'reader'}, policy.MEMBER: {'member'},
          policy.READER_OR_STACK_USER: {'reader', 'heat_stack_user'},
          policy.MEMBER_OR_STACK_USER: {'member', 'heat_stack_user'}}


def rule(door):
    return 'resource:signal' if not door.is_action else f'cloudformation:{door.name}'


def test_the_matrix_knows_every_field_of_a_path():
    """A new kind of id must be given to the tests of isolation, which ask with those of another project."""
    fields = {found for route in routes.TABLE for found in re.findall(r'{(\w+)', route.path)}
    known = {'tenant_id', 'stack_name', 'stack_id', 'path', *matrix._parts(here.VICTIMS)}
    assert fields == known


@pytest.mark.parametrize('door', ACTIONS, ids=ids)
@pytest.mark.parametrize('roles', ['', 'reader', 'heat_stack_user', 'service', 'member,reader'])
def test_roles_and_actions_of_the_cloudformation_api(place, door, roles):
    """Users inside stacks are confined further, to their own resource."""
    answer = place.request(door, asked(door, here.VICTIMS), roles=roles)
    allows = PASSES[RULES[rule(door)]] & set(roles.split(','))
    if not allows:
        assert answer.status_code == 403
        assert not (place.engine.sent or place.statements)
    elif 'heat_stack_user' not in allows:
        assert answer.status_code != 403, answer.text


@pytest.mark.parametrize('door', [door for door in DOORS if door.api is not Api.REST and door.is_action], ids=ids)
def test_every_action_has_a_rule(door):
    assert f'{"cloudformation" if door.api is Api.CFN else "cloudwatch"}:{door.name}' in RULES
