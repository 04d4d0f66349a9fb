"""The profile on which the programs work, and the programs. All tests are skipped but under `tools/foreign`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system import production
from tests.system.production import Person, Production

VENVS = os.environ.get('HEATLITE_FOREIGN_VENVS')


@pytest.fixture(scope='session')
def venvs() -> Path:
    """The folder with the virtual environments."""
    if not VENVS:
        pytest.skip('run by tools/foreign')
    if not production.is_possible():
        pytest.skip(production.REASON)
    return Path(VENVS)


@pytest.fixture(scope='module')
def cloud(venvs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Production]:
    with Production(tmp_path_factory.mktemp('cloud'), database=os.environ.get('HEATLITE_FOREIGN_DATABASE'),
                    server=os.environ.get('HEATLITE_FOREIGN_SERVER', 'heatlite')) as made:
        yield made
        logs = [log for log in made.folder.glob('*.log') if 'Traceback' in log.read_text()]
        assert logs == []


@pytest.fixture(scope='module')
def member(cloud: Production) -> Person:
    return cloud.people['alpha']


def run(*command: object, code: int | None = 0, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, which must have the exit code `code`; None: any."""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=300, **options)   # type: ignore[call-overload]
    said = f'{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}'
    assert code is None or done.returncode == code, said
    return done
