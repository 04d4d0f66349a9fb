"""Holds every answer of the API to its own description (heatlite.api.openapi)."""

import json

import jsonschema_rs

from heatlite.api import openapi, routes
from heatlite.api.middleware import access

DESCRIBED = openapi.document(routes.TABLE)
_validators = {}


class Conforming:
    """A layer around the application: raises AssertionError for an answer that is not as described."""

    def __init__(self, app):
        self._app = app

    def __call__(self, environ, start_response):
        status = []

        def note(line, headers, exc_info=None):
            status.append((int(line[:3]), dict(headers).get('Content-Type', '').partition(';')[0]))
            return start_response(line, headers)

        body = b''.join(self._app(environ, note))
        check(environ.get('REQUEST_METHOD'), environ.get(access.ROUTE), *status[0], body)
        return [body]


def check(method, route, status, kind, body):
    """`route`: the pattern that matched, or None."""
    found = _described(method, route, status)
    if found is None or (not body and not found.get('content')):
        return
    assert kind in found['content'], f'{method} {route} answered {status} as {kind!r}'
    if kind != 'application/json':
        return
    shape = found['content'][kind]['schema']
    problems = [f'{"/".join(map(str, each.instance_path))}: {each.message}'
                for each in _validator(shape).iter_errors(json.loads(body))]
    assert not problems, f'{method} {route} answered {status}: {problems[:5]}'


def _described(method, route, status):
    """What the description says of such an answer; None for what no route answered."""
    for path, _part in openapi._spelled_out(route or '{arn:x}'):
        operation = DESCRIBED['paths'].get(path, {}).get(method.lower())
        if operation is not None:
            responses = operation['responses']
            found = responses.get(str(status)) or responses.get(f'{status // 100}XX')
            assert found, f'{method} {route} answered {status}, which is not described'
            return found
    return None


def _validator(shape):
    key = json.dumps(shape)
    if key not in _validators:
        _validators[key] = jsonschema_rs.validator_for({**shape, 'components': DESCRIBED['components']})
    return _validators[key]
