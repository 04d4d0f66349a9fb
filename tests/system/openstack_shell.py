"""The `openstack` command again and again in one process: a new one costs seconds.

As a program: JSON lines in, JSON lines out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.system.processes import ROOT


class Shell:
    """A process that runs commands. `environment`: the OS_ variables of the user, passed as options, as the command
    reads the environment once for all its runs. `folder`: where it runs."""

    def __init__(self, environment: Mapping[str, str], folder: Path = ROOT) -> None:
        self._who = [part for name, value in environment.items()
                     for part in (f'--{name.lower().replace("_", "-")}', value)]
        clean = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
        self._process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', '-m', __name__], cwd=folder, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**clean, 'PYTHONPATH': str(ROOT)})

    def run(self, words: Sequence[str]) -> tuple[int, str, str]:
        """(exit code, standard output, standard error)."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps([*self._who, *words]), file=self._process.stdin, flush=True)
        code, said, complained = json.loads(self._process.stdout.readline())
        return code, said, complained

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def document(said: str) -> Any:
    """The JSON in what a command printed; one that waits prints events before it."""
    return json.loads(said[min(place for place in (said.find('{\n'), said.find('[\n'), said.find('[]'), said.find('{}'))
                               if place >= 0):])


def main() -> None:
    from openstackclient import shell
    answers = sys.stdout
    for line in sys.stdin:
        said, complained = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            code = shell.main(json.loads(line))
        print(json.dumps([code, said.getvalue(), complained.getvalue()]), file=answers, flush=True)


if __name__ == '__main__':
    main()
