"""Ids of rows, nested stacks and replaced credentials, computed from what was accepted.

Two engines that perform the same request from the same stored state choose the same ids, and so the same names in the
cloud: an engine that starts from a restored database finds what was made after the backup.
"""

from __future__ import annotations

import hashlib

VARIANT = '89ab'                    # the first digits of the fourth part of a UUID as RFC 9562 has it


def of_row(stack_id: str, generation: int, name: str, replaces: str | None = None, attempt: int = 0) -> str:
    """Return the id of the row that a request adds for a resource. `generation`: of the request; `replaces`: the id of
    the row that it takes over from; `attempt`: 0, 1, ... if the stack has rows with the ids before."""
    return _id_of(f'{stack_id}/{generation}/{replaces or 0}/{attempt}/{name}')


def of_nested(row_uuid: str, attempt: int = 0) -> str:
    """Return the id of the nested stack of a row. `attempt`: 0, 1, ... if it had stacks with the ids before."""
    return _id_of(f'{row_uuid}/{attempt}')


def of_replaced(credentials_id: str, number: int) -> str:
    """Return the id under which credentials are stored that others have replaced under `credentials_id`. `number`: 0,
    1, ..."""
    return _id_of(f'{credentials_id}/replaced/{number}')


def _id_of(text: str) -> str:
    """Return an id of the form of random ones (version 4): others make no short names (`common.short_id`)."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    fourth = f'{VARIANT[int(digest[16], 16) % 4]}{digest[17:20]}'
    return f'{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{fourth}-{digest[20:32]}'
