"""Stores a refactor that was checked: the rows, the definitions and the states of all its stacks in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.db import credentials, events, leases, refactoring, resources, stack_trees, stacks, templates
from heatlite.db.credentials import Credentials
from heatlite.db.refactoring import RowMove
from heatlite.engine.durability import request_ids
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.reconcile import request_keys, stack_events
from heatlite.engine.reconcile.action_ends import ActionEnds
from heatlite.engine.requests import guard_checks, refactor_checks
from heatlite.engine.requests.checked_refactor import CheckedRefactor, ConcernedStack
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.stored_stacks import check_ready, visible
from heatlite.engine.resource_state import PHYSICAL_NAME, physical_name
from heatlite.planning import text
from heatlite.planning.states import Action, Status

LOG = logging.getLogger(__name__)

IDLE_CHECKS = 40                        # times that a request looks whether an engine has ended the action of a stack
IDLE_PAUSE_SECONDS = 0.25               # between two of them

Authorities = Mapping[str, Credentials | None]
"""Stack -> its new credentials, or None if it needs none."""


@dataclass(frozen=True)
class StoredRefactor:
    """What was stored: the rows of the stacks, in progress and ended; what to call after the commit."""

    rows: list[tuple[stacks.StoredStack, stacks.StoredStack]]
    announcements: list[Callable[[], None]]


class RefactorStore:
    """Stores refactors, in threads of requests."""

    def __init__(self, parts: RequestParts, sinks: EventSinks, ends: ActionEnds, most_events: int) -> None:
        """`most_events`: in the history of one stack, 0: no limit."""
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._engine_id = parts.core.engine_id
        self._stored_stacks = parts.stored_stacks
        self._recorder = parts.recorder
        self._sinks = sinks
        self._ends = ends
        self._most_events = most_events
        self._authority = parts.authority
        self._former_owners = parts.former_owners

    def commit(self, context: RequestContext, checked: CheckedRefactor, authorities: Authorities) -> StoredRefactor:
        """Store the refactor, once no engine has one of the stacks. Raises Conflict."""
        for attempt in range(IDLE_CHECKS):
            if attempt:
                self._runtime.sleep(IDLE_PAUSE_SECONDS)
            ended = self._database.retry(lambda tx: self._store(tx, context, checked, authorities))
            if ended is not None:
                return ended
        raise exception.Conflict(_('An engine still works on one of the stacks; repeat the request.'))

    def announce(self, stored: StoredRefactor, authorities: Authorities) -> None:
        """Send what follows from a refactor after its commit, and delete the trusts that it has replaced."""
        for send_event in stored.announcements:
            send_event()
        for begun, row in stored.rows:
            self._ends.report_at_once(begun, row)
        for _begun, row in stored.rows:
            if authorities.get(row.id) is not None:
                self._end_former_owners(row)

    def _end_former_owners(self, row: stacks.StoredStack) -> None:
        """Delete the trusts that a refactor has replaced, as an engine does at the end of an action."""
        try:
            with self._database.reader() as tx:
                found = self._former_owners.find(tx, row)
            self._former_owners.delete_trusts(found)
        except exception.DatabaseUnavailable as error:
            LOG.info('Credentials that a refactor of stack %s has replaced were not deleted: %s', row.id, error)

    # --- the transaction ------------------------------------------------------------------------------------

    def _store(self, tx: Connection, context: RequestContext, checked: CheckedRefactor,
               authorities: Authorities) -> StoredRefactor | None:
        """Store the refactor. Returns None while an engine has one of the stacks."""
        now = self._runtime.now()
        context.check_in_time(now)
        existing = {stack_id for stack_id, each in checked.concerned.items() if not each.is_new}
        inside = {each.id for nested in checked.places.nested for each in (nested.stack, *nested.below)}
        ids = sorted({*existing, *inside, *checked.places.inner})
        for stack_id in ids:
            if not leases.is_idle(tx, stack_id):
                check_ready(visible(tx, stack_id, context))
                return None
        held = [leases.claim(tx, stack_id, self._engine_id) for stack_id in ids]
        current = {stack_id: self._unchanged(tx, context, checked, stack_id)
                   for stack_id in sorted({*existing, *checked.places.inner})}
        ended = {stack_id: self._accepted(tx, context, each, current.get(stack_id), authorities[stack_id], now)
                 for stack_id, each in sorted(checked.concerned.items())}
        ended |= {stack_id: self._accepted_inside(tx, context, checked.nested_previews[stack_id], now)
                  for stack_id in sorted(checked.places.inner)}
        self._move_rows(tx, checked, {stack_id: row.template_id for stack_id, row in ended.items()})
        self._move_nested(tx, checked, ended)
        for lease in held:
            if lease is not None:
                leases.release(tx, lease.stack_id, self._engine_id, lease.epoch)
        announcements: list[Callable[[], None]] = []
        begun = {stack_id: replace(row, status=Status.IN_PROGRESS, reason=text.started(row.action))
                 for stack_id, row in ended.items()}
        for stack_id, row in ended.items():
            stacks.set_next_resource(tx, stack_id, checked.next_resource[stack_id])
            first, second = (stack_events.of_stack(self._runtime, each)
                             for each in (begun[stack_id], row))
            announcements.append(self._sinks.add(tx, row, first))    # it sends what follows, too
            events.insert_many(tx, stack_id, [second])
            events.purge_over(tx, stack_id, self._most_events)
        return StoredRefactor([(begun[stack_id], row) for stack_id, row in ended.items()], announcements)

    def _unchanged(self, tx: Connection, context: RequestContext, checked: CheckedRefactor,
                   stack_id: str) -> stacks.StoredStack:
        """Return the row of a stack, locked. Raises Conflict if it is not what the refactor was checked with."""
        each = checked.concerned.get(stack_id)
        known = checked.places.inner[stack_id] if each is None else each.row
        current = self._stored_stacks.current(tx, stack_id, context)
        protections = guard_checks.check_lock(tx, current).protections
        check_ready(current)
        if (current.generation != known.generation or current.name != checked.name_of(stack_id)
                or (each is not None and protections != each.protections)
                or resources.light(tx, stack_id) != checked.stored[stack_id]):
            raise exception.Conflict(_('Stack %s has changed meanwhile; repeat the request.') % current.name)
        return current

    def _accepted(self, tx: Connection, context: RequestContext, each: ConcernedStack,
                  current: stacks.StoredStack | None, authority: Credentials | None,
                  now: datetime) -> stacks.StoredStack:
        """Store the new definition of a root stack with the end of its update. Returns its row."""
        template_id = self._runtime.uuid()
        content = replace(each.content, environment=each.definition.environment.document())
        shown = refactor_checks.outputs_of(each.preview)
        columns: stacks.Requested = {
            'template_id': template_id, 'outputs': shown, 'request': request_ids.stored(context, None),
            'acts_by_token': self._authority.needs_token(each.definition) or each.row.acts_by_token}
        if authority is not None:
            columns['credentials_id'] = credentials.replace(
                tx, None if current is None else current.credentials_id, authority, now)
        if current is None:
            if each.check is not None:
                each.check(tx)
            row = replace(each.row, **columns)
            leases.insert(tx, row.id, None, wanted=False)
            stacks.insert(tx, row)
        else:
            if each.is_renamed:
                refactoring.rename(tx, current.id, each.row.name)
            columns['previous_template_id'] = None
            columns['description'] = str(each.definition.description)
            columns['parameters'] = each.definition.parameters.shown()
            row = stacks.accept(
                tx, current.id, action=Action.UPDATE, status=Status.COMPLETE, reason=text.completed(Action.UPDATE),
                now=now, keeps_revision=self._recorder.is_present(tx, current, content), **columns)
        templates.insert(tx, template_id, content.document, content.environment, content.files, now, stack_id=row.id)
        self._recorder.record(tx, current, row, content, context)
        return row

    def _accepted_inside(self, tx: Connection, context: RequestContext, preview: PreviewedStack,
                         now: datetime) -> stacks.StoredStack:
        """Store the new definition of a nested stack with the end of its update. Returns its row."""
        template_id, definition = self._runtime.uuid(), preview.definition
        templates.insert(tx, template_id, definition.template.document, definition.environment.document(),
                         definition.files, now, stack_id=preview.row.id, is_nested=True)
        return stacks.accept(
            tx, preview.row.id, action=Action.UPDATE, status=Status.COMPLETE, reason=text.completed(Action.UPDATE),
            now=now, template_id=template_id, previous_template_id=None, description=str(definition.description),
            parameters=definition.parameters.shown(), outputs=refactor_checks.outputs_of(preview),
            request=request_ids.stored(context, {request_keys.FACADE: dict(preview.facade)}))

    def _move_rows(self, tx: Connection, checked: CheckedRefactor, template_ids: Mapping[str, str]) -> None:
        names: dict[tuple[str, int], str] = {}
        moves: list[RowMove] = []
        around = {(str(each.row.owner_id), str(each.row.parent_resource)): each
                  for each in checked.nested_previews.values()}
        for stack_id, rows in checked.view.rows.items():
            references, definitions = checked.references(stack_id), checked.view.definitions[stack_id]
            changed = [one for one in rows if one.row != one.before or one.stack != stack_id
                       or one.row.id in definitions or one.row.id in references
                       or (stack_id, one.row.name) in around]
            cached_values = refactor_checks.cached_values(tx, changed, references)
            for one in changed:
                large: dict[str, object] = {name: values[one.row.id] for name, values in (
                    ('definition', definitions), ('attributes', cached_values)) if one.row.id in values}
                row = one.row._replace(template_id=template_ids[stack_id]) if one.is_moved else one.row
                preview = around.get((stack_id, row.name))
                if preview is not None:
                    large |= {name: preview.applied[name] for name in ('properties', 'definition')}
                    row = row._replace(fingerprint=preview.fingerprint, template_id=template_ids[stack_id])
                moves.append(RowMove((one.stack, one.before.id), stack_id, row, large))
                if one.row.id in references:
                    names[stack_id, one.row.id] = physical_name(
                        checked.name_of(one.stack), one.before.name, one.before.uuid)
        refactoring.move(tx, moves)
        refactoring.keep_data(tx, PHYSICAL_NAME, names)
        refactoring.move_alarms(tx, [((move.source.stack, move.source.name), (move.target.stack, move.target.name))
                                     for move in checked.places.moves])

    @staticmethod
    def _move_nested(tx: Connection, checked: CheckedRefactor, ended: Mapping[str, stacks.StoredStack]) -> None:
        places = checked.places
        for each in places.nested:
            present = stacks.identity(tx, each.stack.id)
            if present is None or present.deleted_at is not None or {one.id for one in each.below} != {
                    one.id for one in stack_trees.descendants(tx, present.root_id, present.id)}:
                raise exception.Conflict(_('The nested stack of %s has changed meanwhile; repeat the request.')
                                         % each.move.source.name)
        for each in sorted(places.nested, key=lambda nested: nested.stack.depth):       # an inner one may go elsewhere
            root_id, path = places.after[each.move.target]
            deeper = len(path) - each.stack.depth
            refactoring.reparent(tx, each.stack.id, each.move.target.stack, each.move.target.name)
            refactoring.move_in_trees(tx, {one.id: one.depth + deeper for one in (each.stack, *each.below)}, root_id,
                                      ended[root_id].credentials_id)
