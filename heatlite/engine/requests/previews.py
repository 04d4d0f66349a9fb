"""Makes the previews of what a request of a stack would do."""

from __future__ import annotations

from heatlite.common.context import RequestContext
from heatlite.common.runtime import Runtime
from heatlite.db import stacks
from heatlite.db.connection import Database
from heatlite.engine.durability import fence
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.engine.requests import import_checks, preview_create
from heatlite.engine.requests.preview_update import Preview, PreviewedStack
from heatlite.engine.requests.stored_rows import StoredRows
from heatlite.engine.types.registry import TypeRegistry
from heatlite.language.definition import StackDefinition


class Previews:
    """Makes previews for other use cases, in the threads of their requests. Stores nothing."""

    def __init__(self, runtime: Runtime, database: Database, registry: TypeRegistry, use_cases: Provider,
                 resources_per_stack: int, observe: bool) -> None:
        """`resources_per_stack`: the quota; `observe`: updates compare with the state that services report."""
        self._runtime = runtime
        self._database = database
        self._registry = registry
        self._use_cases = use_cases
        self._resources_per_stack = resources_per_stack
        self._observe = observe

    def of_create(self, context: RequestContext, row: stacks.StoredStack,
                  definition: StackDefinition) -> PreviewedStack:
        """Raises what `import_checks.check` raises, as does `of_update`."""
        preview = self._preview(context).of_create(row, definition)
        import_checks.check(preview, context, self._registry)
        return preview

    def of_update(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition,
                  before: StackDefinition, converge: bool, with_causes: bool) -> PreviewedStack:
        """`with_causes`: with the present definitions, also of nested stacks, from which the causes of changes
        follow."""
        preview = self._preview(context).of_update(row, definition, definition.mask | before.mask, converge=converge,
                                                   before=before if with_causes else None)
        import_checks.check(preview, context, self._registry)
        return preview

    def of_moves(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition,
                 before: StackDefinition | None, stored: StoredRows) -> PreviewedStack:
        """Return what an update with this definition would do if the resources were as `stored` says. Asks no service:
        what cannot be known without that is unknown."""
        use_cases = self._use_cases()
        preview = Preview(self._runtime, self._database, self._registry, context, use_cases.nest, use_cases.software,
                          use_cases.alarms, self._resources_per_stack, preview_create.MOST_SHOWN, stored=stored)
        mask = definition.mask if before is None else definition.mask | before.mask
        return fence.without_requests(lambda: preview.of_update(row, definition, mask, converge=False, before=before))

    def of_delete(self, context: RequestContext, row: stacks.StoredStack,
                  definition: StackDefinition) -> PreviewedStack:
        return self._preview(context).of_delete(row, definition)

    def _preview(self, context: RequestContext) -> Preview:
        use_cases = self._use_cases()
        return Preview(self._runtime, self._database, self._registry, context, use_cases.nest, use_cases.software,
                       use_cases.alarms, self._resources_per_stack, preview_create.MOST_SHOWN, self._observe)
