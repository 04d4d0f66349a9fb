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
