"""An API without a login on another interface than loopback is an error of the configuration."""

import pytest
from oslo_config import cfg

from heatlite.cmd import check_config
from heatlite.common import config


@pytest.mark.parametrize('flavor, host, is_open', [
    ('noauth', '0.0.0.0', True), ('noauth', '192.0.2.1', True), ('noauth', '127.0.0.1', False),
    ('noauth', '::1', False),
    ('standalone', '0.0.0.0', False)])
def test_an_api_without_a_login_is_for_this_host_only(flavor, host, is_open):
    conf = config.load(['--set', f'paste_deploy.flavor={flavor}', '--set', f'heat_api.bind_host={host}'],
                       'heatlite-api', cfg.ConfigOpts(), default_files=[])
    found = [each for each in check_config._open_ports(conf) if each.level == check_config.ERROR]
    assert bool(found) is is_open
    assert all('[heat_api] bind_host' in each.text and host in each.text for each in found)
