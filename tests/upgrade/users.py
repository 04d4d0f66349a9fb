"""Users that do what both releases can: change stacks by plans, and send signals that may not be lost."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from tests.system.chaos.users import INSIST, Calm, User, Wish

LISTENER = {'listener': {'type': 'Test::Ledger::Listener'}}


class Planner(User):
    """Plans each update, and applies the plan. None adds a group: builds from before the first release fail such an
    update when its engine is killed (tests/simulation/test_plans.py has the case)."""

    def _wished(self, before: Wish | None = None) -> Wish:
        found = super()._wished(before)
        if before is not None and not before.groups:
            found.groups.clear()
        return found

    def _update(self) -> None:
        assert self.wish is not None
        self.settle()
        self.wish, former, former_tags = self._wished(self.wish), self.wish, self._tags
        body = {'action': 'update', 'template': self.wish.template(), 'tags': self._next_tag()}
        status, found = self._insist('POST', f'{self.stack_url}/plans', body, (201, 409))
        if status == 201 and self._applied(found['plan']):
            self.requests['update'] += 1
        else:
            self.wish, self._tags = former, former_tags

    def _applied(self, plan: dict[str, Any]) -> bool:
        """Whether the plan was carried out. The next try after a lost answer is refused: its state says it."""
        status, _found = self._insist('POST', f"/plans/{plan['id']}/apply", {'digest': plan['digest']},
                                      (202, 400, 404, 409))
        if status == 202:
            return True
        status, found = self._insist('GET', f"/plans/{plan['id']}", None, (200, 404))
        return status == 200 and found['plan']['state'] == 'APPLIED'


class Signaller(User):
    """Sends numbered signals to a resource that counts them, between two updates."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._signals = 0
        self._accepted: set[str] = set()            # by the stack there is now
        self._unsure: set[str] = set()              # sent more than once, so they may be heard more than once
        self.requests['signal'] = 0
        self.lost: list[str] = []
        self.twice: list[str] = []

    def _create(self) -> None:
        self._accepted.clear()
        self._unsure.clear()
        super()._create()
        self.settle()                           # a listener whose create was cut off is replaced, with its metadata

    def _wished(self, before: Wish | None = None) -> Wish:
        found = super()._wished(before)
        found.more = LISTENER
        return found

    def _update(self) -> None:
        for _ in range(self._dice.randrange(1, 4)):
            self._signals += 1
            word, repeated = f's{self._signals}', self.repeated
            self._insist('POST', f'{self.stack_url}/resources/listener/signal', {'word': word}, (200,))
            self._accepted.add(word)
            if self.repeated != repeated:
                self._unsure.add(word)
            self.requests['signal'] += 1
        if self._dice.random() < 0.5:
            super()._update()

    def delete(self) -> None:
        if self.wish is not None and self._accepted:
            self._check()
        super().delete()

    def _check(self) -> None:
        """Waits until all signals are in the metadata of the listener."""
        self.settle()
        calm, until = Calm(self._over), time.monotonic() + INSIST
        while True:
            _status, found = self._insist('GET', f'{self.stack_url}/resources/listener/metadata', None, (200,))
            heard = Counter((each or {}).get('word') for each in found['metadata'].values())
            if heard.keys() >= self._accepted:
                break
            if calm.lasted(INSIST / 4) or time.monotonic() > until:
                self.lost.append(f'{self.stack_url}: signals {sorted(self._accepted - heard.keys())}')
                return
            time.sleep(0.5)
        self.twice += [f'{self.stack_url}: signal {word}, {count} times' for word, count in heard.items()
                       if count > 1 and word not in self._unsure]


def user(number: int, *arguments: Any) -> User:
    """Every third user plans, every third one signals."""
    return (User, Planner, Signaller)[number % 3](number, *arguments)
