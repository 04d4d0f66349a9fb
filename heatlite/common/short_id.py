"""Makes ids of twelve readable characters from the random part of a UUID, for the physical names of resources."""

from __future__ import annotations

import uuid

ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'       # base 32, lower case
_SHIFTS = tuple(range(55, -1, -5))                  # the time field of a version 4 UUID holds 60 random bits


def get_id(source_uuid: str | uuid.UUID) -> str:
    """Encodes the 60 random bits of the time field, most significant first.

    Raises ValueError unless it is a version 4 UUID.
    """
    value = uuid.UUID(source_uuid) if isinstance(source_uuid, str) else source_uuid
    if value.version != 4:
        raise ValueError(f'Invalid UUID version ({value.version})')
    bits = value.time
    return ''.join([ALPHABET[bits >> shift & 31] for shift in _SHIFTS])


def generate_id() -> str:
    """Makes a new, unique short id."""
    return get_id(uuid.uuid4())
