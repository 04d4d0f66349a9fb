"""Pages of long lists, as in AWS: an answer that is not the whole list has a NextToken, with which the next request
goes on. The token names the last row of its page, so that rows which come or go meanwhile shift nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from heatlite.api.aws import tokens
from heatlite.api.aws.errors import AwsError
from heatlite.api.cfn.request import CfnRequest
from heatlite.common import limits, turns
from heatlite.db import codec
from heatlite.db.events import ShownEvent
from heatlite.db.stack_lists import Summary

View = dict[str, object]
Row = TypeVar('Row', Summary, ShownEvent)
Id = TypeVar('Id', int, str)

NEXT_TOKEN = 'NextToken'
_ID = re.compile('[0-9]{1,18}|[0-9A-Za-z-]{36}')


def position(req: CfnRequest, action: str, kind: type[Id]) -> tuple[datetime, Id] | None:
    """Return the row after which the page begins: when it was made, and its id of this kind. Raises
    InvalidParameterValue."""
    token = req.parameters.get(NEXT_TOKEN)
    if not token:
        return None
    try:
        at, row_id = tokens.place(action, token)
        if not isinstance(row_id, kind) or not _ID.fullmatch(str(row_id)):
            raise ValueError(token)
        return datetime.fromisoformat(str(at)).replace(tzinfo=None), row_id
    except ValueError:
        raise AwsError('InvalidParameterValue', NEXT_TOKEN) from None


def page(action: str, key: str, rows: Sequence[Row], most: int, view: Callable[[Row], View | None]) -> View:
    """Return the answer with the first `most` rows under `key`, fewer where they are long, and a token if there are
    more. `view(row)`: None for a row that is gone."""
    views: list[View] = []
    size = shown = 0
    for row in rows[:most]:
        turns.spend()
        made = view(row)
        size += 0 if made is None else len(codec.encode(made))
        if views and size > limits.MOST_PAGE:
            break
        shown += 1
        if made is not None:
            views.append(made)
    if shown == len(rows):
        return {key: views}
    last = rows[shown - 1]
    return {key: views, NEXT_TOKEN: tokens.make(action, last.created_at.isoformat(), last.id)}
