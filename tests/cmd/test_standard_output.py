"""Programs whose reader goes away end without a word, however much they print."""

import os
import re
import subprocess
import sys

import pytest

from heatlite.common.standard_output import READER_GONE
from tests.cmd.test_help import PROGRAMS
from tests.system.options import write
from tests.system.processes import ROOT

NO_TEMPLATE = 'setup.cfg'             # gives a finding
LOG_LINE = re.compile(r'^\d{4}-\d\d-\d\d \d\d:\d\d:.*\n', re.M)
# Program and arguments of what prints: one line, much, or line by line.
PRINTED = [
    *((program, '--help') for program in sorted(PROGRAMS)),
    ('heatlite-lint', '--schema'),
    ('heatlite-lint', '--explain', 'OS::Nova::Server'),
    ('heatlite-lint', NO_TEMPLATE),
    ('heatlite-lint', '--format', 'json', NO_TEMPLATE),
    ('heatlite-test', '--list', 'examples'),
    ('heatlite-manage', 'check-config'),
    ('heatlite-manage', 'completion', 'bash'),
    ('heatlite-manage', 'db_version'),
    ('heatlite-manage', 'doctor', '--list'),
    ('heatlite-manage', 'doctor', '--format', 'json', '--only', 'policy'),
    ('heatlite-manage', 'doctor', '--only', 'policy'),
    ('heatlite-manage', 'purge_deleted', '0'),
    ('heatlite-manage', 'service', 'list'),
    ('heatlite-manage', 'update_params', 'encrypt'),
    ('heatlite-all', '--port', '0', '--cloud', 'simulated'),
    ('cloudsim', '--port', '0'),
]


def started(program, *arguments, output, cwd=ROOT):
    module, _colon, function = PROGRAMS[program].partition(':')
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-c',
         f'import sys; sys.argv[0] = {program!r}; from {module} import {function}; sys.exit({function}())', *arguments],
        cwd=cwd, stdout=output, stderr=subprocess.PIPE, text=True, timeout=120,
        env={**os.environ, 'PYTHONPATH': str(ROOT)})


@pytest.fixture
def options(tmp_path):
    """The file of options of heatlite-manage, whose database has all tables."""
    file = tmp_path / 'heatlite.conf'
    write(file, {'DEFAULT': {'auth_encryption_key': 'k' * 32},
                 'database': {'connection': f'sqlite:///{tmp_path}/heatlite.sqlite'}})
    return file


@pytest.fixture
def closed():
    """The end to write to of a pipe that has no reader."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize('program, arguments', [(each[0], each[1:]) for each in PRINTED],
                         ids=[' '.join(each) for each in PRINTED])
def test_a_reader_that_goes_away_ends_the_program_quietly(program, arguments, options, closed, tmp_path):
    if program == 'heatlite-manage' and arguments != ('--help',):
        assert started(program, '--config-file', str(options), 'db_sync', output=subprocess.PIPE).returncode == 0
        arguments = ('--config-file', str(options), *arguments)
    if program == 'heatlite-all' and arguments != ('--help',):
        arguments = (*arguments, '--state-dir', str(tmp_path / 'state'))
    done = started(program, *arguments, output=closed)
    assert (done.returncode, LOG_LINE.sub('', done.stderr)) == (READER_GONE, '')
    assert 'roken pipe' not in done.stderr and 'SystemExit' not in done.stderr


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='this system has no device that is always full')
def test_a_full_disk_is_an_error():
    with open('/dev/full', 'wb') as full:
        done = started('heatlite-lint', '--explain', 'OS::Nova::Server', output=full)
    assert done.returncode not in (0, READER_GONE) and 'No space left' in done.stderr
