"""Use cases of plans: what an action would do is computed, stored, approved, and then done exactly, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import timedelta

from sqlalchemy import Connection

from heatlite.common import document_size, exception, limits, metrics
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.common.timeutils import isotime
from heatlite.common.wording import first_few
from heatlite.db import codec, guards, plans, presence, project_limits, stacks
from heatlite.db.connection import Database
from heatlite.db.plans import StoredPlan
from heatlite.engine.reconcile import plan_references
from heatlite.engine.reconcile.plan_references import PlanReference
from heatlite.engine.requests import guard_checks, plan_builder
from heatlite.engine.requests.plan_checks import PlanChecks
from heatlite.engine.requests.plan_policies import PlanPolicies
from heatlite.engine.requests.preview_update import PreviewedStack
from heatlite.engine.requests.stack_actions import StackActions
from heatlite.engine.requests.stack_updates import StackUpdates
from heatlite.engine.requests.stacks import Stacks
from heatlite.engine.requests.stored_stacks import check_idle
from heatlite.planning.findings import FindingLevel
from heatlite.planning.plan import blocked_changes, differences, to_document
from heatlite.planning.protection import Protection
from heatlite.planning.ruling import Ruling, denials
from heatlite.rpc import messages

MOST_DIFFERENCES = 20                   # that a refusal names
SHOWN = limits.Limits(max_expansion=limits.MOST_ANSWERED)       # the content of a plan, as the answer of a preview
MADE, APPROVED, APPLIED, DELETED, EXPIRED = 'made', 'approved', 'applied', 'deleted', 'expired'         # in metrics


@dataclass(frozen=True)
class PlanBounds:
    """`lifetime`: seconds in which a plan can be applied. `per_project`: plans that can be applied, or UNLIMITED.

    `refuse_errors`: plans are checked again when they are applied, and refused if that finds errors."""

    lifetime: int
    per_project: int
    needs_approval: bool
    refuse_errors: bool


class Plans:
    """Makes, approves, applies and deletes plans, in threads of requests."""

    def __init__(self, runtime: Runtime, database: Database, stacks: Stacks, updates: StackUpdates,
                 actions: StackActions, bounds: PlanBounds, checks: PlanChecks, policies: PlanPolicies) -> None:
        self._policies = policies
        self._runtime = runtime
        self._database = database
        self._stacks = stacks
        self._updates = updates
        self._actions = actions
        self._bounds = bounds
        self._checks = checks

    def make(self, context: RequestContext, message: messages.CreatePlan) -> dict[str, object]:
        """Return the id of the new plan. Raises what the action itself would be refused with, ActionInProgress for a
        stack in progress, RequestLimitExceeded, EntityNotFound for a revision that is gone."""
        began = self._runtime.now()
        if message.revision is not None:
            message = self._updates.at_revision(context, message, message.revision)
        row, preview = self._preview(context, message)
        project_id = context.owning_project()
        plan = plan_builder.build(message.action, preview, self._protections(row))
        document = {**to_document(plan),
                    **self._checks.of(context, plan).to_json(plan_builder.whole_mask(preview)),
                    'refreshed_at': isotime(began) if preview.is_observed else None,
                    **({} if message.revision is None else {'revision': message.revision})}
        _check_size(document)
        now = self._runtime.now()
        whose = _Whose(project_id, row.id if row is not None else None, preview.row.name, context.username)
        document['policies'] = [each.to_json() for each in self._rulings(whose, document)]
        request = _as_json(message, preview.is_observed)
        stored = StoredPlan(
            id=self._runtime.uuid(), project_id=project_id, stack_id=whose.stack_id, stack_name=whose.stack_name,
            action=message.action, state=plans.READY, generation=row.generation if row is not None else None,
            digest=plans.digest(codec.encode(document), codec.encode(request)), author_id=context.user_id,
            author=whose.author, approver_id=None, approver=None, summary=plan.summary, document=document,
            request=request, created_at=now,
            expires_at=now + timedelta(seconds=self._bounds.lifetime), approved_at=None, applied_at=None)

        removed = [0]

        def store(tx: Connection) -> None:
            context.check_in_time(now)          # reading from services may have taken long
            removed[0] = plans.remove_expired(tx, now)
            if not project_limits.has_room(tx, project_id, self._bounds.per_project,
                                           lambda: plans.count_applicable(tx, project_id, now)):
                raise exception.RequestLimitExceeded(
                    _('The project has %d plans that were not applied; delete some.') % self._bounds.per_project)
            presence.enter(tx, project_id)
            plans.insert(tx, stored, plan.permissions)

        self._database.retry(store)
        metrics.plans.labels(MADE).inc()
        metrics.plans.labels(EXPIRED).inc(removed[0])
        return {'id': stored.id}

    def approve(self, context: RequestContext, message: messages.ApprovePlan) -> None:
        """Approve a plan. Raises Conflict unless it is READY, and for its own author if approval is required."""
        now = self._runtime.now()

        def store(tx: Connection) -> None:
            stored = self._found(tx, context, message.plan_id)
            presence.enter(tx, stored.project_id)
            self._check_applicable(stored)
            if self._bounds.needs_approval and stored.author_id == context.user_id:
                raise exception.Conflict(_('A plan must be approved by a user other than its author.'))
            if not plans.approve(tx, stored.id, context.user_id, context.username, now):
                raise exception.Conflict(_('Plan %s has been approved already.') % stored.id)

        self._database.retry(store)
        metrics.plans.labels(APPROVED).inc()

    def apply(self, context: RequestContext, message: messages.ApplyPlan) -> dict[str, str]:
        """Carry out a plan, and return the identity of its stack. Raises Conflict, with the differences, if the plan
        is not what would be done now."""
        with _refused_as('unknown'):
            stored, digest = self._with_digest(context, message.plan_id)
        with _refused_as('applied' if stored.state == plans.APPLIED else 'expired'):
            self._check_applicable(stored)
        with _refused_as('digest'):
            _check_digest(stored, digest, message.digest)
        with _refused_as('approval'):
            if self._bounds.needs_approval and stored.state != plans.APPROVED:
                raise exception.Conflict(_('Plan %s has to be approved first.') % stored.id)
        with _refused_as('changed'):
            request = messages.CreatePlan.from_arguments(stored.request)
            preview = self._check_start(context, stored, request)
        with _refused_as('findings'):
            if self._bounds.refuse_errors:
                self._check_findings(context, stored, preview or self._preview(context, request)[1])
        with _refused_as('policy'):
            self._check_policies(stored)
        with _refused_as('protected'):
            self._check_protections(stored)
        with _refused_as('request'):
            identity = self._request(context, stored, request)
        metrics.plans.labels(APPLIED).inc()
        return identity

    def delete(self, context: RequestContext, message: messages.DeletePlan) -> None:
        """Delete a plan. Raises Conflict for an applied one: it belongs to the history of its stack."""
        def store(tx: Connection) -> None:
            stored = self._found(tx, context, message.plan_id)
            presence.enter(tx, stored.project_id)
            if not plans.delete(tx, stored.id):
                raise exception.Conflict(_('Plan %s has been applied.') % stored.id)

        self._database.retry(store)
        metrics.plans.labels(DELETED).inc()

    # --- parts ------------------------------------------------------------------------------------------

    def _preview(self, context: RequestContext,
                 message: messages.CreatePlan) -> tuple[stacks.StoredStack | None, PreviewedStack]:
        """Return the present row of the stack, if there is one, and what would be done."""
        match message.action:
            case messages.CREATE:
                return None, self._stacks.preview_create(context, message.as_create())
            case messages.UPDATE:
                row, preview = self._updates.preview_update(context, message.as_update())
            case messages.DELETE:
                row, preview = self._actions.preview_delete(context, message.stack_id)
            case _:
                raise exception.InvalidField('action', ', '.join(messages.PLANNED), message.action)
        check_idle(row)
        return row, preview

    def _protections(self, row: stacks.StoredStack | None) -> Sequence[Protection]:
        if row is None:
            return ()                               # of a new stack
        with self._database.reader() as tx:
            return guards.of(tx, row.root_id).protections

    def _found(self, tx: Connection, context: RequestContext, plan_id: str) -> StoredPlan:
        stored = plans.listed(tx, plan_id, context.project_id) if context.project_id is not None else None
        if stored is None:
            raise exception.EntityNotFound(entity='Plan', name=plan_id)
        return stored

    def _with_digest(self, context: RequestContext, plan_id: str) -> tuple[StoredPlan, str]:
        """Return a plan to be applied, and the digest of what is stored of it now. Raises EntityNotFound."""
        with self._database.reader() as tx:
            stored = plans.with_digest(tx, plan_id, context.project_id) if context.project_id else None
        if stored is None:
            raise exception.EntityNotFound(entity='Plan', name=plan_id)
        return stored

    def _request(self, context: RequestContext, stored: StoredPlan, request: messages.CreatePlan) -> dict[str, str]:
        """Make the request that was planned, and return the identity of its stack."""
        applied = _Applied(self._runtime, stored)
        match stored.action:
            case messages.CREATE:
                return self._stacks.create(context, request.as_create(), applied)
            case messages.UPDATE:
                return self._updates.update(context, request.as_update(), applied)
        self._actions.delete(context, messages.DeleteStack(str(stored.stack_id)), applied)
        return {'tenant': stored.project_id, 'stack_name': stored.stack_name, 'stack_id': str(stored.stack_id)}

    def _check_applicable(self, stored: StoredPlan) -> None:
        if stored.state == plans.APPLIED:
            raise exception.Conflict(_('Plan %(id)s was applied at %(at)s.')
                                     % {'id': stored.id, 'at': isotime(stored.applied_at or stored.created_at)})
        if stored.expires_at <= self._runtime.now():
            raise exception.Conflict(_('Plan %(id)s expired at %(at)s; make a new one.')
                                     % {'id': stored.id, 'at': isotime(stored.expires_at)})

    def _check_findings(self, context: RequestContext, stored: StoredPlan, preview: PreviewedStack) -> None:
        """Check the plan again. Raise Conflict for findings of level error."""
        checked = self._checks.of(context, plan_builder.build(stored.action, preview))
        errors = [each.text for each in checked.findings if each.level is FindingLevel.ERROR]
        if errors:
            raise exception.Conflict(plan_builder.whole_mask(preview).text(' '.join([
                _('The checks of plan %s find errors.') % stored.id, first_few(errors, MOST_DIFFERENCES, ' ')])))

    def _check_start(self, context: RequestContext, stored: StoredPlan,
                     request: messages.CreatePlan) -> PreviewedStack | None:
        """Raise Conflict, naming the differences, if the stack, or with `refresh` its objects in the cloud, are not
        what was planned with. Returns what would be done, if that had to be computed.

        The transaction of the request checks the stack again, and the run does nothing that is not planned."""
        if stored.stack_id is None:
            return None
        with self._database.reader() as tx:
            row = stacks.get(tx, stored.stack_id)
        if row is None or row.deleted_at is not None:
            raise exception.Conflict(_('The stack of plan %s is gone.') % stored.id)
        check_idle(row)
        is_same_stack = row.generation == stored.generation
        if is_same_stack and not (request.converge and stored.action == messages.UPDATE):
            return None
        _row, preview = self._preview(context, request)
        after = to_document(plan_builder.build(stored.action, preview))
        differing = differences(stored.document, after)
        if is_same_stack and not differing:
            return preview
        raise exception.Conflict(' '.join([
            (_('What the cloud has is not what plan %s was made with.') if is_same_stack
             else _('The stack has changed since plan %s was made.')) % stored.id,
            first_few(differing, MOST_DIFFERENCES, '; ') + '.' if differing else _('A new plan would do the same.')]))

    def _check_protections(self, stored: StoredPlan) -> None:
        """Raise StackProtected if the protections of now deny a change of the plan."""
        if stored.stack_id is None:
            return
        with self._database.reader() as tx:
            row = stacks.get(tx, stored.stack_id)
        protections = self._protections(row)
        if row is not None and protections:
            guard_checks.refuse(row, blocked_changes(protections, stored.document))

    def _check_policies(self, stored: StoredPlan) -> None:
        """Raise Conflict, with the reasons, if a policy denies the plan now."""
        if not self._policies.are_any:
            return
        denied = denials(self._rulings(_Whose(
            stored.project_id, stored.stack_id, stored.stack_name, stored.author, stored.approver), stored.document))
        if denied:
            raise exception.Conflict(_('Plan %(id)s is denied by policy. %(policies)s') % {
                'id': stored.id, 'policies': '. '.join(map(str, denied))})

    def _rulings(self, whose: _Whose, document: Mapping[str, object]) -> tuple[Ruling, ...]:
        """Ask the policies about a plan as it is shown, with whose it is, without what they said before."""
        return self._policies.rulings(whose.project_id, {
            **asdict(whose), **{name: value for name, value in document.items() if name != 'policies'}})


@dataclass(frozen=True)
class _Whose:
    """To whom a plan belongs, as policies see it."""

    project_id: str
    stack_id: str | None
    stack_name: str
    author: str | None
    approver: str | None = None


class _Applied:
    """A stored plan, for the transaction of the request that applies it (`requests.acceptance.Applying`)."""

    def __init__(self, runtime: Runtime, stored: StoredPlan) -> None:
        self._runtime = runtime
        self._stored = stored

    @property
    def reference(self) -> PlanReference:
        return plan_references.reference(self._stored.id)

    def accept(self, tx: Connection, stack_id: str, generation: int | None) -> None:
        if generation != self._stored.generation:
            raise exception.Conflict(_('The stack has changed while plan %s was applied.') % self._stored.id)
        if not plans.apply(tx, self._stored.id, stack_id, self._runtime.now()):
            raise exception.Conflict(_('Another request was faster to apply plan %s.') % self._stored.id)


@contextmanager
def _refused_as(reason: str) -> Iterator[None]:
    """Count it in metrics, under `reason`, if the block refuses to apply a plan."""
    try:
        yield
    except exception.HeatException as error:
        if error.http_code < 500:
            metrics.plans_refused.labels(reason).inc()
        raise


def _check_size(document: object) -> None:
    """Raise RequestLimitExceeded for a plan that is too large to be stored and shown. It may refer to one large text
    many times: it is small in memory, but encoded once for each reference."""
    try:
        document_size.measure(document, SHOWN)
    except exception.RequestLimitExceeded:
        raise exception.RequestLimitExceeded(
            _('The plan would have more than %d characters: the values before and after the changes of its resources '
              'are too large.') % (16 * limits.MOST_ANSWERED)) from None


def _check_digest(stored: StoredPlan, present_digest: str, digest: str | None) -> None:
    """Raise Conflict unless the plan is as it was made.

    `present_digest`: of what is stored of it; `digest`: the one that the caller expects, if any."""
    if present_digest != stored.digest:
        raise exception.Conflict(_('Plan %s is not what was planned: it was changed, or another release of the '
                                   'service has made it. Make a new one.') % stored.id)
    if digest is not None and digest != stored.digest:
        raise exception.Conflict(_('The digest of plan %(id)s is %(digest)s, not the one given.')
                                 % {'id': stored.id, 'digest': stored.digest})


def _as_json(message: messages.CreatePlan, is_observed: bool) -> Mapping[str, object]:
    """Return the fields of the message, for storage. Positions in the template are not needed again.

    `is_observed`: what services report was read, which is then done again, whatever the options say.
    """
    given = {field.name: getattr(message, field.name) for field in fields(message) if field.name != 'template_text'}
    return given | ({'converge': True} if is_observed else {})
