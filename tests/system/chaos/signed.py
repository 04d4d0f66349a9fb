"""One who asks the CloudFormation API, whose requests Keystone knows by their signature and not by a token."""

from __future__ import annotations

import random
import threading
import time
from urllib.parse import urlencode, urlsplit

from tests.system import aws
from tests.system.chaos.users import Answers
from tests.system.processes import ask

METHOD = 'ListStacks'           # in the table of answers


class SignedReader(threading.Thread):
    """Lists the stacks, again and again. Every answer but 200 and those of a service that is away is a defect."""

    def __init__(self, seed: int, url: str, key: tuple[str, str], over: threading.Event) -> None:
        """`key`: (access, secret)."""
        super().__init__(name='signed', daemon=True)
        self._dice = random.Random(f'{seed}/signed')
        self._url, self._key, self._over = url, key, over
        self.answers = Answers()
        self.defects: list[str] = []

    def run(self) -> None:
        while not self._over.wait(self._dice.random() * 2):
            self._list()

    def _list(self) -> None:
        began = time.monotonic()
        signed = aws.version_2(self._key, 'GET', urlsplit(self._url).netloc, '/v1/', Action='ListStacks',
                               Timestamp=aws.now().strftime('%Y-%m-%dT%H:%M:%SZ'))
        try:
            status, found = ask('GET', f'{self._url}?{urlencode(signed)}')
        except OSError:
            status, found = 599, None
        self.answers.note(METHOD, status, time.monotonic() - began)
        if status != 200 and status <= 500:
            self.defects.append(f'{METHOD}: {status} {found}')
