"""Changes of single properties of our own types, for the tests beside and for `python -m tests.plugins.changing`.

`HEATLITE_TEST_CRASH=all` (or a number) tries each change also beside a replacement of what the resource depends on,
and kills the engine at the points of both; without it each property is changed once, and some types are killed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import yaml

from heatlite.engine.types import registry
from heatlite.testing import changes, crash, report
from tests.plugins.own_types import HERE, own_types

CRASH = os.environ.get('HEATLITE_TEST_CRASH')
SAMPLE = {'OS::Cinder::Volume': 13, 'OS::Cinder::VolumeAttachment': 17, 'OS::Nova::HostAggregate': 11,
          'OS::Neutron::Trunk': 19, 'OS::Zun::Container': 17, 'OS::Heat::Value': 5}     # type -> every which point
UNTRIED = HERE / 'untried_changes.yaml'


def changing(kinds) -> list[str]:
    """Names of the types with a property that may be updated."""
    return sorted(name for name, kind in kinds.items()
                  if any(getattr(schema, 'update_allowed', False) for schema in kind.properties_schema.values()))


def untried() -> dict[str, dict[str, str]]:
    """Type -> property -> why its change is not tried; '*' stands for all properties."""
    found: dict[str, dict[str, str]] = yaml.safe_load(UNTRIED.read_text())
    return found


def trial(found, cloud_of, name: str) -> changes.Trial | None:
    """None for a type without an example."""
    example = found.example(name)
    if example is None:
        return None
    every = crash.every(CRASH) if CRASH else SAMPLE.get(name, crash.NONE)
    return changes.Trial(name, found.types[name], example[1], cloud_of(name), found.register, every, example[0].named,
                         beside=CRASH is not None, by_plans=True)


def main(names: list[str]) -> int:
    """Of all types, or those whose names contain one of `names`: what did not pass, and the figures of each type."""
    registry.create()
    found = own_types()
    results: list[report.CheckResult] = []
    lives = points = kills = 0
    with found.clouds() as cloud_of:
        for name in changing(found.types):
            made = trial(found, cloud_of, name) if not names or any(part in name for part in names) else None
            if made is None:
                continue
            begun = time.monotonic()
            results += list(shown(made))
            made.finish()
            lives, points, kills = lives + made.lives, points + made.points, kills + made.kills
            print(f'{name}: {made.lives} lives, {made.points} points, {made.kills} kills, '
                  f'{time.monotonic() - begun:.1f} s', flush=True)
    print(f'{lives} lives, {points} points, {kills} kills')
    print(report.sums(results))
    return int(any(each.outcome == report.FAILED for each in results))


def shown(made: changes.Trial) -> Iterator[report.CheckResult]:
    for result in made.run():
        if result.outcome != report.PASSED and result.reason.partition(': ')[2] != changes.NOT_ASKED:
            print(f'{result.outcome}: {result}', flush=True)
        yield result


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
