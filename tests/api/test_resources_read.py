"""What lists of resources read: what they show, whatever else the resources have."""

import json
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from heatlite.api.cfn import deploy
from heatlite.common import crypt
from heatlite.db import tables
from tests import reading
from tests.api import in_process, rows

LARGE = json.dumps({'a': 'x' * 2_000})


@pytest.fixture
def database(tmp_path):
    with rows.database(tmp_path) as made:
        yield made


def with_resources(database, count):
    """Make a stack with so many resources: each but the first requires the first. Return its id and name."""
    stack_id, name = rows.number(1, 1_000 + count), f'with-{count}'
    with database.writer() as tx:
        tx.execute(tables.stack.insert().values(rows.stack(stack_id, name, 1, next_resource=count + 1)))
        tx.execute(tables.resource.insert(), [rows.resource(
            stack_id, number, f'r{number}', 'OS::Heat::Value', attributes=LARGE, metadata=LARGE,
            definition=json.dumps({'description': f'd{number}'}), requires=json.dumps({'r1': 1} if number > 1 else {}))
            for number in range(1, count + 1)])
    return stack_id, name


def with_nested(database, count):
    """Make a tree of a root and nested stacks with one resource each, with a hidden value. Return its id and name."""
    root_id, name = rows.number(1, 2_000 + count), f'tree-{count}'
    with database.writer() as tx:
        tx.execute(tables.stack.insert().values(rows.stack(root_id, name, 1)))
        for number in range(count):
            stack_id, template_id = (rows.number(kind, 10_000 + 100 * count + number) for kind in (1, 7))
            secret = 's3cret' if number % 2 else 'other!'
            tx.execute(tables.template.insert().values(
                id=template_id, document=json.dumps(rows.TEMPLATE), files_id=None, created_at=rows.START,
                environment=json.dumps({'parameters': {'secret': secret}})))
            tx.execute(tables.stack.insert().values(rows.stack(
                stack_id, f'{name}-{number}', 1, owner_id=root_id, root_id=root_id, depth=1,
                parent_resource=f'{number}', template_id=template_id)))
            tx.execute(tables.resource.insert().values(rows.resource(
                stack_id, 1, f'n{number}', 'OS::Heat::Value', attributes=json.dumps({
                    'value': f'{secret} generated!', 'other': 's3cret other!'}))))
            tx.execute(tables.resource_data.insert().values(
                stack_id=stack_id, resource_id=1, key='k', value='generated!', method=None))
    return root_id, name


def cfn(database, **parameters):
    app = deploy.build(in_process.options(), database, in_process.NoEngine(), identity=in_process.Verified)
    answer = in_process.ask(app, 'GET', f'/v1/?{urlencode({"ContentType": "JSON", **parameters})}')
    assert answer.status_code == 200, answer.text
    return answer.json['DescribeStackResourcesResponse']['DescribeStackResourcesResult']['StackResources']


def test_described_resources_are_read_without_what_is_not_shown(database):
    _stack_id, name = with_resources(database, 30)
    with reading.counted(database) as work:
        found = cfn(database, Action='DescribeStackResources', StackName=name)
    assert [each['Description'] for each in found] == [f'd{number}' for number in range(1, 31)]
    assert not [each for each in work.statements if 'resource.metadata' in each or 'resource.attributes' in each]


def test_one_described_resource_is_read_alone(database):
    steps = []
    for count in (20, 200):
        _stack_id, name = with_resources(database, count)
        with reading.counted(database) as work:
            [found] = cfn(database, Action='DescribeStackResources', StackName=name, LogicalResourceId='r1')
        assert (found['LogicalResourceId'], found['Description']) == ('r1', 'd1')
        steps.append(work.steps)
    assert steps[1] < 2 * steps[0]              # of 10 times as many


@pytest.mark.parametrize('count', [3, 30])
@pytest.mark.parametrize('name, needed_by', [('r1', slice(2, None)), ('r3', slice(0, 0))])
def test_resources_by_name(database, count, name, needed_by):
    """With few resources, which come with their stack, and with many."""
    stack_id, stack_name = with_resources(database, count)
    api = in_process.build(in_process.options(), database, in_process.NoEngine())
    path = f'/v1/{in_process.PROJECT}/stacks/{stack_name}/{stack_id}/resources?name={name}'
    for query in ('', '&with_detail=true'):
        with reading.counted(database) as work:
            [found] = in_process.ask(api, 'GET', path + query).json['resources']
        assert found['resource_name'] == name
        names = [f'r{number}' for number in range(count + 1)]
        assert found['required_by'] == names[needed_by]
        assert not [each for each in work.statements if 'resource.metadata' in each]


def test_details_of_a_tree_are_masked_by_few_statements(database):
    api = in_process.build(in_process.options(), database, in_process.NoEngine())
    statements = []
    for count in (4, 40):
        root_id, name = with_nested(database, count)
        path = f'/v1/{in_process.PROJECT}/stacks/{name}/{root_id}/resources?nested_depth=2&with_detail=true'
        with reading.counted(database) as work:
            found = in_process.ask(api, 'GET', path).json['resources']
        statements.append(len(work.statements))
        assert [each['attributes'] for each in found] == [
            {'value': '****** generated!', 'other': '****** other!'} if number % 2 else
            {'value': '****** generated!', 'other': 's3cret ******'} for number in range(count)]
    assert statements[0] == statements[1] <= 6


@pytest.fixture
def key():
    cfg.CONF.set_override('auth_encryption_key', 'k' * 32)
    yield
    cfg.CONF.clear_override('auth_encryption_key')


@pytest.mark.usefixtures('key')
def test_secret_data_of_nested_stacks_are_masked(database):
    root_id, name = with_nested(database, 2)
    method, value = crypt.encrypt('generated!')
    with database.writer() as tx:
        tx.execute(sa.update(tables.resource_data).values(method=method, value=value))
    api = in_process.build(in_process.options(), database, in_process.NoEngine())
    path = f'/v1/{in_process.PROJECT}/stacks/{name}/{root_id}/resources?nested_depth=2&with_detail=true'
    assert [each['attributes']['value'] for each in in_process.ask(api, 'GET', path).json['resources']] == [
        '****** ******'] * 2


def test_the_id_of_a_stack_may_be_in_upper_case(database):
    api = in_process.build(in_process.options(), database, in_process.NoEngine())
    stack_id = rows.number(0xabcdef, 1)
    with database.writer() as tx:
        tx.execute(tables.stack.insert().values(rows.stack(stack_id, 'Upper', 1)))
    stacks = f'/v1/{in_process.PROJECT}/stacks'
    for path in (f'{stacks}/{stack_id.upper()}', f'{stacks}/Upper/{stack_id.upper()}'):
        answer = in_process.ask(api, 'GET', path)
        if answer.status_int == 302:
            assert answer.location.endswith(f'/stacks/Upper/{stack_id}')
        else:
            assert (answer.status_int, answer.json['stack']['id']) == (200, stack_id)
    assert in_process.ask(api, 'GET', f'{stacks}/upper/{stack_id}').status_int == 404
