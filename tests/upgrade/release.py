"""`python -m tests.upgrade.release NAME`: writes the fixtures of a release, once, when it is tagged."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.system.processes import ROOT
from tests.upgrade import recording, state

RECORDED = 'tests/db'               # the tests of all modules of statements


def statements() -> state.State:
    """Records the statements of the tests above on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith('HEATLITE_TEST_')}
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-x', '-n', '2', '-p', 'tests.upgrade.recording', RECORDED],
            cwd=ROOT, env={**environment, 'HEATLITE_RECORDING': folder})
        if done.returncode:
            raise SystemExit('The tests whose statements are recorded failed.')
        return recording.recorded(text for file in Path(folder).iterdir() for text in json.loads(file.read_text()))


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.upgrade.release')
    parser.add_argument('name', help='such as 0.1.0')
    folder = state.RELEASES / parser.parse_args().name
    if folder.exists():
        parser.error(f'{folder.name} has its fixtures; those of a release are never written again')
    found = {**state.current(), 'statements': statements()}
    folder.mkdir(parents=True)
    for name, part in found.items():
        (folder / f'{name}.json').write_text(json.dumps(part, indent=1, sort_keys=True) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
