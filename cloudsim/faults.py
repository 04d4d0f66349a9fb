"""Faults on demand: which requests are hit, and how."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from cloudsim.messages import BadRequest, Call

# kind -> what happens
KINDS = {
    'error': 'answers `status` and `text` without doing anything',
    'error_after': 'does it, then answers `status` and `text`',
    'lost': 'does it, then closes the connection without an answer',
    'refused': 'closes the connection without doing anything',
    'hang': 'does nothing and answers nothing for `seconds` (0: for ever, then closes)',
    'hang_after': 'does it and answers nothing for `seconds` (0: for ever, then closes)',
    'slow': 'waits `seconds`, then does it',
    'throttle': 'answers 429 with Retry-After: `seconds`, without doing anything',
    'quota': "answers that the project's quota is used up, without doing anything",
    'gone': 'the object of the path is gone, before the request is looked at',
    'stay': 'does it, but the object never leaves the state it then is in (BUILD)',
    'fail': 'does it, and the object ends in its error state with `text`',
}
DEFAULT_STATUS = {'error': 500, 'error_after': 503}


@dataclass
class Fault:
    """One rule. All that is said must match; it hits `count` requests (0: all) from the `nth` match (from 1) on."""

    kind: str
    service: str = '*'              # name or type of the service
    method: str = '*'
    path: str = '*'                 # below the service: shell pattern, or `re:` and a regular expression
    body: str = ''                  # text the request's body must hold
    project: str = ''               # id
    nth: int = 1
    count: int = 1
    status: int = 0
    text: str = 'A fault on demand'
    seconds: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    id: str = ''
    seen: int = 0                   # requests that matched
    hits: int = 0

    def matches(self, call: Call) -> bool:
        return (self._is_service(call) and fnmatchcase(call.method, self.method) and self._is_path(call.path)
                and (not self.body or self.body.encode() in call.raw)
                and (not self.project or self.project == call.project_id))

    def _is_service(self, call: Call) -> bool:
        return self.service == '*' or self.service == call.service.name \
            or self.service in call.service.description.types or self.service == call.service.description.title

    def _is_path(self, path: str) -> bool:
        if self.path.startswith('re:'):
            return re.search(self.path[3:], path) is not None
        return fnmatchcase(path, self.path)


def parse(said: Any, id: str) -> Fault:
    """Raises BadRequest that names what is wrong."""
    if not isinstance(said, dict) or said.get('kind') not in KINDS:
        raise BadRequest(f'kind: one of {", ".join(KINDS)}')
    try:
        fault = Fault(**{**said, 'id': id, 'seen': 0, 'hits': 0})
    except TypeError as error:
        raise BadRequest(str(error)) from None
    fault.method = fault.method.upper()
    fault.status = fault.status or DEFAULT_STATUS.get(fault.kind, 0)
    return fault


class Faults:
    """The rules in force, in the order they came; the first that hits a request is its fault."""

    def __init__(self) -> None:
        self.rules: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self.rules.append(fault)

    def clear(self, id: str | None = None) -> None:
        self.rules = [] if id is None else [each for each in self.rules if each.id != id]

    def strike(self, call: Call) -> Fault | None:
        """Counts a request; its fault, if one hits."""
        struck = None
        for fault in self.rules:
            if not fault.matches(call):
                continue
            fault.seen += 1
            over = fault.count and fault.hits >= fault.count
            if struck is None and fault.seen >= fault.nth and not over:
                fault.hits += 1
                struck = fault
        return struck
