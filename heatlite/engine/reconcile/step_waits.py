"""What steps under way wait for: services whose work takes long, and services that do not answer.

A step notes what it waits for in its row. Called in the threads of the pool.
"""

from __future__ import annotations

import logging

from heatlite.common import exception, log_throttle
from heatlite.common.runtime import Runtime
from heatlite.common.service_answers import ServiceAnswer
from heatlite.engine.clients import answers
from heatlite.engine.clients.answers import Answer
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.resource_writer import ChangeLog
from heatlite.engine.reconcile.step_context import StepContext
from heatlite.planning import commands, waiting
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)

AWAY_PATIENCE = 5.0                 # seconds until a service that does not answer is called again
AWAY_POLL_INTERVALS = 5             # poll intervals until a check is repeated whose service does not answer


class StepWaits:
    """Notes and bounds the waits of one stack's steps, in the threads of the pool that execute them."""

    def __init__(self, runtime: Runtime, leased: LeasedStack, journal: ChangeLog, interval: float) -> None:
        """`interval`: seconds between two checks, unless the type has its own."""
        self._runtime = runtime
        self._leased = leased
        self._journal = journal
        self._interval = interval

    def note_check(self, row: ResourceState, work: StepContext, action: Action, poll_intervals: int) -> None:
        """Note that the next check is made after so many poll intervals."""
        own = work.resource.poll_interval if work.resource is not None else None
        self._note(row, work, f'check_{action.lower()}_complete',
                   poll_intervals * (self._interval if own is None else own))

    def is_patient(self, work: StepContext) -> bool:
        """Whether the type waits longer for the service, which has just not answered."""
        patience = work.resource.away_patience if work.resource is not None else None
        return patience is None or work.away_since is None or (
            self._runtime.now() - work.away_since).total_seconds() < patience

    def check_later(self, step: Step, row: ResourceState, work: StepContext, error: Exception,
                    action: Action) -> commands.CheckReturned:
        """Return the event of a check that no service has answered."""
        log_throttle.log(LOG, logging.INFO, ('check', type(error)), '%s of %s in stack %s will be asked for again: '
                         '%s: %s', action, row.name, self._leased.id, type(error).__name__, error)
        work.away_since = work.away_since or self._runtime.now()
        self.note_check(row, work, action, AWAY_POLL_INTERVALS)
        return commands.CheckReturned(step, False, AWAY_POLL_INTERVALS)

    def call_later(self, step: Step, row: ResourceState, work: StepContext, error: Exception,
                   action: Action) -> commands.Away:
        """Return the event of a handler that no service has answered."""
        failure = exception.ResourceFailure(error, row, action)
        if work.away_since is None:                 # one line for each outage, not for each try
            work.away_since = self._runtime.now()
            log_throttle.log(LOG, logging.WARNING, ('away', type(error)),
                             '%s of %s in stack %s waits for a service that '
                             'does not answer: %s', action, row.name, self._leased.id, failure.message)
        self._note(row, work, f'handle_{action.lower()}', AWAY_PATIENCE)
        return commands.Away(step, failure.message, AWAY_PATIENCE)

    def note_answer(self, work: StepContext, row: ResourceState, action: Action) -> None:
        """Note that the service of a handler has answered, perhaps after an outage."""
        if work.away_since is not None:
            work.away_since = None
            log_throttle.log(LOG, logging.INFO, 'back', '%s of %s in stack %s goes on: the service answers again',
                     action, row.name, self._leased.id)

    def _note(self, row: ResourceState, work: StepContext, call: str, every: float) -> None:
        """Store what a long action waits for. `call`: what is called next, in `every` seconds."""
        now = self._runtime.now()
        if work.first_check is None:
            work.first_check = now
        if not waiting.may_be_noted(now, work.first_check, work.waits):
            return
        said = self._masked(answers.last())         # other threads may change the row meanwhile
        current = self._leased.row_numbered(row.id)
        if current is None:
            return
        found = waiting.Wait(call, every, now, waiting.changed_at(current), said)
        if work.waits is None or found.is_news(work.waits):
            work.waits = found
            self._journal.submit(self._leased.make_change(row=current, columns={'waits': found.to_json()}))

    def _masked(self, answer: Answer | None) -> ServiceAnswer | None:
        if answer is None:
            return None
        found, mask = answer.to_json(), self._leased.definition.mask
        return {**found, 'path': mask.text(found['path']), 'said': mask.text(found['said'])}
