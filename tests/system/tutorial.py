"""Executes the commands in pages for users: docs/users/autoscaling.rst, "Try it", and docs/users/cloudwatch.rst.

A shell executes them one after the other, as they are written, with the service that the first of them starts.
"""

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


def blocks(page: str, title: str) -> list[str]:
    """The literal blocks of a section of a page for users."""
    text = (ROOT / 'docs/users' / page).read_text()
    section = re.split(r'\n[^\n]+\n-{3,}\n', text.partition(f'{title}\n{"-" * len(title)}\n')[2])[0]
    return [textwrap.dedent(found) for found in re.findall(r'::\n\n((?:    .*\n|\n(?=    ))+)', section)]


def script(commands: list[str]) -> str:
    """One that ends with the first command that fails. What is to be pushed "as long as" something is pushed so."""
    sizes = iter(('2', '1'))
    return AGAIN + ''.join(
        f'until_size {next(sizes)} {shlex.quote(each)}\n' if '--dimensions stack=' in each else each
        for each in commands)


@contextmanager
def served(folder: Path) -> Iterator[tuple[dict[str, str], int]]:
    """The variables and the port of the CloudWatch API of the service that the first command of the page starts."""
    make, = blocks('autoscaling.rst', 'Try it')[0].splitlines()
    name, _equals, words = shlex.split(make)[-1].partition('=')
    assert (make.split()[:2], name) == (['make', 'serve'], 'SERVE')
    port = free_port()
    ports = {'--port': free_port(), '--cfn-port': 0, '--cloudwatch-port': port, '--cloud-port': 0}
    program = Program(folder / 'log', '--cloud', 'simulated', *shlex.split(words), '--state-dir', folder / 'state', *(
        word for pair in ports.items() for word in pair), module='heatlite.cmd.all_in_one')
    with closing(program.process.stdout) as lines:
        try:
            said = next(line for line in lines if line.startswith('  export OS_'))
            yield dict(word.split('=', 1) for word in said.split()[1:]), port
        finally:
            program.kill()


def execute(folder: Path, aws: str) -> tuple[str, str]:
    """Executes the commands of both pages; what those of each print. `aws`: words of a shell that begin aws-cli."""
    programs = folder / 'bin'
    programs.mkdir()
    known = {'openstack': shlex.quote(str(Path(sys.executable).parent / 'openstack')), 'aws': aws,
             'python': f'{shlex.quote(sys.executable)} -W ignore'}
    for name, command in known.items():
        (programs / name).write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {command} "$@"\n')
        (programs / name).chmod(0o755)
    [commands] = blocks('cloudwatch.rst', 'With aws-cli')
    [program] = blocks('cloudwatch.rst', 'With boto3')
    (folder / 'program.py').write_text(
        'import os\nACCESS, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]\n'
        + program + 'print(found["MetricDataResults"][0]["Values"])\n')
    with served(folder) as (variables, port):
        def run(text: str) -> str:
            assert f':{PORT}/' in text
            done = subprocess.run(
                ['bash', '-euo', 'pipefail', '-c', text.replace(f':{PORT}/', f':{port}/')], cwd=ROOT, text=True,
                capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=540,
                env={**variables, 'PATH': f'{programs}:{os.defpath}', 'HOME': str(folder)})
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            return done.stdout

        file = folder / 'program.py'
        file.write_text(file.read_text().replace(f':{PORT}/', f':{port}/'))
        return run(script(blocks('autoscaling.rst', 'Try it')[1:])), run(f'{commands}python {shlex.quote(str(file))}\n')


def check(scaled: str, measured: str) -> None:
    """What a reader of the pages expects to see."""
    assert 'Alarm updated from INSUFFICIENT_DATA to ALARM' in scaled
    assert re.search(r'^web-low\t', scaled, re.MULTILINE)
    # The first signal changes nothing if it comes within the cooldown that follows the creation; the next one does.
    assert re.search(r'web\.grow\]: SIGNAL_COMPLETE +alarm state changed from (insufficient data|alarm) to alarm',
                     scaled)
    assert 'web.shrink]: SIGNAL_COMPLETE' in scaled
    assert '"MetricName": "Orders"' in measured
    assert '"Sum": 12.0' in measured
    assert re.search(r'^orders-low\tINSUFFICIENT_DATA$', measured, re.MULTILINE)
    assert 'Alarm \\"orders-low\\" created' in measured
    assert measured.endswith('[0.9]\n')
