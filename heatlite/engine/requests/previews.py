"""Makes the previews of what a request of a stack would do."""

from __future__ import annotations

from heatlite.common.context import RequestContext
from heatlite.db import stacks
from heatlite.engine.durability import fence
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.use_cases import Provider
from heatlite.engine.requests import import_checks, preview_create
from heatlite.engine.requests.preview_update import Preview, PreviewedStack
from heatlite.engine.requests.stored_rows import StoredRows
from heatlite.language.definition import StackDefinition


class Previews:
    """Makes previews for other use cases, in the threads of their requests. Stores nothing."""

    def __init__(self, core: EngineCore, use_cases: Provider, resources_per_stack: int, observe: bool) -> None:
        """`resources_per_stack`: the quota; `observe`: updates compare with the state that services report."""
        self._core = core
        self._use_cases = use_cases
        self._resources_per_stack = resources_per_stack
        self._observe = observe

    def of_create(self, context: RequestContext, row: stacks.StoredStack,
                  definition: StackDefinition) -> PreviewedStack:
        """Raise what `import_checks.check` raises, as does `of_update`."""
        preview = self._preview(context).of_create(row, definition)
        import_checks.check(preview, context, self._core.registry)
        return preview

    def of_update(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition,
                  before: StackDefinition, converge: bool, with_causes: bool) -> PreviewedStack:
        """`with_causes`: with the present definitions, also of nested stacks, from which the causes of changes
        follow."""
        preview = self._preview(context).of_update(row, definition, definition.mask | before.mask, converge=converge,
                                                   before=before if with_causes else None)
        import_checks.check(preview, context, self._core.registry)
        return preview

    def of_moves(self, context: RequestContext, row: stacks.StoredStack, definition: StackDefinition,
                 before: StackDefinition | None, stored: StoredRows) -> PreviewedStack:
        """Return what an update with this definition would do if the resources were as `stored` says. Asks no service:
        what cannot be known without that is unknown."""
        preview = Preview(self._core, self._use_cases(), context, self._resources_per_stack, preview_create.MOST_SHOWN,
                          stored=stored)
        mask = definition.mask if before is None else definition.mask | before.mask
        return fence.without_requests(lambda: preview.of_update(row, definition, mask, converge=False, before=before))

    def of_delete(self, context: RequestContext, row: stacks.StoredStack,
                  definition: StackDefinition) -> PreviewedStack:
        return self._preview(context).of_delete(row, definition)

    def _preview(self, context: RequestContext) -> Preview:
        return Preview(self._core, self._use_cases(), context, self._resources_per_stack, preview_create.MOST_SHOWN,
                       self._observe)
