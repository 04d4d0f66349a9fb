"""Previews an update of a tree of stacks: one dry run for each stack, also for nested stacks that the types would
create, update or delete.

The dry run of a nested stack finds its outputs: the parent can use those that depend on unchanged resources only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import NoReturn

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.limits import UNLIMITED
from heatlite.db import stack_trees, stacks, templates
from heatlite.db.leases import Lease
from heatlite.db.stacks import StoredStack
from heatlite.engine import clients
from heatlite.engine.clients import batched_reads
from heatlite.engine.clients.batched_reads import BatchedReads
from heatlite.engine.reconcile import loading, outputs
from heatlite.engine.reconcile.engine_core import EngineCore
from heatlite.engine.reconcile.facade import Stack
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.nesting import Nesting, facade_parts
from heatlite.engine.reconcile.resource_objects import ResourceObjects
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.engine.reconcile.stored_resource_cache import StoredResourceCache
from heatlite.engine.reconcile.use_cases import UseCases
from heatlite.engine.requests import validation
from heatlite.engine.requests.dry_executor import DryExecutor
from heatlite.engine.requests.dry_run import DryRun
from heatlite.engine.requests.previewed_change import PreviewedChange
from heatlite.engine.requests.stored_rows import AS_STORED, StoredRows
from heatlite.engine.resource import Resource
from heatlite.engine.resources.members import MemberGroup
from heatlite.engine.resources.scaled import ScaledGroup
from heatlite.engine.resources.stack_resource import StackResource, as_template
from heatlite.engine.types import tree_size
from heatlite.language import masking
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.masking import Mask
from heatlite.language.template import Template
from heatlite.language.unknown import UNKNOWN, is_known
from heatlite.planning.plan import PlanAction
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.steps import Step

NEW = 'None'                            # the id of a stack that does not exist yet, as shown to clients


@dataclass
class PreviewedStack:
    """One stack of the tree. `changes`: resource name -> change, for all old and new resources, new ones first in the
    order of the template."""

    row: StoredStack
    definition: StackDefinition
    mask: Mask
    changes: Mapping[str, PreviewedChange] = field(default_factory=dict)
    inside: list[PreviewedStack] = field(default_factory=list)
    fails: str = ''                     # why the update of the stack would fail
    before: StackDefinition | None = None                               # the present definition
    outputs_before: Sequence[Mapping[str, object]] = ()
    generates_names: bool = False       # new members get other names when they are made
    most_spare: int = 0                 # members beyond its size while a group changes in batches
    is_observed: bool = False           # what services report was read, too
    references: Mapping[int, object] = field(default_factory=dict)     # of rows that were renamed
    # What would be stored of the resource of a nested stack (large columns, fingerprint), and with the stack.
    applied: Mapping[str, object] = field(default_factory=dict)
    fingerprint: str = ''
    facade: Mapping[str, object] = field(default_factory=dict)


class NotPreviewed(Exception):
    """This part of a nested stack is not known before its update."""


class PreviewedNesting:
    """`engine.reconcile.nesting.Nesting`, for reading only. Nested stacks with a dry run have their future state."""

    def __init__(self, nesting: Nesting) -> None:
        self._nesting = nesting
        self.rows: dict[str, StoredStack] = {}            # nested stack -> its row after the update
        self.find = nesting.find
        self.define = nesting.define
        self.check_depth = nesting.check_depth
        self.check_room = nesting.check_room
        self.user_project = nesting.user_project
        self.is_settled = nesting.is_settled

    def abandon(self, resource: Resource) -> NoReturn:
        raise NotPreviewed(resource.name)

    def set_user_project(self, project_id: str) -> NoReturn:
        raise NotPreviewed(project_id)

    def update_parent(self, mark: Callable[[], None]) -> NoReturn:
        raise NotPreviewed('')

    def row(self, resource: Resource) -> StoredStack | None:
        return self.rows.get(resource.resource_id or '') or self._nesting.row(resource)

    def template(self, resource: Resource) -> Template | None:
        return self._as_it_is(resource).template(resource)

    def members(self, resource: Resource) -> list[ResourceState]:
        return self._as_it_is(resource).members(resource)

    def stack(self, resource: Resource) -> Stack | None:
        return self._as_it_is(resource).stack(resource)

    def _as_it_is(self, resource: Resource) -> Nesting:
        if resource.resource_id in self.rows:
            raise NotPreviewed(resource.resource_id)
        return self._nesting


class Preview:
    """The preview of one update of one tree."""

    def __init__(self, core: EngineCore, use_cases: UseCases, context: RequestContext, quota: int, most: int,
                 observe: bool = False, stored: StoredRows = AS_STORED) -> None:
        """`quota`: the most resources of a tree, or UNLIMITED: then at most `most` are previewed. `observe`: updates
        compare with the state that services report, whether or not they say `converge`. `stored`: the resources from
        which it starts."""
        self._runtime = core.runtime
        self._database = core.database
        self._registry = core.registry
        self._use_cases = use_cases
        self._context = context
        self._left = most if quota == UNLIMITED else quota
        self._observe = observe
        self._rows = stored

    def of_create(self, row: StoredStack, definition: StackDefinition) -> PreviewedStack:
        """Preview a create. `row`: the row of the new stack. Raises as `of_update`."""
        with self._batching_reads(definition):
            return self._of(replace(row, id=NEW), definition, definition.mask)

    def of_update(self, row: StoredStack, definition: StackDefinition, mask: Mask, converge: bool,
                  before: StackDefinition | None = None) -> PreviewedStack:
        """Preview an update. Raises the errors for which it would be refused, also of nested stacks, and
        RequestLimitExceeded. `before`: the present definition, to tell the causes of changes."""
        with self._batching_reads(definition, self._observe or converge):
            return self._of(replace(loading.as_updated(row), converge=converge), definition, mask, before,
                            row.outputs or ())

    def _batching_reads(self, definition: StackDefinition, is_observed: bool = False) -> AbstractContextManager[object]:
        """What is read from services is read from lists if much of it is read."""
        reads = is_observed or definition.environment.has_imports()
        return batched_reads.within(BatchedReads(self._runtime)) if reads else nullcontext()

    def of_delete(self, row: StoredStack, present: StackDefinition) -> PreviewedStack:
        """Preview a delete."""
        return self._of(replace(loading.as_updated(row), action=Action.DELETE), present, present.mask, present,
                        row.outputs or ())

    def _of(self, row: StoredStack, definition: StackDefinition, mask: Mask, before: StackDefinition | None = None,
            outputs_before: Sequence[Mapping[str, object]] = ()) -> PreviewedStack:
        """Preview one stack. `row`: its row with the previewed action."""
        self._take(len(definition.snippets))
        with self._database.reader() as tx:         # as the update itself would read them
            self._rows.begin(tx, row.id, definition)
            rows = self._rows.light(tx, row.id) if row.id != NEW else []
            cached_values = self._rows.cached_values(tx, row.id) if rows else {}
            mask |= Mask(self._rows.secrets(tx, row.id)) if rows else masking.NOTHING
        leased = LeasedStack(row, Lease(row.id, '', 0), definition, self._context,
                             loading.traversal(self._runtime, row, loading.target(row, definition), list(rows), 0))
        leased.attribute_cache.fill(cached_values)
        is_update = row.id != NEW and row.action != Action.DELETE
        preview = PreviewedStack(row, definition, mask, before=before, outputs_before=outputs_before,
                               is_observed=is_update and (self._observe or row.converge))
        nesting = PreviewedNesting(self._use_cases.nest(leased))
        run = DryRun(self._runtime, leased, self._executor(leased, nesting),
                     lambda *what: self._inside(preview, nesting, *what))
        self._renamed(preview, leased, run.executor)
        preview.changes = run.run()
        self._open(preview)
        preview.fails = run.fails
        if row.action != Action.DELETE:
            preview.row = replace(row, outputs=outputs.resolve(definition, run.executor.scope, shows_unknown=True))
        return preview

    def _executor(self, leased: LeasedStack, nesting: PreviewedNesting) -> DryExecutor:
        def facade(objects: ResourceObjects) -> Stack:
            return Stack(leased, objects.unmade, clients.of, self._runtime, scope=objects.scope, nesting=nesting,
                         software=self._use_cases.software, alarms=self._use_cases.alarms,
                         default_timeout=self._registry.action_timeout)

        return DryExecutor(self._runtime, leased, self._registry, facade,
                           StoredResourceCache(self._runtime, self._database, None, leased.id,
                                               self._rows.reader(leased.id)), self._observe)

    def _renamed(self, preview: PreviewedStack, leased: LeasedStack, executor: DryExecutor) -> None:
        """Note the references of the rows that have another name, or a stack with another name, than when their values
        were cached, which what refers to them gets; and which of the rows cannot be where they are."""
        references: dict[int, object] = {}
        for number, from_other_stack in self._rows.renamed(leased.id).items():
            row = leased.rows[number]
            try:
                resource = executor.objects.stored(row)
                references[number] = resource.get_reference_id()
                why = resource.why_not_moved(from_other_stack)
            except exception.DatabaseUnavailable:
                raise
            except Exception as error:              # raised by the type
                why = str(error) or type(error).__name__
            if why:
                executor.changes[row.name].why_not_moved = why
                continue
            leased.attribute_cache.replace_reference(number, references[number])
        for number in self._rows.separated(leased.id):
            change = executor.changes[leased.rows[number].name]
            if not change.why_not_moved and executor.objects.kind_of(leased.rows[number]).looks_up_others:
                change.why_not_moved = _('it needs what it refers to in its own stack')
        preview.references = references

    def _take(self, count: int) -> None:
        tree_size.check(count, self._left)
        self._left -= count

    # --- nested stacks ------------------------------------------------------------------------------------

    def _inside(self, parent_preview: PreviewedStack, nesting: PreviewedNesting, run: DryRun, step: Step,
                row: ResourceState, verb: Action) -> str | None:
        """Preview the nested stack of a resource. Returns the reason if its action would fail, else None."""
        if not issubclass(run.executor.objects.kind_of(row), StackResource):    # most have none: no object is made
            return None
        resource = (run.stored(row) if verb is Action.DELETE else
                    run.executor.contexts.resource(step, row, first=verb is not Action.UPDATE))
        assert isinstance(resource, StackResource)
        stored = nesting.row(resource)
        if verb is Action.DELETE:
            if stored is not None:
                self._gone(parent_preview, run, row, stored)
            return None
        change = run.changes[row.name]
        if verb is Action.UPDATE:
            change.nested = stored
        is_known_here = _is_known(run.executor.contexts.begin(step))
        try:
            definition, mask = (
                self._stored(stored) if stored is not None and change.is_settled     # it stays as it is
                else self._defined(nesting, run, step, resource, row, stored))
        except Exception as error:
            if is_known_here:
                raise
            change.inside = _('What is inside is not known before: %s') % error
            self._undecided(parent_preview, stored, change.inside)
            return None
        child_row = self._wanted_row(run.leased.row, resource, stored)
        before = self._stored(stored)[0] if stored is not None and parent_preview.before is not None else None
        preview = self._of(child_row, definition, mask | parent_preview.mask, before,
                         stored.outputs or () if stored is not None else ())
        preview.generates_names = isinstance(resource, ScaledGroup)
        preview.most_spare = resource.most_spare() if isinstance(resource, MemberGroup) else 0
        work = run.executor.contexts.begin(step)
        preview.applied, preview.fingerprint = work.columns, work.fingerprint
        preview.facade = facade_parts(work.wanted())
        parent_preview.inside.append(preview)
        if preview.fails:
            return preview.fails
        if stored is not None and verb is Action.UPDATE:
            self._read_future_state(nesting, run, resource, row, preview.row)
        return None

    def _defined(self, nesting: PreviewedNesting, run: DryRun, step: Step, resource: StackResource, row: ResourceState,
                 stored: StoredStack | None) -> tuple[StackDefinition, Mask]:
        """Build the definition of a nested stack as `Nesting` would. Raises the errors for which it would be
        refused."""
        above = run.leased.row
        work = run.executor.contexts.begin(step)
        difference: Mapping[str, object] = {}
        if stored is not None:
            difference = work.difference.properties if work.difference is not None else {}
            resource.take_properties(work.wanted())
            identity = StackIdentity(stored.name, stored.id, stored.project_id)
        else:
            nesting.check_depth()
            identity = StackIdentity(f'{above.name}-{row.name}', None, above.project_id)
        template = as_template(resource.preview_template(difference))
        nesting.check_room(resource, len(template.section('resources') or ()))
        definition = nesting.define(resource, template, resource.child_params(), identity)
        mask = definition.mask
        old = None
        if stored is not None:
            with self._database.reader() as tx:
                before = templates.show(tx, stored.template_id)
            mask |= masking.of_documents(before.document, before.environment)
            if definition.parameters.immutables or validation.has_external(definition):
                old = self._stored(stored)[0]
                validation.check_immutable(old, definition, is_nested=True)
        validation.check_child(definition, self._registry, self._context, timeout_mins=above.timeout_mins,
                               before=old)
        return definition, mask

    def _wanted_row(self, above: StoredStack, resource: StackResource, stored: StoredStack | None) -> StoredStack:
        if stored is not None:
            return replace(loading.as_updated(stored), converge=above.converge, owner_id=above.id,
                           root_id=above.root_id, parent_resource=resource.name, depth=above.depth + 1)
        return replace(
            above, id=NEW, name=f'{above.name}-{resource.name}', owner_id=above.id, parent_resource=resource.name,
            depth=above.depth + 1, action=Action.CREATE, converge=False, previous_template_id=None, next_resource=1,
            outputs=None, request=None, tags=None)

    def _read_future_state(self, nesting: PreviewedNesting, run: DryRun, resource: StackResource, row: ResourceState,
                           after: StoredStack) -> None:
        """Make the parent read the future state of the nested stack."""
        nesting.rows[after.id] = replace(after, status=Status.COMPLETE)
        resource.forget_nested()
        run.executor.preview_state.objects[row.id] = resource
        try:
            run.leased.attribute_cache.put_reference(row.id, resource.get_reference_id())
        except Exception:                           # raised by the type: the reference is unknown then
            run.leased.attribute_cache.put_reference(row.id, UNKNOWN)

    def _stored(self, stored: StoredStack) -> tuple[StackDefinition, Mask]:
        with self._database.reader() as tx:
            template = templates.get(tx, stored.template_id)
        definition = loading.definition(template, stored, self._registry)
        return definition, definition.mask

    def _gone(self, parent_preview: PreviewedStack, run: DryRun, row: ResourceState, stored: StoredStack) -> None:
        change = run.changes[row.name]
        if change.action in (PlanAction.DELETE, PlanAction.RELEASE):
            change.nested = stored
        definition, mask = self._stored(stored)
        parent_preview.inside.append(self._of(replace(loading.as_updated(stored), action=Action.DELETE), definition,
                                     mask | parent_preview.mask))

    def _undecided(self, parent_preview: PreviewedStack, stored: StoredStack | None, why: str) -> None:
        """Add the nested stack, with all its resources as unknown."""
        if stored is None:
            return
        definition, mask = self._stored(stored)
        with self._database.reader() as tx:
            rows = [row for row in self._rows.light(tx, stored.id) if row.replaced_by is None]
        self._take(len(rows))
        preview = PreviewedStack(stored, definition, mask | parent_preview.mask, {
            row.name: PreviewedChange(row.name, PlanAction.UNKNOWN, row, why=why, inside=why) for row in rows})
        parent_preview.inside.append(preview)
        self._open(preview)

    def _open(self, preview: PreviewedStack) -> None:
        """Make everything inside resources that are unknown unknown, too."""
        unknown = {name: change.why for name, change in preview.changes.items() if change.action is PlanAction.UNKNOWN}
        if not unknown:
            return
        preview.inside = [each for each in preview.inside if each.row.parent_resource not in unknown]
        if preview.row.id == NEW:
            return
        with self._database.reader() as tx:
            below = [stacks.get(tx, each.id) for each in stack_trees.descendants(tx, preview.row.root_id,
                                                                                 preview.row.id, 1)
                     if each.parent_resource in unknown]
        for stored in below:
            if stored is not None:
                self._undecided(preview, stored, unknown[str(stored.parent_resource)])


def _is_known(work: StepContext) -> bool:
    """Whether all values of the resource's definition are known before the update."""
    definition = work.wanted()
    return is_known(definition['Properties']) and is_known(definition.metadata())
