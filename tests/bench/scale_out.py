"""Engines that wait for a slow cloud: `python -m tests.bench mariadb --scenarios scale_out`, about five minutes.

Each call of a simulated cloud takes 100 ms, and an engine drives few stacks at a time, so that the processors of one
machine are no limit. Twice as many engines then make twice as many stacks in a second, unless they wait for each other.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench import deployments
from tests.bench.scenarios import Figures, many, template
from tests.system.identities import Simulated

ENGINES = (1, 2, 4)
CALL_SECONDS = 0.1                      # what each call of the cloud takes
SLOTS = 4                               # stacks that an engine drives at a time
STACKS = 100                            # for each engine
CLIENTS = 32


def scale_out(backend: str, smaller: int) -> Figures:
    """Stacks a second, each of five containers that are made one after the other; and what part that is of the speed of
    one engine, times the engines."""
    figures: Figures = {}
    if backend == deployments.EMBEDDED:                     # one process, which has no engine beside it
        return figures
    database = None if backend == deployments.PRODUCTION else backend
    wanted = template({f'r{number}': _container(number) for number in range(5)})
    for engines in ENGINES:
        with tempfile.TemporaryDirectory() as folder:
            found = deployments.Member(Path(folder), engines, partial(Simulated, latency=CALL_SECONDS),
                                       database=database, engine__max_stacks=SLOTS)
            try:
                speed = many(found, STACKS * engines // smaller, CLIENTS, wanted)['stacks_per_second']
            finally:
                found.stop()
        figures[f'stacks_per_second_{engines}'] = speed
        if engines > 1:
            figures[f'part_of_linear_{engines}'] = speed / (engines * figures['stacks_per_second_1'])
    return figures


def _container(number: int) -> dict[str, Any]:
    made: dict[str, Any] = {'type': 'OS::Swift::Container'}
    return {**made, 'depends_on': f'r{number - 1}'} if number else made
