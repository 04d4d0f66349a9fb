"""How each service writes an error: the same facts, a dozen ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from cloudsim.messages import Problem

# What Nova, Cinder, Manila and Trove put around an error.
FAULT_NAMES = {400: 'badRequest', 401: 'unauthorized', 403: 'forbidden', 404: 'itemNotFound', 405: 'badMethod',
               409: 'conflictingRequest', 413: 'overLimit', 415: 'badMediaType', 429: 'overLimit',
               501: 'notImplemented', 503: 'serviceUnavailable'}


def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return 'Error'


def keystone(problem: Problem) -> Any:
    return {'error': {'code': problem.status, 'message': problem.message, 'title': phrase(problem.status)}}


def fault(problem: Problem) -> Any:
    inner: dict[str, Any] = {'code': problem.status, 'message': problem.message}
    if 'Retry-After' in problem.headers:
        inner['retryAfter'] = problem.headers['Retry-After']
    return {FAULT_NAMES.get(problem.status, 'computeFault'): inner}


def neutron(problem: Problem) -> Any:
    kind = problem.kind or ('HTTP' + phrase(problem.status).replace(' ', ''))
    return {'NeutronError': {'type': kind, 'message': problem.message, 'detail': ''}}


def pecan(problem: Problem) -> Any:
    return {'faultcode': 'Client' if problem.status < 500 else 'Server', 'faultstring': problem.message,
            'debuginfo': None}


def wrapped_pecan(problem: Problem) -> Any:
    return {'error_message': pecan(problem)}


def texted_pecan(problem: Problem) -> Any:
    return {'error_message': json.dumps(pecan(problem))}


def listed(problem: Problem) -> Any:
    return {'errors': [{'status': problem.status, 'code': problem.kind, 'title': phrase(problem.status),
                        'detail': problem.message, 'links': []}]}


def designate(problem: Problem) -> Any:
    kind = ''.join('_' + each.lower() if each.isupper() else each for each in problem.kind).lstrip('_')
    return {'code': problem.status, 'type': kind or phrase(problem.status).lower().replace(' ', '_'),
            'message': problem.message}


def titled(problem: Problem) -> Any:
    return {'code': problem.status, 'title': phrase(problem.status), 'description': problem.message}


def blazar(problem: Problem) -> Any:
    return {'error_code': problem.status, 'error_message': problem.message, 'error_name': str(problem.status)}


def html(problem: Problem) -> Any:
    title = f'{problem.status} {phrase(problem.status)}'
    return (f'<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>\n  <h1>{title}</h1>\n'
            f'  {problem.message}<br /><br />\n\n\n </body>\n</html>').encode()


FORMS: dict[str, Callable[[Problem], Any]] = {
    'keystone': keystone, 'fault': fault, 'neutron': neutron, 'pecan': pecan, 'wrapped_pecan': wrapped_pecan,
    'texted_pecan': texted_pecan, 'listed': listed, 'designate': designate, 'titled': titled, 'blazar': blazar,
    'html': html}
