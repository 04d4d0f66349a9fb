"""Every body and every answer: nothing can be set that is the service's own, and nothing of it is shown."""

import re

import jsonschema_rs
import pytest

from heatlite.api import openapi, routes
from tests.isolation import here
from tests.security.doors import DOORS, REST, Api, Asked, asked, ids, usual, with_bodies

# What the service, or the caller's token, says of an object - never the body of a request.
OWN = {
    'id': '00000000-0000-4000-8000-00000000beef', 'uuid': 'x', 'stack_id': 'x', 'project_id': here.ATTACKER,
    'tenant_id': here.ATTACKER, 'tenant': here.ATTACKER, 'user_id': 'x', 'username': 'x', 'author': 'x',
    'author_id': 'x', 'stack_owner': 'x', 'owner_id': here.ATTACKER, 'root_id': 'x', 'parent': 'x',
    'parent_resource': 'x', 'depth': 0,
    'stack_user_project_id': here.ATTACKER, 'user_creds_id': 1, 'trust_id': 'x', 'roles': ['admin'], 'is_admin': True,
    'context': {'is_admin': True}, 'status': 'COMPLETE', 'action': 'CREATE', 'stack_status': 'CREATE_COMPLETE',
    'reason': 'x', 'creation_time': '2000-01-01T00:00:00Z', 'created_at': '2000-01-01T00:00:00Z', 'updated_at': None,
    'deleted_at': None, 'engine_id': 'x', 'epoch': 1, 'wanted': False, 'live': 1, 'template_id': 'x',
    'adopt': {'resources': {}}, 'template_text': 'x', 'nested_depth': 9, 'digest_of': 'x', 'permissions': {},
    'physical_resource_id': 'x', 'method': 'x', '__class__': 'x', '__proto__': {'is_admin': True}}
# The body is data of a program in a server, as a whole; or is never looked at.
WITHOUT_FIELDS = {'resources.signal', 'stacks.lookup'}
SHAPES = openapi.shapes()


def properties(name):
    """The names that a shape has."""
    return set(SHAPES[name].get('properties', {}))


def outcome(place, door, body):
    answer = place.request(door, asked(door, here.VICTIMS, body))
    return answer.status_code, answer.text, list(place.engine.sent)


@pytest.mark.parametrize('door', [door for door in with_bodies() if door.name not in WITHOUT_FIELDS], ids=ids)
def test_a_key_that_is_none_of_the_route_changes_nothing(place, door):
    """It is refused, or ignored as Heat ignores it: the engine gets the same message."""
    body = usual(door, here.VICTIMS)
    usually = outcome(place, door, body)
    assert usually[2], 'the usual body reaches an engine, or else this test could not fail'
    known = properties(openapi.OPERATIONS[door.name].body)
    for key, value in OWN.items():
        if key not in known:
            said = outcome(place, door, {**body, key: value})
            assert said == usually or (said[0] == 400 and not said[2]), key


ACTIONS = ('CreateStack', 'UpdateStack', 'DeleteStack', 'CancelUpdateStack')


@pytest.mark.parametrize('action', ACTIONS)
def test_a_parameter_that_is_none_of_the_action_changes_nothing(place, action):
    door = next(each for each in DOORS if (each.api, each.name) == (Api.CFN, action))
    wanted = asked(door, here.VICTIMS)
    assert place.request(door, wanted).status_code == 503
    usually = list(place.engine.sent)
    for key in OWN:
        body = wanted.body + f'&{key}=x&{key.title().replace("_", "")}=x'.encode()
        if key not in ('stack_id', 'action'):           # parameters of these names are the action's
            place.request(door, Asked(wanted.method, wanted.url, body, wanted.headers))
            assert place.engine.sent == usually, key


# Columns and fields that no answer has. `physical_id`, `user_project_id` and others are shown under other names.
NEVER_SHOWN = re.compile(
    r'(password|passwd|credential(?!_secret_id)|auth_token|trust|user_creds|encryption|sealed|epoch|lease|fingerprint|'
    r'template_text|user_project_id|root_id|live_|wanted|secret(?!_id))', re.IGNORECASE)


def names(schema):
    if isinstance(schema, dict):
        for name, each in (schema.get('properties') or {}).items():
            yield name
            yield from names(each)
        for key, each in schema.items():
            if key != 'properties':
                yield from names(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from names(each)


ANSWERS = sorted({about.answer for about in openapi.OPERATIONS.values() if about.answer})


@pytest.mark.parametrize('shape', ANSWERS)
def test_no_answer_has_a_name_of_the_service_itself(shape):
    found = {name for name in names(reachable(shape)) if NEVER_SHOWN.search(name)}
    assert found <= {'stack_user_project_id'}, found      # Heat shows it, too


def reachable(shape):
    """The schemas of an answer."""
    seen, waiting = {}, [shape]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name] = SHAPES[name]
            waiting += re.findall(r'#/components/schemas/(\w+)', repr(SHAPES[name]))
    return list(seen.values())


DOCUMENT = openapi.document(routes.TABLE)


@pytest.mark.parametrize('door', [door for door in REST if door.method == 'GET' and
                                  openapi.OPERATIONS[door.name].answer], ids=ids)
def test_an_answer_has_what_is_described_and_nothing_else(place, door):
    """Over rows that have a value in every column."""
    answer = place.request(door, asked(door, here.VICTIMS), roles='admin,member,reader')
    if answer.status_code == 503:
        pytest.skip('an engine answers it: see tests/api/test_fuzz.py')
    assert answer.status_code == 200, answer.text
    schema = {'$ref': f'#/components/schemas/{openapi.OPERATIONS[door.name].answer}',
              'components': DOCUMENT['components']}
    jsonschema_rs.validator_for(schema).validate(answer.json)
