"""A name of the template may be another object's by the time a resource is deleted: what it led to is stored."""

from __future__ import annotations

import pytest

FIRST, SECOND = '1' * 32, '2' * 32


@pytest.fixture
def bench(bench):
    """One whose resources look each name up again, as those of another action do."""
    def make(*arguments):
        made = bench(*arguments)
        run = made.run

        def run_in_another_action(*arguments, **options):
            made.stack.context.__dict__.pop('_cached_answers', None)
            return run(*arguments, **options)

        made.run = run_in_another_action
        return made
    return make


@pytest.fixture
def named(cloud):
    """name(path, plural, *ids): only these objects of the collection are called `mine` from now on."""
    def name(path, plural, *ids):
        found = [{'id': each, 'name': 'mine'} for each in ids]
        cloud.answers[f'GET {path}'] = lambda: (200, {plural: found})
        cloud.answers[f'GET {path}/mine'] = (404, {})
    return name


# type, properties, collection of what is given by name, what a delete sends
CASES = [
    ('OS::Neutron::RouterInterface', {'router': 'known-router', 'subnet': 'mine'}, '/subnets', 'subnets',
     ('PUT /routers/known-router/remove_router_interface', {'subnet_id': FIRST})),
    ('OS::Keystone::UserRoleAssignment',
     {'user': 'known-user', 'roles': [{'role': 'mine', 'project': 'known-project'}]},
     '/roles', 'roles', (f'DELETE /projects/known-project/users/known-user/roles/{FIRST}', None)),
    ('OS::Keystone::UserRoleAssignment',
     {'user': 'mine', 'roles': [{'role': 'known-role', 'project': 'known-project'}]},
     '/users', 'users', (f'DELETE /projects/known-project/users/{FIRST}/roles/known-role', None)),
    ('OS::Keystone::User', {'groups': ['mine']}, '/groups', 'groups', (f'DELETE /groups/{FIRST}/users/ID', None)),
    ('OS::Cinder::QoSAssociation', {'qos_specs': 'known-qos_specs', 'volume_types': ['mine']}, '/types', 'volume_types',
     ('GET /qos-specs/known-qos_specs/disassociate', {'vol_type_id': FIRST})),
]


@pytest.mark.parametrize('kind, given, path, plural, sent', CASES)
@pytest.mark.parametrize('later', [(), (SECOND,)], ids=['nothing has the name', 'another has the name'])
def test_what_was_made_is_what_is_deleted(cloud, bench, named, kind, given, path, plural, sent, later):
    for kind_path, name in (('/qos-specs', 'known-qos_specs'), ('/routers', 'known-router')):
        cloud.seed(f'{kind_path}/{name}')
    named(path, plural, FIRST)
    here = bench(kind, given)
    made = here.create()
    named(path, plural, *later)
    del cloud.requests[:]
    here.run('DELETE')
    call, body = sent[0].replace('/ID', f'/{made.resource_id}'), sent[1]
    assert (call, body) in [(str(each), each.body or each.query or None) for each in cloud.requests]
    assert not [each for each in cloud.requests if SECOND in str(each) or SECOND in str((each.body, each.query))]


def test_an_update_takes_away_what_was_given(cloud, bench, named):
    named('/roles', 'roles', FIRST)
    here = bench('OS::Keystone::UserRoleAssignment', {
        'user': 'known-user', 'roles': [{'role': 'mine', 'project': 'known-project'}]})
    here.create()
    named('/roles', 'roles', SECOND)
    del cloud.requests[:]
    here.update({'user': 'known-user', 'roles': [{'role': 'known-role', 'project': 'known-project'}]})
    roles = '/projects/known-project/users/known-user/roles/'
    assert [str(each) for each in cloud.requests if each.method != 'GET'] == [
        f'DELETE {roles}{FIRST}', f'PUT {roles}known-role']
    del cloud.requests[:]
    here.run('DELETE')
    assert [str(each) for each in cloud.requests if each.method != 'GET'] == [f'DELETE {roles}known-role']


def changes(cloud):
    return [str(each) for each in cloud.requests if each.method != 'GET']


def roles_of(user, *roles):
    return {'user': user, 'roles': [{'role': role, 'project': 'known-project'} for role in roles]}


def test_another_change_after_another_got_the_name(cloud, bench, named):
    """The roles move to the user that has the name now, with those that did not change."""
    named('/users', 'users', FIRST)
    here = bench('OS::Keystone::UserRoleAssignment', roles_of('mine', 'known-a'))
    here.create()
    named('/users', 'users', SECOND)
    del cloud.requests[:]
    here.update(roles_of('mine', 'known-a', 'known-b'))
    assert changes(cloud) == [f'DELETE /projects/known-project/users/{FIRST}/roles/known-a',
                              f'PUT /projects/known-project/users/{SECOND}/roles/known-a',
                              f'PUT /projects/known-project/users/{SECOND}/roles/known-b']
    del cloud.requests[:]
    here.run('DELETE')
    assert changes(cloud) == [f'DELETE /projects/known-project/users/{SECOND}/roles/known-{role}' for role in 'ab']


def test_an_id_that_becomes_its_name(cloud, bench, named):
    named('/users', 'users', f'known-{FIRST}')
    here = bench('OS::Keystone::UserRoleAssignment', roles_of(f'known-{FIRST}', 'known-a'))
    here.create()
    del cloud.requests[:]
    assert here.update(roles_of('mine', 'known-a')) == {}
    assert changes(cloud) == []
    named('/users', 'users', SECOND)
    here.run('DELETE')
    assert changes(cloud) == [f'DELETE /projects/known-project/users/known-{FIRST}/roles/known-a']


def test_nothing_is_stored_of_what_was_given_by_id(cloud, bench):
    here = bench('OS::Keystone::UserRoleAssignment', {
        'user': 'known-user', 'roles': [{'role': 'known-role', 'project': 'known-project'}]})
    assert here.create().data() == {}


def test_the_specs_of_an_association_stay(cloud, bench, named):
    cloud.answers['GET /types'] = (200, {'volume_types': [{'id': f'id-{name}', 'name': name} for name in 'ab']})
    for name in 'ab':
        cloud.answers[f'GET /types/{name}'] = (404, {})
    named('/qos-specs', 'qos_specs', FIRST)
    here = bench('OS::Cinder::QoSAssociation', {'qos_specs': 'mine', 'volume_types': ['a']})
    here.create()
    named('/qos-specs', 'qos_specs', SECOND)
    del cloud.requests[:]
    here.update({'qos_specs': 'mine', 'volume_types': ['b']})
    here.run('DELETE')
    assert [str(each) for each in cloud.requests if each.query and 'associate' in str(each)] == [
        f'GET /qos-specs/{FIRST}/{what}' for what in ('disassociate', 'associate', 'disassociate')]
