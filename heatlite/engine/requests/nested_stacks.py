"""Use cases of nested stacks, requested by the resource of the parent that stands for the stack (reconcile.nesting)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import events, stack_trees, stacks, templates
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import exports, imports, outputs, plan_references, request_keys, stack_events
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.settled import without_inputs
from heatlite.engine.requests import guard_checks, sources, validation
from heatlite.engine.requests.acceptance import StackOwner
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.stack_actions import GenerationChanged, StackActions, check_place
from heatlite.engine.requests.stored_stacks import check_ready, check_updatable, visible
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.planning import identities, text
from heatlite.planning.states import Action, Status
from heatlite.rpc import messages

MOST_ATTEMPTS = 8                   # of nested stacks of one row of a resource, whose ids are computed
MOST_VISITED = 20                   # resources of a nested stack that costs less to visit than to compare with before


class NestedStacks:
    """Changes nested stacks for the types that own them, in threads of the pool: in calls of these types."""

    def __init__(self, parts: RequestParts, actions: StackActions) -> None:
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._acceptance = parts.acceptance
        self._stored_stacks = parts.stored_stacks
        self._quotas = parts.quotas
        self._checked_definitions = parts.checked_definitions
        self._unchanged = parts.unchanged
        self._actions = actions

    def check_room(self, root_id: str, count: int, child_id: str | None = None) -> None:
        """As `QuotaChecks.check_room`."""
        self._quotas.check_room(root_id, count, child_id)

    def create_child(self, parent: LeasedStack, resource_name: str, resource_uuid: str, name: str,
                     define: Callable[[StackIdentity], StackDefinition], request: Mapping[str, object], *,
                     timeout_mins: int | None, adopt: Mapping[str, object] | None) -> stacks.StoredStack:
        """Store the nested stack of a resource and begin to drive it. Returns its row. `request`: stored with it."""
        above = parent.row
        stack_id = self._new_id(resource_uuid)
        definition = define(StackIdentity(name, stack_id, above.project_id))
        timeout_mins = above.timeout_mins if timeout_mins is None else timeout_mins
        validation.check_child(definition, self._registry, parent.context, timeout_mins=timeout_mins)
        now = self._runtime.now()
        action = Action.CREATE if adopt is None else Action.ADOPT
        row = stacks.StoredStack(
            id=stack_id, name=name, project_id=above.project_id, username=above.username, owner_id=above.id,
            root_id=above.root_id, parent_resource=resource_name, depth=above.depth + 1, action=action,
            status=Status.IN_PROGRESS, reason=text.started(action), description=str(definition.description),
            template_id=self._runtime.uuid(), previous_template_id=None, generation=1,
            next_resource=len(definition.resources) + 1,
            timeout_mins=timeout_mins, disable_rollback=True,
            converge=False, credentials_id=above.credentials_id, user_project_id=above.user_project_id, tags=None,
            parameters=definition.parameters.shown(), outputs=outputs.unknown(definition),
            request=request_ids.stored(request_ids.asking(parent.context), {
                **request, **({request_keys.ADOPT: adopt.get('resources', {})} if adopt else {})},
                plan_references.below(parent, resource_name)),
            created_at=now, updated_at=None, started_at=now, deleted_at=None, restored_from=above.restored_from)
        self._acceptance.commit_new(parent.context, row, definition,
                                    self._acceptance.new_resources(row.id, definition, row.template_id, now), now,
                                    path=parent.path_below(resource_name), by=parent)
        if _is_large(definition):
            self._checked_definitions.note(row.template_id)
        return row

    def _new_id(self, resource_uuid: str) -> str:
        """Return an id for a nested stack: the same that another engine would choose for it."""
        wanted = [identities.of_nested(resource_uuid, attempt) for attempt in range(MOST_ATTEMPTS)]
        with self._database.reader() as tx:
            taken = stack_trees.children(tx, wanted)
        return next((each for each in wanted if each not in taken), self._runtime.uuid())

    def update_child(self, parent: LeasedStack, stack_id: str, define: Callable[[StackIdentity], StackDefinition],
                     request: Mapping[str, object], *, timeout_mins: int | None, converge: bool,
                     is_signalled: bool = False) -> stacks.StoredStack:
        """Store a new definition of a nested stack. Returns its row. Raises EntityNotFound, and NotSupported if it is
        suspended or being deleted. `request`: stored with it; `is_signalled`: a signal asks for it, perhaps while an
        action of the parent is in progress: it does not belong to that, which was checked before."""
        is_signalled = is_signalled or parent.row.status != Status.IN_PROGRESS     # as of a type that does not say so
        with self._database.reader() as tx:
            row = visible(tx, stack_id, _on_behalf_of(parent))
            found = guard_checks.read(tx, row) if is_signalled else None
        definition = define(StackIdentity(row.name, row.id, row.project_id))
        if found is not None:
            found.check_members(definition.resources)
        timeout_mins = parent.row.timeout_mins if timeout_mins is None else timeout_mins
        self._compare(row, definition, parent, timeout_mins)
        now = self._runtime.now()

        def accept(tx: Connection) -> tuple[StackOwner, stacks.StoredStack]:
            self._acceptance.check_owner(tx, parent)
            owner = self._acceptance.claim(tx, row.id, by=parent)
            current = self._stored_stacks.current(tx, row.id, None)
            check_updatable(current)
            if is_signalled:
                guard_checks.check_lock(tx, current)
            self._unchanged.check_as_applied(tx, row, current, definition)
            accepted = stacks.accept(
                tx, row.id, action=Action.UPDATE, reason=text.started(Action.UPDATE), now=now,
                template_id=templates.insert(
                    tx, self._runtime.uuid(), definition.template.document, definition.environment.document(),
                    definition.files, now, stack_id=row.id, is_nested=True),
                description=str(definition.description),
                parameters=definition.parameters.shown(), converge=converge,
                request=request_ids.stored(
                    request_ids.asking(parent.context),
                    {**request_keys.lasting(current, Action.UPDATE, definition.resources),
                     **(without_inputs(request) if is_signalled else imports.following(request, parent.row))},
                    None if is_signalled else plan_references.below(parent, str(row.parent_resource))),
                timeout_mins=timeout_mins)
            events.insert_many(tx, row.id, [stack_events.of_stack(self._runtime, accepted)])
            self._acceptance.limit_remains(tx, current)
            return owner, accepted

        accepted = self._acceptance.commit(accept, definition)
        if _is_large(definition):
            self._checked_definitions.note(accepted.template_id)
        return accepted

    def _compare(self, row: stacks.StoredStack, definition: StackDefinition, parent: LeasedStack,
                 timeout_mins: int | None) -> None:
        """Check a new definition of a nested stack, have it hide what the present one hides, and note what the two
        share. Raises what the definition is refused with."""
        same: frozenset[str] = frozenset()
        before = None
        has_immutables = bool(definition.parameters.immutables)
        if (has_immutables or _is_large(definition) or definition.mask or parent.definition.mask
                or validation.has_external(definition)):
            with self._database.reader() as tx:
                stored = sources.sharing(templates.get(tx, row.template_id), definition.template)
            before = self._stored_stacks.definition(row, stored)
            definition.hide_too(before.mask)
        if before is not None and has_immutables:
            validation.check_immutable(before, definition, is_nested=True)
        if before is not None and _is_large(definition):
            same = self._checked_definitions.same(definition, row.template_id, before)
            definition.as_applied = self._unchanged.as_applied(row, before, definition)
        validation.check_child(definition, self._registry, parent.context, same, timeout_mins, before)

    def act_on_child(self, parent: LeasedStack, stack_id: str, action: Action,
                     abandon: bool = False) -> stacks.StoredStack:
        """Begin an action of a nested stack. Raises EntityNotFound if it is gone, or of another project, and for what a
        user requested of it meanwhile NotSupported: only a delete takes the place of a delete. Raises ActionInProgress
        where a check, suspend or resume would take the place of what has to go on, as an update by a user."""
        plan = None
        if plan_references.of(parent.row) is not None:
            with self._database.reader() as tx:
                plan = plan_references.below(parent, str(visible(tx, stack_id, None).parent_resource))

        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            check_place(row, action)
            return {'request': imports.following(exports.ABANDONING if abandon else {}, parent.row)}

        return self._actions.begin_by_engine(stack_id, action, store, on_behalf_of=_on_behalf_of(parent), plan=plan,
                                             by=parent)

    def cancel_child(self, parent: LeasedStack, stack_id: str, generation: int) -> bool:
        """Cancel the action of a nested stack. Does nothing if none is in progress. False: it has another generation
        meanwhile."""
        try:
            self._actions.cancel(_on_behalf_of(parent), messages.CancelStack(stack_id, rollback=False), generation,
                                 by=parent)
        except GenerationChanged:
            return False
        except (exception.NotSupported, exception.EntityNotFound):
            return True
        return True

    def update_again(self, stack: LeasedStack, mark: Callable[[], None]) -> stacks.StoredStack:
        """Begin an update of a stack to its present definition, for a signal to one of its resources. `mark()`: marks
        what is to be replaced as unhealthy. Raises ActionInProgress, StackLocked and NotSupported, with nothing marked
        unless the stack has changed just now."""
        def store(tx: Connection, row: stacks.StoredStack) -> stacks.Requested:
            guard_checks.check_lock(tx, row)
            check_ready(row)
            return {'converge': False, 'request': request_keys.of_definition(row)}

        with self._database.reader() as tx:
            store(tx, visible(tx, stack.id, None))
        mark()
        return self._actions.begin_by_engine(stack.id, Action.UPDATE, store, on_behalf_of=_on_behalf_of(stack))


def _is_large(definition: StackDefinition) -> bool:
    return len(definition.snippets) > MOST_VISITED


def _on_behalf_of(parent: LeasedStack) -> RequestContext:
    """Return the context in which a parent acts on nested stacks: its project, no administrator, its current request
    ids."""
    asking = request_ids.asking(parent.context)
    return RequestContext(project_id=parent.row.project_id, overwrite=False, request_id=asking.request_id,
                          global_request_id=asking.global_request_id)
