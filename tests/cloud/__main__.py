"""Lives the lives of tests/cloud/lives.yaml in a cloud and in the simulator, and prints every difference.

    python -m tests.cloud [CLOUD] [--only PATTERN]... [--at-once N] [--against CLOUD] [--record]

CLOUD is a name in clouds.yaml; without `--against` its diaries are held beside those of the simulator. One life at a
time (the default) counts objects too. `--record` writes down in tests/cloud/lived.yaml what went well in CLOUD. Exit
code: 0 when every life went well and nothing differs.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from pathlib import Path

import yaml

from tests.cloud import clouds, session
from tests.cloud.living import Diary
from tests.cloud.table import LIVED, lived, lives


def main(arguments: list[str]) -> int:
    said = options(arguments)
    wanted = [name for name in lives() if any(fnmatch.fnmatch(name, each) for each in said.only or ['*'])]
    one = diaries(said.cloud, wanted, said.at_once)
    wrong = [name for name, diary in one.items() if diary.failure]
    if said.record:
        record(one)
    if said.against == said.cloud:
        return len(wrong) > 0
    other = diaries(said.against, wanted, said.at_once)
    wrong += [name for name, diary in other.items() if diary.failure]
    found = [(name, each) for name in wanted if name in one and name in other
             for each in differences(one[name], other[name])]
    print(f'\n{len(found)} differences ({said.cloud} | {said.against})')
    for name, each in found:
        print(f'{name}: {each}')
    return len(wrong) + len(found) > 0


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m tests.cloud', description='Lives of resource types in a cloud.')
    parser.add_argument('cloud', nargs='?', default=clouds.SIMULATED)
    parser.add_argument('--only', action='append', metavar='PATTERN', help='names of lives, as a shell pattern')
    parser.add_argument('--at-once', type=int, default=1, metavar='N', help='lives; with 1, objects are counted')
    parser.add_argument('--against', default=clouds.SIMULATED, metavar='CLOUD', help='what to compare with')
    parser.add_argument('--record', action='store_true', help='for docs/developers/resource-types.rst')
    return parser.parse_args(arguments)


def record(diaries: dict[str, Diary]) -> None:
    """What was not lived this time stays as it was, unless there is no such life any more."""
    known = {name: digest for name, digest in lived().items() if name in lives()}
    for name, diary in diaries.items():
        known.pop(name, None)
        if diary.failure is None:
            known[name] = lives()[name].digest
    LIVED.write_text(yaml.safe_dump(known))


def diaries(cloud: str, wanted: list[str], at_once: int) -> dict[str, Diary]:
    """What became of the lives that can be lived in the cloud; prints one line for each."""
    found = {}
    with (tempfile.TemporaryDirectory() as folder, session.opened(cloud, Path(folder)) as opened,
          session.lived(opened, wanted, at_once) as futures):
        for name, future in futures.items():
            if isinstance(future, str):
                print(f'{name}: not lived: {future}')
                continue
            found[name] = future.result()
            print(f'{name}: {found[name].failure or "well: " + ", ".join(found[name].steps)}', flush=True)
        print(f'{cloud}: {len(found)} lives, {sum(not each.failure for each in found.values())} went well', flush=True)
    return found


def differences(one: Diary, other: Diary) -> list[str]:
    """Steps that ended otherwise, attributes of another kind or missing, other numbers of objects. A value that is
    null in one of them tells nothing, and neither does what is inside a list or map that is empty in one."""
    found = []
    for what in ('steps', 'objects'):
        left, right = getattr(one, what), getattr(other, what)
        found += [f'{what[:-1]} {each}: {left.get(each, "-")} | {right.get(each, "-")}'
                  for each in {**left, **right} if left.get(each) != right.get(each)]
    left, right = one.attributes, other.attributes
    for place in sorted({**left, **right}):
        kinds = left.get(place, '-'), right.get(place, '-')
        above = place.rpartition('.')[0].removesuffix('[]')
        inside_of_nothing = bool(above) and (above not in left or above not in right or place.endswith('[]'))
        if kinds[0] != kinds[1] and 'null' not in kinds and not inside_of_nothing:
            found.append(f'attribute {place[1:]}: {kinds[0]} | {kinds[1]}')
    return found


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
