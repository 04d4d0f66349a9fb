"""Turns the error of a resource type into the event that the step has failed, and logs what the log has to say."""

from __future__ import annotations

import logging
import traceback

from heatlite.common import defects, exception
from heatlite.common.i18n import _
from heatlite.engine.reconcile.leased_stack import LeasedStack
from heatlite.engine.reconcile.service_errors import is_final
from heatlite.engine.resource import Resource
from heatlite.planning import commands
from heatlite.planning.states import Action, ResourceState
from heatlite.planning.steps import Step

LOG = logging.getLogger(__name__)


class StepFailures:
    """Classifies the failures of one stack's steps, in the threads of the pool that execute them."""

    def __init__(self, leased: LeasedStack) -> None:
        self._leased = leased

    def of(self, step: Step, row: ResourceState, error: Exception, action: Action,
           resource: Resource | None) -> commands.Failed:
        """`resource`: the object that raised the error, if it was made."""
        if isinstance(error, exception.UpdateReplace):
            return commands.Failed(step, self._masked(str(error)), replace=True)
        failure = exception.ResourceFailure(error, row, action)
        retry = resource is not None and self._may_retry(row, resource, error, action)
        self._log(row, error, action, retry)
        message = failure.message
        if isinstance(error, exception.ResourceInError) and resource is not None and resource.resource_id is not None:
            message += _(' (id %s)') % resource.resource_id     # it may be gone when the user looks for it
        return commands.Failed(step, self._masked(message), retry=retry)

    def _may_retry(self, row: ResourceState, resource: Resource, error: Exception, action: Action) -> bool:
        try:
            return is_worth_retrying(resource, error, action)
        except Exception as defect:
            defects.log(LOG, defect, 'Classifying an error of %s in stack %s failed', row.name, self._leased.id)
            return False

    def _log(self, row: ResourceState, error: Exception, action: Action, retry: bool) -> None:
        if defects.is_defect(error):                # other failures are one line, when the step ends
            defects.log(LOG, error, '%s of %s (%s) in stack %s failed', action, row.name, row.type, self._leased.id)
            return
        if retry and not isinstance(error, exception.HeatException):
            LOG.info('%s of %s in stack %s failed: %s', action, row.name, self._leased.id, self._masked(str(error)))
        LOG.debug('%s of %s in stack %s failed:\n%s', action, row.name, self._leased.id,
                  self._masked(''.join(traceback.format_exception(error))))

    def _masked(self, text: str) -> str:
        """Mask the values of hidden parameters, which services and types quote in their errors."""
        return self._leased.definition.mask.text(text)


def is_worth_retrying(resource: Resource, error: Exception, action: Action) -> bool:
    """Whether a retry may help: the service was busy, or the object went into error.

    Source: docs/spec/engine.rst, "Retries".
    """
    if action is Action.CREATE and isinstance(error, exception.ResourceInError):
        return True
    if action is Action.DELETE and isinstance(error, exception.PhysicalResourceExists):
        return True
    plugin = resource.client_plugin() if resource.default_client_name else None
    return plugin is not None and bool(plugin.is_conflict(error)) and not (action is Action.CREATE and is_final(error))
