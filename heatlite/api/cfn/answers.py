"""How the CloudFormation API writes its answers and errors."""

from __future__ import annotations

from functools import partial
from wsgiref.types import WSGIEnvironment

import webob

from heatlite.api import faults
from heatlite.api.aws import errors, parameters
from heatlite.api.aws.envelope import Envelope

ENVELOPE = Envelope(as_json_text=frozenset({'TemplateBody', 'Metadata'}), booleans=frozenset({'DisableRollback'}))

refusal = partial(errors.refusal, ENVELOPE)


def error(raised: Exception, environ: WSGIEnvironment) -> webob.Response:
    """Return the answer for an error that an action or a layer has raised."""
    return _rendered(raised, parameters.wants_json(environ))


def failure(raised: Exception) -> webob.Response:
    """Return the answer when the layer that renders errors has failed itself."""
    return _rendered(raised, as_json=False)


def _rendered(raised: Exception, as_json: bool) -> webob.Response:
    found = errors.answer_to(raised)
    errors.log(raised, found)
    made = ENVELOPE.response({'ErrorResponse': errors.document(found)}, as_json, found.status)
    made.headers.update(faults.headers(raised, found.status))
    return made
