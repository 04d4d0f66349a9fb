"""Signed requests of AWS's protocols while Keystone is away: the client may try again, and nothing is wrong here."""

import logging
from urllib.parse import urlencode

import pytest

from heatlite.api.cfn import deploy
from tests.api import in_process
from tests.system import aws, options

AWAY = 'http://127.0.0.1:1/v3'
HOST = 'heat.example:8000'


@pytest.fixture
def app(database, tmp_path):
    file = tmp_path / 'heatlite.conf'
    options.write(file, options.identity(AWAY, 'RegionOne', 'heatlite', 'service', 'heatlite'))
    return deploy.build(in_process.options(files=[str(file)]), database, in_process.NoEngine())


def test_a_signature_that_cannot_be_checked(app, caplog):
    signed = aws.version_2(('access', 'secret'), 'GET', HOST, '/v1/', Action='ListStacks')
    with caplog.at_level(logging.INFO):
        answer = in_process.ask(app, 'GET', f'/v1/?{urlencode(signed)}', None, project=None, headers={'Host': HOST})
    assert (answer.status_code, '<Code>ServiceUnavailable</Code>' in answer.text) == (503, True), answer.text
    assert 'Traceback' not in caplog.text
    assert 'could not be served' not in caplog.text, 'it was logged as an outage'


@pytest.mark.parametrize('url', [AWAY, '127.0.0.1:1/v3'], ids=['refused', 'without-scheme'])
def test_a_token_that_cannot_be_validated(database, tmp_path, caplog, url):
    file = tmp_path / 'heatlite.conf'
    options.write(file, options.identity(url, 'RegionOne', 'heatlite', 'service', 'heatlite'))
    app = in_process.build(in_process.options(files=[str(file)]), database, in_process.NoEngine(), identity=None)
    with caplog.at_level(logging.INFO):
        answers = [in_process.ask(app, 'GET', f'/v1/{in_process.PROJECT}/stacks', project=None,
                                  headers={'X-Auth-Token': 'token'}) for _time in range(2)]
    for answer in answers:
        assert (answer.status_code, answer.content_type) == (503, 'application/json'), answer.text
        assert answer.json['error']['type'] == 'KeystoneUnavailable'
        assert answer.json['error']['message'] == 'The identity service cannot validate tokens.'
        assert answer.headers['Retry-After']
    assert 'Traceback' not in caplog.text and 'Unexpected' not in caplog.text
