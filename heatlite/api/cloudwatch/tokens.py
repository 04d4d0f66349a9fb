"""The NextToken of the CloudWatch API, read as what a list of it goes on after."""

from __future__ import annotations

from typing import Final

from heatlite.api.aws import tokens
from heatlite.api.aws.tokens import make as make
from heatlite.api.cloudwatch.errors import CloudWatchError

LARGEST: Final = 2 ** 53            # of an integer


def text(action: str, token: str | None) -> str | None:
    """Return the place of a token: a text. Raises InvalidNextToken."""
    match _place(action, token):
        case None:
            return None
        case [str(found)]:
            return found
    raise CloudWatchError('InvalidNextToken')


def whole(action: str, token: str | None) -> int | None:
    """Return the place of a token: a whole number from 0. Raises InvalidNextToken."""
    match _place(action, token):
        case None:
            return None
        case [int(found)] if 0 <= found <= LARGEST:
            return found
    raise CloudWatchError('InvalidNextToken')


def wholes(action: str, token: str | None) -> tuple[int, int] | None:
    """Return the place of a token: two whole numbers from 0. Raises InvalidNextToken."""
    match _place(action, token):
        case None:
            return None
        case [int(first), int(second)] if 0 <= first <= LARGEST and 0 <= second <= LARGEST:
            return first, second
    raise CloudWatchError('InvalidNextToken')


def _place(action: str, token: str | None) -> list[object] | None:
    """Return what a token of this action holds; None: there is no token."""
    if token is None:
        return None
    try:
        return tokens.place(action, token)
    except ValueError:
        raise CloudWatchError('InvalidNextToken') from None
