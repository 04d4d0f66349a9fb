"""docs/users/autoscaling.rst, "Try it": executes its commands in a shell, one after the other, as they are written."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.system.processes import ROOT, Program, free_port

PAGE = (ROOT / 'docs/users/autoscaling.rst').read_text()
PORT = '8003'                               # of the CloudWatch API, as the page has it
AGAIN = '''
until_size() {      # until_size NUMBER COMMAND: the command again and again, until the group has that size
  for _ in $(seq 60); do
    eval "$2"
    [ "$(openstack stack output show web size -f value -c output_value)" = "$1" ] && return
  done
  echo "the group does not get the size $1" >&2; exit 1
}
'''


def blocks() -> list[str]:
    """The literal blocks of the tutorial."""
    tutorial = PAGE.partition('Try it\n------\n')[2].partition('\nAlarms\n------\n')[0]
    return [textwrap.dedent(found) for found in re.findall(r'::\n\n((?:    .*\n|\n(?=    ))+)', tutorial)]


def script(commands: list[str]) -> str:
    """One that ends with the first command that fails. What is to be pushed "as long as" something is pushed so."""
    sizes = iter(('2', '1'))
    return AGAIN + ''.join(
        f'until_size {next(sizes)} {shlex.quote(each)}\n' if 'put-metric-data' in each else each for each in commands)


@contextmanager
def served(folder: Path) -> Iterator[tuple[dict[str, str], int]]:
    """The variables and the port of the CloudWatch API of the service that the first command of the page starts."""
    make, = blocks()[0].splitlines()
    name, _equals, words = shlex.split(make)[-1].partition('=')
    assert (make.split()[:2], name) == (['make', 'serve'], 'SERVE')
    port = free_port()
    ports = {'--port': free_port(), '--cfn-port': 0, '--cloudwatch-port': port, '--cloud-port': 0}
    program = Program(folder / 'log', *shlex.split(words), '--state-dir', folder / 'state', *(
        word for pair in ports.items() for word in pair), module='heatlite.cmd.all_in_one')
    with closing(program.process.stdout) as lines:
        said = next(line for line in lines if line.startswith('  export OS_'))
        yield dict(word.split('=', 1) for word in said.split()[1:]), port
        program.kill()


def execute(folder: Path, aws: str) -> str:
    """Executes all commands; what they print. `aws`: a shell's words that begin aws-cli. Raises AssertionError."""
    programs = folder / 'bin'
    programs.mkdir()
    openstack = shlex.quote(str(Path(sys.executable).parent / 'openstack'))
    for name, command in (('openstack', openstack), ('aws', aws)):
        (programs / name).write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {command} "$@"\n')
        (programs / name).chmod(0o755)
    text = script(blocks()[1:])
    assert text.count(f':{PORT}/') == 1
    with served(folder) as (variables, port):
        done = subprocess.run(
            ['bash', '-euo', 'pipefail', '-c', text.replace(f':{PORT}/', f':{port}/')], cwd=ROOT, text=True,
            capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=540,
            env={**variables, 'PATH': f'{programs}:{os.defpath}', 'HOME': str(folder)})
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def check(printed: str) -> None:
    """What a reader of the page expects to see."""
    assert 'Alarm updated from INSUFFICIENT_DATA to ALARM' in printed
    assert re.search(r'^web-low\t', printed, re.MULTILINE)
    assert re.search(r'web\.grow\]: SIGNAL_COMPLETE +alarm state changed from insufficient data to alarm', printed)
    assert 'web.shrink]: SIGNAL_COMPLETE' in printed
