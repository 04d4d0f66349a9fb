"""Swift: containers and objects, and URLs that are their own key."""

import hashlib
import hmac
from email.utils import parsedate_to_datetime

import pytest
import requests

NAME = 'd\u00f6rr'                      # four characters, five bytes


@pytest.fixture
def swift(sim):
    return sim.service('object-store')


def test_objects(swift):
    assert swift.put('/c', headers={'X-Container-Meta-Color': 'red'}).status_code == 201
    assert swift.put('/c').status_code == 202
    assert swift.put('/c/a/b c', data=b'hello', headers={'Content-Type': 'text/plain'}).status_code == 201
    found = swift.get('/c/a/b c')
    assert (found.content, found.headers['Content-Type']) == (b'hello', 'text/plain')
    assert found.headers['ETag'] == hashlib.md5(b'hello').hexdigest()
    head = swift.head('/c')
    assert (head.headers['X-Container-Object-Count'], head.headers['X-Container-Meta-Color']) == ('1', 'red')
    assert [each['name'] for each in swift.get('/c?format=json').json()] == ['a/b c']
    assert swift.get('/c?format=json&delimiter=/').json() == [{'subdir': 'a/'}]
    assert swift.delete('/c').status_code == 409
    assert swift.delete('/c/a/b c').status_code == 204
    assert swift.delete('/c').status_code == 204
    assert swift.get('/c').status_code == 404


def test_signed_urls_need_no_token(sim, swift):
    key, account = 'secret', f'/v1/AUTH_{sim.session().get_project_id()}'
    swift.post('', headers={'X-Account-Meta-Temp-Url-Key': key})
    swift.put('/c')

    def url(method, expires=10 ** 11, path=f'{account}/c/o'):
        signed = hmac.new(key.encode(), f'{method}\n{expires}\n{path}'.encode(), hashlib.sha1).hexdigest()
        return f'{sim.url}/object-store{path}?temp_url_sig={signed}&temp_url_expires={expires}'

    assert requests.put(url('PUT'), data=b'x', timeout=30).status_code == 201
    assert requests.get(url('GET'), timeout=30).content == b'x'
    assert requests.get(url('GET', expires=1), timeout=30).status_code == 401
    assert requests.delete(url('GET'), timeout=30).status_code == 401


def test_versions_come_back(swift):
    swift.put('/old')
    swift.put('/c', headers={'X-Versions-Location': 'old'})
    for each in (b'1', b'2'):
        swift.put('/c/o', data=each)
    assert len(swift.get('/old?format=json').json()) == 1
    swift.delete('/c/o')
    assert swift.get('/c/o').content == b'1'


def test_versions_are_named_by_the_time_of_what_they_have(swift):
    swift.put('/c', headers={'X-Versions-Location': 'c'})
    times = []
    for each in (b'1', b'2', b'3'):
        swift.put(f'/c/{NAME}', data=each)
        found = swift.head(f'/c/{NAME}').headers
        times.append(found['X-Timestamp'])
        assert int(float(found['X-Timestamp'])) == parsedate_to_datetime(found['Last-Modified']).timestamp()
    assert len(set(times)) == 3
    listed = [each['name'] for each in swift.get('/c?format=json').json()]
    assert listed == [*(f'005{NAME}/{time}' for time in times[:2]),
                      NAME]


def test_others_are_kept_out(sim, swift):
    swift.put('/c')
    account = f'{sim.url}/object-store/v1/AUTH_{sim.session("admin").get_project_id()}'
    assert sim.session().get(f'{account}/c', raise_exc=False).status_code == 403
    assert requests.get(f'{account}/c', timeout=30).status_code == 401
