"""NextToken: where a list goes on. Clients cannot read it and send it back as it is."""

from __future__ import annotations

import base64
import json
from typing import Final

from heatlite.api.cloudwatch.errors import CloudWatchError

LARGEST: Final = 2 ** 53            # of an integer


def make(action: str, *place: int | str) -> str:
    """The token of a list of `action` that goes on after `place`."""
    text = json.dumps([action, *place], separators=(',', ':'))
    return base64.urlsafe_b64encode(text.encode()).decode('ascii').rstrip('=')


def text(action: str, token: str | None) -> str | None:
    """The place of a token: a text. Raises InvalidNextToken."""
    match _place(action, token):
        case None:
            return None
        case [str(found)]:
            return found
    raise CloudWatchError('InvalidNextToken')


def whole(action: str, token: str | None) -> int | None:
    """The place of a token: a whole number from 0. Raises InvalidNextToken."""
    match _place(action, token):
        case None:
            return None
        case [int(found)] if 0 <= found <= LARGEST:
            return found
    raise CloudWatchError('InvalidNextToken')


def wholes(action: str, token: str | None) -> tuple[int, int] | None:
    """The place of a token: two whole numbers from 0. Raises InvalidNextToken."""
    match _place(action, token):
        case None:
            return None
        case [int(first), int(second)] if 0 <= first <= LARGEST and 0 <= second <= LARGEST:
            return first, second
    raise CloudWatchError('InvalidNextToken')


def _place(action: str, token: str | None) -> list[object] | None:
    """What a token of this action holds; None: there is no token."""
    if token is None:
        return None
    try:
        found = json.loads(base64.b64decode(token.encode('ascii') + b'=' * (-len(token) % 4), b'-_', validate=True))
    except (ValueError, RecursionError):        # not ASCII, not base64, not UTF-8, not JSON
        raise CloudWatchError('InvalidNextToken') from None
    if not isinstance(found, list) or found[:1] != [action]:
        raise CloudWatchError('InvalidNextToken')
    return found[1:]
