"""The help of each program fits a screen, with its own options first; `--help-all` has those of the libraries, too."""

import argparse
import configparser
import os
import subprocess
import sys

import pytest

from heatlite.cmd import manage
from heatlite.common import release
from tests.system.processes import ROOT

LINES, COLUMNS = 40, 100
OSLO = '--log-config-append'

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / 'setup.cfg')
PROGRAMS = dict(line.split(' = ') for line in SETUP['options.entry_points']['console_scripts'].strip().splitlines())
ALONE = ('cloudsim', 'heatlite-language-server', 'heatlite-lint', 'heatlite-test')    # without options of a service
SERVICES = sorted(set(PROGRAMS) - set(ALONE))
COMMANDS = [('doctor',), ('setup',), ('setup', 'keystone'), ('check-config',), ('purge_deleted',), ('update_params',),
            ('encryption_keys', 'reencrypt'), ('import-heat',), ('plugin', 'check'), ('completion',)]


def said(program, *arguments):
    module, _colon, function = PROGRAMS[program].partition(':')
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-c',
         f'import sys; sys.argv[0] = {program!r}; from {module} import {function}; sys.exit({function}())', *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
        env={**os.environ, 'PYTHONPATH': str(ROOT), 'COLUMNS': str(COLUMNS)})
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize('program', sorted(PROGRAMS))
def test_the_help_fits_a_screen(program):
    lines = said(program, '--help')
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS
    assert lines[0].startswith(f'usage: {program} ') and not any(OSLO in line for line in lines)


@pytest.mark.parametrize('program', SERVICES)
def test_own_options_come_first(program):
    lines = said(program, '--help-all')
    titles = [line for line in lines if line.endswith(':') and not line.startswith(' ')]
    assert titles == ['options of this program:', *(['commands:'] if program == 'heatlite-manage' else []),
                      'options of all programs:', 'options of the libraries:']
    libraries = lines.index('options of the libraries:')
    assert any(OSLO in line for line in lines[libraries:])
    short = said(program, '--help')
    assert short == lines[:libraries - 1]


@pytest.mark.parametrize('program', SERVICES)
@pytest.mark.parametrize('option', ['--help', '--help-all'])
def test_the_help_says_which_files_are_read(program, option):
    text = ' '.join(' '.join(said(program, option)).split())
    assert ('may be repeated. Default: none.' in text) == (program == 'heatlite-all')
    assert ('Default: heatlite.conf and PROGRAM.conf in' in text) == (program != 'heatlite-all')


@pytest.mark.parametrize('command', COMMANDS, ids=' '.join)
def test_the_help_of_commands_fits_a_screen(command):
    lines = said('heatlite-manage', *command, '--help')
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS


def test_the_help_of_every_command_says_what_it_does_and_its_exit_codes():
    def commands(parser):
        for action in parser._actions:
            for inner in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
                yield inner
                yield from commands(inner)

    conf = manage.load(['--config-file', '/dev/null', 'db_version'])
    found = {parser.prog.removeprefix('heatlite-manage '): parser for parser in commands(conf._oparser)}
    assert {'db_sync', 'plugin check', 'cells move'} <= set(found)
    for name, parser in found.items():
        summary, _space, codes = parser.description.partition('Exit code')
        assert summary.strip() and codes, name
        assert all(action.help for action in parser._actions if not isinstance(action, argparse._SubParsersAction)
                   and not action.choices), name


def test_commands_for_scripts_of_heat_are_not_proposed():
    assert 'did you mean db_sync?' in wrong('db-sync') and 'migrate_' not in wrong('db-sync')


@pytest.mark.parametrize('program', sorted(PROGRAMS))
def test_every_program_shows_the_version(program):
    assert said(program, '--version') == [f'heatlite {release.version()}']


def wrong(*arguments):
    """The last line of what heatlite-manage says to a wrong command line."""
    done = subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', *arguments], cwd=ROOT,
                          capture_output=True, text=True, timeout=60, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == 2
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize('words, nearest', [
    (['docter'], 'doctor'), (['check_config'], 'check-config'), (['cells', 'lst'], 'list'),
    (['setup', 'keyston'], 'keystone'), (['service', 'cleen'], 'clean'), (['plugin', 'chek'], 'check'),
    (['encryption_keys', 'reencript'], 'reencrypt'), (['update_params', 'encript'], 'encrypt')], ids=str)
def test_a_wrong_command_names_the_nearest(words, nearest):
    assert f"there is no '{words[-1]}'; did you mean {nearest}? (choose from " in wrong(*words)


@pytest.mark.parametrize('words, missing', [
    ([], 'COMMAND'), (['cells'], 'COMMAND'), (['setup'], 'COMMAND'), (['plugin'], 'COMMAND'),
    (['encryption_keys'], 'COMMAND'), (['service'], '{list,clean}'), (['completion'], '{bash}')], ids=str)
def test_a_missing_command_has_no_internal_name(words, missing):
    assert wrong(*words).endswith(f': error: the following arguments are required: {missing}')


def test_wrong_usage_is_short():
    done = subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.engine', '--nothing'], cwd=ROOT,
                          capture_output=True, text=True, timeout=60, env={**os.environ, 'PYTHONPATH': str(ROOT)})
    assert done.returncode == os.EX_CONFIG
    assert done.stderr.splitlines() == [
        'usage: heatlite-engine [OPTION...]', 'heatlite-engine: error: unrecognized arguments: --nothing']
