"""One caller of the REST API, over a connection of its own for each request."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 75.0         # seconds until a request without an answer counts as never answered
NEVER = 0               # the status of a request that got no answer


@dataclass(frozen=True)
class Answer:
    """`status` is `NEVER` without an answer; `seconds` from the first byte sent to the last one received."""

    status: int
    body: Any
    seconds: float

    @property
    def text(self) -> str:
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


@dataclass(frozen=True)
class Tenant:
    """`url`: the API with version and project. `headers`: who asks. `key`: the EC2 key (access, secret)."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    key: tuple[str, str] = ('', '')

    def ask(self, method: str, path: str, body: Any = None, *, data: bytes | None = None,
            headers: dict[str, str] | None = None, patience: float = PATIENCE) -> Answer:
        """`body` is sent as JSON, `data` as it is. A connection that breaks is an answer with status `NEVER`."""
        place = urlsplit(self.url)
        content = data if data is not None else None if body is None else json.dumps(body).encode()
        began = time.monotonic()
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=patience)
        try:
            connection.request(method, place.path + path, content, {
                'Accept': 'application/json', **({'Content-Type': 'application/json'} if content else {}),
                **self.headers, **(headers or {})})
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            return Answer(NEVER, f'{type(error).__name__}: {error}', time.monotonic() - began)
        finally:
            connection.close()
        try:
            found = json.loads(text) if text else None
        except ValueError:
            found = text.decode('utf-8', 'replace')
        return Answer(status, found, time.monotonic() - began)
