"""Dispatches RPC messages: one table from message to use case."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from keystoneauth1 import exceptions as services

from heatlite.common import exception, log_throttle
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.engine.clients import logins
from heatlite.engine.requests.repeated_calls import AcceptedBefore
from heatlite.engine.requests.stacks import identified
from heatlite.rpc import messages

LOG = logging.getLogger(__name__)

BRING_WORK = messages.CreateStack, messages.UpdateStack

UseCase = Callable[[RequestContext, object], object]
Once = Callable[[RequestContext, messages.Message], AbstractContextManager[None]]


class Endpoint:
    """Handles each message of the API in a thread of its request."""

    def __init__(self, use_cases: dict[type[messages.Message], UseCase],
                 admit: Callable[[RequestContext], None] = lambda context: None,
                 complete: Callable[[RequestContext, messages.Message], messages.Message] = (
                     lambda context, message: message),
                 once: Once = lambda context, message: nullcontext()) -> None:
        """`admit(context)`: returns when the engine can take work of the caller; raises what it refuses it with.
        `complete(context, message)`: see `ContainerFiles.complete`; `once(context, message)`: see
        `RepeatedCalls.recognized`."""
        self._use_cases = use_cases
        self._admit = admit
        self._complete = complete
        self._once = once

    def handle(self, context: RequestContext, message: messages.Message) -> object:
        """Return the answer to one message. Raises the error that the caller is to see."""
        use_case = self._use_cases.get(type(message))
        if use_case is None:
            raise exception.NotSupported(feature=type(message).__name__)
        if isinstance(message, BRING_WORK):
            self._admit(context)
        try:
            with self._once(context, message):
                return use_case(context, self._complete(context, message))
        except AcceptedBefore as accepted:
            return identified(accepted.row) if isinstance(message, BRING_WORK) else None
        except services.ClientException as error:
            refused = refusal(error)
            if refused is None:
                raise
            log_throttle.log(LOG, logging.INFO, (message.method(), type(error)), '%s: a service said: %s',
                             message.method(), error, extra={'context': context})
            raise refused from error


def refusal(error: services.ClientException) -> exception.HeatException | None:
    """Return the caller's error for a failure of another service; None if the failure is a defect of heatlite.

    The error names neither the service nor its address: these are for the log only.
    """
    if isinstance(error, services.Forbidden | services.Unauthorized | logins.LoginRefused):
        return exception.Forbidden(_('a service that this request needs: it refuses your credentials'))
    if isinstance(error, services.ConnectFailure | services.HttpServerError | services.EndpointNotFound
                  | logins.LoginUnanswered):
        return exception.HTTPServiceUnavailable(_('A service that this request needs does not answer.'))
    return None
