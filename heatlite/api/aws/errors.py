"""Errors of the APIs with AWS's protocols: their codes, and the error document of the query protocol."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from heatlite.api import faults
from heatlite.api.aws.envelope import Envelope
from heatlite.common import defects, exception
from heatlite.common.i18n import _

LOG = logging.getLogger(__name__)

SENDER, SERVER = 'Sender', 'Server'

# code -> status, text
CODES = {
    'IncompleteSignature': (400, _('The request signature does not conform to AWS standards')),
    'MissingAuthenticationToken': (403, _('Does not contain a valid AWS Access Key or certificate')),
    'InvalidClientTokenId': (403, _('The certificate or AWS Key ID provided does not exist')),
    'SignatureDoesNotMatch': (403, _('The request signature we calculated does not match the signature you provided')),
    'AccessDenied': (403, _('User is not authorized to perform action')),
    'NotFound': (404, _('There is nothing at this path')),
    'InvalidAction': (400, _('The action or operation requested is invalid')),
    'MissingParameter': (400, _('A mandatory input parameter is missing')),
    'InvalidParameterCombination': (400, _('Incompatible parameters were used together')),
    'InvalidParameterValue': (400, _('A bad or out-of-range value was supplied')),
    'AlreadyExists': (400, _('Resource with the name requested already exists')),
    'ValidationError': (400, _('The stack does not permit this')),
    'RequestLimitExceeded': (400, _('Payload exceeds maximum allowed size')),
    'Throttling': (429, _('Rate exceeded')),
    'InternalFailure': (500, _('The request processing has failed due to an internal error')),
    'ServiceUnavailable': (503, _('Service temporarily unavailable')),
}
IN_PROGRESS = _('Cannot perform action on stack while other actions are in progress')


class AwsError(Exception):
    """An error as clients of AWS know it. `detail` follows the fixed text of its code.

    `codes` of a subclass: those of one API.
    """

    codes: Mapping[str, tuple[int, str]] = CODES

    def __init__(self, code: str, detail: str = '', text: str = '') -> None:
        self.code = code
        self.status, fixed = self.codes[code]
        self.message = f'{text or fixed}:{detail}' if detail else text or fixed
        super().__init__(self.message)


class IdentityUnavailable(AwsError):
    """Keystone does not answer, or fails. It was logged as an outage."""

    def __init__(self) -> None:
        super().__init__('ServiceUnavailable')


def answer_to(error: Exception) -> AwsError:
    """Convert any error to one for the client. The text of an internal error is not sent."""
    match error:
        case AwsError():
            return error
        case exception.ActionInProgress():
            return AwsError('InvalidAction', str(error), IN_PROGRESS)
        case exception.HTTPNotFound():
            return AwsError('NotFound')
        case exception.HeatException():
            return AwsError(error.cfn_code if error.cfn_code in CODES else 'InternalFailure',
                            (error.public or str(error)) if getattr(error, 'safe', False) else '')
        case ValueError() | AttributeError():           # builtins that an engine raises: a wrong value
            return AwsError('InvalidParameterValue')
    return AwsError('InternalFailure')


def log(error: Exception, found: AwsError) -> None:
    """Log internal errors, with a traceback that was not logged recently; unavailable services seldom."""
    if isinstance(error, IdentityUnavailable):
        return
    if found.status > 500:
        faults.log_unserved(error)
    elif found.status == 500:
        LOG.error('Unexpected %s while answering a request', type(error).__name__,
                  exc_info=error if defects.is_news(error) else None)


def document(error: AwsError) -> dict[str, object]:
    """Return the content of the element ErrorResponse."""
    return {'Error': {'Type': fault_of(error.status), 'Code': error.code, 'Message': error.message}}


def fault_of(status: int) -> str:
    return SERVER if status >= 500 else SENDER


def refusal(envelope: Envelope, status: int, text: str) -> tuple[str, bytes]:
    """Content type and document for errors of the HTTP server itself: a malformed request, or too many of them."""
    code = 'ServiceUnavailable' if status >= 500 else 'InvalidParameterValue'
    made = envelope.response({'ErrorResponse': {'Error': {
        'Type': fault_of(status), 'Code': code, 'Message': text}}}, as_json=False)
    return 'application/xml', bytes(made.body)


class Faults:
    """The layer that renders the errors of the layers below. `answer(error, environ)`: the rendered error."""

    def __init__(self, app: WSGIApplication, answer: Callable[[Exception, WSGIEnvironment], webob.Response]) -> None:
        self._app = app
        self._answer = answer

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._app(environ, start_response)
        except Exception as error:
            answer: WSGIApplication = self._answer(error, environ)
            return answer(environ, start_response)
