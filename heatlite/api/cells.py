"""Finds the cell of a request: the database and the engines of the project that it is about.

Without [cells] names there is one cell, and nothing of this is asked. May not know handlers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from zlib import crc32

from heatlite.api.event_hub import Hub
from heatlite.api.wsgi import HandlerServices, Request
from heatlite.common import exception, metrics, retries, runtime
from heatlite.common.expiring_cache import ExpiringCache
from heatlite.common.i18n import _
from heatlite.db import presence, project_cells, stacks
from heatlite.db.connection import Database
from heatlite.db.moving import MAP_SECONDS
from heatlite.db.project_cells import HOME, ProjectPlace
from heatlite.rpc.cells import Cell

T = TypeVar('T')

MOVING_SECONDS = 0.2                # how long a place is used while the project is being moved
MOVE_WAIT_SECONDS = 15.0            # a change waits for the end of a move: signals are sent only once
FAILED_SECONDS = 0.5                # how long requests are refused at once after the map could not be read
MOST_PROJECTS = 100_000             # projects whose places are remembered
OWNER_SECONDS = 60.0                # how long the project of a stack's users is remembered
NOT_FOUND = 404
TURNS = 64                          # reads of the map that may run at once
HEADER = 'X-Heatlite-Cell'          # in which an administrator names a cell


@dataclass(frozen=True)
class _Read:
    """What was read of the map; `at`: when that began. `failure`: the database's reason why it could not be read."""

    at: float
    place: ProjectPlace | None = None
    failure: str | None = None

    def is_fresh(self, now: float) -> bool:
        if self.place is None:
            return now - self.at < FAILED_SECONDS
        return now - self.at < (MAP_SECONDS if self.place.moving_to is None else MOVING_SECONDS)


class ProjectMap:
    """Where projects are, as it was at most MAP_SECONDS ago. Thread-safe."""

    def __init__(self, home: Database) -> None:
        self._home = home
        self._known: ExpiringCache[_Read] = ExpiringCache(MOST_PROJECTS, MAP_SECONDS)
        self._turns = [threading.Lock() for _number in range(TURNS)]

    def find(self, project_id: str) -> ProjectPlace:
        """One SELECT for all requests of a project that wait. Raises DatabaseUnavailable."""
        return self._fresh(project_id) or self._read(project_id)

    def forget(self, project_id: str) -> None:
        """Has the place read anew."""
        self._known.remove(project_id)

    def _fresh(self, project_id: str) -> ProjectPlace | None:
        known = self._known.get(project_id)
        if known is None or not known.is_fresh(runtime.current().monotonic()):
            return None
        if known.failure is not None:
            raise exception.DatabaseUnavailable(reason=known.failure)
        return known.place

    def _read(self, project_id: str) -> ProjectPlace:
        with self._turns[crc32(project_id.encode()) % TURNS]:
            place = self._fresh(project_id)         # another request has read it meanwhile
            if place is not None:
                return place
            began = runtime.current().monotonic()
            try:
                with self._home.reader() as tx:
                    place = project_cells.find(tx, project_id)
            except exception.DatabaseUnavailable as error:
                self._known.put(project_id, _Read(runtime.current().monotonic(), failure=str(error.kwargs['reason'])))
                raise
            self._known.put(project_id, _Read(began, place))
            return place


class Cells:
    """The services of all cells, the home cell first."""

    def __init__(self, home: HandlerServices, others: Mapping[str, Cell],
                 hub: Callable[[Database], Hub] | None) -> None:
        """`hub(database)`: makes that of event streams, if the API has them."""
        self._map = ProjectMap(home.database)
        self._owners: ExpiringCache[str] = ExpiringCache(MOST_PROJECTS, OWNER_SECONDS)
        made = {HOME: replace(home, cells=self)}
        for name, cell in others.items():
            made[name] = replace(home, name=name, database=cell.database, engine=cell.engine, cells=self,
                                 hub=None if hub is None else hub(cell.database))
        self._services = made
        hubs = [each.hub for each in made.values() if each.hub is not None]
        if hubs:
            metrics.streams.set_function(lambda: sum(hub.count for hub in hubs))

    @property
    def all(self) -> list[HandlerServices]:
        return list(self._services.values())

    def chosen(self, request: Request) -> HandlerServices | None:
        """Return the cell that an administrator names in the header; None: none is named. Raises HTTPBadRequest."""
        name = request.headers.get(HEADER)
        if name is None or not request.context.is_admin:
            return None
        if name not in self._services:
            raise exception.HTTPBadRequest(_('There is no cell "%(name)s"; there are: %(names)s.') % {
                'name': name[:64], 'names': ', '.join(self._services)})
        return self._services[name]

    def answered(self, request: Request, project_id: str | None, handler: Callable[[], T]) -> T:
        """Return `request.handled(handler)` with the services of the cell of that project.

        An administrator's request for an object that is not there is made in the other cells, too, unless a message was
        sent: the URL has the project of the administrator. A change of a project that is being moved waits for the end
        of the move; raises ProjectMoves after MOVE_WAIT_SECONDS.
        """
        here = runtime.current()
        until = here.monotonic() + MOVE_WAIT_SECONDS

        def answer() -> T:
            request.has_called = False                  # a refusal for a move has changed nothing
            return self._answered(request, project_id, handler)

        return retries.call(answer, retries.MOVE, exception.ProjectMoves,
                            gives_up=lambda _error: here.monotonic() >= until)

    def _answered(self, request: Request, project_id: str | None, handler: Callable[[], T]) -> T:
        """As `answered`, without waiting for a move."""
        chosen = self.chosen(request)
        if chosen is not None:
            request.services = chosen
        elif project_id is not None:
            request.services = self._of(self._owner(request, project_id), request.is_change)
        try:
            return request.handled(handler)
        except exception.ProjectMoves:
            if project_id is not None:
                self._map.forget(project_id)
            raise
        except exception.HeatException as error:
            if error.http_code != NOT_FOUND or chosen is not None or not request.context.is_admin:
                raise
            return self._elsewhere(request, handler, error)

    def _elsewhere(self, request: Request, handler: Callable[[], T], missing: exception.HeatException) -> T:
        """Return the answer of another cell; raise `missing` if none has the object."""
        asked = request.services
        for services in self._services.values():
            if services is not asked and not request.has_called:
                request.services = services
                try:
                    return request.handled(handler)
                except exception.HeatException as error:
                    if error.http_code != NOT_FOUND:
                        raise
        raise missing

    def is_here(self, services: HandlerServices, project_id: str, is_change: bool) -> bool:
        """Whether the project is in the cell of these services. Raises ProjectMoves for a change while it is moved."""
        return self._place(project_id, is_change).cell == services.name

    def position(self, services: HandlerServices, project_id: str, position: int | None) -> int | None:
        """Where a stream of a project continues whose client has `position`, which may be one of another cell."""
        place = self._map.find(project_id)
        if position is None or place.numbers is None or place.cell != services.name:
            return position
        return place.numbers.translated(position)

    def _place(self, project_id: str, is_change: bool) -> ProjectPlace:
        """Where a project is. Raises ProjectMoves for a change while it is moved."""
        place = self._map.find(project_id)
        if is_change and place.moving_to is not None:
            raise presence.moved()
        return place

    def _of(self, project_id: str, is_change: bool) -> HandlerServices:
        place = self._place(project_id, is_change)
        found = self._services.get(place.cell)
        if found is None:
            raise exception.HTTPServiceUnavailable(_('The project is in cell "%s", which is not configured here.')
                                                   % place.cell)
        return found

    def _owner(self, request: Request, project_id: str) -> str:
        """Return the project whose stacks a request is about: users inside stacks have projects of their own."""
        if request.context.is_admin or request.conf.heat_stack_user_role not in request.context.roles:
            return project_id
        known: str | None = self._owners.get(project_id)
        if known is None:
            known = next(self._owners_of(project_id), project_id)
            self._owners.put(project_id, known)
        return known

    def _owners_of(self, user_project_id: str) -> Iterator[str]:
        for services in self._services.values():
            with services.database.reader() as tx:
                found = stacks.project_of_users(tx, user_project_id)
            if found is not None:
                yield found


def joined(home: HandlerServices, others: Mapping[str, Cell],
           hub: Callable[[Database], Hub] | None = None) -> HandlerServices:
    """Return the services of the home cell, with those of the other cells beside them, if there are any."""
    return Cells(home, others, hub).all[0] if others else home
