"""Raises KeystoneUnavailable where Keystone's middleware cannot validate a token.

The middleware itself answers most of these failures with a page of HTML, and raises errors of its libraries for others,
such as a service that Keystone's catalogue does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from keystoneauth1 import exceptions as keystone_exceptions
from keystonemiddleware import exceptions as middleware_exceptions

from heatlite.api.middleware.authorities import log_unusable
from heatlite.common import exception

if TYPE_CHECKING:
    from _typeshed import OptExcInfo

PASSED: Final = 'heatlite.identity_outages.passed'          # in the environment: the layers below have the request
FAILURES: Final = (keystone_exceptions.ClientException, middleware_exceptions.KeystoneMiddlewareException)


class IdentityOutages:
    """The layer `identity` around `app`. Answers and errors of `app` are passed on as they are."""

    def __init__(self, app: WSGIApplication, identity: Callable[[WSGIApplication], WSGIApplication]) -> None:
        self._app = app
        self._identity = identity(self._passed)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], exc_info: OptExcInfo | None = None,
                  /) -> Callable[[bytes], object]:
            if status.startswith('503') and PASSED not in environ:
                raise exception.KeystoneUnavailable(reason=status)      # the middleware has logged the reason
            return start_response(status, headers, exc_info)

        try:
            return self._identity(environ, start)
        except FAILURES as error:
            if PASSED in environ:
                raise
            raise exception.KeystoneUnavailable(reason=f'{type(error).__name__}: {error}') from error
        except OSError as error:
            if PASSED in environ:
                raise
            raise exception.KeystoneUnavailable(reason=log_unusable(
                '[keystone_authtoken] cafile, certfile or keyfile', error)) from error

    def _passed(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[PASSED] = True
        return self._app(environ, start_response)
