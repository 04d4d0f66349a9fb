"""`.. program-help:: PROGRAM [COMMAND...]`: what `PROGRAM COMMAND... --help` prints, asked when the pages are built.

Programs are taken from the folder in the environment variable HEATLITE_PROGRAMS, else from that of the interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

COLUMNS = 80


class ProgramHelp(Directive):
    """A literal block with the help. Fails the build when the program does."""

    required_arguments = 1
    optional_arguments = 9

    def run(self) -> list[nodes.Node]:
        program, *command = self.arguments
        folder = Path(os.environ.get('HEATLITE_PROGRAMS') or Path(sys.executable).parent)
        done = subprocess.run([str(folder / program), *command, '--help'], capture_output=True, text=True,
                              env={**os.environ, 'COLUMNS': str(COLUMNS), 'PYTHONWARNINGS': 'ignore'})
        if done.returncode != 0:
            raise self.error(f'{program} --help: {done.returncode} {done.stderr}')
        return [nodes.literal_block(done.stdout, done.stdout, language='none')]


def setup(app: Sphinx) -> None:
    app.add_directive('program-help', ProgramHelp)
