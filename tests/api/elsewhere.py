"""A service that runs somewhere else, for the tests that only need its URL. What they make there is deleted again."""

import json
import os
import time
import urllib.error
import urllib.request

from gabbi import fixture

PATIENCE = 60.0                         # seconds until what was made must be gone
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), type(
    'Stay', (urllib.request.HTTPRedirectHandler,), {'redirect_request': lambda *_anything: None}))


def ask(method, url, body=None, headers=None, token=None):
    """(status line, headers, body); redirects are answers like others."""
    token = token or os.environ.get('HEATLITE_TEST_TOKEN')
    identity = {'X-Auth-Token': token} if token else {}
    request = urllib.request.Request(url, body or None, {**(headers or {}), **identity}, method=method)
    try:
        with _OPENER.open(request, timeout=PATIENCE) as answer:
            return f'{answer.status} {answer.reason}', answer.headers.items(), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return f'{error.code} {error.reason}', error.headers.items(), error.read()


def token(project=None, roles=None):
    """The token for a request that claims `project` and `roles` (text as in X-Roles); None: the member's."""
    if roles and 'admin' in roles.split(','):
        return os.environ.get('HEATLITE_TEST_ADMIN_TOKEN')
    if roles == 'reader':
        return os.environ.get('HEATLITE_TEST_READER_TOKEN')
    if project and project == os.environ.get('OTHER'):
        return os.environ.get('HEATLITE_TEST_OTHER_TOKEN')
    return None


class Forward:
    """The service as a WSGI application. A claimed identity chooses the token and is not passed on."""

    CLAIMED = ('x-project-id', 'x-roles', 'host', 'content-length')

    def __init__(self, url):
        self._url = url

    def __call__(self, environ, start_response):
        headers = {key[5:].replace('_', '-').lower(): value for key, value in environ.items()
                   if key.startswith('HTTP_')}
        if environ.get('CONTENT_TYPE'):
            headers['content-type'] = environ['CONTENT_TYPE']
        chosen = token(headers.get('x-project-id'), headers.get('x-roles'))
        for name in self.CLAIMED:
            headers.pop(name, None)
        body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))
        path = urllib.parse.quote(environ['PATH_INFO'], safe="/:@!$&'()*+,;=~%")
        query = f'?{environ["QUERY_STRING"]}' if environ.get('QUERY_STRING') else ''
        status, answered, content = ask(environ['REQUEST_METHOD'], f'{self._url}{path}{query}', body, headers, chosen)
        hop = ('transfer-encoding', 'connection')
        start_response(status, [pair for pair in answered if pair[0].lower() not in hop])
        return [content]


class Service(fixture.GabbiFixture):
    """Deletes the stacks that were made meanwhile, those of the other project, too."""

    def start_fixture(self):
        self._before = set(self._stacks())

    def stop_fixture(self):
        deadline = time.monotonic() + PATIENCE
        while made := {identity: place for identity, place in self._stacks().items() if identity not in self._before}:
            assert time.monotonic() < deadline, f'still there: {made}'
            for url, its_token in made.values():
                ask('DELETE', url, token=its_token)
            time.sleep(0.2)

    def _stacks(self):
        """Id -> (URL, a token that may delete it)."""
        found = {}
        for project, roles in self._places():
            chosen = token(project, roles)
            _status, _headers, body = ask('GET', f'{os.environ["API"]}/v1/{project}/stacks', token=chosen)
            found |= {each['id']: (each['links'][0]['href'], chosen) for each in json.loads(body)['stacks']}
        return found

    def _places(self):
        admin = 'admin' if 'HEATLITE_TEST_ADMIN_TOKEN' in os.environ else None
        yield os.environ['PROJECT'], admin
        if 'HEATLITE_TEST_OTHER_TOKEN' in os.environ:
            yield os.environ['OTHER'], None
