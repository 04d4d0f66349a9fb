"""Refreshes what is related to resources that were signalled: their attributes, their waiting checks, and metadata that
refer to others (docs/spec/engine.rst, "Delivery of signals").
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial

from heatlite.common import defects, exception
from heatlite.engine.durability.journal import Journal
from heatlite.engine.reconcile import attribute_cache
from heatlite.engine.reconcile.executor import StepExecutor
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.resource_keeping import Keeping
from heatlite.language.definition import StackDefinition
from heatlite.planning import graph
from heatlite.planning.states import ResourceState

LOG = logging.getLogger(__name__)

MOST_NAMED = 5                          # resources in a log line


def attempt(stack_id: str, work: Callable[[], None], message: str, name: str) -> None:
    """Call `work`, which runs code of types. Errors are only logged, but for DatabaseUnavailable. `message`: has places
    for `name` and for the stack."""
    try:
        work()
    except exception.DatabaseUnavailable:
        raise
    except Exception as error:
        defects.log(LOG, error, message, name, stack_id)


class SignalRefresh:
    """Refreshes the resources of one stack, in the threads that handle its signals. Their signals are handled by then:
    errors are only logged."""

    def __init__(self, leased: LeasedStack, executor: StepExecutor, journal: Journal,
                 poll_now: Callable[[str], None]) -> None:
        """`poll_now(name)`: runs the waiting checks of that resource in the runner's thread."""
        self._leased = leased
        self._executor = executor
        self._journal = journal
        self._poll_now = poll_now
        self._neighbours = Neighbours(leased.definition)

    def followed(self) -> Mapping[str, ResourceState]:
        """Return the resources, by name, that may have taken a signal after which others are refreshed."""
        follows = self._executor.objects.by_type(self._follows)
        return {row.name: row for row in list(self._leased.rows.values())
                if follows(row) and row.exists and not row.in_progress and self._leased.is_current(row)}

    def _follows(self, row: ResourceState) -> bool:
        """Whether related resources are refreshed after signals of this one."""
        kind = self._executor.objects.known_kind(row)
        return (kind is not None and kind.signal_needs_metadata_updates
                and callable(getattr(kind, 'handle_signal', None)))

    def around(self, signalled: Mapping[str, ResourceState], most: int | None = None) -> None:
        """Refresh the neighbours of these resources (at most `most`): read their attributes anew, run their waiting
        checks now. Also resolves metadata that refers to other resources anew, and passes it to the types. Raises
        DatabaseUnavailable."""
        self._attempt(partial(self._refresh, signalled, most), 'Refreshing what is related to %s in stack %s failed',
                      ', '.join(itertools.islice(signalled, MOST_NAMED)))

    def _attempt(self, work: Callable[[], None], message: str, name: str) -> None:
        attempt(self._leased.id, work, message, name)

    def _refresh(self, signalled: Mapping[str, ResourceState], most: int | None) -> None:
        definition = self._leased.definition
        if self._neighbours.definition is not definition:
            self._neighbours = Neighbours(definition)
        for name in itertools.islice(self._neighbours.around(signalled), most):
            self._poll_now(name)
            row = self._leased.current(name)
            if row is None or row.in_progress or not row.exists:
                continue
            self._attempt(partial(self._read_anew, row), 'Attributes of %s in stack %s were not read', name)
        for name in self._neighbours.followers:
            row = self._leased.current(name)
            if row is not None and row.exists and name not in signalled:
                self._attempt(partial(self._update_metadata, row, definition),
                              'Metadata of %s in stack %s does not follow', name)

    def _update_metadata(self, row: ResourceState, definition: StackDefinition) -> None:
        """Pass the metadata of a row, resolved anew, to its type, if that wants them."""
        executor = self._executor
        if executor.objects.kind_of(row).metadata_update is not Keeping.metadata_update:
            executor.objects.stored(row).metadata_update(definition.resources[row.name].metadata(executor.scope))

    def _read_anew(self, row: ResourceState) -> None:
        """Read the attributes of a row whose type calls no service, and store them if they have changed."""
        executor, cache = self._executor, self._leased.attribute_cache
        if executor.objects.kind_of(row).default_client_name is not None:
            return
        while True:
            before = cache.of(row.id)
            values = executor.attributes.read(executor.objects.stored(row), row.name)
            now = self._leased.row_numbered(row.id)
            if now is None or now.in_progress:
                return                              # an action has begun meanwhile; it reads the values at its end
            if now is row and cache.of(row.id) is before:
                break
            row = now                               # the values read mix the states before and after a change
        if values == before:
            return
        stored = cache.keep(row.id, row.physical_id, values)
        if stored is not None and stored != attribute_cache.storable(before):
            self._journal.submit(self._leased.make_change(row=row, columns={'attributes': stored}))


class Neighbours:
    """The resources to refresh after a signal. Computed once for each definition, not for each signal."""

    def __init__(self, definition: StackDefinition) -> None:
        self.definition = definition

    def around(self, signalled: Mapping[str, ResourceState]) -> Iterable[str]:
        """Return the names of these resources, of those that they required when they were applied, and of those that
        require them by the definition: each once."""
        return dict.fromkeys(itertools.chain.from_iterable(
            (name, *row.requires, *self._dependents.get(name, ())) for name, row in signalled.items()))

    @cached_property
    def _dependents(self) -> Mapping[str, list[str]]:
        return graph.dependents((name, resource.requires) for name, resource in self.definition.resources.items())

    @cached_property
    def followers(self) -> list[str]:
        """Names of the resources whose metadata refers to other resources; other metadata cannot change."""
        return [name for name, resource in self.definition.resources.items()
                if getattr(resource.parsed.metadata, 'refers', False)]
