"""The layers around the handlers: who answers first, what a body is, how errors look. No database, no engine."""

import json
import os
import subprocess
import sys

import pytest
from oslo_context import context as contexts

from heatlite.api import faults, results, wsgi
from heatlite.common import exception
from tests.api import in_process

P = '/v1/' + in_process.PROJECT


def echo(req):
    return {'got': req.json, 'base': req.base}


def whoami(req):
    context = req.context
    return {'username': context.username, 'password': context.password, 'region': context.region_name,
            'url': context.auth_url, 'roles': context.roles, 'user': context.user_id, 'admin': context.is_admin,
            'request': context.request_id, 'above': context.global_request_id, 'aws': context.aws_creds}


def named(req, name):
    return {'name': name}


def fail(req):
    raise {'own': exception.StackExists(stack_name='s'), 'foreign': KeyError('secret'),
           'renamed': exception.StackNotFound('s')}[req.query['how'][0]]


TABLE = (
    wsgi.Route('GET', '/{tenant_id}/none', echo, 'stacks:index'),
    wsgi.Route('GET', '/{tenant_id}/me', whoami, 'stacks:index'),
    wsgi.Route('GET', '/{tenant_id}/none/special', echo, 'stacks:index'),
    wsgi.Route('POST', '/{tenant_id}/optional', echo, 'stacks:create', wsgi.Body.OPTIONAL),
    wsgi.Route('POST', '/{tenant_id}/required', echo, 'stacks:create', wsgi.Body.REQUIRED),
    wsgi.Route('POST', '/{tenant_id}/own', echo, 'stacks:create', wsgi.Body.OPTIONAL, own_project=True),
    wsgi.Route('PUT', '/{tenant_id}/accepted', lambda req: None, 'stacks:update', wsgi.Body.OPTIONAL, 202),
    wsgi.Route('DELETE', '/{tenant_id}/gone', lambda req: None, 'stacks:delete', wsgi.Body.NONE, 204),
    wsgi.Route('GET', '/{tenant_id}/null', lambda req: None, 'stacks:index'),
    wsgi.Route('GET', '/{tenant_id}/moved', lambda req: results.Redirect('http://there/é'), 'stacks:index', status=302),
    wsgi.Route('GET', '/{tenant_id}/fail', fail, 'stacks:index'),
    wsgi.Route('POST', '/{tenant_id}/named/special', echo, 'stacks:create', wsgi.Body.OPTIONAL),
    wsgi.Route('GET', '/{tenant_id}/named/{name}', named, 'stacks:index'),
)


@pytest.fixture(scope='module')
def app():
    return in_process.build(table=TABLE)


def fault(response):
    assert response.content_type == 'application/json'
    assert response.json['code'] == response.status_code
    return response.json['error']


# --- versions and health ---------------------------------------------------------------------------------

@pytest.mark.parametrize('path', ['/', '/versions', '/v2', '/v1.1', '/v2/x/stacks'])
@pytest.mark.parametrize('method', ['GET', 'POST'])
def test_versions_need_no_identity(app, path, method):
    answer = in_process.ask(app, method, path, project=None)
    assert answer.status_code == 300
    assert answer.headers['Content-Type'] == 'application/json'
    assert answer.json == {'versions': [{'id': 'v1.0', 'status': 'CURRENT', 'links': [
        {'rel': 'self', 'href': 'http://localhost/v1/'}]}]}


@pytest.mark.parametrize('path, accept, status, base', [
    (f'/v1/{in_process.PROJECT}/none', None, 200, 'http://localhost/v1'),
    (f'/v1.0/{in_process.PROJECT}/none', None, 200, 'http://localhost/v1.0'),
    (f'/{in_process.PROJECT}/none', 'application/vnd.openstack.orchestration-v1.0', 200, 'http://localhost'),
    (f'/{in_process.PROJECT}/none', 'application/vnd.openstack.orchestration-v2.0', 300, None),
    (f'/{in_process.PROJECT}/none', None, 404, None), ('/v999.9/none', None, 300, None),
    pytest.param(f'/v{"1" * 5000}/none', None, 404, None, id='a long number'),
    pytest.param(f'/{in_process.PROJECT}/none', f'application/vnd.openstack.orchestration-v1.{"1" * 5000}', 404, None,
                 id='a long minor'),
    (f'/v1.1234/{in_process.PROJECT}/none', None, 404, None), (f'/v1.0000/{in_process.PROJECT}/none', None, 404, None),
    (f'/v1.000/{in_process.PROJECT}/none', None, 200, 'http://localhost/v1.000'),
    (f'/{in_process.PROJECT}/none', 'application/vnd.openstack.orchestration-v1.0000', 404, None),
    (f'/v1//{in_process.PROJECT}//none', None, 200, 'http://localhost/v1'),
])
def test_links_repeat_the_prefix_the_client_used(app, path, accept, status, base):
    answer = in_process.ask(app, 'GET', path, headers={'Accept': accept} if accept else {})
    assert answer.status_code == status
    if base:
        assert answer.json['base'] == base


def test_a_path_that_is_not_utf8(app):
    assert in_process.ask(app, 'GET', '/v1/%ff/none').status_code == 400


@pytest.mark.parametrize('accept', ['application/json', 'text/html', ''])
@pytest.mark.parametrize('path', ['/v1', '/v1/', P + '/unknown', P + '/none/'])
def test_unknown_paths(app, path, accept):
    assert in_process.ask(app, 'GET', path, project=None).status_code == 401
    answer = in_process.ask(app, 'GET', path, headers={'Accept': accept})
    assert answer.status_code == 404
    assert fault(answer) == {'type': 'HTTPNotFound', 'traceback': None, 'message': 'The resource could not be found.'}


@pytest.mark.parametrize('address, status', [('127.0.0.1', 200), ('::1', 200), ('192.0.2.7', 404), ('', 404)])
def test_figures_are_for_this_host(app, address, status):
    in_process.ask(app, 'GET', P + '/none')
    answer = in_process.ask(app, 'GET', '/metrics', project=None, REMOTE_ADDR=address)
    assert answer.status_code == status
    assert (b'heatlite_http_seconds_count{code="200",method="GET",route="/{tenant_id}/none"}' in answer.body) is (
        status == 200)


@pytest.mark.parametrize('header', ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host'])
def test_figures_are_not_for_those_behind_a_proxy_on_this_host(app, header):
    assert in_process.ask(app, 'GET', '/metrics', project=None, REMOTE_ADDR='127.0.0.1',
                     headers={header: '192.0.2.7'}).status_code == 404


# --- request ids, CORS, access log -----------------------------------------------------------------------

@pytest.mark.parametrize('path', ['/', P + '/none', P + '/unknown', P + '/fail?how=foreign', '/nothing'])
def test_every_answer_has_a_request_id(app, path):
    assert in_process.ask(app, 'GET', path).headers['x-openstack-request-id'].startswith('req-')


def test_one_line_for_each_request(app, caplog):
    caplog.set_level('INFO', 'heatlite.api.middleware.access')
    answer = in_process.ask(app, 'GET', P + '/none')
    line = caplog.records[-1].getMessage()
    assert line.startswith(f'GET {P}/none 200 ') and line.endswith(' ms')
    bound = contexts.get_current()              # the formatter writes its ids at the beginning of the line
    assert (bound.request_id, bound.project_id) == (answer.headers['x-openstack-request-id'], in_process.PROJECT)


def test_nobody_writes_lines_of_his_own(app, caplog):
    caplog.set_level('INFO', 'heatlite.api.middleware.access')
    in_process.ask(app, 'GET', P + '/none%0Aroot logged in')
    assert '\n' not in caplog.records[-1].getMessage()


def test_methods_nobody_knows_are_counted_as_one(app):
    in_process.ask(app, 'BREW', P + '/none')
    figures = in_process.ask(app, 'GET', '/metrics', project=None, REMOTE_ADDR='127.0.0.1').text
    assert 'BREW' not in figures


def test_options(app):
    answer = in_process.ask(app, 'OPTIONS', P + '/none')
    assert (answer.status_code, answer.body, answer.headers['Allow']) == (204, b'', 'GET')
    for path, project in [(P + '/none', None), (P + '/unknown', in_process.PROJECT)]:
        answer = in_process.ask(app, 'OPTIONS', path, project=project)
        assert (answer.status_code, answer.body) == (200, b'')
        assert 'x-openstack-request-id' not in answer.headers


def test_cors_for_configured_origins():
    app = in_process.build(in_process.options(), table=TABLE)
    asked = {'Origin': 'http://dashboard', 'Access-Control-Request-Method': 'GET'}
    assert 'Access-Control-Allow-Origin' not in in_process.ask(app, 'OPTIONS', P + '/none', headers=asked).headers
    conf = in_process.options()
    from oslo_middleware import cors
    conf.register_opts(cors.OPTS, 'cors')
    conf.set_override('allowed_origin', ['http://dashboard'], group='cors')
    app = in_process.build(conf, table=TABLE)
    answer = in_process.ask(app, 'OPTIONS', P + '/none', headers=asked)
    assert answer.headers['Access-Control-Allow-Origin'] == 'http://dashboard'
    answer = in_process.ask(app, 'GET', P + '/none', headers=asked)
    assert 'X-OpenStack-Request-ID' in answer.headers['Access-Control-Expose-Headers']


@pytest.mark.parametrize('arguments, environment, file, layers', [
    ([], {}, '', ['Preflight']),
    (['--set', 'cors.allowed_origin=http://dashboard'], {}, '', ['CrossOrigin']),
    ([], {'OS_CORS__ALLOWED_ORIGIN': 'http://dashboard'}, '', ['CrossOrigin']),
    ([], {}, '[cors]\nallowed_origin = http://dashboard\n[oslo_middleware]\nenable_proxy_headers_parsing = true\n',
     ['CrossOrigin', 'ProxyHeaders']),
    ([], {}, '[oslo_middleware]\nenable_proxy_headers_parsing = false\n', ['Preflight']),
])
def test_layers_of_the_library_are_made_for_their_options_only(tmp_path, arguments, environment, file, layers):
    """The library takes 7 MiB of every process that loads it."""
    (tmp_path / 'heatlite.conf').write_text(file)
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', f'''
import sys
from heatlite.api import deploy
from heatlite.common import config
conf = config.load({['--config-file', str(tmp_path / 'heatlite.conf'), *arguments]!r}, 'api')
layers = [getattr(layer, 'func', layer).__name__ for layer in deploy.cross_origin(conf) + deploy.proxy(conf)]
print(*layers, 'oslo_middleware' in sys.modules)
'''], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.stdout.split() == [*layers, str(bool(file or arguments or environment))], done.stderr


# --- routing ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize('method', ['POST', 'PUT', 'DELETE', 'HEAD', 'PATCH'])
def test_other_methods(app, method):
    answer = in_process.ask(app, method, P + '/none')
    assert answer.status_code == 405
    assert answer.headers['Allow'] == 'GET'
    if method != 'HEAD':
        assert fault(answer)['type'] == 'HTTPMethodNotAllowed'


def test_a_fixed_path_for_one_method_is_a_name_for_another(app):
    assert in_process.ask(app, 'GET', P + '/named/special').json == {'name': 'special'}
    assert 'got' in in_process.ask(app, 'POST', P + '/named/special').json
    assert in_process.ask(app, 'PUT', P + '/named/special').headers['Allow'] == 'POST,GET'


@pytest.mark.parametrize('sent, name', [('caf%C3%A9', 'café'), ('a%20b', 'a b'), ('a+b', 'a+b'), ('a.b', 'a.b'),
                                        ('%253A', '%3A')])
def test_names_are_decoded_once(app, sent, name):
    assert in_process.ask(app, 'GET', f'{P}/named/{sent}').json == {'name': name}


# --- identity, project, policy ---------------------------------------------------------------------------

def test_the_order_of_refusals(app):
    assert in_process.ask(app, 'GET', P + '/none', project=None).status_code == 401
    foreign = in_process.ask(app, 'GET', P + '/none', project=in_process.OTHER)
    assert fault(foreign) == {'type': 'HTTPForbidden', 'traceback': None,
                              'message': 'Access was denied to this resource.'}
    powerless = in_process.ask(app, 'GET', P + '/none', roles='nobody')
    assert fault(powerless) == {'type': 'Forbidden', 'traceback': None,
                                'message': 'You are not authorized to use stacks:index.'}


def test_admins_may_name_any_project_but_not_make_things_there(app):
    roles = 'admin,member,reader'
    assert in_process.ask(app, 'GET', P + '/none', project=in_process.OTHER, roles=roles).status_code == 200
    assert in_process.ask(app, 'POST', P + '/own', project=in_process.OTHER, roles=roles).status_code == 403
    assert in_process.ask(app, 'POST', P + '/own', roles=roles).status_code == 200


def test_no_identity_at_all_is_enough_on_loopback():
    app = in_process.build(in_process.options(paste_deploy__flavor='noauth'), table=TABLE, identity=None)
    assert in_process.ask(app, 'GET', P + '/none', project=None).status_code == 200
    assert in_process.ask(app, 'POST', P + '/own', project=None).status_code == 200
    claimed = {'X-Roles': 'nobody', 'X-Project-Id': in_process.OTHER}
    assert in_process.ask(app, 'GET', P + '/none', project=None, headers=claimed).status_code == 200


def test_the_context():
    conf = in_process.options(clients_keystone__auth_uri='http://identity/v3')
    above = 'req-11111111-2222-3333-4444-555555555555'
    answer = in_process.ask(in_process.build(conf, table=TABLE), 'GET', P + '/me', roles='reader', headers={
        'X-Auth-User': 'somebody else', 'X-Auth-Key': 'secret', 'X-Region-Name': 'north', 'X-Auth-Url': 'http://evil',
        'X-Auth-EC2-Creds': '{}', 'X-OpenStack-Request-ID': above})
    found = answer.json
    assert found.pop('request') == answer.headers['x-openstack-request-id'] != above
    assert found == {'username': 'somebody', 'password': 'secret', 'region': 'north', 'url': 'http://identity/v3',
                     'roles': ['reader'], 'user': 'u' * 32, 'admin': False, 'above': above, 'aws': None}


def test_an_admin_is_one_by_policy():
    assert in_process.ask(in_process.build(table=TABLE), 'GET', P + '/me', roles='admin,reader').json['admin'] is True


def test_an_unknown_flavour_is_refused_at_start():
    with pytest.raises(exception.Error, match='flavor nonsense'):
        in_process.build(in_process.options(paste_deploy__flavor='nonsense'), table=TABLE, identity=None)


@pytest.mark.parametrize('headers', [
    {}, {'X-Auth-User': 'u'}, {'X-Auth-User': 'u', 'X-Auth-Key': ''}, {'X-Auth-Token': 'stolen', 'X-Roles': 'admin'}])
def test_passwords_are_required_where_they_are_the_flavour(headers):
    conf = in_process.options(paste_deploy__flavor='standalone', clients_keystone__auth_uri='http://127.0.0.1:1/v3')
    app = in_process.build(conf, table=TABLE, identity=None)
    answer = in_process.ask(app, 'GET', P + '/none', headers=headers)
    assert answer.status_code == 401
    assert answer.headers['WWW-Authenticate'] == "Keystone uri='http://127.0.0.1:1/v3'"


# --- bodies ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize('body, kind, got', [
    (b'{"a": 1}', 'application/json', {'a': 1}),
    (b'{"a": 1}', 'application/json; charset=utf-8', {'a': 1}),
    (b'{"a": 1}', 'text/plain', {'a': 1}),
    (b'{"a": 1}', '', {'a': 1}),
    (b' \n{"a": 1}', 'application/json', {'a': 1}),
    (b'{"a": 1, "a": 2}', 'application/json', {'a': 2}),
    (b'{}', 'application/json', {}),
    (b'[1]', 'application/json', None),
    (b'"text"', 'application/json', None),
    (b'{"a": 1}', 'application/x-www-form-urlencoded', None),
    (b'', 'application/json', None),
])
def test_what_counts_as_a_body(app, body, kind, got):
    answer = in_process.ask(app, 'POST', P + '/optional', body, headers={'Content-Type': kind})
    assert answer.json['got'] == got
    answer = in_process.ask(app, 'POST', P + '/required', body, headers={'Content-Type': kind})
    assert answer.status_code == (400 if got is None else 200)
    if got is None:
        assert fault(answer)['message'].startswith(faults.MALFORMED)
        assert len(fault(answer)['message']) > len(faults.MALFORMED)


def test_chunked_bodies_are_read(app):
    import io
    answer = in_process.ask(app, 'POST', P + '/required', headers={'Transfer-Encoding': 'chunked'},
                       **{'wsgi.input': io.BytesIO(b'{"a": 1}'), 'CONTENT_TYPE': 'application/json'})
    assert answer.json['got'] == {'a': 1}


def test_a_body_that_is_not_json_is_answered_with_the_place(app):
    answer = in_process.ask(app, 'POST', P + '/required', b'{"a": }')
    assert fault(answer) == {'type': 'HTTPBadRequest', 'traceback': None,
                             'message': 'The body of the request is not valid JSON: '
                                        'Expecting value: line 1 column 7 (char 6)'}


@pytest.mark.parametrize('text', [b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ' + b'1' * 5000 + b'}', b'{"a": "\\ud800"}',
                                  b'{"a": "\xff"}', b'{"a": }', b'{"a": 1} 2'], ids=lambda text: str(text[:12]))
def test_what_is_wrong_with_a_body_names_the_body(app, text):
    answer = in_process.ask(app, 'POST', P + '/required', text)
    assert answer.status_code == 400 and 'body of the request' in fault(answer)['message']


def test_deeply_nested_json_is_refused(app):
    answer = in_process.ask(app, 'POST', P + '/optional', b'{"a":' * 100_000 + b'1' + b'}' * 100_000)
    assert answer.status_code == 400


def test_a_route_without_a_body_refuses_one(app):
    assert in_process.ask(app, 'GET', P + '/none', {'a': 1}).status_code == 400
    assert in_process.ask(app, 'GET', P + '/none', b'[1]').status_code == 200


def test_long_bodies_are_refused_unread():
    app = in_process.build(in_process.options(max_json_body_size=10), table=TABLE)
    answer = in_process.ask(app, 'POST', P + '/required', b'{"a": "12345"}')
    assert fault(answer) == {
        'type': 'RequestLimitExceeded', 'traceback': None,
        'message': 'Request limit exceeded: JSON body size (14 bytes) exceeds maximum allowed size (10 bytes).'}


# --- answers ---------------------------------------------------------------------------------------------

def test_answers_without_data(app):
    answer = in_process.ask(app, 'GET', P + '/null')
    assert (answer.body, answer.headers['Content-Type']) == (b'null', 'application/json')
    answer = in_process.ask(app, 'DELETE', P + '/gone')
    assert (answer.status_code, answer.body) == (204, b'')
    assert 'Content-Type' not in answer.headers


def test_accepted_is_plain(app):
    answer = in_process.ask(app, 'PUT', P + '/accepted', headers={'Accept': 'application/json'})
    assert answer.status_code == 202
    assert answer.json == {'message': 'The request is accepted for processing.<br /><br />\n\n\n',
                           'code': '202 Accepted', 'title': 'Accepted'}
    assert in_process.ask(app, 'PUT', P + '/accepted', headers={'Accept': '*/*'}).content_type == 'text/html'


def test_redirects(app):
    answer = in_process.ask(app, 'GET', P + '/moved', headers={'Accept': 'application/json'})
    assert (answer.status_code, answer.json['code'], answer.json['title']) == (302, '302 Found', 'Found')


def test_text_is_ascii(app):
    answer = in_process.ask(app, 'POST', P + '/optional', {'a': 'é'})
    assert b'\\u00e9' in answer.body


# --- errors ----------------------------------------------------------------------------------------------

def test_own_errors_bring_their_code_and_message(app):
    answer = in_process.ask(app, 'GET', P + '/fail?how=own')
    assert answer.json == {
        'code': 409, 'title': 'Conflict',
        'explanation': 'There was a conflict when trying to complete your request.',
        'error': {'type': 'StackExists', 'traceback': None, 'message': 'The Stack (s) already exists.'}}


def test_foreign_errors_tell_nothing_but_are_logged(app, caplog):
    answer = in_process.ask(app, 'GET', P + '/fail?how=foreign')
    assert answer.status_code == 500
    assert fault(answer) == {'type': 'KeyError', 'traceback': None}
    assert b'secret' not in answer.body
    assert any('KeyError' in record.getMessage() and record.levelname == 'ERROR' for record in caplog.records)


def test_a_class_may_have_another_name_on_the_wire(app):
    assert fault(in_process.ask(app, 'GET', P + '/fail?how=renamed'))['type'] == 'EntityNotFound'


def test_tracebacks_only_when_debugging():
    app = in_process.build(in_process.options(debug=True), table=TABLE)
    found = fault(in_process.ask(app, 'GET', P + '/fail?how=foreign'))
    assert 'Traceback' in found['traceback']
    assert 'message' not in found


def test_xml_is_answered_with_json(app):
    answer = in_process.ask(app, 'GET', P + '/fail?how=own', headers={'Content-Type': 'application/xml'})
    assert json.loads(answer.body)['code'] == 409


@pytest.mark.parametrize('headers, status', [
    ({}, 200), ({'Host': 'rebound.evil.example:8004'}, 403), ({'Origin': 'http://evil.example'}, 403)])
def test_web_pages_of_other_sites_are_refused_where_no_login_is_needed(headers, status):
    app = in_process.build(in_process.options(paste_deploy__flavor='noauth'), table=TABLE, identity=None)
    assert in_process.ask(app, 'GET', P + '/none', headers=headers).status_int == status


def test_forwarded_hosts_only_when_asked_for():
    forwarded = {'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'front:8443'}
    assert in_process.ask(in_process.build(table=TABLE), 'GET', P + '/none', headers=forwarded).json['base'] == (
        'http://localhost/v1')
    conf = in_process.options()
    from oslo_middleware import http_proxy_to_wsgi
    conf.register_opts(http_proxy_to_wsgi.OPTS, 'oslo_middleware')
    conf.set_override('enable_proxy_headers_parsing', True, group='oslo_middleware')
    assert in_process.ask(in_process.build(conf, table=TABLE), 'GET', P + '/none', headers=forwarded).json['base'] == (
        'https://front:8443/v1')
