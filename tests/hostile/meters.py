"""Peak memory and CPU of processes, and latencies of a neighbour."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.tenants import Tenant
from tests.system.processes import ROOT


def children(pid: int) -> set[int]:
    """A process and everything it started."""
    found = {pid}
    try:
        tasks = Path(f'/proc/{pid}/task').iterdir()
        for task in tasks:
            for child in (task / 'children').read_text().split():
                found |= children(int(child))
    except OSError:
        pass
    return found


def resident(pid: int, kind: str = 'VmRSS') -> int:
    """Bytes; `VmHWM` for the peak since `reset_peak`. 0 for a process that has ended."""
    try:
        for line in Path(f'/proc/{pid}/status').read_text().splitlines():
            if line.startswith(f'{kind}:'):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def reset_peak(pid: int) -> None:
    with contextlib.suppress(OSError):
        Path(f'/proc/{pid}/clear_refs').write_text('5')


def consumed(pid: int) -> float:
    """Seconds of CPU a process has had; 0.0 for one that has ended."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Processor:
    """CPU consumed by several processes since `reset`. `pids`: of programs; their children count as well."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = list(pids)
        self.reset()

    def _all(self) -> dict[int, float]:
        return {pid: consumed(pid) for pid in set().union(*(children(pid) for pid in self._pids))}

    def reset(self) -> None:
        self._before = self._all()

    def seconds(self) -> float:
        """Those of the process that consumed most: what an answer takes where nothing else runs."""
        return max((now - self._before.get(pid, 0.0) for pid, now in self._all().items()), default=0.0)


class Memory:
    """Growth of several processes above what they had at first. `pids`: of programs; their children count as well."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = list(pids)
        self._idle = {pid: resident(pid) for pid in self._all()}

    def _all(self) -> set[int]:
        return set().union(*(children(pid) for pid in self._pids))

    def reset(self) -> None:
        for pid in self._all():
            reset_peak(pid)

    def growth(self) -> float:
        """MiB by which the process that grew most has exceeded its idle size since `reset`."""
        typical = max(self._idle.values(), default=0)       # for one that was started meanwhile
        return max((resident(pid, 'VmHWM') - self._idle.get(pid, typical) for pid in self._all()), default=0) / 2 ** 20


@dataclass(frozen=True)
class Seen:
    """One request of the neighbour. `at`: seconds of the system's monotonic clock when it was sent."""

    at: float
    kind: str
    status: int
    seconds: float


class Neighbour:
    """Another tenant's small requests, sent by a process of its own as fast as answers come, with short pauses."""

    def __init__(self, tenant: Tenant) -> None:
        self.seen: list[Seen] = []
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'tests.hostile.neighbour', tenant.url,
             *(f'{name}={value}' for name, value in tenant.headers.items())],
            cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            at, kind, status, seconds = line.split()
            self.seen.append(Seen(float(at), kind, int(status), float(seconds)))

    def between(self, began: float, ended: float) -> list[Seen]:
        """Requests of which any part fell into the interval."""
        return [each for each in list(self.seen) if each.at <= ended and each.at + each.seconds >= began]

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(5)


def percentile(values: Iterable[float], part: float) -> float:
    """The smallest value that is not below `part` of all (nearest rank); 0.0 without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0
