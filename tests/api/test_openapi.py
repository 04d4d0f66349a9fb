"""The description of the API: complete, sound, and kept by a listening process whatever it is asked."""

import json

import pytest
import webob

from heatlite.api import openapi, routes
from tests.api import in_process


@pytest.fixture(scope='module')
def described():
    return openapi.document(routes.TABLE)


def references(value):
    if isinstance(value, dict):
        yield from ([value['$ref']] if '$ref' in value else [])
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


def test_every_handler_is_described_and_no_other():
    assert {openapi.name_of(route) for route in routes.TABLE} == set(openapi.OPERATIONS)


def test_every_reference_leads_somewhere_and_every_shape_is_used(described):
    shapes = described['components']['schemas']
    found = {reference.rpartition('/')[2] for reference in references(described)}
    assert found == set(shapes)


def test_every_route_has_its_own_name(described):
    names = [operation['operationId'] for path in described['paths'].values() for operation in path.values()]
    assert len(names) == len(set(names)) >= len(openapi.OPERATIONS)


def test_which_requests_have_tags_and_conditions(described):
    tagged, conditional = set(), set()
    for path in described['paths'].values():
        for operation in path.values():
            if any('ETag' in answer.get('headers', ()) for answer in operation['responses'].values()):
                tagged.add(operation['operationId'])
            if any((each['in'], each['name']) == ('header', 'If-Match') for each in operation['parameters']):
                conditional.add(operation['operationId'])
    assert tagged == {'stacks.show', 'stacks.create', 'stacks.update', 'stacks.patch'}
    assert conditional == {'stacks.update', 'stacks.patch', 'stacks.delete'}


def test_it_is_served_without_identity(api):
    answer = in_process.ask(api, 'GET', '/v1/openapi.json', project=None)
    assert (answer.status_code, answer.content_type) == (200, 'application/json')
    assert answer.json['openapi'] == '3.1.0'
    assert answer.json['servers'] == [{'url': 'http://localhost/v1'}]
    assert '/{tenant_id}/stacks/{stack_name}/{stack_id}/resources' in answer.json['paths']
    assert json.dumps(answer.json).isascii()


def test_it_is_encoded_once(monkeypatch):
    """Anybody may ask for it, as often as they like."""
    served = openapi.ApiDescription(routes.TABLE)
    first = webob.Request.blank('/v1/openapi.json').get_response(served)
    encoded, dumps = [], json.dumps
    monkeypatch.setattr(openapi.json, 'dumps', lambda value: encoded.append(value) or dumps(value))
    monkeypatch.setattr(openapi, 'document', None)
    for host in ('a.example', 'b.example:8004'):
        found = webob.Request.blank('/v1/openapi.json', base_url=f'https://{host}/x').get_response(served)
        assert found.json == {**first.json, 'servers': [{'url': f'https://{host}/x'}]}
    assert encoded == ['https://a.example/x', 'https://b.example:8004/x']
