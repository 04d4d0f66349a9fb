"""Every URL in a request: nothing inside the network of the service is asked, nothing of it is told."""

import socket
from urllib.parse import urlencode

import pytest

from heatlite.api import openapi
from tests.isolation import here
from tests.security import table
from tests.security.doors import DOORS, FORM, Api, Asked, asked, ids, usual

SHAPES = openapi.shapes()


def keys(schema):
    if isinstance(schema, dict):
        for name, each in (schema.get('properties') or {}).items():
            if isinstance(each, dict) and (each.get('format') == 'uri' or 'url' in name.lower()):
                yield name
        for each in schema.values():
            yield from keys(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from keys(each)


def test_every_url_of_a_body_is_known():
    """A key of a new body with a URL must get into the table, and by it into the test below."""
    bodies = {about.body for about in openapi.OPERATIONS.values() if about.body}
    found = set()
    for name in bodies:
        found |= set(keys(SHAPES[name]))
    assert found == table.URLS[Api.REST]


@pytest.fixture
def inside():
    """A port of this host that nothing may connect to."""
    with socket.create_server(('127.0.0.1', 0)) as listening:
        listening.setblocking(False)
        yield listening.getsockname()[1], listening
        with pytest.raises(BlockingIOError):
            listening.accept()


def request(door, url):
    if door.api is Api.REST:
        body = usual(door, here.VICTIMS)
        target = body['stacks'][0] if 'stacks' in body else body
        target.pop('template', None)
        target['template_url'] = url
        return asked(door, here.VICTIMS, body)
    parameters = {'Action': door.name, 'StackName': here.VICTIMS.stack_name, 'TemplateURL': url}
    return Asked('POST', '/v1/', urlencode(parameters).encode(), FORM)


WITH_TEMPLATES = [door for door in DOORS if table.has_url(door) and door.api is not Api.CLOUDWATCH]


@pytest.mark.parametrize('door', WITH_TEMPLATES, ids=ids)
def test_a_url_inside_is_not_asked(place, inside, door):
    port, _listening = inside
    for url in (f'http://127.0.0.1:{port}/', f'http://localhost:{port}/', f'http://[::ffff:127.0.0.1]:{port}/',
                f'http://0:{port}/', f'http://user@127.0.0.1:{port}/', 'http://169.254.169.254/latest/meta-data',
                'file:///etc/passwd', 'gopher://127.0.0.1/', f'ftp://127.0.0.1:{port}/', '/etc/passwd', 'http:///x'):
        answer = place.request(door, request(door, url))
        assert answer.status_code == 400, (url, answer.text)
        assert 'root:' not in answer.text
        assert not place.engine.sent, url


def test_they_are_many():
    assert len(WITH_TEMPLATES) > 10
