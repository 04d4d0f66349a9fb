"""A program whose options no worker could use ends at once, with one line: it starts no workers again and again."""

import os
import subprocess
import sys

import pytest
from oslo_config import cfg

from heatlite.cmd.workers import refused
from heatlite.common import config
from heatlite.common.invalid_options import InvalidOptions
from tests.system.options import write
from tests.system.processes import ROOT, free_port

PROGRAMS = {'engine': 'engine', 'heat_api': 'api', 'heat_api_cfn': 'api_cfn', 'heat_api_cloudwatch': 'api_cloudwatch'}
KEY = {'DEFAULT': {'auth_encryption_key': 'k' * 32}, 'paste_deploy': {'flavor': 'noauth'}}
EXAMPLE = 'mysql+pymysql://USER:PASSWORD@HOST/NAME'


def run(program, folder, *parts, workers=2):
    """(exit code, lines of standard error) of a program, which must end by itself."""
    file = folder / 'heatlite.conf'
    listener = {} if program == 'engine' else {program: {'bind_host': '127.0.0.1', 'bind_port': free_port()}}
    write(file, KEY, listener, *parts)
    done = subprocess.run([sys.executable, '-m', f'heatlite.cmd.{PROGRAMS[program]}', '--config-file', str(file),
                           '--workers', str(workers)], cwd=ROOT, capture_output=True, text=True, timeout=45,
                          check=False, env={'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(folder)})
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize('program', PROGRAMS)
@pytest.mark.parametrize('url, words', [
    (None, ['[database] connection', 'is not set', EXAMPLE]),
    ('sqlite://', ['heatlite.conf:', '[database] connection', 'SQLite needs a file']),
    ('mysql+pymysql://u:secret@h:port/d', ['heatlite.conf:', '[database] connection', EXAMPLE]),
], ids=['unset', 'memory', 'malformed'])
def test_the_database_is_checked_before_workers_start(program, url, words, tmp_path):
    code, lines = run(program, tmp_path, {} if url is None else {'database': {'connection': url}})
    assert code == os.EX_CONFIG and len(lines) == 1, lines
    assert all(word in lines[0] for word in words), lines
    assert 'secret' not in lines[0]


@pytest.mark.parametrize('program', PROGRAMS)
@pytest.mark.parametrize('url', ['rabbit://u:secret@h:port/', 'rabbit://u:secret/more@h:5672/', 'rabbit://[::1/',
                                 'rabbit://u:secret@h:5672,u:secret@g:99999'])
def test_the_broker_is_checked_before_workers_start(program, url, tmp_path):
    code, lines = run(program, tmp_path, {'database': {'connection': f'sqlite:///{tmp_path}/x'}},
                      {'DEFAULT': {'transport_url': url}})
    assert code == os.EX_CONFIG and len(lines) == 1, lines
    assert all(word in lines[0] for word in ('heatlite.conf:', '[DEFAULT] transport_url', 'rabbit://USER:')), lines
    assert 'secret' not in lines[0]


@pytest.mark.parametrize('program, part, words', [
    ('engine', {'plan_policies': {'rules_file': '/none'}}, ['/none']),
    *[(program, {'oslo_policy': {'policy_file': __file__}}, [f'{__file__}:', 'is not YAML']) for program in PROGRAMS],
    ('heat_api', {'heat_api': {'trusted_proxies': 'nowhere/99'}}, ['[heat_api] trusted_proxies', 'nowhere/99']),
    ('heat_api', {'oslo_middleware': {'enable_proxy_headers_parsing': True},
                  'heat_api_cfn': {'trusted_proxies': 'nowhere/99'}}, ['[heat_api_cfn] trusted_proxies', 'nowhere/99']),
    ('heat_api', {'paste_deploy': {'flavor': 'magic'}}, ['[paste_deploy] flavor magic']),
    ('heat_api', {'heat_api': {'cert_file': __file__}}, [__file__]),
    ('heat_api_cfn', {'DEFAULT': {'template_fetch_deny': 'a/b/c'}}, ['template_fetch_deny']),
])
def test_what_only_workers_find_ends_the_parent_too(program, part, words, tmp_path):
    if program != 'engine' and 'paste_deploy' not in part:
        part = {**part, 'paste_deploy': {'flavor': 'noauth'}}
    code, lines = run(program, tmp_path, {'database': {'connection': f'sqlite:///{tmp_path}/x'}}, part)
    assert code == os.EX_CONFIG, lines
    said = [line for line in lines if all(word in line for word in words)]
    assert said and not [line for line in lines if 'Traceback' in line], lines


@pytest.mark.parametrize('program, part, words', [
    ('heat_api', {'heat_api': {'cert_file': __file__}}, [__file__]),
    ('heat_api', {'oslo_policy': {'policy_file': __file__}}, [f'{__file__}:']),
    ('heat_api_cfn', {'database': {'connection': 'sqlite://'}}, ['[database] connection'])])
def test_an_api_without_a_parent_ends_with_the_same_code(program, part, words, tmp_path):
    code, lines = run(program, tmp_path, {'database': {'connection': f'sqlite:///{tmp_path}/x'}}, part, workers=0)
    assert code == os.EX_CONFIG and [line for line in lines if all(word in line for word in words)], lines
    assert not [line for line in lines if 'Traceback' in line], lines


def test_a_wrong_command_line_is_as_a_wrong_option():
    with pytest.raises(InvalidOptions):
        config.load(['--no-such-option'], 'p', cfg.ConfigOpts(), default_files=[])


@pytest.mark.parametrize('code', [1, 2, 141])
def test_any_other_end_is_tried_again(code):
    """A plug-in that ends the program at its import says nothing about options."""
    def work():
        raise SystemExit(code)

    with pytest.raises(SystemExit) as ended:
        refused(None, work)
    assert ended.value.code == code


@pytest.mark.parametrize('module, arguments, words', [
    ('all_in_one', ['--cloud', 'simulatd'], ['--cloud simulatd:', 'did you mean simulated?', "'environment'"]),
    ('all_in_one', ['--port', '70000'], ['--port 70000:', 'port number from 0 to 65535']),
    ('engine', ['--workers', 'x'], ['--workers x:', 'integer from 0']),
    ('api', ['--set', 'heat_api.bind_port=x'], ['heat_api.bind_port=x:', 'not a number']),
    ('api_cfn', ['--config-file', '/tmp'], ['--config-file /tmp:', 'this is a folder']),
    ('manage', ['--log-file', '/none/x.log', 'db_version'], ['log_file', 'there is no folder /none'])])
def test_a_wrong_argument_is_one_line_with_the_values_that_are_allowed(module, arguments, words, tmp_path):
    done = subprocess.run([sys.executable, '-m', f'heatlite.cmd.{module}', *arguments], cwd=ROOT, capture_output=True,
                          text=True, timeout=45, check=False, env={
                              'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(tmp_path)})
    line, = done.stderr.splitlines()
    assert all(word in line for word in words), line
    assert done.returncode == (1 if module == 'manage' else os.EX_CONFIG)


def test_a_wrong_value_of_an_option_that_is_an_argument_too_is_named_with_file_and_line(tmp_path):
    code, lines = run('engine', tmp_path, {'DEFAULT': {'debug': 'yep'}})
    assert code == os.EX_CONFIG
    assert len(lines) == 1 and 'heatlite.conf:' in lines[0] and '[DEFAULT] debug = yep:' in lines[0], lines


def test_a_log_that_cannot_be_opened_is_one_line(tmp_path):
    log = tmp_path / 'a.log'
    log.mkdir()
    code, lines = run('engine', tmp_path, {'DEFAULT': {'log_file': str(log)}})
    assert code == os.EX_CONFIG
    assert len(lines) == 1 and 'log_file' in lines[0] and str(log) in lines[0], lines


def test_commands_do_not_write_the_log_that_files_name(tmp_path):
    """A command of root would make a file that the service cannot write."""
    file, folder = tmp_path / 'heatlite.conf', tmp_path / 'log'
    folder.mkdir()
    write(file, {'DEFAULT': {'log_dir': str(folder)}, 'database': {'connection': f'sqlite:///{tmp_path}/x'}})
    done = subprocess.run([sys.executable, '-m', 'heatlite.cmd.manage', '--config-file', str(file), 'db_sync'],
                          cwd=ROOT, capture_output=True, text=True, timeout=45, check=False, env={
                              'PATH': '/usr/bin:/bin', 'PYTHONPATH': str(ROOT), 'HOME': str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []
