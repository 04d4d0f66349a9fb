"""Headers of proxies are believed if a proxy has sent them."""

import pytest

from heatlite.api.middleware.proxy_headers import ProxyHeaders

CLIENT, PROXY, OUTER = '198.51.100.7', '192.0.2.20', '192.0.2.99'


def seen(peer, trusted=('192.0.2.0/24',), **headers):
    environ = {'REMOTE_ADDR': peer, 'HTTP_HOST': 'api:8004', 'wsgi.url_scheme': 'http', 'SCRIPT_NAME': '',
               **{f'HTTP_{name}': value for name, value in headers.items()}}
    list(ProxyHeaders(lambda environ, start_response: [], trusted)(environ, lambda status, headers: None))
    return environ


@pytest.mark.parametrize('peer, forwarded, address', [
    (PROXY, CLIENT, CLIENT), (PROXY, f'10.0.0.1, {CLIENT}', CLIENT), (PROXY, f'10.0.0.1,{CLIENT}, {OUTER}', CLIENT),
    (PROXY, OUTER, OUTER), (PROXY, '', PROXY), (PROXY, 'unknown', PROXY), (PROXY, f'evil, {OUTER}', OUTER),
    (PROXY, f'{CLIENT}, unknown', PROXY), (CLIENT, '10.0.0.1', CLIENT), ('127.0.0.1', CLIENT, CLIENT),
    ('::1', '2001:db8::7', '2001:db8::7'), ('', CLIENT, CLIENT), (PROXY, '10.0.0.1,' * 10_000 + CLIENT, CLIENT)])
def test_the_address_is_the_last_one_that_is_no_proxy(peer, forwarded, address):
    assert seen(peer, X_FORWARDED_FOR=forwarded)['REMOTE_ADDR'] == address


def test_the_header_of_the_standard_is_not_read():
    """Proxies pass on what clients send of it."""
    found = seen(PROXY, FORWARDED='for=10.0.0.1;host=evil.example;proto=gopher', X_FORWARDED_FOR=CLIENT)
    assert (found['REMOTE_ADDR'], found['HTTP_HOST'], found['wsgi.url_scheme']) == (CLIENT, 'api:8004', 'http')


def test_a_proxy_names_scheme_host_and_prefix():
    found = seen(PROXY, X_FORWARDED_PROTO='https', X_FORWARDED_HOST='front:8443', X_FORWARDED_PREFIX='/heat')
    assert (found['wsgi.url_scheme'], found['HTTP_HOST'], found['SCRIPT_NAME']) == ('https', 'front:8443', '/heat')
    assert seen(PROXY, X_FORWARDED_PROTO='gopher')['wsgi.url_scheme'] == 'http'


def test_headers_of_other_peers_are_removed():
    found = seen(CLIENT, FORWARDED='for=1', X_FORWARDED_PROTO='https', X_FORWARDED_HOST='evil',
                 X_FORWARDED_FOR='10.0.0.1', X_FORWARDED_PREFIX='/x')
    assert (found['wsgi.url_scheme'], found['HTTP_HOST'], found['SCRIPT_NAME']) == ('http', 'api:8004', '')
    assert not any('FORWARDED' in name for name in found)
