from dataclasses import replace

import pytest

from heatlite.db import software_configs, software_deployments, tables
from heatlite.db.software_configs import Config
from heatlite.db.software_deployments import Deployment
from tests import reading
from tests.db.rows import NOW, later

CONFIG = {'config': '#!/bin/sh', 'inputs': [{'name': 'a'}], 'outputs': [], 'options': {}}


def config(config_id, at=0, project_id='p1', name=None):
    return Config(config_id, project_id, name or f'n-{config_id}', 'script', CONFIG, later(at))


def deployment(deployment_id, at=0, **changed):
    return replace(Deployment(
        id=deployment_id, project_id='p1', stack_user_project_id=None, server_id='v1', config_id='c1', action='CREATE',
        status='IN_PROGRESS', status_reason=None, input_values={'a': 1}, output_values=None, created_at=later(at),
        updated_at=None), **changed)


@pytest.fixture
def stored(db):
    with db.writer() as tx:
        for number in range(5):
            software_configs.insert(tx, config(f'c{number}', number))
        software_configs.insert(tx, config('other', 9, 'p2'))
        software_deployments.insert(tx, deployment('d1', 2))
        software_deployments.insert(tx, deployment('d2', 1, config_id='c0', stack_user_project_id='up'))
        software_deployments.insert(tx, deployment('d3', 3, server_id='v2', config_id='c2'))
        software_deployments.insert(tx, deployment('d4', project_id='p2'))
    return db


def ids(found):
    return [each.id for each in found]


def test_a_config_comes_back_as_it_was(stored):
    with stored.reader() as tx:
        assert software_configs.show(tx, 'c1') == config('c1', 1)
        assert software_configs.show(tx, 'nothing') is None


def test_lists_of_configs(stored, counted):
    with stored.reader() as tx, counted(tx) as statements:
        found = software_configs.page(tx, 'p1')
        assert len(statements) == 1
        assert ids(found) == ['c4', 'c3', 'c2', 'c1', 'c0']
        assert found[0].config == {}
        assert ids(software_configs.page(tx, 'p1', 2)) == ['c4', 'c3']
        assert ids(software_configs.page(tx, 'p1', 2, 'c3')) == ['c2', 'c1']
        assert ids(software_configs.page(tx, 'p1', None, 'other')) == ['c4', 'c3', 'c2', 'c1', 'c0']
        assert ids(software_configs.page(tx, 'p1', 0)) == []
        assert ids(software_configs.page(tx, 'p2')) == ['other']
        assert len(software_configs.page(tx, None)) == 6
        assert software_configs.count(tx, 'p1') == 5


def test_a_config_in_use(stored):
    with stored.writer() as tx:
        assert software_configs.show(tx, 'c4', held=True) == software_configs.show(tx, 'c4')
        assert not software_configs.delete_unused(tx, 'c1')
        assert software_configs.delete_unused(tx, 'c4')
        assert (software_configs.show(tx, 'c1') is None, software_configs.show(tx, 'c4')) == (False, None)


def test_a_deployment_comes_back_as_it_was(stored):
    with stored.reader() as tx:
        assert software_deployments.show(tx, 'd1') == deployment('d1', 2)
        assert software_deployments.show(tx, 'nothing') is None


def test_lists_of_deployments(stored, counted):
    with stored.reader() as tx, counted(tx) as statements:
        assert ids(software_deployments.page(tx, 'p1')[0]) == ['d2', 'd1', 'd3']
        assert len(statements) == 2                         # the sizes, and the rows
        assert ids(software_deployments.page(tx, 'up')[0]) == ['d2']
        assert ids(software_deployments.page(tx, 'p1', 'v1')[0]) == ['d2', 'd1']
        assert ids(software_deployments.page(tx, 'p3', 'v1')[0]) == []
        assert ids(software_deployments.page(tx, None, 'v1')[0]) == ['d4', 'd2', 'd1']
        assert software_deployments.count(tx, 'p1') == 3


def test_pages_of_the_deployments_of_a_project_and_its_users(db):
    both = {'project_id': 'p', 'stack_user_project_id': 'p'}
    places = [{'project_id': 'p'}, {'stack_user_project_id': 'p'}, both, {'project_id': 'p2'}]
    with db.writer() as tx:
        for number in range(20):                            # in two places of time each
            software_deployments.insert(tx, deployment(f'd{number:02}', number // 2, **places[number % 4]))
    wanted = [f'd{number:02}' for number in range(20) if number % 4 < 3]
    for limit in (1, 4, 15, 100):
        found, last, goes_on = [], None, True
        with db.reader() as tx:
            while goes_on:
                listed, goes_on = software_deployments.page(tx, 'p', last=last, limit=limit)
                found, last = found + listed, listed[-1]
        assert ids(found) == wanted


def test_a_list_reads_no_deployments_of_other_projects(db):
    if db.dialect != 'sqlite':
        pytest.skip('only SQLite counts its steps')
    steps = []
    for number in (300, 3_000):
        with db.writer() as tx:
            tx.execute(tables.software_deployment.insert(), [{
                'id': f'{number}-{place}', 'project_id': 'other', 'stack_user_project_id': 'users',
                'server_id': f's{place}', 'config_id': 'c', 'input_values': '{}', 'created_at': later(place)}
                for place in range(number)])
        with db.reader() as tx, reading.counted(db) as work:
            assert software_deployments.page(tx, 'p', limit=100) == ([], False)
            assert len(software_deployments.page(tx, 'users', limit=10)[0]) == 10
        steps.append(work.steps)
    assert steps[1] < 1.2 * steps[0] < 3_000


def test_what_an_agent_polls_for_is_one_statement(stored, counted):
    with stored.reader() as tx, counted(tx) as statements:
        found = software_deployments.configs_of_server(tx, 'p1', 'v1')
        assert len(statements) == 1
        assert found == [config('c0'), config('c1', 1)]
        assert ids(software_deployments.configs_of_server(tx, 'up', 'v1')) == ['c0']
        assert software_deployments.configs_of_server(tx, 'p3', 'v1') == []
        assert software_deployments.configs_of_server(tx, None, 'nothing') == []


def test_a_deployment_changes(stored):
    with stored.writer() as tx:
        assert software_deployments.update(tx, 'd1', later(9), status='COMPLETE', output_values={'o': [1]},
                                           status_reason='fine\0')
        assert not software_deployments.update(tx, 'nothing', later(9), status='COMPLETE')
        with pytest.raises(TypeError, match='project_id'):
            software_deployments.update(tx, 'd1', later(9), project_id='p9')
        found = software_deployments.show(tx, 'd1')
        assert (found.status, found.output_values, found.status_reason, found.updated_at, found.created_at) == (
            'COMPLETE', {'o': [1]}, 'fine\ufffd', later(9), later(2))
        assert software_deployments.delete(tx, 'd1')
        assert not software_deployments.delete(tx, 'd1')
        assert software_deployments.show(tx, 'd4').created_at == NOW


@pytest.mark.parametrize('between', [{'config_id': 'c0'}, {'action': 'UPDATE'}, {'status': 'FAILED'}, {}])
def test_a_deployment_changes_only_as_it_was_known(stored, between):
    with stored.writer() as tx:
        known = software_deployments.show(tx, 'd1')
        assert known.config_id != 'c0'
        software_deployments.update(tx, 'd1', later(8), status_reason='x', **between)
        assert software_deployments.update_unchanged(tx, known, later(9), output_values={'o': 1}) is (not between)
        assert software_deployments.show(tx, 'd1').output_values == (known.output_values if between else {'o': 1})
