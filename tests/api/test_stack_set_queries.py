"""Members by a query over regions and projects."""

import pytest

from heatlite.api.stack_set_queries import RegionsAndProjects, members
from heatlite.common import exception
from heatlite.rpc import messages

REGIONS = ['RegionOne', 'RegionTwo']
PROJECTS = [{'id': 'i1', 'name': 'blue'}, {'id': 'i2', 'name': 'two words'}, {'id': 'i3', 'name': 'twice'},
            {'id': 'i4', 'name': 'twice'}]


def found(query, regions=REGIONS, projects=PROJECTS):
    """The members, and what was asked about projects."""
    asked = []

    def ask(wanted):
        asked.append(wanted)
        return projects

    return members(query, RegionsAndProjects(lambda: regions, ask)), asked


def test_regions():
    assert found({'regions': 'all'}) == ([{'region_name': name} for name in REGIONS], [])
    assert found({'regions': 'all', 'except': ['RegionOne']})[0] == [{'region_name': 'RegionTwo'}]


def test_projects_are_named_after_themselves_where_that_is_a_name_of_one():
    made, asked = found({'projects': 'all'})
    assert [(each['name'], each['project_id']) for each in made] == [
        ('blue', 'i1'), ('i2', 'i2'), ('i3', 'i3'), ('i4', 'i4')]
    assert asked == [messages.ListProjects()]


def test_filters_are_asked_of_the_engine():
    made, asked = found({'projects': {'domain_id': 'd', 'parent_id': 'p', 'tags': ['a', 'b'], 'except': ['i1', 'i3']}})
    assert [each['project_id'] for each in made] == ['i2', 'i4']
    assert asked == [messages.ListProjects('d', 'p', ('a', 'b'))]


def test_projects_in_all_regions():
    made, _asked = found({'projects': 'all', 'regions': 'all'}, projects=[
        {'id': 'i1', 'name': 'blue'}, {'id': 'i2', 'name': 'x' * 60}])
    assert made == [
        {'name': 'blue.RegionOne', 'project_id': 'i1', 'region_name': 'RegionOne'},
        {'name': 'i2.RegionOne', 'project_id': 'i2', 'region_name': 'RegionOne'},
        {'name': 'blue.RegionTwo', 'project_id': 'i1', 'region_name': 'RegionTwo'},
        {'name': 'i2.RegionTwo', 'project_id': 'i2', 'region_name': 'RegionTwo'}]


@pytest.mark.parametrize('query, text', [
    (None, 'member_query'), ([], 'member_query'), ({}, 'member_query'), ({'regions': 'some'}, 'member_query'),
    ({'projects': 'all', 'except': []}, 'member_query'), ({'colour': 'red'}, 'member_query'),
    ({'projects': 'some'}, 'projects'), ({'projects': {'name': 'x'}}, 'projects'),
    ({'projects': {'domain_id': 1}}, 'domain_id'), ({'projects': {'tags': 'x'}}, 'tags'),
    ({'projects': {'except': [1]}}, 'except'), ({'regions': 'all', 'except': ['Nowhere']}, 'no region Nowhere'),
    ({'regions': 'all', 'except': REGIONS}, 'finds no region'),
    ({'projects': {'except': ['i1', 'i2', 'i3', 'i4']}}, 'finds no project')])
def test_wrong_queries(query, text):
    with pytest.raises(exception.HTTPBadRequest, match=text):
        found(query)


def test_more_places_than_a_set_may_have():
    many = [{'id': f'i{number}', 'name': f'p{number}'} for number in range(101)]
    assert len(found({'projects': 'all'}, projects=many)[0]) == 101
    with pytest.raises(exception.HTTPBadRequest, match='finds 202 places; a stack set has at most 200'):
        found({'projects': 'all', 'regions': 'all'}, projects=many)
