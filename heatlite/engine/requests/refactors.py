"""Use cases of refactors: resources get other names, or go to other stacks, and nothing in the cloud changes.

A refactor brings new definitions for the stacks concerned, and says which resource becomes which. It is accepted if an
update to these definitions, of the resources in their new places, would change nothing: then the rows, the definitions
and the states of all stacks are stored in one transaction. No service is asked, before or after.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.db import credentials, leases, refactoring, resources, stacks, templates
from heatlite.db import events as event_rows
from heatlite.db.connection import Database
from heatlite.engine.durability import request_ids
from heatlite.engine.notify.notifications import Notify
from heatlite.engine.reconcile import events
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.leased_stack import desired
from heatlite.engine.reconcile.revisions import Content, Recorder
from heatlite.engine.reconcile.step_context import fingerprint
from heatlite.engine.requests import guarding, refactor_checks, validation
from heatlite.engine.requests.foresight import Foresight
from heatlite.engine.requests.preview_update import Previewed
from heatlite.engine.requests.quotas import QuotaChecks
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stacks import Stacks, check_name
from heatlite.engine.requests.stored_rows import MovedRows, depending
from heatlite.engine.requests.stored_stacks import StoredStacks, check_updatable
from heatlite.engine.resource_state import PHYSICAL_NAME, physical_name
from heatlite.engine.types.registry import Registry
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.masking import Mask
from heatlite.planning import text
from heatlite.planning.protection import Protection
from heatlite.planning.refactoring import (
    Arranged,
    Arrangement,
    Move,
    Place,
    Problem,
    arranged,
    mismatches,
    problems,
    with_requirements,
)
from heatlite.planning.states import DIRTY, Action, ResourceState, Status
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

MOST_STACKS, MOST_MOVES = 20, 1000      # of one refactor
MOST_NAMED = 50                         # differences that a refusal names; a preview names all
DEEPEST = 1000                          # levels of nested stacks: all
PATIENCE, PAUSE = 40, 0.25              # times and seconds to wait for the engine that ends an action of a stack


@dataclass
class Concerned:
    """A stack of a refactor. `row`: as it is, under its new name; that of a new stack as it will be."""

    row: stacks.Stack
    former_name: str
    is_new: bool
    message: messages.UpdateStack | messages.CreateStack
    definition: StackDefinition
    before: StackDefinition | None
    content: Content
    protections: tuple[Protection, ...] = ()
    rows: list[Arranged] = field(default_factory=list)
    found: Previewed | None = None

    @property
    def is_renamed(self) -> bool:
        return self.row.name != self.former_name


@dataclass(frozen=True)
class NestedMove:
    """A nested stack whose resource is moved. `below`: the stacks inside it."""

    stack: stacks.Identity
    below: tuple[stacks.Identity, ...]
    move: Move


@dataclass
class Refactoring:
    """A checked refactor. `stored`: the rows of all stacks as they were read; `definitions`: stack -> row number ->
    stored definitions that differ after the moves."""

    concerned: dict[str, Concerned]
    moves: list[Move]
    stored: dict[str, list[ResourceState]]
    next_resource: Mapping[str, int]
    definitions: dict[str, dict[int, dict[str, Any] | None]]
    nested: list[NestedMove]
    differences: list[refactor_checks.Difference]


class Refactors:
    def __init__(self, runtime: Runtime, database: Database, registry: Registry, engine_id: str, stored: StoredStacks,
                 quotas: QuotaChecks, new_stacks: Stacks, updates: StackUpdates, foresight: Foresight,
                 recorder: Recorder, most_events: int, notify: Notify) -> None:
        """`most_events`: in the history of one stack, 0: no limit."""
        self._runtime = runtime
        self._database = database
        self._registry = registry
        self._engine_id = engine_id
        self._stored = stored
        self._quotas = quotas
        self._new_stacks = new_stacks
        self._updates = updates
        self._foresight = foresight
        self._recorder = recorder
        self._most_events = most_events
        self._notify = notify
        self._authority = Authority(runtime, registry)

    def preview(self, context: RequestContext, message: messages.PreviewRefactor) -> dict[str, Any]:
        """Return what a refactor would do, with all differences for which it would be refused."""
        return _shown(self._prepared(context, message))

    def refactor(self, context: RequestContext, message: messages.Refactor) -> dict[str, Any]:
        """Carry out a refactor. Raises NotARefactor, with the differences, if it would change anything in the cloud,
        and for wrong requests HTTPBadRequest with all that is wrong."""
        self._quotas.check_planned(None)
        wanted = self._prepared(context, message)
        if wanted.differences:
            named = [str(each) for each in wanted.differences[:MOST_NAMED]]
            more = len(wanted.differences) - len(named)
            raise exception.NotARefactor(differences='; '.join(
                [*named, *([_('and %d more') % more] if more else [])]) + '.')
        now = self._runtime.now()
        authorities = {stack_id: self._authority_of(context, each, now) for stack_id, each in wanted.concerned.items()}
        for attempt in range(PATIENCE):
            ended = self._database.retry(lambda tx: self._store(tx, context, wanted, authorities))
            if ended is not None:
                break
            if attempt + 1 == PATIENCE:
                raise exception.Conflict(_('An engine still works on one of the stacks; repeat the request.'))
            self._runtime.sleep(PAUSE)
        for begun, row in ended or ():
            self._notify(begun, begun.action, begun.status, begun.reason)
            self._notify(row, row.action, row.status, row.reason)
            LOG.info('Stack %s [%s] was refactored', row.name, row.id)
        return _shown(wanted)

    # --- before the transaction ---------------------------------------------------------------------------

    def _prepared(self, context: RequestContext, message: messages.Refactor) -> Refactoring:
        """Check a request as far as possible without a change."""
        if not 0 < len(message.stacks) <= MOST_STACKS or len(message.moves) > MOST_MOVES:
            raise exception.HTTPBadRequest(_('A refactor has 1 to %(stacks)d stacks, and at most %(moves)d moves.') % {
                'stacks': MOST_STACKS, 'moves': MOST_MOVES})
        concerned: dict[str, Concerned] = {}
        for fields in message.stacks:
            each = (self._existing if fields.get('stack_id') else self._new)(context, fields)
            if each.row.id in concerned or each.row.name in {known.row.name for known in concerned.values()}:
                raise exception.HTTPBadRequest(_('The stack %s is named twice.') % each.row.name)
            concerned[each.row.id] = each
        if len({each.row.project_id for each in concerned.values()}) > 1:
            raise exception.HTTPBadRequest(_('The stacks of a refactor belong to one project.'))
        moves = refactor_checks.parsed(message.moves, {
            **{each.row.id: each.row.id for each in concerned.values()},
            **{each.row.name: each.row.id for each in concerned.values() if each.is_new}})
        with self._database.reader() as tx:
            stored = {stack_id: [] if each.is_new else resources.light(tx, stack_id)
                      for stack_id, each in concerned.items()}
        _refuse(problems(stored, moves), concerned)
        self._check_definitions(context, concerned)
        found = arranged(stored, moves, {stack_id: each.row.next_resource for stack_id, each in concerned.items()})
        return self._compared(context, concerned, moves, stored, found)

    def _existing(self, context: RequestContext, fields: Mapping[str, Any]) -> Concerned:
        message = messages.UpdateStack.from_arguments(fields)
        with self._database.reader() as tx:
            row, stored = self._stored.with_template(tx, message.stack_id, context)
            protections = guarding.check_lock(tx, row).protections
        if row.owner_id is not None:
            raise exception.NotSupported(feature=_('A refactor of the nested stack %s without its root') % row.name)
        _check_idle(row)
        self._stored.check_rights(row.id, context)
        former, name = row.name, fields.get('rename') or row.name
        if name != former:
            check_name(name)
            self._new_stacks.check_name_free(context, name)
            row = replace(row, name=name)
        definition = self._updates.redefine(row, stored, message)
        before = self._stored.definition(replace(row, name=former), stored)
        validation.check_immutable(before, definition)
        return Concerned(row, former, False, message, definition, before, Content.of(definition), protections)

    def _new(self, context: RequestContext, fields: Mapping[str, Any]) -> Concerned:
        message = messages.CreateStack.from_arguments(fields)
        check_name(message.stack_name)
        self._new_stacks.check_name_free(context, message.stack_name)
        stack_id, project_id, now = self._runtime.uuid(), context.owning_project(), self._runtime.now()
        self._quotas.check_stacks(context, project_id)
        definition = self._new_stacks.define(message, StackIdentity(message.stack_name, stack_id, project_id))
        row = replace(self._new_stacks.new_row(context, message, definition, stack_id, Action.CREATE, now),
                      status=Status.COMPLETE, reason=text.completed(Action.CREATE), outputs=[])
        return Concerned(row, row.name, True, message, definition, None, Content.of(definition))

    def _check_definitions(self, context: RequestContext, concerned: Mapping[str, Concerned]) -> None:
        """Check the new definitions; texts that any of the stacks hides stay hidden in all."""
        mask = Mask(())
        for each in concerned.values():
            if each.before is not None:
                mask |= each.before.mask
        for each in concerned.values():
            self._quotas.check_size(each.definition)
            each.definition.hide_too(mask)
            validation.check_moved(each.definition, self._registry, context)
            self._quotas.check_sizes(each.definition, context)

    def _compared(self, context: RequestContext, concerned: dict[str, Concerned], moves: list[Move],
                  stored: dict[str, list[ResourceState]], found: Arrangement) -> Refactoring:
        """Compare the definitions with the resources in their new places."""
        definitions: dict[str, dict[int, dict[str, Any] | None]] = {}
        differences: list[refactor_checks.Difference] = []
        for stack_id, each in concerned.items():
            wanted = desired(each.definition, Action.UPDATE)
            rows = with_requirements(found.rows[stack_id], {name: one.requires for name, one in wanted.items()})
            each.rows, definitions[stack_id] = self._as_depending(each.definition, rows)
            differences += refactor_checks.unmatched(each.row.name, mismatches(rows, {
                name: one.type for name, one in wanted.items()}))
        if not differences:
            view = MovedRows({stack_id: each.rows for stack_id, each in concerned.items()}, definitions,
                             {stack_id: each.former_name for stack_id, each in concerned.items()},
                             {stack_id for stack_id, each in concerned.items() if each.is_renamed})
            for each in concerned.values():
                each.found = self._foresight.of_moves(context, each.row, each.definition, each.before, view)
                differences += refactor_checks.of_stack(each.former_name, each.row, each.found)
        differences += refactor_checks.of_protections(
            {stack_id: (each.row.name, each.protections) for stack_id, each in concerned.items()}, moves)
        nested = self._nested(moves)
        differences += refactor_checks.of_users([(each.move, concerned[each.move.source.stack].row,
                                                  concerned[each.move.target.stack].row) for each in nested])
        return Refactoring(concerned, moves, stored, found.next_resource, definitions, nested, differences)

    def _nested(self, moves: Sequence[Move]) -> list[NestedMove]:
        """Return the nested stacks of the moved resources."""
        found = []
        with self._database.reader() as tx:
            for root in dict.fromkeys(move.source.stack for move in moves):
                children = {each.parent_resource: each for each in stacks.descendants(tx, root, root, 1)}
                for move in moves:
                    child = children.get(move.source.name)
                    if move.source.stack == root and child is not None:
                        below = stacks.descendants(tx, root, child.id, DEEPEST)
                        found.append(NestedMove(child, tuple(below), move))
        return found

    def _as_depending(self, definition: StackDefinition, rows: Sequence[Arranged],
                      ) -> tuple[list[Arranged], dict[int, dict[str, Any] | None]]:
        """Return the rows of one stack with the fingerprints that follow from the `depends_on` of its definition, and
        by number the stored definitions that it changes. It only orders actions: another one is no change."""
        names = ('definition', 'properties')
        with self._database.reader() as tx:
            columns = {origin: resources.columns(tx, origin, [
                each.before.id for each in rows if each.stack == origin], names)
                for origin in {each.stack for each in rows}}
        found, changed = [], {}
        for each in rows:
            known = columns[each.stack].get(each.before.id, {})
            wanted = definition.resources.get(each.row.name)
            before = known.get('definition')
            after = before if wanted is None else depending(before, sorted(wanted.parsed.depends_on))
            if after != before:
                changed[each.row.id] = after
                if each.row.fingerprint not in ('', DIRTY):
                    sign = fingerprint({**(after or {}), 'type': each.row.type, 'properties': known['properties']})
                    each = replace(each, row=each.row._replace(fingerprint=sign))
            found.append(each)
        return found, changed

    def _authority_of(self, context: RequestContext, each: Concerned, now: datetime) -> credentials.Credentials | None:
        """Return new credentials for a stack that needs some, as for a create or an update of it."""
        if each.is_new:
            return self._authority.record(context, each.definition, now)
        return self._updates.renewed_authority(context, each.row, each.definition, now)

    # --- the transaction ------------------------------------------------------------------------------------

    def _store(self, tx: Connection, context: RequestContext, wanted: Refactoring,
               authorities: Mapping[str, credentials.Credentials | None],
               ) -> list[tuple[stacks.Stack, stacks.Stack]] | None:
        """Store the refactor. Returns the rows of the stacks, in progress and ended; None while an engine has one."""
        now = self._runtime.now()
        context.check_in_time(now)
        existing = sorted(stack_id for stack_id, each in wanted.concerned.items() if not each.is_new)
        inside = {each.id for nested in wanted.nested for each in (nested.stack, *nested.below)}
        held = {}
        for stack_id in sorted({*existing, *inside}):
            if not leases.is_idle(tx, stack_id):
                _check_idle(self._stored.found(tx, stack_id, context))
                return None
        for stack_id in existing:
            lease = leases.claim(tx, stack_id, self._engine_id)
            if lease is None:
                return None
            held[stack_id] = lease
        current = {stack_id: self._unchanged(tx, context, wanted, stack_id) for stack_id in existing}
        ended = [self._accepted(tx, context, wanted.concerned[stack_id], current.get(stack_id),
                                authorities[stack_id], now) for stack_id in sorted(wanted.concerned)]
        self._move_rows(tx, wanted, {row.id: row.template_id for _begun, row in ended})
        self._move_nested(tx, wanted, {row.id: row for _begun, row in ended})
        for begun, row in ended:
            stacks.set_next_resource(tx, row.id, wanted.next_resource[row.id])
            event_rows.insert_many(tx, row.id, [events.of_stack(
                self._runtime, each.id, each.name, each.action, each.status, each.reason) for each in (begun, row)])
            if self._most_events:
                event_rows.purge_over(tx, row.id, self._most_events)
        for stack_id, lease in held.items():
            leases.release(tx, stack_id, self._engine_id, lease.epoch)
        return ended

    def _unchanged(self, tx: Connection, context: RequestContext, wanted: Refactoring, stack_id: str) -> stacks.Stack:
        """Return the row of a stack, locked. Raises Conflict if it is not what the refactor was checked with."""
        each = wanted.concerned[stack_id]
        current = self._stored.current(tx, stack_id, context)
        protections = guarding.check_lock(tx, current).protections
        _check_idle(current)
        if (current.generation != each.row.generation or current.name != each.former_name
                or protections != each.protections or resources.light(tx, stack_id) != wanted.stored[stack_id]):
            raise exception.Conflict(_('Stack %s has changed meanwhile; repeat the request.') % current.name)
        return current

    def _accepted(self, tx: Connection, context: RequestContext, each: Concerned, current: stacks.Stack | None,
                  authority: credentials.Credentials | None, now: datetime) -> tuple[stacks.Stack, stacks.Stack]:
        """Store the new definition of a stack with its end. Returns its row in progress, and ended."""
        if authority is not None:
            credentials.insert(tx, authority)
        template_id = self._runtime.uuid()
        content = replace(each.content, environment=each.definition.environment.document())
        shown = refactor_checks.outputs_of(each.found)
        columns: dict[str, Any] = {'outputs': shown, 'request': request_ids.stored(context, None)}
        if authority is not None:
            columns['credentials_id'] = authority.id
        if current is None:
            row = replace(each.row, template_id=template_id, **columns)
            leases.insert(tx, row.id, None, wanted=False)
            stacks.insert(tx, row)
        else:
            if each.is_renamed:
                refactoring.rename(tx, current.id, each.row.name)
            row = stacks.accept(
                tx, current.id, action=Action.UPDATE, status=Status.COMPLETE, reason=text.completed(Action.UPDATE),
                now=now, template_id=template_id, previous_template_id=None,
                keeps_revision=self._recorder.is_present(tx, current, content),
                description=str(each.definition.description), parameters=each.definition.parameters.shown(), **columns)
        templates.insert(tx, template_id, content.document, content.environment, content.files, now, stack_id=row.id)
        self._recorder.record(tx, current, row, content, context)
        action = Action(row.action)
        return replace(row, status=Status.IN_PROGRESS, reason=text.started(action)), row

    def _move_rows(self, tx: Connection, wanted: Refactoring, template_ids: Mapping[str, str]) -> None:
        names: dict[tuple[str, int], str] = {}
        for stack_id, each in wanted.concerned.items():
            references = each.found.references if each.found is not None else {}
            changed = [one for one in each.rows if one.row != one.before or one.stack != stack_id
                       or one.row.id in wanted.definitions[stack_id] or one.row.id in references]
            kept = refactor_checks.kept(tx, changed, references)
            for one in changed:
                large = {**({'definition': wanted.definitions[stack_id][one.row.id]}
                            if one.row.id in wanted.definitions[stack_id] else {}),
                         **({'attributes': kept[one.row.id]} if one.row.id in kept else {})}
                row = one.row._replace(template_id=template_ids[stack_id]) if one.is_moved else one.row
                refactoring.move(tx, (one.stack, one.before.id), (stack_id, row), large)
                if one.row.id in references:
                    names[stack_id, one.row.id] = physical_name(
                        wanted.concerned[one.stack].former_name, one.before.name, one.before.uuid)
        refactoring.keep_data(tx, PHYSICAL_NAME, names)
        refactoring.move_alarms(tx, [((move.source.stack, move.source.name), (move.target.stack, move.target.name))
                                     for move in wanted.moves])


    def _move_nested(self, tx: Connection, wanted: Refactoring, ended: Mapping[str, stacks.Stack]) -> None:
        for each in wanted.nested:
            source, target = each.move.source, each.move.target
            present = stacks.child(tx, source.stack, source.name)
            if (present is None or present.id != each.stack.id
                    or tuple(stacks.descendants(tx, present.root_id, present.id, DEEPEST)) != each.below):
                raise exception.Conflict(_('The nested stack of %s has changed meanwhile; repeat the request.')
                                         % source.name)
            root = ended[target.stack]
            refactoring.reparent(tx, each.stack.id, [one.id for one in each.below], owner_id=target.stack,
                                 parent_resource=target.name, root=(root.id, root.credentials_id),
                                 deeper=root.depth + 1 - each.stack.depth)


def _check_idle(row: stacks.Stack) -> None:
    """Raise ActionInProgress or NotSupported unless the stack may be refactored now."""
    check_updatable(row)
    if row.status == Status.IN_PROGRESS:
        raise exception.ActionInProgress(stack_name=row.name, action=row.action)


def _refuse(found: Sequence[Problem], concerned: Mapping[str, Concerned]) -> None:
    """Raise HTTPBadRequest with all problems, unless there are none."""
    if found:
        raise exception.HTTPBadRequest('; '.join(
            f'{concerned[each.place.stack].former_name}/{each.place.name}: {each.reason}' for each in found) + '.')


def _shown(wanted: Refactoring) -> dict[str, Any]:
    def place(at: Place) -> dict[str, str]:
        return {'stack': wanted.concerned[at.stack].row.name, 'resource': at.name}

    return {
        'stacks': [{'id': None if each.is_new and wanted.differences else each.row.id, 'stack_name': each.row.name,
                    'is_new': each.is_new} for each in wanted.concerned.values()],
        'moves': [{'from': place(move.source), 'to': place(move.target)} for move in wanted.moves],
        'differences': [each.to_json() for each in wanted.differences]}
