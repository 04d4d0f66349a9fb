"""A stack whose lease this engine holds: its row, its lease, its definition, its traversal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, ValuesView
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeVar

from heatlite.common.context import RequestContext, Subject, bind
from heatlite.db.leases import Lease
from heatlite.db.stacks import StoredStack
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import implicit_dependencies
from heatlite.engine.reconcile.attribute_cache import AttributeCache
from heatlite.engine.reconcile.unread_rows import ReadRows, UnreadRows
from heatlite.language.definition import StackDefinition
from heatlite.planning.rows import NotRead
from heatlite.planning.states import (
    NO_COLUMNS,
    Action,
    Change,
    Datum,
    Event,
    ResourceState,
    SignalError,
    StackChange,
    Status,
)
from heatlite.planning.steps import Desired
from heatlite.planning.traversal import Traversal

T = TypeVar('T')


class LeasedStack:
    """The state in memory of one leased stack. It changes by what happens to the stack (`follow`, `take_end` ...), and
    each change is one step for other threads."""

    def __init__(self, row: StoredStack, lease: Lease, definition: StackDefinition, context: RequestContext,
                 traversal: Traversal, path: Sequence[str] = (), unread: UnreadRows | None = None) -> None:
        """`path`: names of the root stack and of the resources that lead to a nested one; `unread`: reads the rows that
        are not in memory, if the traversal begins without some."""
        self._row = row
        self._path = tuple(path)
        self._lease = lease
        self._definition = definition
        self._context = context
        self._traversal = traversal
        self._secrets: set[str] = set()
        self._attribute_cache = AttributeCache()
        self._traced = 0                            # generation whose action has ended for traces
        self._signalled = 0                         # generation in which the last signal was handled
        self._unread = unread

    @property
    def id(self) -> str:
        return self._row.id

    @property
    def row(self) -> StoredStack:
        """The row of the stack itself: that of the newest request which is followed, with what has happened since."""
        return self._row

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the root stack and of the resources that lead to a nested one; empty if they are not known."""
        return self._path

    @property
    def lease(self) -> Lease:
        return self._lease

    @property
    def definition(self) -> StackDefinition:
        """The definition that is being reached."""
        return self._definition

    @property
    def context(self) -> RequestContext:
        """The context in which the engine acts for the stack."""
        return self._context

    @property
    def traversal(self) -> Traversal:
        return self._traversal

    @property
    def attribute_cache(self) -> AttributeCache:
        return self._attribute_cache

    @property
    def secrets(self) -> frozenset[str]:
        """The secret data of resources that are known: all that were stored in this process, and those of `hide`."""
        return frozenset(self._secrets)

    @property
    def has_been_signalled(self) -> bool:
        """Whether a signal was handled since the last action began."""
        return self._signalled == self._row.generation

    @property
    def owners(self) -> tuple[str, str]:
        """Whose work this is: project and tree take turns where work queues (`common.fair_queue`)."""
        return self._row.project_id, self._row.root_id

    def subject(self, resource: str | None = None) -> Subject:
        return request_ids.subject(self._row, resource, '/'.join(self._path) if self._path else None)

    def path_below(self, resource: str) -> tuple[str, ...]:
        """Return the `path` of the nested stack of a resource."""
        return (*(self._path or (self._row.name,)), resource)

    def bind(self, resource: str | None = None) -> None:
        """Make log lines of this thread carry the ids of the stack, of its last request, and of a resource, and no
        hidden values of the stack."""
        bind(self._context, self.subject(resource), self.masked)

    def bound(self, resource: str | None = None) -> AbstractContextManager[None]:
        """As `bind`, until the end of the block."""
        return self._context.bound(self.subject(resource), self.masked)

    def masked(self, text: str) -> str:
        """Return `text` without the hidden values of the definition that is being reached."""
        return self._definition.masked(text)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is to be done for a stack that was just loaded: its action has ended, and with it all steps.
        A failure or a cancel ends an action while steps are under way; their engine may have ended before them."""
        return self._row.status == Status.COMPLETE or (
            self._row.status == Status.FAILED and not self.asked(lambda: self._traversal.is_interrupted))

    # --- rows -------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Mapping[int, ResourceState]:
        """Row number -> row, read-only: changes go through `record`."""
        return StackRows(self)

    @property
    def unread_rows(self) -> UnreadRows | None:
        """What reads the rows that are not in memory; None if all are."""
        return self._unread if self._traversal.is_partial else None

    def complete_rows(self) -> None:
        """Read the rows that are not in memory, if there are any. Two SELECTs. All threads may call it, and several at
        the same time: the first one that has read them fills them in."""
        unread = self.unread_rows
        if unread is not None:
            self.fill(unread.all())

    def fill(self, read: ReadRows) -> None:
        """Take over stored rows, and the cached values of those that were not in memory: others may have changed."""
        filled = self._traversal.fill(read.rows, read.unread, read.next_row)
        self._attribute_cache.fill({number: read.cached_values[number]
                                    for number in filled if number in read.cached_values})

    def asked(self, ask: Callable[[], T]) -> T:
        """Return `ask()`. If it needs rows that are not in memory, all are read first."""
        try:
            return ask()
        except NotRead:
            self.complete_rows()
        return ask()

    def row_numbered(self, number: int) -> ResourceState | None:
        """Return the row of that number, or None. Reads all rows if it is not in memory. As `rows.get`, for what runs
        many times for each resource: in a third of the time."""
        try:
            return self._traversal.row(number)
        except NotRead:
            self.complete_rows()
        return self._traversal.row(number)

    def current(self, name: str) -> ResourceState | None:
        """Return the current row of that resource, or None. Reads all rows if it is not in memory."""
        return self.asked(lambda: self._traversal.current(name))

    def row_of_signal(self, name: str) -> ResourceState | None:
        """Return the row that a signal to that resource is for: as `current`, else one that is being deleted."""
        return self.asked(lambda: self._traversal.row_of_signal(name))

    def is_current(self, row: ResourceState) -> bool:
        """Whether `row` is the current one of a resource of the definition."""
        return row.name in self._definition.resources and self.current(row.name) is row

    # --- changes ----------------------------------------------------------------------------------------

    def follow(self, row: StoredStack, context: RequestContext) -> None:
        """Take over the row of a newer request, and act in `context` from now on. The project of the users may have
        been made since `row` was read."""
        project_id = row.user_project_id or self._row.user_project_id
        self._row, self._context = replace(row, user_project_id=project_id), context

    def define(self, definition: StackDefinition) -> None:
        """Take over the definition of the request that is followed."""
        self._definition = definition

    def users_are_in(self, project_id: str) -> None:
        """Note in which Keystone project the users inside the tree of stacks are. Threads of the pool call it."""
        self._row = replace(self._row, user_project_id=project_id)

    def take_end(self, ended: StoredStack) -> None:
        """Take over the state in which the action has ended, once it is stored."""
        self._row = replace(self._row, status=ended.status, reason=ended.reason)

    def take_outputs(self, outputs: Sequence[Mapping[str, object]]) -> None:
        """Take over the outputs as they have just been resolved."""
        self._row = replace(self._row, outputs=outputs)

    def end_trace(self) -> bool:
        """Note that the span of the action is being sent. Returns False if it was sent before."""
        if self._traced == self._row.generation:
            return False
        self._traced = self._row.generation
        return True

    def note_signal(self) -> None:
        """Note that a signal is being handled."""
        self._signalled = self._row.generation

    def hide(self, *values: str) -> None:
        """Note secret data of resources, which the definitions of nested stacks mask."""
        self._secrets.update(values)

    def record(self, row: ResourceState) -> None:
        """Take over a row that a resource type has changed."""
        self._traversal.record(row)

    def make_change(self, *, row: ResourceState | None = None, columns: Mapping[str, object] = NO_COLUMNS,
                    data: tuple[Datum, ...] = (), remove: int | None = None, events: tuple[Event, ...] = (),
                    stack: StackChange | None = None, signals: tuple[int, ...] = (),
                    signal_error: SignalError | None = None) -> Change:
        """Make a change of this stack for the journal, which is refused once the lease has another owner. Arguments:
        see `Change`."""
        return Change(self.id, self._lease.epoch, row, columns, data, remove, events, stack, signals, signal_error)


class StackRows(Mapping[int, ResourceState]):
    """The rows of a stack by number, read-only. One that is in memory is found without reading the others."""

    __slots__ = ('_leased',)

    def __init__(self, leased: LeasedStack) -> None:
        self._leased = leased

    def _all(self) -> Mapping[int, ResourceState]:
        self._leased.complete_rows()
        return self._leased.traversal.rows

    def __getitem__(self, number: int) -> ResourceState:
        row = self._leased.row_numbered(number)
        if row is None:
            raise KeyError(number)
        return row

    def __iter__(self) -> Iterator[int]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def values(self) -> ValuesView[ResourceState]:
        return self._all().values()


def desired(definition: StackDefinition, action: str, adopted: Collection[str] = ()) -> Mapping[str, Desired]:
    """Return the target of a traversal: name -> Desired. It is empty for a DELETE. `adopted`: the resources for which
    the request names an object."""
    return {} if action == Action.DELETE else _Target(implicit_dependencies.complete(definition), adopted)


class _Target(Mapping[str, Desired]):
    """What planning uses of a definition, made for the resources that it looks at."""

    def __init__(self, definition: StackDefinition, adopted: Collection[str]) -> None:
        self._resources = definition.resources
        self._adopted = adopted
        self._environment = definition.environment
        self._desired: dict[str, Desired] = {}
        self._values: dict[Desired, Desired] = {}       # most resources of a large stack are as others

    def __getitem__(self, name: str) -> Desired:
        found = self._desired.get(name)
        if found is None:
            resource = self._resources[name]
            found = Desired(resource.type, resource.requires, external=resource.is_external,
                            imported=name in self._adopted or self._environment.import_of(name) is not None)
            found = self._desired[name] = self._values.setdefault(found, found)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._resources

    def __iter__(self) -> Iterator[str]:
        return iter(self._resources)

    def __len__(self) -> int:
        return len(self._resources)
