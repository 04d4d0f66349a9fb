"""Makes errors of a login at Keystone a class of their own: their status says nothing of the object of a request.

A session logs in before it sends a request. keystoneauth1 raises the same classes for the answers to both, so that
"404" of the login would count as the end of the object, and "409" as a conflict.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from keystoneauth1 import exceptions
from requests import Response

from heatlite.common.exception import shortened

REFUSAL = 401
OF_KEYSTONE = frozenset({400, 403, 404})    # refusals in the form of Keystone ("Could not find trust"); else of a proxy


class LoginRefused(exceptions.AuthorizationFailure):
    """Keystone refuses a login. `status`: of its answer, which is no attribute that is read as an HTTP status."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(f'Keystone refuses the login: {said}')
        self.status = status


class LoginUnanswered(exceptions.AuthorizationFailure):
    """Keystone cannot be asked for a token at the moment: it, or a proxy in front of it, answers with an error that is
    no refusal. No request was sent to a service."""

    def __init__(self, said: str) -> None:
        super().__init__(f'Keystone gives no token: {said}')


@contextlib.contextmanager
def own_errors() -> Iterator[None]:
    """Raise LoginRefused and LoginUnanswered in the place of errors with a status, in a block that logs in, and of
    those of the login that looks for the versions of Keystone first: it says of no error what it was."""
    try:
        yield
    except exceptions.HttpError as error:
        raise _error(error) from error
    except (exceptions.InvalidResponse, exceptions.DiscoveryFailure) as error:
        raise LoginUnanswered(shortened(str(error))) from error


def _error(error: exceptions.HttpError) -> LoginRefused | LoginUnanswered:
    said = shortened(str(error))
    is_refusal = error.http_status == REFUSAL or (
        error.http_status in OF_KEYSTONE and _is_of_keystone(error.response))
    return LoginRefused(said, error.http_status) if is_refusal else LoginUnanswered(said)


def _is_of_keystone(response: Response | None) -> bool:
    """Whether an answer has the form of Keystone's errors."""
    try:
        body = None if response is None else response.json()
    except (ValueError, RecursionError):
        return False
    return isinstance(body, Mapping) and isinstance(body.get('error'), Mapping)
