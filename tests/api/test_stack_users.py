"""What users inside a stack may read: all of their policies have to allow it, and one that is none allows nothing."""

import json

import pytest

from heatlite.db.tables import resource
from tests.api import in_process, rows

DOCUMENT = {'PolicyName': 'root', 'PolicyDocument': {'Statement': [{'Effect': 'Allow', 'Action': '*'}]}}
CASES = {                                       # user -> (policies, what it may read)
    'without': ([], {'server', 'net'}),
    'named': (['rules'], {'server'}),
    'referred': (['web-rules-abc'], {'server'}),
    'gone': (['gone'], set()),
    'gone-beside-another': (['rules', 'gone'], set()),
    'no-policy': (['net'], set()),
    'document': ([DOCUMENT], set())}


@pytest.fixture(scope='module')
def api(tmp_path_factory):
    with rows.database(tmp_path_factory.mktemp('stack-users')) as made:
        with made.writer() as tx:
            tx.execute(resource.insert(), [
                rows.resource(rows.WEB, 20 + number, name, 'AWS::IAM::User', physical_id=f'user-{name}',
                              properties=json.dumps({'Policies': policies}))
                for number, (name, (policies, _allowed)) in enumerate(CASES.items())])
        yield in_process.build(in_process.options(), made, in_process.NoEngine())


@pytest.mark.parametrize('user', CASES)
def test_a_policy_that_is_none_allows_nothing(api, user):
    allowed = CASES[user][1]
    for name in ('server', 'net'):
        answer = in_process.ask(
            api, 'GET', f'/v1/{rows.USERS}/stacks/web/{rows.WEB}/resources/{name}/metadata',
            project=rows.USERS, roles='heat_stack_user', headers={'X-User-Id': f'user-{user}'})
        assert answer.status_code == (200 if name in allowed else 403), (name, answer.text)
