"""What the logs of a run complain about."""

from __future__ import annotations

import re
from pathlib import Path

ERROR = re.compile(r' ERROR (\S+) \[[^]]*\] (.*)')
VARYING = re.compile(r'[0-9a-f]{8}-[-0-9a-f]{27}|\d+')
OF_STEM = 6                     # characters of a log's name that say what kind of process it is of


def errors(folder: Path, most: int, by_process: bool = False) -> dict[str, int]:
    """How often each kind of error is in the logs: the line before a traceback, without what differs.

    `most`: characters of a text; `by_process`: the kinds begin with that of the process."""
    found: dict[str, int] = {}
    for log in folder.glob('*.log'):
        for line in log.read_text(errors='replace').splitlines():
            match = ERROR.search(line)
            if match and not match[1].startswith('oslo'):
                begin = f'{log.stem[:OF_STEM]} ' if by_process else ''
                kind = f'{begin}{match[1]}: {VARYING.sub("N", match[2])[:most]}'
                found[kind] = found.get(kind, 0) + 1
    return found
