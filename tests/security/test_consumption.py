"""Every route with too much: bodies, queries, pages, and numbers of what a project may have."""

import io

import pytest

from heatlite.api.query_keys import QUERY_KEYS
from heatlite.common import exception, limits
from heatlite.rpc import messages
from tests.isolation import here
from tests.security.doors import DOORS, REST, Api, Asked, asked, ids
from tests.security.table import ENTRIES
from tests.simulation.cluster import Cluster

HOT = {'heat_template_version': '2018-08-31'}


class Unread(io.RawIOBase):
    """A body whose reading is a defect."""

    def readable(self):
        return True

    def readinto(self, _buffer):
        raise AssertionError('the body is read')


@pytest.mark.parametrize('door', DOORS, ids=ids)
@pytest.mark.parametrize('project', [here.VICTIM, None], ids=['known', 'unknown'])
def test_a_body_that_is_too_long_is_not_read(place, door, project):
    wanted = asked(door, here.VICTIMS)
    wanted = Asked(wanted.method, wanted.url, None, wanted.headers)
    answer = place.request(door, wanted, project=project, CONTENT_LENGTH='1048577', **{'wsgi.input': Unread()})
    # The CloudFormation API has AWS's codes, and the outermost layers of all do not wait for a login.
    assert answer.status_code in (400, 401, 413), answer.text
    assert '1048576' in answer.text or answer.status_code == 401
    assert not place.engine.sent and not place.statements


@pytest.mark.parametrize('door', DOORS, ids=ids)
def test_a_query_with_too_many_fields(place, door):
    wanted = asked(door, here.VICTIMS)
    query = '&'.join(f'a{number}=1' for number in range(limits.QUERY_FIELDS + 1))
    answer = place.request(door, Asked(wanted.method, f'{wanted.url}?{query}', wanted.body, wanted.headers))
    assert answer.status_code == 400, answer.text
    assert f'more than {limits.QUERY_FIELDS} fields' in answer.text
    assert not place.engine.sent and not place.statements


PAGES = [door for door in REST if 'limit' in QUERY_KEYS.get(door.name, {})]
STORED_PAGES = [door for door in PAGES if not ENTRIES[Api.REST, door.name].asks]      # no engine answers here


@pytest.mark.parametrize('door', STORED_PAGES, ids=ids)
@pytest.mark.parametrize('limit', [0, 1])
def test_a_page_has_no_more_than_was_asked_for(place, door, limit):
    wanted = asked(door, here.VICTIMS)
    answer = place.request(door, Asked(wanted.method, f'{wanted.url}?limit={limit}', None, wanted.headers))
    if limit == 0 and door.name == 'events.index_of_resource':
        assert answer.status_code == 404            # as in Heat: no events
        return
    assert answer.status_code == 200, answer.text
    for listed in answer.json.values():
        if isinstance(listed, list):
            assert len(listed) <= limit


@pytest.mark.parametrize('door', PAGES, ids=ids)
@pytest.mark.parametrize('limit', ['-1', '1.5', 'x', '1e9', '0x10', ' 1'])
def test_what_is_no_length_of_a_page(place, door, limit):
    wanted = asked(door, here.VICTIMS)
    assert place.request(door, Asked(wanted.method, f'{wanted.url}?limit={limit}', None, wanted.headers)
                         ).status_code == 400


def config(cluster):
    return cluster.ask(messages.CreateSoftwareConfig(name='c', group='script', config='x'), allowed=[Exception])


def deployment(cluster):
    made = config(cluster)
    return cluster.ask(messages.CreateSoftwareDeployment(config_id=made['id'], server_id='s'), allowed=[Exception])


def plan(cluster):
    return cluster.ask(messages.CreatePlan(stack_name='new', template=HOT, action=messages.CREATE), allowed=[Exception])


@pytest.mark.parametrize('option, make', [
    ('max_software_configs_per_tenant', config), ('max_software_deployments_per_tenant', deployment),
    ('plans.max_plans_per_project', plan)])
def test_the_most_of_a_project(option, make):
    with Cluster(engines=1, **{option: 2}) as cluster:
        for _number in range(2):
            assert not isinstance(made := make(cluster), Exception), made
        refused = make(cluster)
        assert isinstance(refused, exception.HeatException), refused
        assert refused.http_code in (400, 403, 409)
        assert '2' in str(refused) and not isinstance(make(cluster), dict)


def moves(count):
    return [{'source': {'stack': here.VICTIMS.stack_name, 'resource': f'r{number}'},
             'destination': {'stack': here.VICTIMS.stack_name, 'resource': f's{number}'}} for number in range(count)]


@pytest.mark.parametrize('door', [door for door in REST if door.name.startswith('refactors.')], ids=ids)
def test_a_refactor_of_too_many(place, door):
    stacks = [{'stack': f's{number}', 'new': True, 'template': HOT} for number in range(limits.MOST_REFACTORED + 1)]
    for body in ({'stacks': stacks}, {'stacks': stacks[:2], 'moves': moves(limits.MOST_MOVES + 1)}):
        answer = place.request(door, asked(door, here.VICTIMS, body))
        assert answer.status_code == 400, answer.text
        assert not place.engine.sent


def test_the_apis_for_other_clients_are_among_them():
    assert {door.api for door in DOORS} == set(Api)
