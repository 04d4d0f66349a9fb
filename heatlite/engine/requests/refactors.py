"""Use cases of refactors: resources get other names, or go to other stacks, and nothing in the cloud changes.

A refactor brings new definitions for the stacks concerned, and says which resource becomes which. It is accepted if an
update to these definitions, of the resources in their new places, would change nothing: then the rows, the definitions
and the states of all stacks are stored in one transaction. No service is asked, before or after.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from heatlite.common import exception, metrics
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_MOVES, MOST_REFACTORED
from heatlite.db import credentials, events, leases, refactoring, resources, stack_trees, stacks, templates
from heatlite.db.refactoring import RowMove
from heatlite.engine.durability import request_ids
from heatlite.engine.notify.event_sinks import EventSinks
from heatlite.engine.notify.notifications import Notify
from heatlite.engine.reconcile import request_keys, stack_events
from heatlite.engine.reconcile.authority import Authority
from heatlite.engine.reconcile.former_owners import FormerOwners
from heatlite.engine.reconcile.leased_stack import desired
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests import guard_checks, refactor_checks, refactor_places, validation
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.refactor_places import SEPARATOR, RefactorPlaces
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stacks import Stacks, check_name
from heatlite.engine.requests.stored_rows import MovedRows
from heatlite.engine.requests.stored_stacks import check_idle, check_updatable, visible
from heatlite.engine.resource_state import PHYSICAL_NAME, physical_name
from heatlite.language import renaming
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import REGISTRY
from heatlite.language.masking import Mask
from heatlite.language.template import Template
from heatlite.planning import text
from heatlite.planning.plan import Path
from heatlite.planning.protection import Protection
from heatlite.planning.refactoring import (
    Problem,
    arranged,
    mismatches,
    problems,
)
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

MOST_NAMED = 50                         # differences that a refusal names; a preview names all
IDLE_CHECKS = 40                        # times that a request looks whether an engine has ended the action of a stack
IDLE_PAUSE_SECONDS = 0.25               # between two of them


@dataclass
class ConcernedStack:
    """A stack of a refactor. `row`: as it is, under its new name; that of a new stack as it will be."""

    row: stacks.StoredStack
    former_name: str
    is_new: bool
    message: messages.UpdateStack | messages.CreateStack
    definition: StackDefinition
    before: StackDefinition | None
    content: Content
    protections: tuple[Protection, ...] = ()
    preview: PreviewedStack | None = None

    @property
    def is_renamed(self) -> bool:
        return self.row.name != self.former_name


@dataclass(frozen=True)
class StoredRefactor:
    """What was stored: the rows of the stacks, in progress and ended; what to call after the commit."""

    rows: list[tuple[stacks.StoredStack, stacks.StoredStack]]
    announcements: list[Callable[[], None]]


@dataclass
class Refactoring:
    """A checked refactor. `stored`: the rows of all stacks concerned, as they were read; `view`: as they will be;
    `nested_previews`: of the nested stacks among them, by id."""

    concerned: dict[str, ConcernedStack]
    places: RefactorPlaces
    stored: dict[str, list[ResourceState]]
    next_resource: Mapping[str, int]
    view: MovedRows
    nested_previews: dict[str, PreviewedStack] = field(default_factory=dict)
    differences: list[refactor_checks.Difference] = field(default_factory=list)

    def name_of(self, stack_id: str) -> str:
        """Return the present name of a stack."""
        concerned_stack = self.concerned.get(stack_id)
        return self.places.inner[stack_id].name if concerned_stack is None else concerned_stack.former_name

    def references(self, stack_id: str) -> Mapping[int, object]:
        concerned_stack = self.concerned.get(stack_id)
        preview = self.nested_previews.get(stack_id) if concerned_stack is None else concerned_stack.preview
        return {} if preview is None else preview.references


class Refactors:
    """Checks and stores refactors, in threads of requests."""

    def __init__(self, parts: RequestParts, new_stacks: Stacks, updates: StackUpdates, sinks: EventSinks,
                 notify: Notify, most_events: int, max_depth: int) -> None:
        """`most_events`: in the history of one stack, 0: no limit; `max_depth`: levels of nested stacks."""
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._engine_id = parts.core.engine_id
        self._stored_stacks = parts.stored_stacks
        self._owners = parts.owners
        self._recorder = parts.recorder
        self._quotas = parts.quotas
        self._previews = parts.previews
        self._new_stacks = new_stacks
        self._updates = updates
        self._sinks = sinks
        self._notify = notify
        self._most_events = most_events
        self._max_depth = max_depth
        self._authority = Authority(self._runtime, self._registry)
        self._former_owners = FormerOwners(self._database, self._authority)

    def preview(self, context: RequestContext, message: messages.PreviewRefactor) -> dict[str, object]:
        """Return what a refactor would do, with all differences for which it would be refused."""
        return _shown(self._prepared(context, message))

    def refactor(self, context: RequestContext, message: messages.Refactor) -> dict[str, object]:
        """Carry out a refactor. Raises NotARefactor, with the differences, if it would change anything in the cloud,
        and for wrong requests HTTPBadRequest with all that is wrong."""
        self._quotas.check_planned(None)
        checked = self._prepared(context, message)
        if checked.differences:
            named = [str(each) for each in checked.differences[:MOST_NAMED]]
            more = len(checked.differences) - len(named)
            raise exception.NotARefactor(differences='; '.join(
                [*named, *([_('and %d more') % more] if more else [])]) + '.')
        now = self._runtime.now()
        authorities: dict[str, credentials.Credentials | None] = {}
        with self._authority.unless_refused(context, authorities.values()):
            for stack_id, each in checked.concerned.items():
                authorities[stack_id] = self._authority_of(context, each, now)
            ended = self._committed(context, checked, authorities)
        for announce in ended.announcements:
            announce()
        for begun, row in ended.rows:
            metrics.stacks.labels(row.action, Status.COMPLETE).inc()
            self._notify(begun, begun.action, begun.status, begun.reason)
            self._notify(row, row.action, row.status, row.reason)
            LOG.info('Stack %s [%s] was refactored', row.name, row.id)
        for _begun, row in ended.rows:
            if authorities.get(row.id) is not None:
                self._end_former_owners(row)
        return _shown(checked)

    def _end_former_owners(self, row: stacks.StoredStack) -> None:
        """Delete the trusts that a refactor has replaced, as an engine does at the end of an action."""
        try:
            with self._database.reader() as tx:
                found = self._former_owners.find(tx, row)
            self._former_owners.give_up(found)
        except exception.DatabaseUnavailable as error:
            LOG.info('Credentials that a refactor of stack %s has replaced were not deleted: %s', row.id, error)

    def _committed(self, context: RequestContext, checked: Refactoring,
                   authorities: Mapping[str, credentials.Credentials | None]) -> StoredRefactor:
        """Store the refactor, once no engine has one of the stacks. Raises Conflict."""
        for attempt in range(IDLE_CHECKS):
            if attempt:
                self._runtime.sleep(IDLE_PAUSE_SECONDS)
            ended = self._database.retry(lambda tx: self._store(tx, context, checked, authorities))
            if ended is not None:
                return ended
        raise exception.Conflict(_('An engine still works on one of the stacks; repeat the request.'))

    # --- before the transaction ---------------------------------------------------------------------------

    def _prepared(self, context: RequestContext, message: messages.Refactor) -> Refactoring:
        """Check a request as far as possible without a change."""
        if not 0 < len(message.stacks) <= MOST_REFACTORED or len(message.moves) > MOST_MOVES:
            raise exception.HTTPBadRequest(_('A refactor has 1 to %(stacks)d stacks, and at most %(moves)d moves.') % {
                'stacks': MOST_REFACTORED, 'moves': MOST_MOVES})
        concerned: dict[str, ConcernedStack] = {}
        for fields in message.stacks:
            if fields.get('stack_id'):
                each = self._existing(context, fields, refactor_places.renames(
                    message.moves, str(fields['stack_id'])))
            else:
                each = self._new(context, fields, sum(known.is_new for known in concerned.values()))
            if each.row.id in concerned or each.row.name in {known.row.name for known in concerned.values()}:
                raise exception.HTTPBadRequest(_('The stack %s is named twice.') % each.row.name)
            concerned[each.row.id] = each
        if len({each.row.project_id for each in concerned.values()}) > 1:
            raise exception.HTTPBadRequest(_('The stacks of a refactor belong to one project.'))
        names = {each.row.id: each.former_name for each in concerned.values()}
        with self._database.reader() as tx:
            places = refactor_places.find(tx, message.moves, {
                **{stack_id: stack_id for stack_id in names},
                **{each.row.name: each.row.id for each in concerned.values() if each.is_new}}, names)
            stored = {stack_id: [] if stack_id in concerned and concerned[stack_id].is_new else (
                resources.light(tx, stack_id)) for stack_id in (*concerned, *places.inner)}
        for row in places.inner.values():
            _check_ready(row)
        _refuse(problems(stored, places.moves), places, concerned)
        self._check_definitions(context, concerned)
        return self._compared(context, concerned, places, stored)

    def _existing(self, context: RequestContext, fields: Mapping[str, object],
                  renames: Mapping[str, str]) -> ConcernedStack:
        """`renames`: the moves within the root stack; without a new template they are made in the present one."""
        message = messages.UpdateStack.from_arguments(fields)
        with self._database.reader() as tx:
            row, template = self._stored_stacks.with_template(tx, message.stack_id, context)
            protections = guard_checks.check_lock(tx, row).protections
        if row.owner_id is not None:
            raise exception.NotSupported(feature=_('A refactor of the nested stack %s without its root') % row.name)
        _check_ready(row)
        self._stored_stacks.check_rights(row.id, context)
        former, name = row.name, str(fields.get('rename') or row.name)
        if name != former:
            check_name(name)
            self._new_stacks.check_name_free(context, name)
            row = replace(row, name=name)
        if renames and message.existing and message.template is None:
            registry = template.environment.get(REGISTRY) or {}
            message = replace(
                message, template=renaming.renamed(Template(dict(template.document)), renames),
                environment={**message.environment, REGISTRY: {
                    **renaming.renamed_registry(registry, renames), **(message.environment.get(REGISTRY) or {})}})
        definition = self._updates.redefine(row, template, message)
        before = self._stored_stacks.definition(replace(row, name=former), template)
        validation.check_immutable(before, definition)
        return ConcernedStack(row, former, False, message, definition, before, Content.of(definition), protections)

    def _new(self, context: RequestContext, fields: Mapping[str, object], ahead: int) -> ConcernedStack:
        """`ahead`: other new stacks of the refactor."""
        message = messages.CreateStack.from_arguments(fields)
        check_name(message.stack_name)
        self._new_stacks.check_name_free(context, message.stack_name)
        stack_id, project_id, now = self._runtime.uuid(), context.owning_project(), self._runtime.now()
        self._quotas.check_stacks(context, project_id, ahead)
        definition = self._new_stacks.define(message, StackIdentity(message.stack_name, stack_id, project_id))
        row = replace(self._new_stacks.new_row(context, message, definition, stack_id, Action.CREATE, now),
                      status=Status.COMPLETE, reason=text.completed(Action.CREATE), outputs=[])
        return ConcernedStack(row, row.name, True, message, definition, None, Content.of(definition))

    def _check_definitions(self, context: RequestContext, concerned: Mapping[str, ConcernedStack]) -> None:
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

    def _compared(self, context: RequestContext, concerned: dict[str, ConcernedStack], places: RefactorPlaces,
                  stored: dict[str, list[ResourceState]]) -> Refactoring:
        """Compare the definitions with the resources in their new places."""
        arrangement = arranged(stored, places.moves, {
            **{stack_id: each.row.next_resource for stack_id, each in concerned.items()},
            **{stack_id: row.next_resource for stack_id, row in places.inner.items()}})
        checked = Refactoring(concerned, places, stored, arrangement.next_resource, MovedRows(
            arrangement.rows, {**{stack_id: each.former_name for stack_id, each in concerned.items()},
                               **{stack_id: row.name for stack_id, row in places.inner.items()}},
            {stack_id for stack_id, each in concerned.items() if each.is_renamed}))
        for stack_id, each in concerned.items():
            checked.differences += refactor_checks.unmatched(each.row.name, mismatches(arrangement.rows[stack_id], {
                name: one.type for name, one in desired(each.definition, Action.UPDATE).items()}))
        if not checked.differences:
            for each in concerned.values():
                each.preview = self._previews.of_moves(context, each.row, each.definition, each.before, checked.view)
                checked.nested_previews |= refactor_checks.inside(each.preview, places.inner)
                checked.differences += refactor_checks.of_stack(each.row, each.preview, places.inner)
        if not checked.differences:
            checked.differences += refactor_checks.not_previewed(places, checked.nested_previews)
        roots = {stack_id: each.row for stack_id, each in concerned.items()}
        checked.differences += [
            *refactor_checks.of_protections(places, roots, {
                stack_id: each.protections for stack_id, each in concerned.items()}),
            *refactor_checks.of_nested(places, roots, self._max_depth)]
        return checked

    def _authority_of(self, context: RequestContext, each: ConcernedStack,
                      now: datetime) -> credentials.Credentials | None:
        """Return new credentials for a stack that needs some, as for a create or an update of it. No action follows
        that needs the token of the request."""
        if each.is_new:
            return self._authority.record(context, each.definition, now, acts_by_token=False)
        return self._owners.renewed(context, replace(each.row, acts_by_token=False), each.definition, now)

    # --- the transaction ------------------------------------------------------------------------------------

    def _store(self, tx: Connection, context: RequestContext, checked: Refactoring,
               authorities: Mapping[str, credentials.Credentials | None]) -> StoredRefactor | None:
        """Store the refactor. Returns None while an engine has one of the stacks."""
        now = self._runtime.now()
        context.check_in_time(now)
        existing = {stack_id for stack_id, each in checked.concerned.items() if not each.is_new}
        inside = {each.id for nested in checked.places.nested for each in (nested.stack, *nested.below)}
        ids = sorted({*existing, *inside, *checked.places.inner})
        for stack_id in ids:
            if not leases.is_idle(tx, stack_id):
                _check_ready(visible(tx, stack_id, context))
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

    def _unchanged(self, tx: Connection, context: RequestContext, checked: Refactoring,
                   stack_id: str) -> stacks.StoredStack:
        """Return the row of a stack, locked. Raises Conflict if it is not what the refactor was checked with."""
        each = checked.concerned.get(stack_id)
        known = checked.places.inner[stack_id] if each is None else each.row
        current = self._stored_stacks.current(tx, stack_id, context)
        protections = guard_checks.check_lock(tx, current).protections
        _check_ready(current)
        if (current.generation != known.generation or current.name != checked.name_of(stack_id)
                or (each is not None and protections != each.protections)
                or resources.light(tx, stack_id) != checked.stored[stack_id]):
            raise exception.Conflict(_('Stack %s has changed meanwhile; repeat the request.') % current.name)
        return current

    def _accepted(self, tx: Connection, context: RequestContext, each: ConcernedStack,
                  current: stacks.StoredStack | None,
                  authority: credentials.Credentials | None, now: datetime) -> stacks.StoredStack:
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

    def _move_rows(self, tx: Connection, checked: Refactoring, template_ids: Mapping[str, str]) -> None:
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
    def _move_nested(tx: Connection, checked: Refactoring, ended: Mapping[str, stacks.StoredStack]) -> None:
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


def _check_ready(row: stacks.StoredStack) -> None:
    """Raise ActionInProgress or NotSupported unless the stack may be refactored now."""
    check_updatable(row)
    check_idle(row)


def _refuse(all_problems: Sequence[Problem], places: RefactorPlaces, concerned: Mapping[str, ConcernedStack]) -> None:
    """Raise HTTPBadRequest with all problems, unless there are none."""
    shown = []
    for each in all_problems:
        root_id, path = places.before.get(each.place) or places.after[each.place]
        shown.append(f'{SEPARATOR.join((concerned[root_id].former_name, *path))}: {each.reason}')
    if shown:
        raise exception.HTTPBadRequest('; '.join(shown) + '.')


def _shown(checked: Refactoring) -> dict[str, object]:
    def place(root_id: str, path: Path) -> dict[str, str]:
        return {'stack': checked.concerned[root_id].row.name, 'resource': SEPARATOR.join(path)}

    return {
        'stacks': [{'id': None if each.is_new and checked.differences else each.row.id, 'stack_name': each.row.name,
                    'is_new': each.is_new} for each in checked.concerned.values()],
        'moves': [{'from': place(*checked.places.before[move.source]), 'to': place(*checked.places.after[move.target])}
                  for move in checked.places.moves],
        'differences': [each.to_json() for each in checked.differences]}
