"""What is looked at when an API is put together: a wrong option is one line that names it."""

import pytest

from heatlite.api import deploy
from heatlite.api.aws import layers
from heatlite.api.cfn import deploy as cfn
from heatlite.common import exception
from tests.api import in_process

PASSWORD = ('auth_type = password', 'auth_url = http://identity/v3', 'username = u', 'password = p',
            'project_name = service')


def conf(tmp_path, *lines, **overrides):
    file = tmp_path / 'heatlite.conf'
    file.write_text('\n'.join(lines) + '\n')
    return in_process.options(files=[str(file)], **overrides)


@pytest.mark.parametrize('lines, found', [
    (('[keystone_authtoken]', 'www_authenticate_uri = http://identity/v3'), 'http://identity/v3'),
    (('[keystone_authtoken]', *PASSWORD), 'http://identity/v3'),
    (('[keystone_authtoken]', 'auth_section = login', '[login]', *PASSWORD), 'http://identity/v3'),
    (('[keystone_authtoken]', 'www_authenticate_uri = http://a', '[ec2authtoken]', 'auth_uri = http://b'), 'http://b'),
    (('[clients_keystone]', 'auth_uri = http://c'), 'http://c')])
def test_keystone_is_found_where_the_documents_say(tmp_path, lines, found):
    """Whoever asks first: the library registers its options only when its own layer is made."""
    assert [each.uri for each in layers.keystones(conf(tmp_path, *lines))] == [found]


CLOUDS = ('[ec2authtoken]', 'multi_cloud = true', 'clouds = north, south', 'allowed_auth_uris = http://other')


def test_each_cloud_has_a_keystone_with_its_own_login(tmp_path):
    found = layers.keystones(conf(
        tmp_path, *CLOUDS, '[ec2authtoken.north]', 'auth_uri = http://north/v3', *PASSWORD,
        '[ec2authtoken.south]', 'auth_uri = http://south:5000', 'insecure = true', '[keystone_authtoken]', *PASSWORD))
    assert [each.url for each in found] == ['http://north/v3/ec2tokens', 'http://south:5000/v3/ec2tokens']
    north, south = [each.session for each in found]
    assert north.auth.auth_url == 'http://identity/v3' and north.verify is True
    assert south.auth is None and south.verify is False         # a token of another cloud is none of its business


def test_without_clouds_all_keystones_have_one_login(tmp_path):
    found = layers.keystones(conf(
        tmp_path, '[ec2authtoken]', 'multi_cloud = true', 'allowed_auth_uris = http://a,http://b',
        '[keystone_authtoken]', *PASSWORD))
    assert [(each.uri, each.session.auth.auth_url) for each in found] == [
        ('http://a', 'http://identity/v3'), ('http://b', 'http://identity/v3')]


def test_the_rest_api_knows_keystone_from_the_start(tmp_path):
    assert deploy.identity_url(conf(tmp_path, '[keystone_authtoken]', *PASSWORD)) == 'http://identity/v3'
    assert deploy.identity_url(conf(tmp_path)) is None


@pytest.mark.parametrize('lines, words', [
    ((), '[ec2authtoken] auth_uri is not set'),
    (('[ec2authtoken]', 'multi_cloud = true'), '[ec2authtoken] clouds and allowed_auth_uris are empty'),
    (CLOUDS, '[ec2authtoken.north] auth_uri is not set'),
    (('[DEFAULT]', 'template_fetch_allow = 10.0.0.0/99'), "template_fetch_allow: '10.0.0.0/99'"),
    (('[DEFAULT]', 'template_fetch_deny = http://x'), "template_fetch_deny: 'http://x'"),
    (('[keystone_authtoken]', 'auth_type = nonsense'), '[keystone_authtoken]: ')])
def test_what_is_missing_is_named_at_start(tmp_path, lines, words):
    with pytest.raises(exception.Error) as refused:
        cfn.build(conf(tmp_path, *lines), None, None)
    assert str(refused.value).startswith(words)
    assert '\n' not in str(refused.value)
