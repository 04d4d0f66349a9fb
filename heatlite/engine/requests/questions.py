"""Asks services several questions at once, within a time limit. A service that does not answer fails no request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from keystoneauth1 import exceptions as services

from heatlite.common import exception, log_throttle
from heatlite.common.context import RequestContext, hide, mask_of_thread, subject
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.engine.clients import logins

LOG = logging.getLogger(__name__)

T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)


class Question(Generic[T_co]):
    """`what`: what is read, for messages. `failure`: why there is no answer; '' if there is one or it is not wanted."""

    def __init__(self, kind: str, read: Callable[[], T_co], what: str | None = None) -> None:
        """`kind`: of what is read; has few values, none of them chosen by a user, since failures of one kind share
        their log lines. `what`: if it says more than the kind."""
        self.what = kind if what is None else what
        self._kind = kind
        self.failure = ''
        self._read = read
        self._answers: list[T_co] = []

    def ask(self) -> None:
        try:
            self._answers.append(self._read())
        except Exception as error:              # of clients, of plug-ins in their place, of unexpected answers
            log_throttle.log(LOG, logging.INFO, (self._kind, type(error)), 'Reading %s: %s: %s', self.what,
                             type(error).__name__, error)
            self.failure = _reason(error)

    @property
    def is_over(self) -> bool:
        return bool(self._answers or self.failure)

    def answer(self, otherwise: T) -> T_co | T:
        """Return what was read, or `otherwise`."""
        return self._answers[0] if self._answers else otherwise


def ask(runtime: Runtime, context: RequestContext, questions: Sequence[Question[object]], seconds: float) -> None:
    """Ask all questions, each in a green thread. Those without an answer after so many seconds are given up; all are if
    the request ends meanwhile. No thread is left that asks: it would use connections and turns of the services."""
    done = runtime.flag()
    about, mask = subject(), mask_of_thread()

    def one(question: Question[object]) -> None:
        with context.bound(about):
            hide(mask)
            question.ask()
        if all(each.is_over for each in questions):
            done.set()

    threads = [runtime.spawn(one, question) for question in questions]
    try:
        if threads:
            done.wait(seconds)
    finally:
        for thread, question in zip(threads, questions, strict=True):
            if not question.is_over:
                thread.kill()
                question.failure = _('the service did not answer in time')


def _reason(error: Exception) -> str:
    """Return what the caller learns of an error: neither the service's address nor its words, which the log has."""
    match error:
        case exception.RequestLimitExceeded():
            return str(error)
        case services.Forbidden() | services.Unauthorized() | logins.LoginRefused():
            return _('the service refuses your credentials')
        case services.CatalogException():
            return _('the service is not in the catalogue')
        case services.ConnectFailure() | services.HttpServerError() | logins.LoginUnanswered():
            return _('the service does not answer')
    return _('the answer cannot be used')
