"""Data that only types of heatlite keep."""

import pytest

from heatlite.planning.states import Action, Datum, ResourceState
from heatlite.takeover.convert import ConvertedResource
from heatlite.takeover.translation import ACCESS_KEY, USER, data


def member(kind, *data, name='it', physical_id=None):
    return ConvertedResource(ResourceState(1, name, name, kind, Action.CREATE, physical_id=physical_id), 't', {}, data)


KEY = member(ACCESS_KEY, Datum('credential_id', 'c1', True), Datum('secret_key', 's', True))


@pytest.mark.parametrize('users, owner', [
    ([member(USER, Datum('user_id', 'u1'), Datum('credential_id', 'c1', True))], 'u1'),
    ([member(USER, Datum('user_id', 'u1'), Datum('credential_id', 'c2', True)),
      member(USER, Datum('user_id', 'u2'), Datum('credential_id', 'c1', True))], 'u2'),
    ([member(USER, Datum('user_id', 'u1'), Datum('credential_id', 'newer', True))], 'u1'),
    ([member(USER, Datum('credential_id', 'c1', True), physical_id='u3')], 'u3'),
    ([member(USER, Datum('user_id', 'u1')), member(USER, Datum('user_id', 'u2'))], None),
    ([], None),
])
def test_the_owner_of_an_access_key(users, owner):
    found = {datum.key: datum.value for datum in data(KEY, [KEY, *users])}
    assert found.get('owner') == owner
    assert found['credential_id'] == 'c1'


def test_other_types_keep_what_they_have():
    other = member('OS::Heat::RandomString', Datum('value', 'x', True))
    assert data(other, [other]) == (Datum('value', 'x', True),)
