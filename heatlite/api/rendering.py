"""Results of handlers as responses. Long lists are sent in pieces, and other requests are served in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

import webob
from webob import exc

from heatlite.api import json_text
from heatlite.api.results import Created, Redirect, StreamedList, TaggedAnswer

PIECE = 200                     # items of a list that are sent at once: ten milliseconds of work
PIECE_TEXT = 1_048_576          # characters of items that are JSON already, after which a piece ends


def render(answer: object, status: int) -> webob.Response:
    """Return the response for what a handler returned: one of heatlite.api.results, a response, or an object for
    JSON."""
    match answer:
        case webob.Response():
            return answer
        case TaggedAnswer(inner, tag):
            response = render(inner, status)
            if tag is not None:
                response.headerlist.append(('ETag', f'"{tag}"'))       # a tenth of the time of `headers`
            return response
        case Redirect(location):
            return exc.HTTPFound(location=location)
        case Created(location, body):
            return json_response(body, status, location=location)
        case StreamedList(count=count, is_large=is_large):
            pieces = _pieces(answer)
            content = {'app_iter': pieces} if is_large or count > PIECE else {'body': b''.join(pieces)}
            return webob.Response(**content, status=status, content_type='application/json', charset=None)
    if status == 204:
        return webob.Response(status=204, content_type=None)
    if status == 202 and answer is None:            # as Heat answers; its type is what the caller accepts
        return exc.HTTPAccepted()
    return json_response(answer, status)


def _pieces(answer: StreamedList) -> Iterator[bytes]:
    """Yield the JSON of a long list in pieces. (One of ten thousand resources once blocked all other requests for half
    a second.)"""
    begin, waiting = f'{{{json_text.write(answer.key)}: [', iter(answer.items)      # `begin`: of what is sent next
    while piece := _piece(waiting):
        yield (begin + json_text.write_all(piece)).encode('ascii')
        begin = ', '
        if len(piece) == PIECE or answer.is_large:
            yield_control()
    rest = ''.join(f', {json_text.write(key)}: {json_text.write(value)}' for key, value in answer.rest.items())
    yield f'{begin.removeprefix(", ")}]{rest}}}'.encode('ascii')


def _piece(waiting: Iterator[object]) -> list[object]:
    """Return the next items that are sent at once."""
    found, size = list[object](), 0
    for item in islice(waiting, PIECE):
        found.append(item)
        size += len(item) if isinstance(item, json_text.JsonText) else 0
        if size >= PIECE_TEXT:
            break
    return found


def yield_control() -> None:
    """Let other requests run, whether threads are cooperative or real ones."""
    time.sleep(0)


def json_response(body: object, status: int = 200, **headers: str) -> webob.Response:
    return webob.Response(body=json_text.write(body).encode('ascii'), status=status,
                          content_type='application/json', charset=None, **headers)
