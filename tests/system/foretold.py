"""As `tests.simulation.foretold`, on the production profile: over the API, with two engines.

    python -m tests.system.foretold [--first SEED] [--minutes MINUTES] [--at-once STACKS]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.simulation.foretold import Grown, Tree, compare
from tests.system.production import Person, Production


def live(cloud: Production, person: Person, seed: int, updates: int = 3) -> tuple[int, int]:
    """As `compare`, for all updates of one stack."""
    rng = random.Random(seed)
    grown = Grown(rng, thing='OS::Heat::TestResource', fixed='update_replace_value')
    entries = unknown = 0
    wanted = grown.update()
    path = cloud.create(person, f's{seed}', **wanted)
    stack_id = path.rpartition('/')[2]
    status = cloud.finished(person, path)
    for number in range(updates):
        if not status.endswith('COMPLETE'):
            break
        former, wanted = wanted, grown.next(wanted)
        before = Tree(cloud.rows, stack_id)
        preview = cloud.ask(person, 'PUT', f'{path}/preview?show_nested=true', wanted)
        answer = cloud.ask(person, 'PUT', path, wanted)
        if preview.status != 200 or answer.status != 202:
            assert (preview.status, _message(preview)) == (answer.status, _message(answer)), f'seed {seed}'
            assert preview.status < 500, preview.text
            wanted = former
            continue
        status = cloud.finished(person, path)
        try:
            entries_now, unknown_now = compare(preview.json['resource_changes'], before, Tree(cloud.rows, stack_id),
                                               status.endswith('FAILED'))
        except AssertionError as error:
            raise AssertionError(f'seed {seed}, update {number}: {status}\n{error}') from None
        entries, unknown = entries + entries_now, unknown + unknown_now
    assert cloud.ask(person, 'DELETE', path).status == 204
    return entries, unknown


def _message(answer: Any) -> Any:
    return answer.json['error']['message'] if answer.status >= 400 else None


def run(cloud: Production, first: int, until: float, most: int, at_once: int) -> tuple[int, int, int, list[str]]:
    """(lives, entries, unknown ones, failures), of at most `most` lives begun before `until`."""
    person = cloud.people['alpha']
    seeds = iter(range(first, first + most))        # shared: each client takes the next one
    passed: list[tuple[int, int]] = []
    failures: list[str] = []

    def client() -> None:
        while time.monotonic() <= until and (seed := next(seeds, None)) is not None:
            try:
                passed.append(live(cloud, person, seed))
            except Exception as error:
                failures.append(f'{seed}: {type(error).__name__}: {error}')
                print(failures[-1], flush=True)

    with ThreadPoolExecutor(at_once) as pool:
        for each in [pool.submit(client) for _ in range(at_once)]:
            each.result()
    return len(passed), sum(entries for entries, _ in passed), sum(unknown for _, unknown in passed), failures


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.system.foretold')
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument('--at-once', type=int, default=4)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Production(folder) as cloud:
        lives, entries, unknown, failures = run(
            cloud, chosen.first, time.monotonic() + 60 * chosen.minutes, 1_000_000, chosen.at_once)
    print(f'{lives} passed, {len(failures)} failed; {entries} entries, {unknown} of them unknown')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
