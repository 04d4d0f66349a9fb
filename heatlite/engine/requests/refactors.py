"""Use cases of refactors: resources get other names, or go to other stacks, and nothing in the cloud changes.

A refactor brings new definitions for the stacks concerned, and says which resource becomes which. It is accepted if an
update to these definitions, of the resources in their new places, would change nothing: then the rows, the definitions
and the states of all stacks are stored in one transaction. No service is asked, before or after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.limits import MOST_MOVES, MOST_REFACTORED
from heatlite.common.wording import first_few
from heatlite.db import resources
from heatlite.db.credentials import Credentials
from heatlite.engine.reconcile.leased_stack import desired
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests import guard_checks, refactor_checks, refactor_places, validation
from heatlite.engine.requests.checked_refactor import CheckedRefactor, ConcernedStack
from heatlite.engine.requests.refactor_places import SEPARATOR, RefactorPlaces
from heatlite.engine.requests.refactor_store import RefactorStore
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stacks import Stacks, check_name
from heatlite.engine.requests.stored_rows import MovedRows
from heatlite.engine.requests.stored_stacks import check_ready
from heatlite.language import renaming
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import REGISTRY
from heatlite.language.masking import Mask
from heatlite.language.template import Template
from heatlite.planning import text
from heatlite.planning.plan import Path
from heatlite.planning.refactoring import Problem, arranged, mismatches, problems
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.rpc import messages

MOST_NAMED = 50                         # differences that a refusal names; a preview names all


class Refactors:
    """Checks and stores refactors, in threads of requests."""

    def __init__(self, parts: RequestParts, new_stacks: Stacks, updates: StackUpdates, store: RefactorStore,
                 max_depth: int) -> None:
        """`max_depth`: levels of nested stacks."""
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._stored_stacks = parts.stored_stacks
        self._owners = parts.owners
        self._quotas = parts.quotas
        self._previews = parts.previews
        self._new_stacks = new_stacks
        self._updates = updates
        self._store = store
        self._max_depth = max_depth
        self._authority = parts.authority

    def preview(self, context: RequestContext, message: messages.PreviewRefactor) -> dict[str, object]:
        """Return what a refactor would do, with all differences for which it would be refused."""
        return _shown(self._prepared(context, message))

    def refactor(self, context: RequestContext, message: messages.Refactor) -> dict[str, object]:
        """Carry out a refactor. Raises NotARefactor, with the differences, if it would change anything in the cloud,
        and for wrong requests HTTPBadRequest with all that is wrong."""
        self._quotas.check_planned(None)
        checked = self._prepared(context, message)
        if checked.differences:
            raise exception.NotARefactor(differences=first_few(checked.differences, MOST_NAMED, '; ') + '.')
        now = self._runtime.now()
        authorities: dict[str, Credentials | None] = {}
        with self._authority.unless_refused(context, authorities.values()):
            for stack_id, each in checked.concerned.items():
                authorities[stack_id] = self._authority_of(context, each, now)
            stored = self._store.commit(context, checked, authorities)
        self._store.announce(stored, authorities)
        return _shown(checked)

    # --- checks -------------------------------------------------------------------------------------------

    def _prepared(self, context: RequestContext, message: messages.Refactor) -> CheckedRefactor:
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
            check_ready(row)
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
        check_ready(row)
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
        return ConcernedStack(row, former, False, definition, before, Content.of(definition), protections)

    def _new(self, context: RequestContext, fields: Mapping[str, object], ahead: int) -> ConcernedStack:
        """`ahead`: other new stacks of the refactor."""
        message = messages.CreateStack.from_arguments(fields)
        check_name(message.stack_name)
        self._new_stacks.check_name_free(context, message.stack_name)
        stack_id, project_id, now = self._runtime.uuid(), context.owning_project(), self._runtime.now()
        check = self._quotas.check_stacks(context, project_id, ahead)
        definition = self._new_stacks.define(message, StackIdentity(message.stack_name, stack_id, project_id))
        row = replace(self._new_stacks.new_row(context, message, definition, stack_id, Action.CREATE, now),
                      status=Status.COMPLETE, reason=text.completed(Action.CREATE), outputs=[])
        return ConcernedStack(row, row.name, True, definition, None, Content.of(definition), check=check)

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
                  stored: dict[str, list[ResourceState]]) -> CheckedRefactor:
        """Compare the definitions with the resources in their new places."""
        arrangement = arranged(stored, places.moves, {
            **{stack_id: each.row.next_resource for stack_id, each in concerned.items()},
            **{stack_id: row.next_resource for stack_id, row in places.inner.items()}})
        checked = CheckedRefactor(concerned, places, stored, arrangement.next_resource, MovedRows(
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

    def _authority_of(self, context: RequestContext, each: ConcernedStack, now: datetime) -> Credentials | None:
        """Return new credentials for a stack that needs some, as for a create or an update of it. No action follows
        that needs the token of the request."""
        if each.is_new:
            return self._authority.record(context, each.definition, now, acts_by_token=False)
        return self._owners.renewed(context, replace(each.row, acts_by_token=False), each.definition, now)


def _refuse(all_problems: Sequence[Problem], places: RefactorPlaces, concerned: Mapping[str, ConcernedStack]) -> None:
    """Raise HTTPBadRequest with all problems, unless there are none."""
    shown = []
    for each in all_problems:
        root_id, path = places.before.get(each.place) or places.after[each.place]
        shown.append(f'{SEPARATOR.join((concerned[root_id].former_name, *path))}: {each.reason}')
    if shown:
        raise exception.HTTPBadRequest('; '.join(shown) + '.')


def _shown(checked: CheckedRefactor) -> dict[str, object]:
    def place(root_id: str, path: Path) -> dict[str, str]:
        return {'stack': checked.concerned[root_id].row.name, 'resource': SEPARATOR.join(path)}

    return {
        'stacks': [{'id': None if each.is_new and checked.differences else each.row.id, 'stack_name': each.row.name,
                    'is_new': each.is_new} for each in checked.concerned.values()],
        'moves': [{'from': place(*checked.places.before[move.source]), 'to': place(*checked.places.after[move.target])}
                  for move in checked.places.moves],
        'differences': [each.to_json() for each in checked.differences]}
