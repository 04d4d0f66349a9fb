"""Reads the answers of other services, no further than a number of bytes and seconds.

The library reads an answer of any length into memory, and waits as long as each byte arrives in time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import requests
from oslo_config import cfg
from urllib3 import exceptions as transport

from heatlite.common.i18n import _

PIECE = 65536                               # bytes that are read at once


class AnswerRefused(requests.exceptions.ConnectionError):
    """The answer of a service is too long or takes too long: for callers, a connection that has failed."""


def read(response: requests.Response, *, stream: bool = False, clock: Callable[[], float] = time.monotonic,
         **_of_the_request: Any) -> None:
    """A response hook of requests: reads the body, unless the caller wants to read it in pieces.

    Raises AnswerRefused beyond `[clients] max_answer_size` (what it expands to) or `[clients] max_answer_time`, and
    otherwise what requests raises. The connection is closed then.
    """
    if stream:
        return
    options = cfg.CONF.clients
    due, found = clock() + options.max_answer_time, bytearray()
    try:
        with _translated():
            while piece := response.raw.read1(PIECE, decode_content=True):
                found += piece
                if len(found) > options.max_answer_size:
                    raise AnswerRefused(_('The answer is longer than %d bytes (option [clients] max_answer_size).')
                                        % options.max_answer_size)
                if clock() > due:
                    raise AnswerRefused(_('The answer takes longer than %d seconds (option [clients] max_answer_time).')
                                        % options.max_answer_time)
    except requests.exceptions.RequestException:
        response.raw.close()
        raise
    response._content, response._content_consumed = bytes(found), True      # as its own reading does


@contextmanager
def _translated() -> Iterator[None]:
    """Errors of the connection as those of requests, which its own reading raises."""
    try:
        yield
    except transport.ProtocolError as error:
        raise requests.exceptions.ChunkedEncodingError(error) from None
    except transport.DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from None
    except transport.SSLError as error:
        raise requests.exceptions.SSLError(error) from None
    except transport.HTTPError as error:
        raise requests.exceptions.ConnectionError(error) from None
