"""NextToken: where a list goes on. Clients cannot read it and send it back as it is."""

from __future__ import annotations

import base64
import json


def make(action: str, *place: int | str) -> str:
    """Return the token of a list of `action` that goes on after `place`."""
    text = json.dumps([action, *place], separators=(',', ':'))
    return base64.urlsafe_b64encode(text.encode()).decode('ascii').rstrip('=')


def place(action: str, token: str) -> list[object]:
    """Return what a token of this action holds. Raises ValueError."""
    try:
        found = json.loads(base64.b64decode(token.encode('ascii') + b'=' * (-len(token) % 4), b'-_', validate=True))
    except RecursionError as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, list) or found[:1] != [action]:
        raise ValueError(token)
    return found[1:]
