"""Users: each has one stack at a time and keeps changing her mind. She does not give up when a request fails."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.system.chaos.history import READ, WRITE, History, Operation
from tests.system.processes import ask

# While faults last they may hit the same stack, or the servers that all requests need, again and again. What is stuck
# then is stuck afterwards, too.
INSIST = 240.0          # seconds of calm to repeat a request that fails for reasons of ours
SETTLE = 240.0          # seconds of calm after which an action that has not ended is stuck


@dataclass
class Wish:
    """What a stack shall consist of: plain things by name, and groups of things."""

    things: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)          # resources that make no things, as in the template

    def template(self) -> dict[str, Any]:
        found: dict[str, Any] = dict(self.more)
        for name, (properties, needs) in self.things.items():
            found[name] = {'type': 'Test::Ledger::Entry', 'properties': properties, 'depends_on': needs}
        for name, (count, properties) in self.groups.items():
            found[name] = {'type': 'OS::Heat::ResourceGroup', 'properties': {
                'count': count, 'resource_def': {'type': 'Test::Ledger::Entry', 'properties': properties}}}
        return {'heat_template_version': '2018-08-31', 'resources': found}

    def notes(self) -> list[str]:
        """Of all things that shall be there."""
        plain = [properties['note'] for properties, _ in self.things.values()]
        return sorted(plain + [properties['note'] for count, properties in self.groups.values()
                               for _ in range(count)])


def wish(randomness: random.Random, before: Wish | None = None) -> Wish:
    """A new one, or one that keeps some of what was: kept, changed, replaced, removed and added things."""
    made = Wish()
    for number in range(randomness.randrange(3, 9)):
        name = f't{number}'
        needs = []
        properties = {'note': f'n{randomness.randrange(1000)}', 'seconds': randomness.choice([0.0, 0.5, 1.5, 3.0])}
        if number and randomness.random() < 0.5:
            needs = [f't{randomness.randrange(number)}']
        if before is not None and name in before.things:
            old = before.things[name][0]
            match randomness.choice(['keep', 'keep', 'change', 'replace']):
                case 'keep':
                    properties = old
                case 'change':
                    properties = {**old, 'note': properties['note']}
        made.things[name] = (properties, needs)
    if randomness.random() < 0.4 or (before is not None and before.groups):
        note = f'g{randomness.randrange(1000)}'
        if before is not None and before.groups and randomness.random() < 0.5:
            note = before.groups['group'][1]['note']
        made.groups['group'] = (randomness.randrange(1, 6), {'note': note, 'seconds': 0.5})
    return made


DELETED = 'deleted'                     # what a register holds once the delete of its stack was accepted


def held(status: int, found: Any) -> str:
    """What an answer to GET says that a register holds."""
    if status == 404 or found['stack']['stack_status'].startswith('DELETE'):
        return DELETED
    return ''.join(found['stack']['tags'] or ())


@dataclass
class Answers:
    """How requests were answered: {(method, status): (times, longest in seconds)}. 599: not at all."""

    found: dict[tuple[str, int], tuple[int, float]] = field(default_factory=dict)

    def note(self, method: str, status: int, seconds: float) -> None:
        times, longest = self.found.get((method, status), (0, 0.0))
        self.found[method, status] = times + 1, max(longest, seconds)

    def add(self, other: Answers) -> None:
        for key, (times, longest) in other.found.items():
            before = self.found.get(key, (0, 0.0))
            self.found[key] = before[0] + times, max(before[1], longest)


Ask = Callable[[str, str, Any], tuple[int, Any]]
"""(method, URL, body) -> (status, JSON). Raises OSError without an answer."""

DEFECTS = (401, 500)                    # never the answer to a good token and a good request


class Refused(Exception):
    """An answer nobody could expect."""


class Calm:
    """Since somebody began to wait, and the faults have been over."""

    def __init__(self, over: threading.Event) -> None:
        self._over = over
        self._since: float | None = None

    def lasted(self, seconds: float) -> bool:
        if not self._over.is_set():
            return False
        if self._since is None:
            self._since = time.monotonic()
        return time.monotonic() > self._since + seconds


class User(threading.Thread):
    """Sends each request to any of the APIs. Every definition has a tag of its own: an answer without the tag that was
    accepted last is older than it may be."""

    def __init__(self, number: int, seed: int, urls: Sequence[str], over: threading.Event,
                 history: History | None = None, ask: Ask = ask) -> None:
        """`urls`: of the APIs; `over`: no more new wishes; `history`: gets what is written and read, if any."""
        super().__init__(name=f'user{number}', daemon=True)
        self._ask = ask
        self._dice = random.Random(f'{seed}/{number}')
        self._urls = urls
        self._tags = 0
        self._history = history if history is not None else History()
        self.answers = Answers()
        self.stale: list[str] = []              # answers older than what was accepted
        self._over = over
        self._number = number
        self._lives = 0
        self.wish: Wish | None = None
        self.stack_url = ''
        self.stack_name = ''
        self.requests: dict[str, int] = {'create': 0, 'update': 0, 'delete': 0}
        self.repeated = 0                       # requests that had to be sent again
        self.defects: list[str] = []            # answers 401 and 500
        self.problems: list[str] = []

    def run(self) -> None:
        try:
            self._over.wait(self._dice.random() * 3)
            while not self._over.is_set():
                self._live()
            self.settle()
        except Exception as error:
            self.problems.append(f'{self.name} {self.stack_url}: {type(error).__name__}: {error}')

    def _live(self) -> None:
        self._create()
        for _ in range(self._dice.randrange(5)):
            if self._over.is_set():
                return
            if self._dice.random() < 0.6:
                self.settle()
            else:
                self._over.wait(self._dice.random() * 4)
            if self._over.is_set():
                return
            self._update()
        if self._dice.random() < 0.5:
            self.settle()
        if not self._over.is_set():
            self.delete()

    def _wished(self, before: Wish | None = None) -> Wish:
        return wish(self._dice, before)

    # --- requests -----------------------------------------------------------------------------------------

    def _create(self) -> None:
        self._lives += 1
        self.wish = self._wished()
        self.stack_name = f'u{self._number}-{self._lives}'
        body = {'stack_name': self.stack_name, 'template': self.wish.template(), 'tags': self._next_tag()}
        began = time.monotonic()
        status, found = self._insist('POST', '/stacks', body, (201, 409))
        self.requests['create'] += 1
        if status == 201:
            self.stack_url = f"/stacks/{self.stack_name}/{found['stack']['id']}"
        else:                                   # an earlier try was accepted, and its answer lost
            found = self._insist('GET', f'/stacks?name={self.stack_name}', None, (200,))[1]['stacks']
            self.stack_url = f"/stacks/{self.stack_name}/{found[0]['id']}"
        self._note(WRITE, body['tags'], began)

    def _update(self) -> None:
        assert self.wish is not None
        self.wish = self._wished(self.wish)
        began = time.monotonic()
        self._insist('PUT', self.stack_url, {'template': self.wish.template(), 'tags': self._next_tag()}, (202,))
        self._note(WRITE, f't{self._tags}', began)
        self.requests['update'] += 1

    def delete(self) -> None:
        """Waits until it is gone."""
        began = time.monotonic()
        self._insist('DELETE', self.stack_url, None, (204, 404))
        self._note(WRITE, DELETED, began)
        self.requests['delete'] += 1
        self.wish = None
        if self.status() != 'DELETE_COMPLETE':
            raise Refused(f'after a delete the stack is {self.status()}: {self.reason()}')

    def _next_tag(self) -> str:
        self._tags += 1
        return f't{self._tags}'

    def _note(self, kind: str, value: str, began: float) -> None:
        self._history.add(self.stack_url, Operation(kind, value, began, time.monotonic()))

    def _insist(self, method: str, path: str, body: Any, wanted: tuple[int, ...]) -> tuple[int, Any]:
        calm = Calm(self._over)
        while True:
            url = self._dice.choice(self._urls) + path
            began = time.monotonic()
            try:
                status, found = self._ask(method, url, body)
            except OSError as error:
                status, found = 599, str(error)
            self.answers.note(method, status, time.monotonic() - began)
            if status in wanted:
                return status, found
            if status in DEFECTS:
                self.defects.append(f'{method} {url}: {status} {found}')
            elif status < 500:
                raise Refused(f'{method} {url}: {status} {found}')
            if calm.lasted(INSIST):
                raise Refused(f'{method} {url} failed for {INSIST:.0f} s, last with {status} {found}')
            self.repeated += 1
            time.sleep(0.3 + self._dice.random() / 2)

    # --- looking ------------------------------------------------------------------------------------------

    def show(self) -> dict[str, Any]:
        began = time.monotonic()
        status, found = self._insist('GET', f'{self.stack_url}?resolve_outputs=false', None, (200, 404))
        self._note(READ, held(status, found), began)
        if self.wish is not None and (status == 404 or found['stack']['tags'] != [f't{self._tags}']):
            self.stale.append(f'{self.stack_url}: {status}, {found.get("stack", {}).get("tags")}, not t{self._tags}')
        return found['stack'] if status == 200 else {'stack_status': 'DELETE_COMPLETE', 'stack_status_reason': ''}

    def status(self) -> str:
        """Once the action has ended. Raises Refused when it does not."""
        calm = Calm(self._over)
        while True:
            found: str = self.show()['stack_status']
            if not found.endswith('IN_PROGRESS'):
                return found
            if calm.lasted(SETTLE):
                raise Refused(f'stuck: {found} for {SETTLE:.0f} s')
            time.sleep(0.3)

    def reason(self) -> str:
        return str(self.show()['stack_status_reason'])

    def settle(self) -> None:
        """Raises Refused unless the stack is in the end what was wished."""
        found = self.status()
        if self.wish is not None and found not in ('CREATE_COMPLETE', 'UPDATE_COMPLETE'):
            raise Refused(f'{found}: {self.reason()}')

    def things(self) -> list[dict[str, Any]]:
        """All things of the stack, those in groups too, as the API lists them."""
        if self.wish is None:
            return []
        listed = self._insist('GET', f'{self.stack_url}/resources?nested_depth=3', None, (200,))[1]['resources']
        return [each for each in listed if each['resource_type'] == 'Test::Ledger::Entry']


class Reader(threading.Thread):
    """Reads the stacks of all users through all APIs, while they are written."""

    def __init__(self, number: int, seed: int, urls: Sequence[str], users: Sequence[User], over: threading.Event,
                 history: History, ask: Ask = ask) -> None:
        super().__init__(name=f'reader{number}', daemon=True)
        self._ask = ask
        self.defects: list[str] = []
        self._dice = random.Random(f'{seed}/reader{number}')
        self._urls, self._users, self._over, self._history = urls, users, over, history
        self.answers = Answers()

    def run(self) -> None:
        while not self._over.wait(self._dice.random() / 2):
            path = self._dice.choice(self._users).stack_url
            if path:
                self._read(path)

    def _read(self, path: str) -> None:
        began = time.monotonic()
        try:
            status, found = self._ask('GET', f'{self._dice.choice(self._urls)}{path}?resolve_outputs=false', None)
        except OSError:
            status, found = 599, None
        ended = time.monotonic()
        self.answers.note('GET', status, ended - began)
        if status in DEFECTS:
            self.defects.append(f'GET {path}: {status} {found}')
        if status in (200, 404):
            self._history.add(path, Operation(READ, held(status, found), began, ended))
