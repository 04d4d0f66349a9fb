"""Users inside stacks on the production profile: several in one new stack, made by several engines at once.

HEATLITE_TEST_STACKS: how many stacks, each with two, then four of them.
"""

import os

import pytest

from tests.system import production

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

STACKS = int(os.environ.get('HEATLITE_TEST_STACKS', '8'))


def handles(count):
    return {'heat_template_version': '2018-08-31', 'resources': {
        f'handle{number}': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': 'HEAT_SIGNAL'}}
        for number in range(count)}}


def create(cloud, member, name, template):
    """The path of the stack. A Keystone that is busy refuses a trust now and then; it is asked again then."""
    for _try in range(3):
        answer = cloud.ask(member, 'POST', '/stacks', {'stack_name': name, 'template': template})
        if answer.status == 201:
            return f'/stacks/{name}/{answer.json["stack"]["id"]}'
    raise AssertionError(answer.text)


@pytest.mark.service
def test_several_users_in_each_of_several_stacks(tmp_path):
    with production.Production(tmp_path) as cloud:
        member = cloud.people['alpha']
        for count in (2, 4):
            paths = [create(cloud, member, f's{count}-{number}', handles(count)) for number in range(STACKS)]
            assert [cloud.finished(member, path) for path in paths] == ['CREATE_COMPLETE'] * STACKS
            projects = {row[0] for row in cloud.rows('SELECT user_project_id FROM stack WHERE live = 1')}
            assert len(projects) == STACKS
            for project in projects:
                assert cloud.keystone.get(f'/projects/{project}').status_code == 200
                grants = cloud.keystone.get(f'/role_assignments?scope.project.id={project}').json()['role_assignments']
                assert len(grants) == count
            for path in paths:
                assert cloud.ask(member, 'DELETE', path).status == 204
            assert [cloud.finished(member, path) for path in paths] == ['DELETE_COMPLETE'] * STACKS
            for project in projects:
                assert cloud.keystone.get(f'/projects/{project}', raise_exc=False).status_code == 404
