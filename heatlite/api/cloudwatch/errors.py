"""Errors of the CloudWatch API: AWS's codes, and which of them an error of the service or of a shape becomes."""

from __future__ import annotations

from typing import Final

from heatlite.api.aws import errors
from heatlite.api.aws.errors import AwsError
from heatlite.api.cloudwatch import shapes
from heatlite.common import exception
from heatlite.common.i18n import _

INVALID_VALUE: Final = 'InvalidParameterValue'      # of actions on metrics
VALIDATION: Final = 'ValidationError'               # the same of actions on alarms

# Code -> the name of its shape, which the protocols with typed errors send. A code without one is its own name.
SHAPES: Final = {
    'InternalServiceError': 'InternalServiceFault',
    'InvalidFormat': 'InvalidFormatFault',
    'InvalidParameterCombination': 'InvalidParameterCombinationException',
    INVALID_VALUE: 'InvalidParameterValueException',
    'LimitExceeded': 'LimitExceededFault',
    'MissingParameter': 'MissingRequiredParameterException',
    'Throttling': 'ThrottlingException',
    VALIDATION: 'ValidationException',
}


class CloudWatchError(AwsError):
    """`text` replaces the fixed text of the code."""

    codes = {
        **errors.CODES,
        'InternalServiceError': (500, errors.CODES['InternalFailure'][1]),
        'InvalidFormat': (400, _('Data was not syntactically valid JSON')),
        'InvalidNextToken': (400, _('The next token specified is invalid')),
        'LimitExceeded': (400, _('The quota for alarms or metrics of this project has already been reached')),
        'RequestEntityTooLarge': (413, _('The request is longer than it may be')),
        'ResourceConflict': (409, _('The alarm belongs to a stack')),
        'ResourceNotFound': (404, _('The named resource does not exist')),
        'SerializationException': (400, _('The request could not be read')),
        VALIDATION: (400, _('The input fails to satisfy the constraints of the action')),
    }

    def __init__(self, code: str, text: str = '') -> None:
        super().__init__(code, text=text)


def of_shape(wrong: shapes.InvalidParameter, invalid: str) -> CloudWatchError:
    """Return the error for a parameter that is wrong. `invalid`: the code for a value out of bounds."""
    match wrong:
        case shapes.MissingParameter():
            return CloudWatchError('MissingParameter', _('The parameter %s is required.') % wrong)
        case shapes.InvalidCombination():
            return CloudWatchError('InvalidParameterCombination', str(wrong))
        case shapes.MistypedParameter():
            return CloudWatchError('SerializationException', str(wrong))
    return CloudWatchError(invalid, str(wrong))


def answer_to(raised: Exception, invalid: str = INVALID_VALUE) -> AwsError:
    """Convert any error to one for the client. `invalid`: the action's code for a wrong value."""
    match raised:
        case AwsError() if raised.code != 'InternalFailure':
            return raised
        case shapes.InvalidParameter():
            return of_shape(raised, invalid)
        case exception.EntityNotFound():
            return CloudWatchError('ResourceNotFound', str(raised))
        case exception.LimitExceeded():
            return CloudWatchError('LimitExceeded', str(raised))
        case exception.RequestLimitExceeded():
            return CloudWatchError('RequestEntityTooLarge', str(raised))
        case exception.InvalidRestrictedAction() | exception.Conflict():
            return CloudWatchError('ResourceConflict', str(raised))
    found = errors.answer_to(raised)
    if found.code == INVALID_VALUE:
        detail = str(raised) if isinstance(raised, exception.HeatException) and raised.safe else ''
        return CloudWatchError(invalid, detail)
    if found.code == 'InternalFailure':
        return CloudWatchError('InternalServiceError')
    return found
