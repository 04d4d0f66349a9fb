"""Options with the URL of a service: a value that no client of HTTP can use is an error, with an example."""

import pytest
from oslo_config import cfg

from heatlite.common import config, settings


def problems(folder, text):
    file = folder / 'heatlite.conf'
    file.write_text(text)
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf(['--config-file', str(file)], project='heatlite')
    return list(settings.wrong_values(conf))


@pytest.mark.parametrize('group, name, value, example', [
    ('keystone_authtoken', 'auth_url', '127.0.0.1:15010', 'http://HOST:5000/v3'),
    ('keystone_authtoken', 'www_authenticate_uri', 'keystone.example', 'http://HOST:5000/v3'),
    ('trustee', 'auth_url', 'http:///v3', 'http://HOST:5000/v3'),
    ('trustee', 'auth_url', 'http://h:port/v3', 'http://HOST:5000/v3'),
    ('clients_keystone', 'auth_uri', '//h/v3', 'http://HOST:5000/v3'),
    ('auth_password', 'allowed_auth_uris', 'h:5000', 'http://HOST:5000/v3'),
    ('DEFAULT', 'heat_waitcondition_server_url', 'h:8000/v1/waitcondition', 'http://HOST:8000/v1/waitcondition'),
    ('clients_heat', 'url', 'h:8004/v1/%(tenant_id)s', 'http://HOST:8004/v1/%(tenant_id)s'),
    ('ec2authtoken.north', 'auth_uri', 'h:5000', 'http://HOST:5000/v3'),
    ('traces', 'endpoint', 'collector:4318', 'http://HOST:4318/v1/traces'),
])
def test_a_url_that_cannot_be_used(tmp_path, group, name, value, example):
    [line] = problems(tmp_path, f'[{group}]\n{name} = {value}\n')
    assert line.startswith(f'{tmp_path}/heatlite.conf:2: [{group}] {name} = {value}: ')
    assert line.endswith(f'such as {example})')


@pytest.mark.parametrize('text', [
    '[keystone_authtoken]\nauth_url = https://keystone.example/identity\n', '[trustee]\nauth_url =\n',
    '[trustee]\nauth_url = "http://[::1]:5000/v3"\n', '[trustee]\nauth_url = HTTP://h:5000\n',
    '[trustee]\nauth_url = $keystone_authtoken.auth_url\n',
    '[ec2authtoken]\nallowed_auth_uris = http://a:5000/v3, https://b/v3\n',
    '[clients_heat]\nurl = http://h:8004/v1/%(tenant_id)s\n', '[trustee]\nauth_url = "http://h:5000/v3" \n',
    '[a_plug_in]\nauth_url = ldap://h\n'])
def test_a_url_that_can_be_used(tmp_path, text):
    assert not problems(tmp_path, text)


def test_a_password_in_a_url_is_not_shown(tmp_path):
    [line] = problems(tmp_path, '[trustee]\nauth_url = user:secret@h:5000/v3\n')
    assert 'secret' not in line


def test_a_url_that_the_environment_replaces_is_not_judged(tmp_path, monkeypatch):
    """As in containers, whose files have words to be replaced."""
    monkeypatch.setenv('OS_TRUSTEE__AUTH_URL', 'http://h:5000/v3')
    assert not problems(tmp_path, '[trustee]\nauth_url = CHANGE_ME\n')
