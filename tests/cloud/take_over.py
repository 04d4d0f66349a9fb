"""Takes over a real Heat, step by step, and says what differs.

    python -m tests.cloud.take_over CLOUD URL FOLDER create     every life of lives.yaml that Heat can lead
    python -m tests.cloud.take_over CLOUD URL FOLDER before     every answer of Heat about them, kept in FOLDER
    ... heatlite-manage import-heat
    python -m tests.cloud.take_over CLOUD URL FOLDER begin      what Heat leaves under way (pending.yaml)
    ... kill Heat; heatlite-manage import-heat --switch; start heatlite at the addresses of Heat
    python -m tests.cloud.take_over CLOUD URL FOLDER after      every answer of heatlite, beside those of Heat
    python -m tests.cloud.take_over CLOUD URL FOLDER end        signals to where Heat said; all work ends; deleted
    python -m tests.cloud.take_over CLOUD URL FOLDER same       an update with the same template
    python -m tests.cloud.take_over CLOUD URL FOLDER changed    the update of each life: in place, with the same id
    python -m tests.cloud.take_over CLOUD URL FOLDER delete     nothing may be left in the cloud

CLOUD is a name in clouds.yaml, URL that of the REST API without the project, such as http://127.0.0.1:8104/v1. FOLDER
keeps what one step tells the next. Exit code: 0 when a step found nothing wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.cloud import answers, clouds, deployment, pending
from tests.cloud.living import Diary, Living
from tests.cloud.table import IT, filled, lives

AT_ONCE = 4
KEPT: list[Any] = []                    # until the process ends
PLACE = re.compile(r'\[[0-9]+\]')
ANOTHER_ID = {'OS::Cinder::VolumeAttachment'}          # an update in place makes another attachment
ENDED = ('IN_PROGRESS', 'SUSPEND_COMPLETE', 'CREATE_FAILED')


class Exchange:
    """The stacks of one take-over: life -> {stack, template, names, error}."""

    def __init__(self, cloud: clouds.Cloud, url: str, folder: Path) -> None:
        self._cloud = cloud
        self._file = folder / 'stacks.json'
        self._begun = folder / 'begun.json'
        self._folder = folder
        project = cloud._session.get_project_id()
        self._service = deployment.Deployment(f'{url.rstrip("/")}/{project}', cloud.token())
        self.stacks: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._lock = threading.Lock()

    # --- steps ------------------------------------------------------------------------------------------

    def create(self) -> int:
        before = {kind: sorted(ids) for kind, ids in self._cloud.listing().items()}
        KEPT.append(self._cloud.furnished())            # never taken away: the stacks refer to it in later steps
        names = KEPT[0].__enter__()
        (self._folder / 'listing.json').write_text(json.dumps(before))
        wanted = [life for life in lives().values() if not life.refused and life.wants <= self._cloud.abilities]

        def make(life: Any) -> str:
            living = Living(self._cloud, self._service, life, names, Diary())
            entry: dict[str, Any] = {'template': living._template(), 'names': living._names}
            try:
                living.create()
            except Exception as error:
                entry['error'] = str(error)
            with self._lock:
                self.stacks[life.name] = {**entry, 'stack': living._stack}
                self._file.write_text(json.dumps(self.stacks))
            return str(entry.get('error', ''))

        return self._each('created', wanted, lambda life: life.name, make)

    def before(self) -> int:
        found = self._about()
        (self._folder / 'answers.json').write_text(json.dumps(found))
        print(f'{sum(map(len, found.values()))} answers about {len(found)} stacks')
        return 0

    def begin(self) -> int:
        """Keeps stack and address of each entry of pending.yaml. Heat has two minutes left when it returns."""
        entries = [each for each in pending.pending().values() if {*each.needs} <= self._cloud.abilities]
        names = next(iter(self.stacks.values()))['names']
        begun: dict[str, Any] = {}

        def make(entry: pending.Pending) -> str:
            stack = pending.begin(self._service, entry, clouds.own_names(names)['unique'], names)
            begun[entry.name] = {'stack': stack, 'address': None}
            pending.ask(self._service, entry, stack, names)
            begun[entry.name]['address'] = pending.address(self._service, entry, stack)
            return ''

        wrong = self._each('begun', [each for each in entries if each.signal is not None], _name, make)
        wrong += self._each('begun', [each for each in entries if each.signal is None], _name, make)
        self._begun.write_text(json.dumps(begun))
        return wrong

    def end(self) -> int:
        begun, entries = json.loads(self._begun.read_text()), pending.pending()

        def finish(name: str) -> str:
            entry, stack = entries[name], begun[name]['stack']
            if entry.signal is not None:
                pending.send(begun[name]['address'], entry.signal)
            pending.ended(self._service, entry, stack)
            status = self._service.delete(stack) if entry.asked != 'delete' else deployment.GONE
            return '' if status == deployment.GONE else f'{status} {self._service.why(stack)}'

        return self._each('arrived or ended, and deleted', sorted(begun), str, finish)

    def after(self) -> int:
        known, found = json.loads((self._folder / 'answers.json').read_text()), self._about()
        places: Counter[str] = Counter()
        equal = 0
        for life in known:
            for path in known[life]:
                differing = list(answers.differences(known[life][path], found[life].get(path)))
                equal += not differing
                places.update(f'{_kind(path)} {PLACE.sub("[]", place)}' for place, _one, _other in differing)
        print(f'{sum(map(len, known.values()))} answers, {equal} equal')
        for place, number in places.most_common():
            print(f'{number:6} {place}')
        return 0

    def same(self) -> int:
        def update(name: str) -> str:
            entry = self.stacks[name]
            if self._service.stack(entry['stack'])['stack_status'].endswith(ENDED):
                return ''
            plan = self._service.ask('PUT', f'{entry["stack"]}/preview', 200, {'template': entry['template']})
            changed = [kind for kind in ('added', 'deleted', 'replaced') if plan['resource_changes'][kind]]
            status = self._service.update(entry['stack'], entry['template'])
            return '' if status == 'UPDATE_COMPLETE' and not changed else f'{changed} {self._why(name)}'

        return self._each('unchanged', self._made(), str, update)

    def changed(self) -> int:
        def update(name: str) -> str:
            entry, life = self.stacks[name], lives()[name]
            before = self._service.resource(entry['stack'], IT)['physical_resource_id']
            status = self._service.update(entry['stack'], filled(life.template(life.update), entry['names']))
            after = self._service.resource(entry['stack'], IT)
            in_place = after['resource_status'] == 'UPDATE_COMPLETE' and (
                after['physical_resource_id'] == before or name in ANOTHER_ID)
            return '' if status == 'UPDATE_COMPLETE' and in_place else f'{status} {self._why(name)}'

        wanted = [name for name in self._made() if 'error' not in self.stacks[name] and lives()[name].update]
        return self._each('updated in place', wanted, str, update)

    def delete(self) -> int:
        def remove(name: str) -> str:
            status = self._service.delete(self.stacks[name]['stack'])
            return '' if status == deployment.GONE else f'{status} {self._why(name)}'

        wrong = self._each('deleted', self._made(), str, remove)
        self._cloud.clear_furniture(next(iter(self.stacks.values()))['names'])
        before, now = json.loads((self._folder / 'listing.json').read_text()), self._cloud.listing()
        kept = {kind for life in lives().values() for kind in life.leaves}
        left = {kind: sorted(ids - set(before[kind])) for kind, ids in now.items()
                if ids - set(before[kind]) and kind not in kept}
        print(f'{len(now)} kinds of objects listed; left in the cloud: {left or "nothing"}')
        return wrong + len(left)

    # --- parts ------------------------------------------------------------------------------------------

    def _made(self) -> list[str]:
        """Lives of which there is a stack: Heat refuses some templates."""
        return [name for name in sorted(self.stacks) if self.stacks[name]['stack']]

    def _about(self) -> dict[str, answers.Answers]:
        made = self._made()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(made, pool.map(
                lambda name: answers.about(self._service, self.stacks[name]['stack']), made), strict=True))

    def _why(self, name: str) -> str:
        return self._service.why(self.stacks[name]['stack'])

    def _each(self, word: str, wanted: list[Any], name: Callable[[Any], str], do: Callable[[Any], str]) -> int:
        """Prints what went wrong; returns how often."""
        def safely(each: Any) -> str:
            try:
                return do(each)
            except Exception as error:
                return str(error) or repr(error)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = [(name(each), said) for each, said in zip(wanted, pool.map(safely, wanted), strict=True) if said]
        for each, said in wrong:
            print(f'{each}: {said[:500]}')
        print(f'{len(wanted) - len(wrong)} of {len(wanted)} {word}')
        return len(wrong)


def _name(entry: pending.Pending) -> str:
    return entry.name


def _kind(path: str) -> str:
    """The path without the names of stacks, resources and events."""
    return '/'.join(_general(path.split('/')[4:]))


def _general(parts: list[str]) -> Iterator[str]:
    for number, part in enumerate(parts):
        yield '*' if number and parts[number - 1] in ('resources', 'events', 'outputs') else part


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.cloud.take_over', description=str(__doc__).split('\n')[0])
    parser.add_argument('cloud')
    parser.add_argument('url')
    parser.add_argument('folder', type=Path)
    parser.add_argument('step', choices=('create', 'before', 'begin', 'after', 'end', 'same', 'changed', 'delete'))
    said = parser.parse_args(arguments)
    cloud = clouds.Cloud(said.cloud, os.environ.get('OS_CLIENT_CONFIG_FILE'))
    wrong: int = getattr(Exchange(cloud, said.url, said.folder), said.step)()
    return wrong > 0


if __name__ == '__main__':
    sys.stdout.flush()
    os._exit(main(sys.argv[1:]))            # the server of the images of `create` may still listen
