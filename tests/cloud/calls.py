"""The requests that reached the services of a cloud on this machine, as their logs have them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

from tests.cloud.clouds import SIMULATED, Cloud

LINE = re.compile(r'^(POST|PUT|PATCH|DELETE) (\S+) -> (\d+) ', re.MULTILINE)
BASE = re.compile(r'^/v[0-9.]+(/[0-9a-f]{32}|/AUTH_\w+)?(?=/)')


class Calls:
    """`folder`: has a log for each service, with a line for each request; None: nothing is known of them."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read: Mapping[Path, int] = {}

    @classmethod
    def of(cls, cloud: Cloud) -> Calls:
        """CLOUD_DIR names the folder of a cloud on this machine."""
        folder = Path(os.environ.get('CLOUD_DIR', '/')) / 'log'
        known = 'CLOUD_DIR' in os.environ and cloud.name != SIMULATED and folder.is_dir()
        return cls(folder if known else None)

    def __bool__(self) -> bool:
        return self._folder is not None

    def _logs(self) -> list[Path]:
        return sorted(self._folder.glob('*.log')) if self._folder is not None else []

    def begin(self) -> None:
        self._read = {log: log.stat().st_size for log in self._logs()}

    def about(self, path: str) -> list[tuple[str, str]]:
        """(method, path) of every change of the object at `path` that its service has carried out since `begin`. Others
        work in the cloud at the same time, so nothing is known without a path."""
        found = []
        for log in self._logs() if path else ():
            with log.open(errors='replace') as stream:
                stream.seek(self._read.get(log, 0))
                found += [(method, asked) for method, asked, status in LINE.findall(stream.read())
                          if int(status) < 400 and _place(asked) == _place(path)]
        return found


def _place(path: str) -> str:
    """Below the version and the project."""
    return BASE.sub('', unquote(urlparse(path).path))
