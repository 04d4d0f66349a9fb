"""Makes ids of twelve readable characters from the random part of a UUID, for the physical names of resources."""

from __future__ import annotations

import uuid

ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'       # base 32, lower case
_PAIRS = [first + second for first in ALPHABET for second in ALPHABET]     # of ten bits


def get_id(source_uuid: str | uuid.UUID) -> str:
    """Encode the 60 random bits of the time field, most significant first.

    Raises ValueError unless it is a version 4 UUID.
    """
    text = source_uuid
    if not isinstance(text, str) or len(text) != 36 or text[14] != '4' or text[19] not in '89ab':
        value = uuid.UUID(text) if isinstance(text, str) else text
        if value.version != 4:
            raise ValueError(f'Invalid UUID version ({value.version})')
        text = str(value)
    # Called for each resource: this takes a third of the time of uuid.UUID with its fields.
    bits = int(text[15:18] + text[9:13] + text[:8], 16)
    return (_PAIRS[bits >> 50] + _PAIRS[bits >> 40 & 1023] + _PAIRS[bits >> 30 & 1023] + _PAIRS[bits >> 20 & 1023]
            + _PAIRS[bits >> 10 & 1023] + _PAIRS[bits & 1023])


def generate_id() -> str:
    """Make a new, unique short id."""
    return get_id(uuid.uuid4())
