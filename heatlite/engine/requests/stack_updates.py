"""Use cases of updates: a new definition for a stack that exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import events, revisions, stacks, templates
from heatlite.engine.reconcile import loading, stack_events
from heatlite.engine.reconcile.revisions import Content
from heatlite.engine.requests import guard_checks, plan_builder, presenters, sources, validation
from heatlite.engine.requests.acceptance import Applying, StackOwner, id_of
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.request_parts import RequestParts
from heatlite.engine.requests.sources import Update
from heatlite.engine.requests.stacks import identified
from heatlite.engine.requests.stored_stacks import check_generation, check_tag, check_updatable, visible
from heatlite.engine.requests.update_request import UpdateRequest, timeout_mins
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import SINKS
from heatlite.planning import text
from heatlite.planning.protection import Protection
from heatlite.planning.states import Action
from heatlite.rpc import messages


class StackUpdates:
    """Accepts updates: in threads of requests, and of drift that is repaired."""

    def __init__(self, parts: RequestParts) -> None:
        self._runtime = parts.core.runtime
        self._database = parts.core.database
        self._registry = parts.core.registry
        self._acceptance = parts.acceptance
        self._stored_stacks = parts.stored_stacks
        self._owners = parts.owners
        self._recorder = parts.recorder
        self._limits = parts.limits
        self._quotas = parts.quotas
        self._checked_definitions = parts.checked_definitions
        self._previews = parts.previews
        self._unchanged = parts.unchanged

    def update(self, context: RequestContext, message: messages.UpdateStack,
               plan: Applying | None = None, generation: int | None = None) -> dict[str, str]:
        """Return the identity of the stack and the tag of its definition, once the request is stored. `plan`: the plan
        that it applies; `generation`: the one which the stack must still have; None: any.

        Raises PreconditionFailed, and Conflict if the stack has another generation."""
        self._quotas.check_planned(plan)
        row, template, protections = self._present(context, message)
        check_generation(row, generation)
        request = self._request(context, message, plan, row, template, generation)
        with self._owners.unless_refused(request.owner):
            return identified(self._end_if_unchanged(request) or self._begin(request, template, protections))

    # --- the steps of an update -------------------------------------------------------------------------

    def _begin(self, request: UpdateRequest, template: templates.StoredTemplate,
               protections: Sequence[Protection]) -> stacks.StoredStack:
        """Accept an update that an engine carries out. `template`: the present template."""
        context, row, definition = request.context, request.row, request.definition
        template = sources.sharing(template, definition.template)
        before = self._checked(context, row, template, definition, request.message)
        # The check has made the environment hide what was hidden before.
        applied = replace(request.content, environment=definition.environment.document())
        definition.as_applied = self._unchanged.as_applied(row, before, definition)
        self._check_effects(request, before, protections if request.plan is None else ())
        accepted = self._accept(request, applied)
        self._checked_definitions.note(accepted.template_id)
        return accepted

    def _present(self, context: RequestContext, message: messages.UpdateStack,
                 ) -> tuple[stacks.StoredStack, templates.StoredTemplate, Sequence[Protection]]:
        """Return the row, the template and the protections of a stack that may be updated.

        The tag is checked before the new definition is judged, and again when that is accepted."""
        with self._database.reader() as tx:
            row, template = self._stored_stacks.with_template(tx, message.stack_id, context)
            protections = guard_checks.check_lock(tx, row).protections
        check_updatable(row)
        check_tag(row, message.if_match)
        self._stored_stacks.check_rights(row.id, context)
        return row, template, protections

    def _request(self, context: RequestContext, message: messages.UpdateStack, plan: Applying | None,
                 row: stacks.StoredStack, template: templates.StoredTemplate, generation: int | None) -> UpdateRequest:
        """Build the definition that the update brings, and the credentials that it needs. Checks neither."""
        definition = self.redefine(row, template, message, is_planned=plan is not None)
        content = Content.of(definition)
        return UpdateRequest(context, message, plan, row, definition, content,
                             self._owners.of_request(context, row, definition), generation)

    def _end_if_unchanged(self, request: UpdateRequest) -> stacks.StoredStack | None:
        """Accept and end an update that changes nothing, and return the row of its stack; None for any other update.

        An engine has to end one that changes the owner of the stack: it deletes the trust of the former one."""
        if request.message.converge or request.owner.replaces_trust:
            return None
        digest = self._unchanged.settled(request.row, request.definition, request.content)
        if digest is None:
            return None
        return self._unchanged.accept(request.row, digest, lambda tx, current: request.without_token().store(
            tx, current, self._runtime.now()))

    def _check_effects(self, request: UpdateRequest, before: StackDefinition,
                       protections: Sequence[Protection]) -> None:
        """Raise StackProtected if protections deny a change that the update would make, and what its imports would be
        refused with. What is not known before the update is refused when it comes to it."""
        definition = request.definition
        if not (protections or definition.environment.has_imports()):
            return
        preview = self._previews.of_update(request.context, request.row, definition, before,
                                           bool(request.message.converge), with_causes=False)
        if protections:
            guard_checks.refuse(request.row, plan_builder.build(messages.UPDATE, preview, protections).blockers)

    def _accept(self, request: UpdateRequest, applied: Content) -> stacks.StoredStack:
        """Store the update, and return the row of its stack. `applied`: the content of the definition, complete."""
        context, row, definition = request.context, request.row, request.definition

        def accept(tx: Connection) -> tuple[StackOwner, stacks.StoredStack]:
            owner = self._acceptance.claim(tx, row.id, context)
            current = visible(tx, row.id, context, for_update=True)
            now = self._runtime.now()
            columns = request.store(tx, current, now)
            self._unchanged.check_as_applied(tx, row, current, definition)
            template_id = templates.insert(tx, self._runtime.uuid(), applied.document, applied.environment,
                                           applied.files, now, stack_id=row.id)
            columns['template_id'] = template_id
            accepted = stacks.accept(
                tx, row.id, action=Action.UPDATE, reason=text.started(Action.UPDATE), now=now,
                keeps_revision=self._recorder.is_present(tx, current, applied), **columns)
            self._recorder.record(tx, current, accepted, applied, context, id_of(request.plan))
            events.insert_many(tx, row.id, [stack_events.of_stack(self._runtime, accepted)])
            self._acceptance.limit_remains(tx, current)
            return owner, accepted

        return self._acceptance.commit(accept, definition)

    # --- the same without acceptance --------------------------------------------------------------------

    def check(self, context: RequestContext, message: messages.CheckUpdate) -> None:
        """Raise what the definition of an update would be refused with."""
        with self._database.reader() as tx:
            row, template = self._stored_stacks.with_template(tx, message.stack_id, context)
        self._checked(context, row, template, self.redefine(row, template, message), message)

    def preview(self, context: RequestContext,
                message: messages.PreviewUpdateStack) -> dict[str, list[dict[str, object]]]:
        _row, preview = self.preview_update(context, message)
        return presenters.changes(preview, show_nested=message.show_nested)

    def preview_update(self, context: RequestContext, message: messages.UpdateStack) -> tuple[stacks.StoredStack,
                                                                                              PreviewedStack]:
        """Return the present row, and what an update would do, with the present definitions, also of nested stacks,
        from which the causes of changes follow. Raises what it would be refused with."""
        with self._database.reader() as tx:
            row, template = self._stored_stacks.with_template(tx, message.stack_id, context)
        definition = self.redefine(row, template, message)
        template = sources.sharing(template, definition.template)
        before = self._checked(context, row, template, definition, message)
        return row, self._previews.of_update(context, row, definition, before, bool(message.converge),
                                             with_causes=True)

    def at_revision(self, context: RequestContext, message: Update, number: int) -> Update:
        """Return the message with the definition of a revision of its stack as its source, and the present tags.

        Raises EntityNotFound."""
        with self._database.reader() as tx:
            row = visible(tx, message.stack_id, context)
            found = revisions.definition(tx, row.id, number)
        if found is None:
            raise exception.EntityNotFound(entity='Revision', name=str(number))
        _revision, template = found
        return replace(message, template=template.document, environment=template.environment, files=template.files,
                       tags=tuple(row.tags or ()) if message.tags is None else message.tags)

    # --- parts ------------------------------------------------------------------------------------------

    def _checked(self, context: RequestContext, row: stacks.StoredStack, template: templates.StoredTemplate,
                 definition: StackDefinition, message: messages.UpdateStack) -> StackDefinition:
        """Check a new definition of a stack, and return the present one."""
        self._quotas.check_size(definition)
        before = self._stored_stacks.definition(row, template)
        validation.check_immutable(before, definition)
        definition.hide_too(before.mask)
        validation.check_request(definition, self._registry, context, updating=True, before=before,
                                 timeout_mins=timeout_mins(message, row),
                                 same=self._checked_definitions.same(definition, row.template_id, before))
        self._quotas.check_sizes(definition, context)
        return before

    def redefine(self, row: stacks.StoredStack, template: templates.StoredTemplate,
                 message: messages.UpdateStack, is_planned: bool = False) -> StackDefinition:
        """Build the definition that an update brings, without checks. `is_planned`: see `sources.define`."""
        if message.existing:
            message = sources.over_existing(message, template)
        if message.files == template.files:         # unchanged files need no second row
            message = replace(message, files=template.files)
        made = sources.define(message, StackIdentity(row.name, row.id, row.project_id), self._registry.operator,
                              self._limits, is_planned, template.environment if message.existing else None)
        made.outer = loading.facade(row)
        made.environment.are_sinks_accepted = made.environment.event_sinks == template.environment.get(SINKS)
        made.prepare_mask()
        return made
