"""A file that was written for Heat has the same meaning here, or a line says what it does not have."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from oslo_config import cfg

from heatlite.common import config, foreign_options, options, settings

HEAT = yaml.safe_load(Path(__file__).with_name('heat_options.yaml').read_text())
OPTIONS = [(group, name) for group, found in HEAT.items() for name in found]
# Heat takes any number for these, and works with none of the others: such a value ends a program.
NARROWER = {
    'max_json_body_size', 'max_template_size', 'max_nested_stack_depth', 'max_resources_per_stack', 'error_wait_time',
    'max_snapshots_per_stack', 'max_software_configs_per_tenant', 'max_software_deployments_per_tenant',
    'max_stacks_per_tenant', 'max_events_per_stack', 'num_engine_workers', 'periodic_interval', 'stack_action_timeout',
    'action_retry_limit', 'expiration_time', 'backlog', 'max_header_line', 'tcp_keepidle'}
TYPES = {'int': cfg.types.Integer, 'float': cfg.types.Float, 'bool': cfg.types.Boolean, 'list': cfg.types.List}
SAMPLES = {'int': '7', 'float': '30.5', 'bool': 'true', 'list': 'a,b', 'str': 'word'}


def values(wanted):
    """Texts that Heat accepts: one of each choice, the bounds, one in between."""
    if 'choices' in wanted:
        return wanted['choices']
    given = [wanted.get('value', SAMPLES[wanted['type']])]
    return given + [str(wanted[bound]) for bound in ('min', 'max') if bound in wanted]


def read(tmp_path, group, name, value):
    file = tmp_path / 'heat.conf'
    file.write_text(f'[{group}]\n{name} = {value}\n')
    return config.load(['--config-file', str(file)], 'test', cfg.ConfigOpts(), default_files=[], warn=False)


def of(conf, group, name):
    return settings.registered(conf).get((group, name))


@pytest.mark.parametrize('group, name', OPTIONS)
def test_values_of_heat_are_accepted_and_unread_options_are_named(tmp_path, group, name):
    wanted = HEAT[group][name]
    for value in values(wanted):
        conf = read(tmp_path, group, name, value)
        opt = of(conf, group, name)
        said = [*settings.unknown_names(conf), *settings.without_effect(conf)]
        is_read = opt is not None and not opt.help.startswith(settings.WITHOUT_EFFECT)
        assert len(said) == (not is_read), said
        assert all(f'[{group}] {name}: ' in line and 'without effect' in line for line in said)


@pytest.mark.parametrize('group, name', OPTIONS)
def test_types_and_bounds_are_those_of_heat(group, name):
    conf = cfg.ConfigOpts()
    config.register(conf)
    opt, wanted = of(conf, group, name), HEAT[group][name]
    if opt is None:
        assert (group, name) in foreign_options.UNREAD or group in foreign_options.UNREAD_GROUPS
        return
    kind = TYPES.get(wanted['type'])
    assert kind is None or isinstance(opt.type, kind) or (kind is cfg.types.Integer and isinstance(
        opt.type, cfg.types.Port))
    for bound in ('min', 'max'):
        ours = getattr(opt.type, bound, None)
        assert name in NARROWER or ours == wanted.get(bound) or isinstance(opt.type, cfg.types.Port)
    if 'choices' in wanted:
        assert set(opt.type.choices) == set(wanted['choices'])


@pytest.mark.parametrize('group, name', [place for place in OPTIONS if 'former' in HEAT[place[0]][place[1]]])
def test_former_names_are_read(tmp_path, group, name):
    wanted = HEAT[group][name]
    before, former = wanted['former']
    value = values(wanted)[0]
    conf = read(tmp_path, before, former, value)
    found = (conf if group == 'DEFAULT' else conf[group])[name]
    assert str(found) == value
    assert not [*settings.unknown_names(conf), *settings.without_effect(conf)]


# Groups of libraries all of whose options the library reads itself, when a program uses it.
BY_LIBRARIES = {'barbican', 'barbican_service_user', 'cache', 'cors', 'ec2authtoken', 'key_manager', 'vault', 'trustee',
                'keystone_authtoken', 'oslo_concurrency', 'oslo_messaging_kafka', 'oslo_messaging_notifications',
                'oslo_messaging_rabbit', 'oslo_policy'}
READ_OF = {
    'database': 'connection mysql_sql_mode mysql_wsrep_sync_wait connection_recycle_time connection_debug '
                'max_pool_size max_overflow pool_timeout connection_trace connection_parameters',
    'oslo_middleware': 'enable_proxy_headers_parsing',
    'healthcheck': 'disable_by_file_path',
}
# Further names of options of oslo.config, oslo.log and oslo.messaging, and one that is registered at first use.
FURTHER_NAMES = {'config_dir', 'config_file', 'config_source', 'log_config', 'logdir', 'logfile', 'fatal_deprecations',
                  'rpc_thread_pool_size'}


def read_by_libraries(group):
    """Names in [DEFAULT] of the libraries for options, logs and messages; elsewhere those of READ_OF."""
    if group != 'DEFAULT':
        return set(READ_OF.get(group, '').split())
    from oslo_log import log
    from oslo_messaging import opts
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    return {*conf, *(opt.dest for opt in dict(opts.list_opts())[None]), *FURTHER_NAMES}


@pytest.mark.parametrize('group', foreign_options.LIBRARIES)
def test_each_option_of_a_library_is_read_or_named(group):
    known = set(foreign_options.LIBRARIES[group].split())
    if group in BY_LIBRARIES or (group in foreign_options.UNREAD_GROUPS and group not in READ_OF):
        return
    ours = {opt.dest for opt in options.GROUPS.get(group, ())}
    unread = {name for place, name in foreign_options.UNREAD if place == group}
    if group in foreign_options.UNREAD_GROUPS:
        unread = known - {name for place, name in foreign_options.READ if place == group}
    assert known - read_by_libraries(group) - ours == unread & known


@pytest.mark.parametrize('text, lines', [
    ('[profiler]\nenabled = false\n', 0),
    ('[profiler]\nenabled = true\nhmac_keys = x\n', 1),
    ('[database]\nslave_connection = mysql://h/x\nmax_retries = -1\n', 2),
    ('[healthcheck]\nbackends = disable_by_file\ndisable_by_file_path = /x\n', 1),
    ('[healthcheck]\ndisable_by_file_path = /x\n', 0),
    ('[trustee]\nauth_plugin = password\n', 0)])
def test_a_group_without_effect_is_named_once(tmp_path, text, lines):
    file = tmp_path / 'heat.conf'
    file.write_text(text)
    conf = config.load(['--config-file', str(file)], 'test', cfg.ConfigOpts(), default_files=[], warn=False)
    assert len([*settings.unknown_names(conf), *settings.without_effect(conf)]) == lines


@pytest.mark.parametrize('variable', [None, 'OSLO_LOCK_PATH', 'OS_OSLO_CONCURRENCY__LOCK_PATH'])
def test_the_folder_for_locks_may_be_named_by_the_environment(tmp_path, monkeypatch, variable):
    for name in ('OSLO_LOCK_PATH', 'OS_OSLO_CONCURRENCY__LOCK_PATH'):
        monkeypatch.delenv(name, raising=False)
    if variable is not None:
        monkeypatch.setenv(variable, '/run/heatlite/locks')
        assert read(tmp_path, 'oslo_messaging_rabbit', 'use_queue_manager', 'true')
        return
    with pytest.raises(SystemExit, match='lock_path'):
        read(tmp_path, 'oslo_messaging_rabbit', 'use_queue_manager', 'true')


THREADS = '''
from oslo_config import cfg
from heatlite.common import config, messaging
conf = config.load(['--set', 'DEFAULT.transport_url=fake://', '--set', 'DEFAULT.{name}={given}'], 'x', default_files=[])
messaging.transport(conf, 'x')
print(conf.executor_thread_pool_size)
'''


@pytest.mark.parametrize('name, given, used', [
    ('executor_thread_pool_size', 64, 1024), ('rpc_thread_pool_size', 64, 1024),
    ('executor_thread_pool_size', 2048, 2048)])
def test_threads_of_messages_are_enough_for_slots(name, given, used):
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', THREADS.format(name=name, given=given)], text=True,
                          capture_output=True, check=True)
    assert int(done.stdout) == used
    assert ('threads are used' in done.stderr) is (given < used)
