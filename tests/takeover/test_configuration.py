"""What a heat.conf says, and what of it differs in heatlite."""

from pathlib import Path

import pytest
import yaml
from oslo_config import cfg

from heatlite.common import config
from heatlite.takeover import configuration
from tests import common

HEAT = yaml.safe_load(Path(common.__file__).with_name('heat_options.yaml').read_text())
DATABASE = '[database]\nconnection = mysql+pymysql://a:b@h/heat\n'


def loaded(tmp_path, theirs, ours=''):
    for name, text in (('heat.conf', DATABASE + theirs), ('ours.conf', ours)):
        (tmp_path / name).write_text(text)
    conf = config.load(['--config-file', str(tmp_path / 'ours.conf')], 'test', cfg.ConfigOpts(), default_files=[],
                       warn=False)
    return configuration.load([tmp_path / 'heat.conf'], conf)


def differing(tmp_path, theirs, ours=''):
    return {name: values for name, *values in loaded(tmp_path, theirs, ours).differing}


def test_every_option_of_heat_with_an_effect_is_compared():
    compared = {(group, option.dest) for group, option in configuration.compared()}
    assert {(group, option.dest) for group, option in configuration.compared()
            if option.dest not in HEAT.get(group, {})} == {
        (group, name) for group, name in compared if group in (
            'clients_blazar', 'clients_ironic', 'clients_openstack', 'clients_zun')}
    left_out = {(group, name) for group in configuration.GROUPS for name in HEAT.get(group, {})} - compared
    assert {name for _group, name in left_out} == {
        'auth_encryption_key', 'cloud_backend', 'default_publisher_id', 'host', 'num_engine_workers',
        'periodic_interval',
        # without effect
        'api_paste_config', 'client_retry_limit', 'convergence_engine', 'enable_cloud_watch_lite',
        'engine_life_check_timeout', 'event_purge_batch_size', 'http_log_debug', 'keystone_backend',
        'loadbalancer_template', 'max_cinder_api_microversion', 'max_interface_check_attempts', 'metadata_put_timeout',
        'onready'}


def test_equal_files_differ_in_nothing(tmp_path):
    assert differing(tmp_path, '') == {}


def test_options_of_all_groups_are_compared(tmp_path):
    found = differing(tmp_path, (
        '[DEFAULT]\nmax_resources_per_stack = -1\nplugin_dirs = /opt/heat\nstack_user_domain = abc\n'
        'stack_domain_admin_password = hush\n[clients]\nendpoint_type = internalURL\n'
        '[clients_keystone]\nauth_uri = http://int:5000\n[yaql]\nlimit_iterators = 5000\n'
        '[volumes]\nbackups_enabled = false\n[trustee]\nauth_plugin = password\nusername = heat\n'),
        '[trustee]\nauth_type = password\nusername = heatlite\n')
    assert found.pop('stack_domain_admin_password') == ['a secret', 'another one']
    assert found == {
        'max_resources_per_stack': ['-1', '1000'], 'stack_user_domain_id': ['abc', ''],
        'plugin_dirs': ['/opt/heat', ', '.join(cfg.CONF.plugin_dirs)],
        '[clients] endpoint_type': ['internalURL', 'publicURL'],
        '[clients_keystone] auth_uri': ['http://int:5000', ''], '[yaql] limit_iterators': ['5000', '200'],
        '[volumes] backups_enabled': ['False', 'True'], '[trustee] username': ['heat', 'heatlite']}


def test_a_value_that_is_not_allowed_here_is_a_difference(tmp_path):
    assert 'not allowed here' in differing(tmp_path, '[DEFAULT]\nstack_action_timeout = 0\n')[
        'stack_action_timeout'][0]


@pytest.mark.parametrize('variable, value', [
    ('OS_DATABASE__CONNECTION', 'sqlite:////ours'), ('OS_DEFAULT__AUTH_ENCRYPTION_KEY', 'ours'),
    ('OS_DEFAULT__STACK_USER_DOMAIN_NAME', 'ours')])
def test_variables_of_heatlite_do_not_replace_the_file_of_heat(tmp_path, monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    found = loaded(tmp_path, '[DEFAULT]\nauth_encryption_key = theirs\nstack_user_domain_name = heat\n')
    assert (found.connection, found.key) == ('mysql+pymysql://a:b@h/heat', 'theirs')
    assert {name: there for name, there, _here in found.differing}['stack_user_domain_name'] == 'heat'
