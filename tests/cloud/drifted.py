"""Objects of all types that differ, in a cloud, from what their stacks have applied: is it found, and is it put right?

    python -m tests.cloud.drifted [CLOUD] [--only PATTERN]... [--at-once N] [--record]

CLOUD is a name in clouds.yaml; the simulator if it is not given. The lives are those of tests/cloud/lives.yaml, each in
up to three ways: the object is changed as the life says (`drift`), released and imported by a definition with the
values of its `update`, and deleted. `--record` writes what was found in CLOUD to tests/cloud/drifted.yaml, for
docs/users/drift-types.rst. Exit code: 0 if all was found and put right, and nothing else.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.cloud import clouds, session
from tests.cloud.living import Diary, Living
from tests.cloud.table import IT, Life, lives
from tests.plugins.drifting import unseen
from tests.plugins.importing import not_imported

FILE = Path(__file__).with_name('drifted.yaml')
ALL = '*'


@dataclass
class Drifted:
    """Of one life. `found`: properties whose difference was found and put right; `gone`: whether the loss of the object
    was; `wrong`: what went wrong."""

    found: set[str] = field(default_factory=set)
    gone: bool = False
    wrong: list[str] = field(default_factory=list)


class Drifting(Living):
    """The stack of one life whose object is changed."""

    def report(self) -> dict[str, Any]:
        """What differs: resource -> its properties, or 'gone'."""
        found = self._deployment.ask('POST', f'{self._stack}/drift', 200)['drift']
        return {'/'.join(each['path']): 'gone' if each['finding'] == 'gone' else
                {entry['path'][0] for entry in each['properties']} for each in found['resources']}

    def changed(self) -> set[str]:
        """By its own API. The property whose difference was found: a field of an API may have another name."""
        if self._life.update:
            self.update()
        before, now = self.moved()
        found = self.report()
        assert set(found) == {IT} and len(found[IT]) == 1, f'changed, and found: {found}'
        self._put_right()
        assert now() == before, 'it was not put right'
        return set(found[IT])

    def imported(self) -> set[str]:
        """By another definition than that which it was made with."""
        physical_id = self._it()['physical_resource_id']
        template = self._template()
        for step in ('Retain', None):
            template['resources'][IT]['deletion_policy'] = step
            if step is None:
                del template['resources'][IT]
            status = self._deployment.update(self._stack, template)
            assert status == 'UPDATE_COMPLETE', f'release: {self._deployment.why(self._stack)}'
        self._changes = (self._life.update,)
        self._expect('import', self._deployment.update(self._stack, self._template(), environment={
            'resource_registry': {'resources': {IT: {'import': {'id': physical_id}}}}}), 'UPDATE_COMPLETE')
        listed = unseen().get(self._life.type, {})
        expected = {name for name, value in (self._life.update or {}).items() if value is not None} - set(listed)
        found = self.report()
        assert found == ({IT: expected} if expected else {}), f'imported with {expected}, and found: {found}'
        self._put_right()
        return expected

    def lost(self) -> None:
        self._take_away()
        found = self.report()
        assert found == {IT: 'gone'}, f'deleted, and found: {found}'
        self._put_right()
        assert self._is_there(self._place()), 'it was not made again'

    def _put_right(self) -> None:
        self._expect('converge', self._deployment.update(self._stack, self._template(), converge=True),
                     'UPDATE_COMPLETE')
        found = self.report()
        assert not found, f'put right, and found: {found}'


def of(opened: session.Session, life: Life) -> Drifted:
    """Tries one life. Never raises."""
    result = Drifted()

    def new() -> Drifting:
        return Drifting(opened.cloud, opened.heatlite, life, opened.names, Diary())

    for way in _ways(life):
        drifting = new()
        try:
            drifting.create()
            fresh = drifting.report()
            assert not fresh, f'just created, and found: {fresh}'
            way(drifting, result)
            drifting.delete()
        except Exception as error:
            result.wrong.append(str(error) or repr(error))
            try:
                drifting.give_up()
            except Exception as worse:
                result.wrong.append(f'and then: {worse}')
    return result


def _ways(life: Life) -> Iterator[Callable[[Drifting, Drifted], None]]:
    if life.drift:
        yield lambda drifting, result: result.found.update(drifting.changed())
    if life.update and life.type not in not_imported() and ALL not in unseen().get(life.type, ()):
        yield lambda drifting, result: result.found.update(drifting.imported())
    if life.at and life.gone and life.gone != 'unseen':
        def lose(drifting: Drifting, result: Drifted) -> None:
            drifting.lost()
            result.gone = True
        yield lose


def recorded() -> dict[str, dict[str, Any]]:
    """Type -> {properties: those whose difference was found in a real cloud, gone: whether the loss was}."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text())
    return found


def record(results: dict[str, Drifted]) -> None:
    """What was not tried this time stays as it was."""
    known = recorded() if FILE.exists() else {}
    tried: dict[str, Drifted] = {}
    for name, result in results.items():
        of_type = tried.setdefault(lives()[name].type, Drifted())
        of_type.found |= result.found
        of_type.gone |= result.gone
    known |= {name: {'properties': sorted(each.found), 'gone': each.gone} for name, each in tried.items()
              if each.found or each.gone}
    FILE.write_text('# Written by `python -m tests.cloud.drifted CLOUD --record`.\n' + yaml.safe_dump(known, width=116))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.cloud.drifted', description=str(__doc__).split('\n')[0])
    parser.add_argument('cloud', nargs='?', default=clouds.SIMULATED)
    parser.add_argument('--only', action='append', metavar='PATTERN', help='names of lives, as a shell pattern')
    parser.add_argument('--at-once', type=int, default=4, metavar='N', help='lives')
    parser.add_argument('--record', action='store_true', help='for docs/users/drift-types.rst')
    said = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, session.opened(said.cloud, Path(folder)) as opened, \
            ThreadPoolExecutor(said.at_once) as pool:
        wanted = [life for name, life in lives().items() if not life.refused and life.wants <= opened.cloud.abilities
                  and any(fnmatch.fnmatch(name, each) for each in said.only or ['*']) and any(_ways(life))]
        results: dict[str, Drifted] = {}
        for life, result in zip(wanted, pool.map(lambda life: of(opened, life), wanted), strict=True):
            results[life.name] = result
            print(f'{life.name}: {", ".join(sorted(result.found)) or "no properties"}{", gone" * result.gone}'
                  f'{"".join(f"{chr(10)}    {each}" for each in result.wrong)}', flush=True)
    types = {lives()[name].type for name, each in results.items() if each.found or each.gone}
    wrong = [name for name, each in results.items() if each.wrong]
    differing = sum(len(each.found) for each in results.values())
    lost = sum(each.gone for each in results.values())
    print(f'{len(results)} lives of {len(types)} types: {differing} properties that differed and {lost} losses found '
          f'and put right; {len(wrong)} lives went wrong{": " * bool(wrong)}{", ".join(wrong)}')
    if said.record:
        record(results)
    return len(wrong) > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
