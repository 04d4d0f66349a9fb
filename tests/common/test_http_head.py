"""Heads of requests: what they say, and what is refused because another server could read it otherwise."""

import http.client
import io
from http import HTTPStatus

import pytest

from heatlite.common import http_head

LINE = b'POST /v1/p/stacks?a=b HTTP/1.1\r\n'


def read(head):
    lines = io.BytesIO(head)
    return http_head.read(lines.readline(), lines.readline)


def fields(*lines, line=LINE, host=b'Host: h'):
    return read(line + b''.join(each + b'\r\n' for each in (host, *lines) if each is not None) + b'\r\n')


def test_a_head():
    found = fields(b'X-Auth-Token:t ', b'Accept: \t a b\t ', b'Empty:', b'content-length: 12',
                   b'x-auth-token: u')
    assert found[:3] == ('POST', '/v1/p/stacks?a=b', 'HTTP/1.1')
    assert found.size == 12
    assert found.fields.get('HOST') == 'h'
    assert found.fields.get('X-AUTH-TOKEN') == 't'
    assert found.fields.get_all('X-Auth-Token') == ['t', 'u']
    assert found.fields.get('accept') == 'a b'
    assert found.fields.get('empty') == ''
    assert found.fields.get('absent') is None
    assert found.fields.get('absent', 'd') == 'd'
    assert found.fields.get_all('absent') == []


@pytest.mark.parametrize('lines', [
    [], [b'A: b', b'A: c', b'a: d'], [b'X-Name: J\xc3\xb6rg'],
    [b'Odd-!#$%&\'*+.^_`|~1: (a) "b", <c>; d=\\'],
    [b'Content-Type: application/json; charset=utf-8', b'Content-Length: 0'], [b'Transfer-Encoding: chunked'],
    [b'From: a@b', b'Received: x'], [b'X-Empty:', b'X-Blank:   '], [b'X: ' + b'v' * 5000]])
def test_a_correct_head_is_read_as_the_standard_library_reads_it(lines):
    text = b''.join(each + b'\r\n' for each in (b'Host: h', *lines)) + b'\r\n'
    known = http.client.parse_headers(io.BytesIO(text))
    found = read(LINE + text).fields
    assert found._headers == [(name, value.strip(' \t')) for name, value in known.raw_items()]


@pytest.mark.parametrize('version, connection, is_open', [
    (b'1.1', None, True), (b'1.1', b'close', False), (b'1.1', b'Close', False), (b'1.1', b'keep-alive', True),
    (b'1.1', b'TE, close', False), (b'1.1', b'closed', True), (b'1.0', None, False), (b'1.0', b'Keep-Alive', True),
    (b'1.0', b'keep-alive, close', False), (b'1.2', None, True)])
def test_whether_the_connection_stays(version, connection, is_open):
    lines = [] if connection is None else [b'Connection: ' + connection]
    assert fields(*lines, line=b'GET / HTTP/%s\r\n' % version).keeps_open is is_open


def test_a_connection_is_closed_by_any_of_several_fields():
    assert not fields(b'Connection: TE', b'Connection: close').keeps_open


@pytest.mark.parametrize('target, path', [
    (b'/', '/'), (b'//host/x', '/host/x'), (b'///', '/'), (b'/a//b', '/a//b'), (b'*', '*'), (b'/\xc3\xb6', '/\xc3\xb6'),
    (b'http://h/v1?a=b', '/v1?a=b'), (b'HTTPS://h', '/'), (b'http://h?a=b', '/?a=b'), (b'http://h//x', '/x')])
def test_targets(target, path):
    assert fields(line=b'GET %s HTTP/1.1\r\n' % target).target == path


@pytest.mark.parametrize('lines', [
    [b'no colon', b'Content-Length: 5'],                # the standard library ignores what follows it
    [b'Content-Length : 5'], [b'Content-Length\t: 5'], [b' Content-Length: 5'], [b': 5'], [b'A: b', b' folded'],
    [b'A: b\rContent-Length: 5'], [b'A: b\r'], [b'A: b\0c'], [b'A: b\x0bc'], [b'A: b\x1cc'], [b'A: \x7f'],
    [b'A\xff: b'], [b'A(b): c'], [b'A b: c'], [b'Content-Length: 5', b'Content-Length: 5'], [b'Content-Length: 5, 5'],
    [b'Content-Length: +5'], [b'Content-Length: 0x5'], [b'Content-Length: -1'], [b'Content-Length:'],
    [b'Content-Length: 5_0'], [b'Content-Length: ' + b'9' * 19], [b'Content-Length: \xb2'],
    [b'Transfer-Encoding: gzip'], [b'Transfer-Encoding: chunked, gzip'], [b'Transfer-Encoding: identity'],
    [b'Transfer-Encoding: chunked', b'Transfer-Encoding: chunked'], [b'Transfer-Encoding: \x85chunked'],
    [b'Transfer-Encoding: chunked', b'Content-Length: 5'], [b'host: h']])
def test_what_servers_may_read_differently_is_refused(lines):
    with pytest.raises(http_head.BadHead) as caught:
        fields(*lines)
    assert caught.value.status == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize('host', [b'h', b'h:8004', b'a_b.example.org', b'[::1]:8004', b'[fe80::1%25eth0]', b''])
def test_hosts(host):
    assert fields(host=b'Host: ' + host).fields.get('host') == host.decode()


@pytest.mark.parametrize('host', [b'a/b', b'a b', b'a@b', b'a, b', b'a:b', b'a?b', b'a#b', b'[::1',
                                  b'h\xc3\xb6', b'a\\b'])
def test_what_is_no_host_is_refused(host):
    with pytest.raises(http_head.BadHead, match='Host'):
        fields(host=b'Host: ' + host)


def test_only_old_versions_need_no_host():
    assert fields(host=None, line=b'GET / HTTP/1.0\r\n').target == '/'
    with pytest.raises(http_head.BadHead, match='Host'):
        fields(host=None, line=b'GET / HTTP/1.1\r\n')


@pytest.mark.parametrize('target', [b'http://other/v1', b'http://h:80/v1', b'http://u@h/v1', b'http://[/v1',
                                    b'http:///v1'])
def test_a_url_of_another_host_is_refused(target):
    with pytest.raises(http_head.BadHead, match='another host'):
        fields(line=b'GET %s HTTP/1.1\r\n' % target)


def test_chunks_are_of_a_newer_version():
    with pytest.raises(http_head.BadHead, match='Transfer-Encoding'):
        fields(b'Transfer-Encoding: chunked', line=b'POST / HTTP/1.0\r\n')


@pytest.mark.parametrize('line, status', [
    (b'\r\n', 400), (b'GET /\r\n', 400), (b'GET\r\n', 400), (b'\x00\xff\r\n', 400), (b'GET  / HTTP/1.1\r\n', 400),
    (b'GET / HTTP/1.1 \r\n', 400), (b' GET / HTTP/1.1\r\n', 400), (b'GET /a b HTTP/1.1\r\n', 400),
    (b'GET /a\x0bb HTTP/1.1\r\n', 400), (b'GET /a\rb HTTP/1.1\r\n', 400), (b'GET / http/1.1\r\n', 400),
    (b'GET / HTTP/11\r\n', 400), (b'GET / HTTP/1.10\r\n', 400), (b'G(T / HTTP/1.1\r\n', 400),
    (b'PRI * HTTP/2.0\r\n', 505), (b'GET / HTTP/0.9\r\n', 505)])
def test_first_lines_that_are_refused(line, status):
    with pytest.raises(http_head.BadHead) as caught:
        fields(line=line)
    assert caught.value.status == status


def test_refusals_quote_nothing():
    for line, given in ((b'GET secret\r\n', ()), (LINE, [b'secret\0: secret']), (LINE, [b'Content-Length: secret'])):
        with pytest.raises(http_head.BadHead) as caught:
            fields(*given, line=line)
        assert 'secret' not in str(caught.value)


def test_the_number_of_fields_is_bounded():
    lines = [b'A%d: b' % number for number in range(http_head.MOST_FIELDS - 1)]          # and the host
    assert len(fields(*lines).fields._headers) == http_head.MOST_FIELDS
    with pytest.raises(http_head.BadHead) as caught:
        fields(*lines, b'One-More: b')
    assert caught.value.status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


@pytest.mark.parametrize('head', [b'', b'GET / HTTP/1.1', LINE, LINE + b'Host: x', LINE + b'Host: x\r\n',
                                  LINE + b'Content-Length: 1\r\n\r'])
def test_a_head_that_is_cut_off_is_none(head):
    assert read(head) is None


def test_lines_may_end_with_a_line_feed_alone():
    assert read(b'GET / HTTP/1.1\nHost: x\n\n').fields.get('host') == 'x'
