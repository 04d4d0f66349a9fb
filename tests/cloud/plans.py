"""Changes single properties by plans in a cloud, and prints where the plan and what was done differ.

    python -m tests.cloud.plans [CLOUD] [--only PATTERN]... [--at-once N] [--record]

CLOUD is a name in clouds.yaml, or the simulator. `--record` keeps what was found in CLOUD in tests/cloud/planned.yaml,
from which tests/cloud/plans_page.py writes a page. Exit code: 0 when nothing differs.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import as_completed
from pathlib import Path

import yaml

from heatlite.engine.types import registry
from tests.cloud import changes, clouds, session
from tests.cloud.planned import DIFFERS, UNTRIED, Outcome

FILE = Path(__file__).with_name('planned.yaml')
Found = dict[str, list[Outcome]]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.cloud.plans', description='Single properties by plans.')
    parser.add_argument('cloud', nargs='?', default=clouds.SIMULATED)
    parser.add_argument('--only', action='append', metavar='PATTERN', help='names of types, as a shell pattern')
    parser.add_argument('--at-once', type=int, default=4, metavar='N', help='types')
    parser.add_argument('--record', action='store_true', help='for the page')
    said = parser.parse_args(arguments)
    registry.create()
    wanted = [name for name in changes.subjects() if any(fnmatch.fnmatch(name, each) for each in said.only or ['*'])]
    began, found = time.monotonic(), {}
    with (tempfile.TemporaryDirectory() as folder, session.opened(said.cloud, Path(folder)) as opened,
          session.planned(opened, wanted, said.at_once) as futures):
        names = {future: name for name, future in futures.items()}
        for future in as_completed(names):
            name = names[future]
            found[name] = future.result()
            for each in found[name]:
                print(f'{name} {each.name}: {each.verdict} {each.said} {each.text}'.rstrip(), flush=True)
            if said.record:
                record({name: found[name]})
    print(f'{summary(found)}; {time.monotonic() - began:.0f} s')
    return int(any(each.verdict == DIFFERS for outcomes in found.values() for each in outcomes))


def summary(found: Found) -> str:
    verdicts = Counter(each.verdict for outcomes in found.values() for each in outcomes)
    types = sum(any(each.verdict != UNTRIED for each in outcomes) for outcomes in found.values())
    return f'{types} types: ' + ', '.join(f'{count} {verdict}' for verdict, count in verdicts.most_common())


def record(found: Found) -> None:
    """What was not tried this time stays as it was."""
    known = recorded() | found
    FILE.write_text(yaml.safe_dump({name: {each.name: ' | '.join([each.verdict, each.said, each.text]).strip(' |')
                                           for each in outcomes}
                                    for name, outcomes in known.items() if name in changes.subjects()}, width=200))


def recorded() -> Found:
    if not FILE.exists():
        return {}
    return {name: [Outcome(each, *f'{text} |  |  | '.split(' | ')[:3]) for each, text in entry.items()]
            for name, entry in yaml.safe_load(FILE.read_text()).items()}


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
