"""A wrong configuration is one line on stderr from every program, and an exit code with which systemd does not start it
again; --set reaches every option."""

import os
import re
import subprocess
import sys

import pytest

from heatlite.common import foreign_options, options, settings
from tests.system.processes import ROOT, free_port

PROGRAMS = {'heatlite-engine': 'heatlite.cmd.engine', 'heatlite-api': 'heatlite.cmd.api',
            'heatlite-api-cfn': 'heatlite.cmd.api_cfn',
            'heatlite-api-cloudwatch': 'heatlite.cmd.api_cloudwatch', 'heatlite-all': 'heatlite.cmd.all_in_one',
            'heatlite-manage': 'heatlite.cmd.manage'}
SERVICES = [name for name in PROGRAMS if name not in ('heatlite-all', 'heatlite-manage')]
UNIT_STOPS_AT = re.findall(r'^RestartPreventExitStatus=(.*)$', (
    ROOT / 'etc/heatlite/systemd/heatlite-.service.d/hardening.conf').read_text(), re.M)[0].split()
KEY = 'auth_encryption_key = 0123456789abcdef0123456789abcdef\n'


def run(program, tmp_path, text, *arguments, seconds=60):
    """(exit code, lines of stderr) of a program that must end by itself."""
    file = tmp_path / 'heatlite.conf'
    file.write_text(text)
    command = [sys.executable, '-m', PROGRAMS[program], '--config-file', str(file), *arguments]
    if program == 'heatlite-all' and '--state-dir' not in arguments:
        command += ['--state-dir', str(tmp_path / 'state'), '--port', str(free_port())]
    if program == 'heatlite-manage':
        command.append('db_version')
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL,
                          env={'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(tmp_path)})
    return done.returncode, done.stderr.splitlines()


def code_of(program):
    """The exit code with wrong options: systemd does not start a service again that ends with it."""
    assert str(os.EX_CONFIG) in UNIT_STOPS_AT
    return 1 if program == 'heatlite-manage' else os.EX_CONFIG


WRONG = [
    ('[DEFAULT]\nnum_engine_workers = banana\n', ['heatlite.conf:2', 'num_engine_workers = banana', 'integer']),
    ('[DEFAULT]\n[engine]\nlease_ttl = 0\n', ['heatlite.conf:3', '[engine] lease_ttl = 0', 'from 1']),
    ('[heat_api]\nbind_port = 99999\n', ['heatlite.conf:2', '[heat_api] bind_port = 99999', 'port number']),
    ('[DEFAULT]\ndeferred_auth_method = magic\n', ['deferred_auth_method = magic', "'trusts'", "'password'"]),
    ('[DEFAULT]\nenable_stack_adopt = perhaps\n', ['enable_stack_adopt = perhaps', 'boolean']),
    ('[clients_nova]\ninsecure = perhaps\n', ['[clients_nova] insecure = perhaps', 'boolean']),
    ('[database]\nconnection = mysql+pymsql://u:secret@h/d\n',
     ['heatlite.conf:2', '[database] connection', 'mysql+pymysql']),
    ('[DEFAULT]\ntransport_url = rabit://u:secret@h/\n', ['heatlite.conf:2', 'transport_url', 'rabbit']),
    ('[oslo_messaging_rabbit]\nuse_queue_manager = true\n',
     ['heatlite.conf:2', 'use_queue_manager', '[oslo_concurrency] lock_path']),
    ('no section and no sense\n', ['heatlite.conf']),
]


@pytest.mark.parametrize('program', PROGRAMS)
@pytest.mark.parametrize('text, words', WRONG, ids=lambda value: value.strip()[:40] if isinstance(value, str) else '')
def test_a_wrong_value_is_one_line(program, text, words, tmp_path):
    code, lines = run(program, tmp_path, text)
    assert code == code_of(program) and len(lines) == 1, lines
    assert all(word in lines[0] for word in words), lines
    assert 'secret' not in lines[0]


@pytest.mark.parametrize('program', SERVICES)
def test_a_log_that_cannot_be_written_is_one_line(program, tmp_path):
    """Of services: other commands log to standard error."""
    code, lines = run(program, tmp_path, '[DEFAULT]\nlog_dir = /none/such\n')
    assert code == code_of(program) and len(lines) == 1, lines
    assert all(word in lines[0] for word in ('heatlite.conf:2', 'log_dir', '/none/such')), lines


@pytest.mark.parametrize('program', SERVICES)
@pytest.mark.parametrize('arguments', [['--workers', 'many'], ['--no-such-option']], ids=['value', 'name'])
def test_systemd_does_not_start_a_program_with_a_wrong_command_line_again(program, arguments, tmp_path):
    code, lines = run(program, tmp_path, f'[DEFAULT]\n{KEY}', *arguments)
    assert str(code) in UNIT_STOPS_AT and arguments[0].lstrip('-') in lines[-1], lines


@pytest.mark.parametrize('assignment, words', [
    ('engine.lese_ttl=3', ['did you mean lease_ttl']), ('trsutee.username=x', ['did you mean trustee']),
    ('database.conection=x', ['did you mean connection']), ('engine.lease_ttl=much', ['float']),
    ('nonsense', ['GROUP.']), ('DEFAULT.num_engine_workers=banana', ['integer'])])
def test_a_wrong_assignment_is_one_line(assignment, words, tmp_path):
    code, lines = run('heatlite-engine', tmp_path, '', '--set', assignment)
    assert code == os.EX_CONFIG and len(lines) == 1 and lines[0].startswith(f'--set {assignment}: '), lines
    assert all(word in lines[0] for word in words), lines


READS = """
import sys
from oslo_config import cfg
from heatlite.common import config
sys.argv[0] = 'x'
conf = config.load(sys.argv[1:], 'x', default_files=[])
group = {group!r}
conf.register_opts([cfg.StrOpt({name!r})], group=None if group == 'DEFAULT' else group) if {late!r} else None
print((conf if group == 'DEFAULT' else conf[group])[{name!r}])
"""
ONE_OF_EACH = {**{group: opts[0].dest for group, opts in options.GROUPS.items()},
               **{group: next(name for name in names.split() if (group, name) not in settings.HTTP_URLS)
                  for group, names in foreign_options.LIBRARIES.items()}}


def acceptable(opt):
    """A value of an option; None: of one of a library."""
    kind = getattr(opt, 'type', None)
    if getattr(kind, 'choices', None):
        return next(filter(None, kind.choices))
    return {'Integer': '7', 'Boolean': 'true', 'Float': '7', 'Port': '7'}.get(type(kind).__name__, 'x')


@pytest.mark.parametrize('group', [group for group in ONE_OF_EACH if group not in options.GROUPS])
def test_assignments_reach_options_of_libraries(group, tmp_path):
    """Those that are registered long after the command line was read."""
    name = ONE_OF_EACH[group]
    done = subprocess.run([sys.executable, '-c', READS.format(group=group, name=name, late=True),
                           '--set', f'{group}.{name}=word'], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == 'word', done.stderr


@pytest.mark.parametrize('program', PROGRAMS)
def test_every_group_can_be_set_in_every_program(program, tmp_path):
    """One option of each group, all at once: the wrong last one is what the program complains of."""
    given = []
    for group, name in ONE_OF_EACH.items():
        opt = next((each for each in options.GROUPS.get(group, ()) if each.dest == name), None)
        given += ['--set', f'{group}.{name}={acceptable(opt)}']
    code, lines = run(program, tmp_path, '', *given, '--set', 'engine.last_one=x')
    assert code == code_of(program) and lines[-1].endswith('there is no option last_one in [engine]'), lines


def test_an_address_in_use_is_told_once_and_with_a_hint(tmp_path):
    import socket
    with socket.create_server(('127.0.0.1', 0)) as taken:
        code, lines = run('heatlite-all', tmp_path, '', '--state-dir', str(tmp_path / 's'), '--port',
                          str(taken.getsockname()[1]))
    assert code == 1 and len(lines) == 1 and lines[0].count('in use') == 1 and '--port' in lines[0], lines


@pytest.mark.parametrize('place', ['/proc/none', 'file'])
def test_a_folder_that_cannot_be_made_is_one_line(place, tmp_path):
    (tmp_path / 'file').touch()
    folder = place if place.startswith('/') else str(tmp_path / 'file' / 'state')
    code, lines = run('heatlite-all', tmp_path, '', '--state-dir', folder)
    assert code == 1 and len(lines) == 1 and '--state-dir' in lines[0], lines


def test_unknown_names_are_warnings_with_a_guess(tmp_path):
    _code, lines = run('heatlite-manage', tmp_path, (
        f'[DEFAULT]\n{KEY}enable_cloud_watch_lite = false\nlog_file_name = x\n[engine]\nlese_ttl = 3\n'
        '[trsutee]\nusername = x\n[profiler]\nenabled = x\n[keystone_authtoken]\nusername = x\n'
        '[a_plugin_of_ours]\nx = y\n'
        f'[database]\nconnection = sqlite:///{tmp_path}/x\n'))
    warnings = [line for line in lines if 'WARNING' in line]
    assert len(warnings) == 4, lines
    assert 'heatlite.conf:6: there is no option lese_ttl in [engine]; did you mean lease_ttl?' in warnings[1]
    assert 'there is no group [trsutee]; did you mean trustee?' in warnings[2]
    assert 'heatlite.conf:10: [profiler] enabled: ' in warnings[3] and '[traces] endpoint' in warnings[3]


def test_options_without_effect_are_named_in_the_log_file(tmp_path):
    """oslo.config reports them when they are first read: before there is a log file."""
    log = tmp_path / 'log'
    run('heatlite-manage', tmp_path, (
        f'[DEFAULT]\n{KEY}convergence_engine = false\n[clients_nova]\nhttp_log_debug = true\n'
        f'[database]\nconnection = sqlite:///{tmp_path}/x\n'), '--set', 'DEFAULT.metadata_put_timeout=5',
        '--log-file', str(log))
    found = [line for line in log.read_text().splitlines() if ' WARNING ' in line and 'without effect: ' in line]
    assert len(found) == 3, found
    assert 'heatlite.conf:3: [DEFAULT] convergence_engine: ' in found[0] and 'there is one engine' in found[0]
    assert 'heatlite.conf:5: [clients_nova] http_log_debug: ' in found[1]
    assert '--set DEFAULT.metadata_put_timeout: [DEFAULT] metadata_put_timeout: ' in found[2]


def test_the_table_of_foreign_options_is_complete():
    from importlib import metadata
    for point in metadata.entry_points(group='oslo.config.opts'):
        if point.name in ('oslo.log', 'oslo.messaging', 'oslo.db', 'oslo.policy', 'oslo.middleware',
                          'keystonemiddleware.auth_token', 'castellan.config'):
            for group, opts in point.load()():
                known = foreign_options.LIBRARIES[getattr(group, 'name', group) or 'DEFAULT'].split()
                assert not {opt.dest for opt in opts} - set(known)


def check(tmp_path, text):
    """(exit code, lines) of heatlite-manage check-config."""
    file = tmp_path / 'heatlite.conf'
    file.write_text(text)
    command = [sys.executable, '-m', PROGRAMS['heatlite-manage'], '--config-file', str(file), 'check-config']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines()


def test_check_config_of_a_good_file(tmp_path):
    code, lines = check(tmp_path, f'[DEFAULT]\n{KEY}[database]\nconnection = sqlite:///{tmp_path}/x\n'
                                  '[paste_deploy]\nflavor = noauth\n')
    assert code == 0 and not [line for line in lines if line.startswith('error')], lines


@pytest.mark.parametrize('text, words', [
    ('[DEFAULT]\nauth_encryption_key = short\n', 'auth_encryption_key has 5 characters'),
    ('[database]\nmax_pool_size = many\n', 'heatlite.conf:2: [database] max_pool_size = many'),
    ('[oslo_messaging_rabbit]\nrabbit_retry_interval = soon\n', 'heatlite.conf:2: [oslo_messaging_rabbit]'),
    ('[heat_api]\ncert_file = /none\n', 'heatlite.conf:2: [heat_api] cert_file: /none cannot be read'),
    ('[plans]\nprices = /none\n', 'heatlite.conf:2: [plans] prices: /none'),
    ('[DEFAULT]\nlog_dir = /none\n', 'heatlite.conf:2: [DEFAULT] log_dir, log_file: there is no folder /none'),
    ('[cells]\nnames = east\n[cell_east]\nconnection = sqlite:////x\n',
     'heatlite.conf:2: [cells] names has "east" (allowed: rabbit, amqp, '),
    ('[trustee]\nauth_type = pasword\n',
     'heatlite.conf:2: [trustee] auth_type "pasword" is not known; did you mean password? (allowed: '),
])
def test_check_config_finds(text, words, tmp_path):
    code, lines = check(tmp_path, text)
    assert code == 1 and any(line.startswith('error: ') and words in line for line in lines), lines


def test_check_config_tells_all_that_is_wrong_at_once(tmp_path):
    code, lines = check(tmp_path, (
        '[DEFAULT]\ntransport_url = rabit://u:secret@h/\nnum_engine_workers = banana\n'
        '[database]\nconnection = mysq://u:secret@h/d\n[heat_api]\nbind_port = 99999\n'
        '[oslo_messaging_notifications]\ntransport_url = http://h/\n'))
    errors = [line for line in lines if line.startswith('error: ')]
    for number, words in ((2, '[DEFAULT] transport_url'), (3, '[DEFAULT] num_engine_workers = banana'),
                          (5, '[database] connection'), (7, '[heat_api] bind_port = 99999'),
                          (9, '[oslo_messaging_notifications] transport_url')):
        found = [line for line in errors if f'heatlite.conf:{number}: {words}' in line]
        assert len(found) == 1 and '(allowed: ' in found[0], (number, lines)
    assert code == 1 and len(errors) == 5 and lines[-1].startswith('Errors: 5, '), lines
    assert 'secret' not in str(lines)


@pytest.mark.parametrize('text, is_missing', [
    ('[database]\nconnection = mysql://u:p@h/d\n', True),
    ('[DEFAULT]\ntransport_url = rabbit://\n[database]\nconnection = mysql://u:p@h/d\n', True),
    ('[DEFAULT]\ntransport_url = rabbit://h/\n[database]\nconnection = mysql://u:p@h/d\n', False),
    ('[database]\nconnection = sqlite:////tmp/x\n', False), ('', False)])
def test_check_config_warns_of_engines_without_a_broker(text, is_missing, tmp_path):
    _code, lines = check(tmp_path, text)
    assert any(line.startswith('warning: ') and 'transport_url names no broker' in line and '(allowed: rabbit, ' in line
               for line in lines) == is_missing, lines
