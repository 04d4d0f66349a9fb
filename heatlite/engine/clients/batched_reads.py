"""Reads many objects of few kinds with few requests, within a budget: for drift checks and for previews.

Equal GETs are sent once, and objects of a collection that is read again and again come from its list, if the service
lists them as it shows them. An object that a list does not have is asked for alone: it may have another owner, or be
gone. Answers hold for FRESH seconds.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from keystoneauth1.exceptions import ClientException
from requests import Response

from heatlite.common import log_throttle, metrics, turns
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.runtime import Runtime
from heatlite.engine.clients.os.collection import next_page

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

LOG = logging.getLogger(__name__)

FRESH = 60.0                        # seconds since an answer was complete
STEPS_OF_OBJECT = 5                 # of a turn, for each object of a list
ALONE = 2                           # objects of a collection that are asked for alone before it is listed
PAGE, MOST_PAGES = 1000, 50         # objects of one request of a list, and requests of one list
MOST_ANSWERS = 1000                 # that are stored
MOST_LISTS = 50                     # that are stored; a project has eight, for each user that its stacks act for


@dataclass(frozen=True)
class ListedCollection:
    """A collection whose list has each object as it is shown alone, but for fields that no type compares.

    `path`: of one object, without its id.
    """

    path: str
    listed: str                     # the path of the list
    many: str                       # key of the objects in the list's body
    one: str                        # key of the object in its own body
    by_project: bool = False        # administrators list the objects of all projects, unless they name one


def _of_network(plural: str, one: str) -> ListedCollection:
    return ListedCollection(f'/{plural}', f'/{plural}', plural.replace('-', '_'), one, by_project=True)


COLLECTIONS: Mapping[str, tuple[ListedCollection, ...]] = {               # type of service -> collections
    'network': (
        _of_network('networks', 'network'), _of_network('subnets', 'subnet'), _of_network('ports', 'port'),
        _of_network('routers', 'router'), _of_network('floatingips', 'floatingip'),
        _of_network('security-groups', 'security_group')),
    'compute': (ListedCollection('/servers', '/servers/detail', 'servers', 'server'),),
    'block-storage': (ListedCollection('/volumes', '/volumes/detail', 'volumes', 'volume'),),
}


class ListedEntity(TypedDict):
    """What is used of an object in a list."""

    id: str


class BatchedReads:
    """The reads of one check, of one project. `wait(service)`: waits until a request to it may be sent; returns the
    seconds."""

    def __init__(self, runtime: Runtime, wait: Callable[[str], float] = lambda service: 0.0) -> None:
        self.sent: Counter[str] = Counter()                 # service -> requests
        self._wait = wait
        self._asked: Counter[ListedCollection] = Counter()        # objects that were asked for alone
        self._lists: ExpiringCache[Mapping[str, object]] = ExpiringCache(MOST_LISTS, FRESH, runtime.monotonic)
        self._answers: ExpiringCache[Response] = ExpiringCache(MOST_ANSWERS, FRESH, runtime.monotonic)

    def before(self, service: str) -> None:
        """Wait until a request may be sent; call it right before."""
        label = metrics.service_label(service)
        if waited := self._wait(service):
            metrics.drift_wait.labels(label).inc(waited)
        self.sent[service] += 1
        metrics.drift_requests.labels(label).inc()

    def get(self, adapter: Adapter, url: str, arguments: Mapping[str, object],
            ask: Callable[[str, Mapping[str, object]], Response]) -> Response:
        """Return the answer to a GET. `ask(url, params)`: sends one with these parameters."""
        given = arguments.get('params')
        params: Mapping[str, object] = given if isinstance(given, Mapping) else {}
        collection, ident = _place(str(adapter.service_type), url)
        if collection is not None and not params:
            self._asked[collection] += 1
            if self._asked[collection] > ALONE:
                known = self._list(adapter, collection, arguments.get('microversion'), ask).get(ident)
                if known is not None:
                    return _answer({collection.one: known})
        key = _caller(adapter), str(adapter.service_type), url, json.dumps(arguments, sort_keys=True, default=str)
        answer = self._answers.get(key)
        if answer is None:
            answer = ask(url, params)
            self._answers.put(key, answer)
        return answer

    def _list(self, adapter: Adapter, collection: ListedCollection, microversion: object,
              ask: Callable[[str, Mapping[str, object]], Response]) -> Mapping[str, object]:
        """Return id -> object of a collection; empty if the service does not list it."""
        key = _caller(adapter), str(adapter.service_type), collection, microversion
        stored = self._lists.get(key)
        if stored is not None:
            return stored
        found: dict[str, object] = {}
        try:
            for page in self._pages(adapter, collection, ask):
                turns.spend(STEPS_OF_OBJECT * len(page))
                found.update({str(each['id']): each for each in page})
        except (ClientException, LookupError, TypeError, ValueError) as error:      # or the answer is no list
            log_throttle.log(LOG, logging.INFO, (collection.many, type(error)), '%s of %s cannot be listed: %s: %s',
                             collection.many, adapter.service_type, type(error).__name__, error)
        self._lists.put(key, found)
        return found

    def _pages(self, adapter: Adapter, collection: ListedCollection,
               ask: Callable[[str, Mapping[str, object]], Response]) -> Iterator[list[ListedEntity]]:
        params: dict[str, object] = {'limit': PAGE}
        if collection.by_project:
            params['project_id'] = adapter.get_project_id()
        for _page in range(MOST_PAGES):
            answer = ask(collection.listed, params)
            body = answer.json() if answer.status_code == 200 else {}
            yield body.get(collection.many) or []
            following = next_page(body, collection.many)
            if following is None:
                return
            params = {**params, **following}


_current: ContextVar[BatchedReads | None] = ContextVar('batched_reads', default=None)


def current() -> BatchedReads | None:
    """Return the batch of this green thread, if it has one."""
    return _current.get()


@contextmanager
def within(reads: BatchedReads) -> Iterator[BatchedReads]:
    """Let the GETs of this green thread belong to `reads`."""
    token = _current.set(reads)
    try:
        yield reads
    finally:
        _current.reset(token)


def _caller(adapter: Adapter) -> object:
    """Return whose answers these are: stacks of one user in one project share them, each has a session of its own."""
    who = adapter.get_project_id(), adapter.get_user_id()
    return (*who, adapter.get_endpoint()) if all(who) else adapter.session


def _place(service: str, url: str) -> tuple[ListedCollection | None, str]:
    """Return the collection of the object at `url`, and the object's id."""
    path, _slash, ident = url.rpartition('/')
    return next((each for each in COLLECTIONS.get(service, ()) if each.path == path and '?' not in ident), None), ident


def _answer(body: object) -> Response:
    made = Response()
    made.status_code = 200
    made.headers['Content-Type'] = 'application/json'
    made._content = json.dumps(body).encode()
    return made
