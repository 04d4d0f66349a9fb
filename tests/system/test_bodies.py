"""Bodies at both doors, over real connections: of any size and shape, and before anybody knows who calls."""

import http.client
import json

import psutil
import pytest

from tests.system import doors, wire
from tests.system.processes import eventually

MIB = 1 << 20
LIMIT = MIB                             # option max_json_body_size
FORM = 'application/x-www-form-urlencoded'


@pytest.fixture(scope='module')
def both(tmp_path_factory):
    with doors.running(tmp_path_factory.mktemp('bodies')) as found:
        found.log_in()
        yield found
        assert 'Traceback' not in found.program.log.read_text()


def error_of(door, content):
    """The code of an error document: type (REST) or Code (CloudFormation)."""
    if door == 'cfn':
        assert '<ErrorResponse><Error><Type>Sender</Type><Code>' in content, content
        return content.split('<Code>')[1].split('</Code>')[0]
    return content['error']['type']


# --- forms of the CloudFormation API -----------------------------------------------------------------------

def test_a_form_is_read_over_a_connection(both):
    status, said = both.cfn(body=doors.form(Action='ListStacks', Version='2010-05-15'))
    assert (status, '<ListStacksResponse><ListStacksResult><StackSummaries' in said) == (200, True), said
    status, said = both.cfn(body=doors.form(Action='ListStacks', ContentType='JSON'))
    assert status == 200
    assert isinstance(said['ListStacksResponse']['ListStacksResult']['StackSummaries'], list)


@pytest.mark.parametrize('more, is_json', [({}, False), ({'ContentType': 'JSON'}, True)])
def test_errors_of_forms_are_documents(both, more, is_json):
    status, _, body = wire.send(both.cfn_port, wire.request(
        'POST', '/v1/', doors.form(Action='ListStacks', **more), Content_Type=FORM))
    assert (status, b'IncompleteSignature' in body, body.startswith(b'{')) == (400, True, is_json)


def test_forms_of_many_fields_are_refused_at_once(both):
    assert error_of('cfn', both.cfn(body=b'a=&' * (LIMIT // 3))[1]) == 'RequestLimitExceeded'
    many = b'&'.join(b'%x=' % number for number in range(150_000))
    assert error_of('cfn', both.cfn(body=many[:LIMIT])[1]) == 'RequestLimitExceeded'


def test_multipart_bodies_are_refused(both):
    status, said = both.cfn(body=b'--x\r\n\r\n--x--', Content_Type='multipart/form-data; boundary=x')
    assert (status, error_of('cfn', said)) == (400, 'InvalidParameterValue')


@pytest.mark.parametrize('body', [b'Action=%ED%A0%80', b'Action=\xff', b'Action=%FF&ContentType=JSON'])
def test_forms_that_are_not_utf_8(both, body):
    status, said = both.cfn(body=body)
    assert status == 400, said


# --- how long a body is ------------------------------------------------------------------------------------

@pytest.mark.parametrize('door', ['rest', 'cfn'])
@pytest.mark.parametrize('kind', ['application/json', FORM, 'text/plain'])
def test_a_length_above_the_limit_is_refused_unread(both, door, kind):
    port, path = (both.port, f'/v1/{both.log_in()[1]}/stacks') if door == 'rest' else (
        both.cfn_port, '/v1/?AWSAccessKeyId=x&Signature=y')
    before = memory(both)
    status, headers, body = wire.send(port, wire.request(
        'POST', path, Content_Type=kind, Content_Length=str(400 * MIB)))
    assert (status, headers['connection']) == (400, 'close')
    assert b'RequestLimitExceeded' in body
    assert memory(both) - before < 10 * MIB


@pytest.mark.parametrize('door', ['rest', 'cfn'])
def test_a_client_that_sends_far_too_much_can_read_the_answer(both, door):
    """Simple clients look for it when they have sent everything."""
    port, path = (both.port, f'/v1/{both.log_in()[1]}/stacks') if door == 'rest' else (
        both.cfn_port, '/v1/?AWSAccessKeyId=x&Signature=y')
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    connection.request('POST', path, b'x' * (80 * MIB), {'Content-Type': 'application/json'})
    answer = connection.getresponse()
    assert (answer.status, b'RequestLimitExceeded' in answer.read()) == (400, True)
    connection.close()


@pytest.mark.parametrize('door', ['rest', 'cfn'])
def test_chunks_without_end_are_cut_off(both, door):
    before = memory(both)
    chunk = b'%x\r\n%s\r\n' % (65536, b'x' * 65536)
    status, said = by_token(both, door, chunk * 160, Transfer_Encoding='chunked', Content_Length=None)
    assert (status, error_of(door, said)) == (400, 'RequestLimitExceeded')
    assert memory(both) - before < 20 * MIB


@pytest.mark.parametrize('door', ['rest', 'cfn'])
@pytest.mark.parametrize('chunks', [
    b'zz\r\nabc\r\n0\r\n\r\n', b'-5\r\nabcde\r\n0\r\n\r\n', b'+3\r\nabc\r\n0\r\n\r\n', b'0x3\r\nabc\r\n0\r\n\r\n',
    b'1_0\r\n' + b'a' * 16 + b'\r\n0\r\n\r\n', b'\r\n0\r\n\r\n', b'3\r\nabcdef\r\n0\r\n\r\n', b'f' * 100_000,
    b'ffffffffffffffffffff\r\nabc', b'3;' + b'x' * 100_000 + b'\r\nabc\r\n0\r\n\r\n'])
def test_chunks_that_are_none(both, door, chunks):
    status, said = by_token(both, door, chunks, Transfer_Encoding='chunked', Content_Length=None)
    assert status == 400, said
    error_of(door, said)


@pytest.mark.parametrize('door', ['rest', 'cfn'])
def test_chunks_are_read(both, door):
    status, said = by_token(both, door, b'8;x=y\r\nAction=L\r\n9\r\nistStacks\r\n0\r\nTrailer: x\r\n\r\n',
                            Transfer_Encoding='chunked', Content_Length=None)
    assert status == (200 if door == 'cfn' else 400), said


@pytest.mark.parametrize('door', ['rest', 'cfn'])
@pytest.mark.parametrize('headers', [
    {'Content_Length': 'abc'}, {'Content_Length': '-5'}, {'Content_Length': '+5'}, {'Content_Length': '1_0'},
    {'Content_Length': '5, 5'}, {'Content_Length': '9' * 5000}, {'Content_Length': '0x5'},
    {'Content_Length': '5', 'Transfer_Encoding': 'chunked'}, {'Content_Length': None, 'Transfer_Encoding': 'gzip'},
    {'Content_Length': None, 'Transfer_Encoding': 'gzip, chunked'}, {'Content_Length': '5\r\nContent-Length: 6'}])
def test_lengths_that_are_none(both, door, headers):
    status, said = by_token(both, door, b'hello', **headers)
    assert status == 400, said
    assert said, 'an answer without a word'


@pytest.mark.parametrize('door', ['rest', 'cfn'])
def test_long_addresses(both, door):
    for path in ('/v1/?' + 'a=&' * 20_000, '/v1/?' + 'a=%ED%A0%80', '/v1/%ED%A0%80/stacks', '/v1/?' + 'a&' * 2_000):
        assert by_token(both, door, b'', path=path)[0] in (400, 401, 404, 414)


def by_token(both, door, body, path=None, **headers):
    if door == 'cfn':
        return both.cfn(body=body, **({'path': path} if path else {}), **headers)
    token, project, _ = both.log_in()
    return wire.ask(both.port, 'POST', path or f'/v1/{project}/stacks', body,
                    **{'X_Auth_Token': token, 'Content_Type': 'application/json', **headers})


def memory(both):
    """Bytes resident, of the one process."""
    return psutil.Process(both.program.process.pid).memory_info().rss


# --- what JSON is ------------------------------------------------------------------------------------------

HOT = '{"heat_template_version": "2018-08-31"}'


@pytest.mark.parametrize('value', [
    '"\\ud800"', '"a\\uDFFFb"', '["\\ud800"]', '{"\\ud800": 1}', 'NaN', 'Infinity', '-Infinity', '1e999',
    '9' * 5_000, '{"a":' * 100_000 + '1' + '}' * 100_000, '[' * 100_000], ids=lambda value: value[:12])
@pytest.mark.parametrize('field', ['tags', 'stack_name', 'parameters', 'template', 'files', 'invented'])
def test_what_is_no_json_is_said_to_be_none(both, field, value):
    body = f'{{"stack_name": "s", "template": {HOT}, "{field}": {value}}}'.encode()
    for path in ('/stacks', '/stacks/preview', '/validate'):
        status, said = both.rest('POST', path, body)
        assert (status, said['error']['type']) == (400, 'HTTPBadRequest'), said
        assert len(said['error']['message']) < 500


def test_bytes_that_are_no_text(both):
    for body in (b'{"a": "\xed\xa0\x80"}', b'{"a": "\xff"}', json.dumps({'stack_name': 's'}).encode('utf-16-le')):
        status, said = both.rest('POST', '/stacks', body)
        assert (status, said['error']['type']) == (400, 'HTTPBadRequest'), said


def test_whole_characters_of_two_halves_are_text(both):
    status, said = both.rest('POST', '/stacks', b'{"stack_name": "s", "template": ' + HOT.encode() +
                             b', "tags": ["\\ud83d\\ude00"]}')
    assert status == 201, said
    assert both.rest('DELETE', '/stacks/s')[0] in (204, 302)


def test_unknown_paths_are_answered_with_json(both):
    for path in ('/nothing', '/v1', '/v1/', f'/v1/{both.log_in()[1]}/nothing', f'/v1/{both.log_in()[1]}/stacks/'):
        status, said = wire.ask(both.port, 'GET', path, X_Auth_Token=both.log_in()[0], Accept='text/html')
        assert (status, said['code'], said['error']['type']) == (404, 404, 'HTTPNotFound')


def test_a_signal_that_is_none_is_the_senders_mistake(both):
    template = {'heat_template_version': '2018-08-31', 'resources': {
        'old': {'type': 'AWS::CloudFormation::WaitConditionHandle'}}}
    status, made = both.rest('POST', '/stacks', json.dumps({'stack_name': 'rung', 'template': template}).encode())
    assert status == 201, made
    stack = f"/stacks/rung/{made['stack']['id']}"
    eventually('the stack', lambda: both.rest('GET', stack)[1]['stack']['stack_status'] == 'CREATE_COMPLETE')
    arn = f"arn%3Aopenstack%3Aheat%3A%3A{both.log_in()[1]}%3Astacks/rung/{made['stack']['id']}/resources/old"
    for body in (b'{"Status": "PERHAPS"}', b'{"Status": []}', b'{}',
                 b'{"Data": {}, "Reason": 1, "Status": 1, "UniqueId": 2}'):
        status, said = both.cfn('PUT', f'/v1/waitcondition/{arn}', body, Content_Type='application/json')
        assert (status, error_of('cfn', said)) == (400, 'InvalidParameterValue')
    assert 'ERROR' not in both.program.log.read_text()
    both.rest('DELETE', stack)


def test_invented_actions_leave_no_figures(both):
    for number in range(20):
        assert both.cfn(body=doors.form(Action=f'Zz{number}'))[0] == 400
    status, _, figures = wire.send(both.cfn_port, wire.request('GET', '/metrics'))
    assert (status, b'Zz' in figures, b'route="unknown"' in figures) == (200, False, True)
