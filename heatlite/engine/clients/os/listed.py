"""Answers reads of single objects from lists, while many objects of a project are compared with the cloud.

The types read one object each. Within `reading` the first few of a collection are read so; then the collection is
listed, with all fields, and the others are found there. An object that is not in the list is read alone.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import requests

from heatlite.common import turns
from heatlite.engine.clients.os.collection import next_page

LOG = logging.getLogger(__name__)

ALONE = 3                               # objects of a collection that are read one by one before it is listed
PAGE = 1000                             # entries that one request asks for
MOST_PAGES = 10                         # of one collection; what is behind them is read one by one
STEPS_OF_ENTRY = 5                      # of a turn
ITEM = re.compile(r'(/[a-z-]+)/([^/?]+)')
ALLOWED = frozenset({'raise_exc', 'params', 'microversion'})    # arguments of a request that may be answered

Kind = tuple[str, str]                  # service type, path of a collection


@dataclass(frozen=True)
class Listing:
    """How a collection is listed with the fields that a single object has. `key`: of the object in its own answer."""

    path: str
    plural: str
    key: str
    is_of_all: bool = False             # administrators see all projects, unless they ask for one


def _network(path: str, key: str) -> tuple[Kind, Listing]:
    return ('network', path), Listing(path, path.strip('/').replace('-', '_'), key, is_of_all=True)


LISTINGS: Mapping[Kind, Listing] = dict([
    (('compute', '/servers'), Listing('/servers/detail', 'servers', 'server')),
    (('block-storage', '/volumes'), Listing('/volumes/detail', 'volumes', 'volume')),
    _network('/networks', 'network'), _network('/subnets', 'subnet'), _network('/ports', 'port'),
    _network('/routers', 'router'), _network('/floatingips', 'floatingip'),
    _network('/security-groups', 'security_group')])


@dataclass
class Reading:
    """What was listed. `project_id()`: the project whose objects are asked for; it may raise."""

    project_id: Callable[[], str | None]
    _read: Counter[Kind] = field(default_factory=Counter)
    _found: dict[tuple[Any, ...], dict[str, str]] = field(default_factory=dict)     # id -> JSON, which is smaller

    def answer(self, http: Any, url: str, arguments: Mapping[str, Any]) -> requests.Response | None:
        """Return the answer to a GET of `http`, or None if it has to be sent. Errors of the list make it None."""
        item = ITEM.fullmatch(url)
        kind = (str(http.service_type), item[1]) if item is not None else None
        listing = LISTINGS.get(kind) if kind is not None else None
        if item is None or kind is None or listing is None:
            return None
        if arguments.get('params') or not arguments.keys() <= ALLOWED:
            return None
        self._read[kind] += 1
        if self._read[kind] <= ALONE:
            return None
        place = (kind, http.session, http.region_name, arguments.get('microversion'))
        if place not in self._found:
            self._found[place] = {}             # also while it is asked, and after an error
            self._found[place] = self._listed(http, listing, {
                name: value for name, value in arguments.items() if name == 'microversion'})
        entry = self._found[place].get(item[2])
        return None if entry is None else _as_answer(f'{{"{listing.key}": {entry}}}')

    def _listed(self, http: Any, listing: Listing, arguments: Mapping[str, Any]) -> dict[str, str]:
        """Return the entries of a list by id, those of the first pages if there are many."""
        found: dict[str, str] = {}
        try:
            project_id = self.project_id() if listing.is_of_all else None
            params = {'limit': PAGE, **({'project_id': project_id} if project_id else {})}
            for _number in range(MOST_PAGES):
                body = http.get(listing.path, params=params, **arguments).json()
                for entry in body[listing.plural]:
                    turns.spend(STEPS_OF_ENTRY)
                    found[str(entry['id'])] = json.dumps(entry)
                following = next_page(body, listing.plural)
                if following is None:
                    break
                params = {**params, **following}
        except Exception as error:              # of the service, or of its answer: the objects are read one by one
            LOG.info('Listing %s: %s: %s', listing.plural, type(error).__name__, error)
        return found


def _as_answer(text: str) -> requests.Response:
    made = requests.Response()
    made.status_code = 200
    made.headers['Content-Type'] = 'application/json'
    made._content = text.encode()
    return made


_reading: ContextVar[Reading | None] = ContextVar('listed', default=None)


def current() -> Reading | None:
    """The reading of this green thread, if there is one."""
    return _reading.get()


@contextmanager
def reading(project_id: Callable[[], str | None]) -> Iterator[None]:
    """Let the block read the objects of a project from lists. What it reads is as old as the block at most."""
    token = _reading.set(Reading(project_id))
    try:
        yield
    finally:
        _reading.reset(token)
