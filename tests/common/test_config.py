"""Options: from files in the form operators have, from --set, and as plug-ins read them."""

import subprocess
import sys

import pytest
from oslo_config import cfg

from heatlite.common import config, options, settings
from heatlite.common.invalid_options import InvalidOptions

HEAT_CONF = """[DEFAULT]
max_template_size = 1000
plugin_dirs = /a,/b
an_option_of_another_release = 1
[clients]
insecure = true
[clients_nova]
endpoint_type = internalURL
[a_group_of_another_release]
x = y
"""


@pytest.fixture
def conf():
    made = cfg.ConfigOpts()
    config.register(made)
    return made


def test_a_file_written_for_heat_works_as_it_is(conf, tmp_path):
    file = tmp_path / 'heat.conf'
    file.write_text(HEAT_CONF)
    conf(['--config-file', str(file)], project='heatlite')
    assert conf.max_template_size == 1000
    assert conf.plugin_dirs == ['/a', '/b']
    assert conf.clients_nova.endpoint_type == 'internalURL'


def test_registering_twice_is_harmless(conf):
    config.register(conf)


@pytest.mark.parametrize('default_files, expected', [(None, 7), ([], 524288)])
def test_a_program_that_reads_no_file_reads_no_folder_either(tmp_path, monkeypatch, default_files, expected):
    """heatlite-all on the host of a cluster: files of the cluster are not for it."""
    monkeypatch.setenv('HOME', str(tmp_path))
    folder = tmp_path / '.heatlite/heatlite.conf.d'
    folder.mkdir(parents=True)
    (folder / 'size.conf').write_text('[DEFAULT]\nmax_template_size = 7\n')
    found = config.load([], 'test', cfg.ConfigOpts(), default_files=default_files, warn=False)
    assert found.max_template_size == expected


def test_defaults_of_the_sample_are_those_of_programs():
    code = ('from heatlite.common import config, messaging; from oslo_messaging import opts; config.set_defaults(); '
            'found = {opt.dest: opt.default for _group, each in opts.list_opts() for opt in each}; '
            'assert found["control_exchange"] == messaging.EXCHANGE; '
            'assert all(found[name] == value for name, value in messaging.RABBIT_DEFAULTS.items())')
    subprocess.run([sys.executable, '-c', code], check=True)


@pytest.mark.parametrize('assignment, group, name, value', [
    ('max_template_size=7', None, 'max_template_size', 7),
    ('engine.lease_ttl=7.5', 'engine', 'lease_ttl', 7.5),
    ('paste_deploy.flavor=noauth', 'paste_deploy', 'flavor', 'noauth'),
    ('hidden_stack_tags=a,b', None, 'hidden_stack_tags', ['a', 'b']),
])
def test_set_on_the_command_line(conf, assignment, group, name, value):
    conf([], project='heatlite', default_config_files=[])
    config.override(conf, assignment)
    assert (conf[group] if group else conf)[name] == value


@pytest.mark.parametrize('assignment', ['x', 'no_such=1', 'engine.no_such=1', 'no.such=1', 'engine.lease_ttl=much',
                                        'engine.lease_ttl=0'])
def test_a_wrong_setting_is_one_line(conf, assignment):
    conf([], project='heatlite', default_config_files=[])
    with pytest.raises(SystemExit) as stopped:
        config.override(conf, assignment)
    assert str(stopped.value).startswith(f'--set {assignment}: ')
    assert '\n' not in str(stopped.value)


def test_a_client_option_falls_back_to_all_clients():
    conf = cfg.CONF                             # never parsed here: other tests leave groups with required options
    config.register(conf)
    try:
        conf.set_override('endpoint_type', 'internalURL', group='clients')
        conf.set_override('endpoint_type', 'adminURL', group='clients_nova')
        assert config.get_client_option('nova', 'endpoint_type') == 'adminURL'
        assert config.get_client_option('glance', 'endpoint_type') == 'internalURL'
        assert config.get_client_option('lantern', 'endpoint_type') == 'internalURL'
        conf.set_override('ca_file', '/ca', group='clients')
        assert config.get_ssl_options('nova') == {'verify': '/ca', 'cert': None}
        conf.set_override('insecure', True, group='clients_nova')
        assert config.get_ssl_options('nova')['verify'] is False
    finally:
        for group, option in (('clients', 'endpoint_type'), ('clients_nova', 'endpoint_type'), ('clients', 'ca_file'),
                              ('clients_nova', 'insecure')):
            conf.clear_override(option, group=group)


def test_the_groups_of_clouds_are_known(tmp_path):
    file = tmp_path / 'heatlite.conf'
    file.write_text('[ec2authtoken]\nclouds = north\n[ec2authtoken.north]\nauth_uri = http://n\nauth_type = password\n'
                    'username = u\nnonsense = 1\n[ec2authtoken.south]\nauth_uri = http://s\n')
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], default_config_files=[str(file)], default_config_dirs=[])
    assert config.register_clouds(conf) == config.register_clouds(conf) == ['ec2authtoken.north']
    assert conf['ec2authtoken.north'].auth_uri == 'http://n'
    option, group = settings.unknown_names(conf)
    assert 'there is no option nonsense in [ec2authtoken.north]' in option
    assert '[ec2authtoken.south]' in group


def test_every_option_says_what_it_means():
    assert not [opt.name for found in options.GROUPS.values() for opt in found if not opt.help]


def test_importing_the_module_is_enough_for_a_plugin():
    code = ('from oslo_config import cfg; cfg.CONF.import_opt("max_template_size", "heatlite.common.config"); '
            'cfg.CONF([], default_config_files=[]); print(cfg.CONF.max_template_size, cfg.CONF.clients.endpoint_type)')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ['524288', 'publicURL']


@pytest.mark.parametrize('variable, value, words', [
    ('OS_ENGINE__LEASE_TTL', 'abc', 'OS_ENGINE__LEASE_TTL: [engine] lease_ttl = abc: not a number'),
    ('OS_TRUSTEE__AUTH_URL', 'keystone:5000', 'OS_TRUSTEE__AUTH_URL: [trustee] auth_url'),
    ('OS_DEFAULT__TRANSPORT_URL', 'rabbit://u:secret@h:port/', 'OS_DEFAULT__TRANSPORT_URL: [DEFAULT] transport_url')])
def test_a_wrong_variable_is_named(variable, value, words, tmp_path, monkeypatch):
    """It overrides the file."""
    file = tmp_path / 'heatlite.conf'
    file.write_text('[engine]\nlease_ttl = 30\n')
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidOptions) as refused:
        config.load(['--config-file', str(file)], 'heatlite-test', cfg.ConfigOpts())
    assert words in str(refused.value) and 'secret' not in str(refused.value)


def test_an_unknown_variable_is_named_and_those_of_clients_are_not(conf, monkeypatch):
    monkeypatch.setenv('OS_ENGINE__LEASE_TTLX', '1')
    monkeypatch.setenv('OS_CLOUD', 'x')
    monkeypatch.setenv('OS_DEFAULT__DEBUG', 'false')
    conf([], default_config_files=[])
    [line] = settings.unknown_names(conf)
    assert line.startswith('OS_ENGINE__LEASE_TTLX: ') and 'lease_ttl' in line
    assert [(each.group, each.name) for each in settings.variables(conf)] == [
        ('DEFAULT', 'debug'), ('engine', 'lease_ttlx')]
