"""A request and an answer as the services see them, and the errors they raise."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from cloudsim.cloud import Cloud
    from cloudsim.faults import Fault
    from cloudsim.service import Service


def class_name(noun: str) -> str:
    """As in the names of exceptions: Security group -> SecurityGroup."""
    return ''.join(word[:1].upper() + word[1:] for word in noun.split())


class Problem(Exception):
    """An answer that is an error. `kind`: the service's own name for it (NetworkInUse); may be empty."""

    def __init__(self, status: int, message: str, kind: str = '', headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.headers = headers or {}


class BadRequest(Problem):
    def __init__(self, message: str, kind: str = 'BadRequest') -> None:
        super().__init__(400, message, kind)


class Forbidden(Problem):
    def __init__(self, message: str = 'You are not authorized to perform the requested action.',
                 kind: str = 'PolicyNotAuthorized') -> None:
        super().__init__(403, message, kind)


class NotFound(Problem):
    def __init__(self, noun: str, id: str) -> None:
        super().__init__(404, f'{noun} {id} could not be found.', class_name(noun) + 'NotFound')


class Conflict(Problem):
    def __init__(self, message: str, kind: str = 'Conflict') -> None:
        super().__init__(409, message, kind)


@dataclass(frozen=True)
class Reply:
    """An answer that is more than a status and JSON. `body`: None: empty; bytes: as is; else sent as JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = 'application/json'


@dataclass(frozen=True)
class Identity:
    """Who asks, as the token says."""

    user_id: str
    project_id: str | None
    domain_id: str | None
    roles: frozenset[str]               # names
    token: str

    @property
    def is_admin(self) -> bool:
        return 'admin' in self.roles


class Call:
    """One request. `path` is below the service; `project_id`: where new things belong."""

    __slots__ = ('_json', '_query', 'cloud', 'environ', 'fault', 'identity', 'method', 'path', 'project_id', 'raw',
                 'request_id', 'service', 'version')

    def __init__(self, cloud: Cloud, service: Service, environ: dict[str, Any], path: str, raw: bytes,
                 request_id: str) -> None:
        self.cloud = cloud
        self.service = service
        self.environ = environ
        self.method: str = environ['REQUEST_METHOD']
        self.path = path
        self.raw = raw
        self.request_id = request_id
        self.identity: Identity | None = None
        self.project_id: str | None = None
        self.version: tuple[int, int] = (0, 0)          # the microversion agreed upon
        self.fault: Fault | None = None                 # what is to happen to the object of this request
        self._query: dict[str, list[str]] | None = None
        self._json: Any = None

    @property
    def is_admin(self) -> bool:
        return self.identity is None or self.identity.is_admin

    @property
    def query(self) -> dict[str, list[str]]:
        if self._query is None:
            self._query = parse_qs(self.environ.get('QUERY_STRING', ''), keep_blank_values=True)
        return self._query

    def asked(self, name: str, default: str | None = None) -> str | None:
        """The last value of a query parameter."""
        values = self.query.get(name)
        return values[-1] if values else default

    def is_asked(self, *names: str) -> bool:
        """Whether one of these query parameters is there and means yes."""
        return any((self.asked(name) or '').lower() in ('1', 'true', 'yes', 't') for name in names)

    def header(self, name: str) -> str | None:
        name = name.upper().replace('-', '_')
        return self.environ.get(name if name in ('CONTENT_TYPE', 'CONTENT_LENGTH') else f'HTTP_{name}')

    @property
    def json(self) -> Any:
        """The body; an empty one is an empty map. Raises BadRequest."""
        if self._json is None:
            try:
                self._json = json.loads(self.raw) if self.raw else {}
            except ValueError:
                raise BadRequest('The request body is not valid JSON.') from None
        return self._json

    def entity(self, key: str | None) -> dict[str, Any]:
        """What the body describes, below `key` if there is one. Raises BadRequest."""
        found = self.json if key is None else self.json.get(key) if isinstance(self.json, dict) else None
        if not isinstance(found, dict):
            raise BadRequest(f"Invalid input: the body must hold '{key}'." if key else 'Invalid input: no body.')
        return found
