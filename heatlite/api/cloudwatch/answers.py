"""How the CloudWatch API answers errors: in the protocol of the request."""

from __future__ import annotations

from functools import partial
from typing import Final
from wsgiref.types import WSGIEnvironment

import webob

from heatlite.api import faults
from heatlite.api.aws import errors
from heatlite.api.cloudwatch.errors import INVALID_VALUE, answer_to
from heatlite.api.cloudwatch.protocols import choice, query
from heatlite.api.cloudwatch.protocols.protocol import request

INVALID: Final = 'heatlite.cloudwatch.invalid'      # the code of the request's action for values that are wrong
REQUEST_ID: Final = 'x-amzn-RequestId'              # where clients look for the request's id

refusal = partial(errors.refusal, query.ENVELOPE)


def error(raised: Exception, environ: WSGIEnvironment) -> webob.Response:
    """Return the answer for an error that an action or a layer has raised."""
    found = answer_to(raised, environ.get(INVALID, INVALID_VALUE))
    errors.log(raised, found)
    made = choice.of(environ).error(environ, found)
    made.headers[REQUEST_ID] = request(environ)
    made.headers.update(faults.headers(raised, found.status))
    return made


def failure(raised: Exception) -> webob.Response:
    """Return the answer when the layer that renders errors has failed itself."""
    return error(raised, {})
