"""Documents whose parts may have another form than expected: stored by another release, or sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def known_fields(cls: type, stored: Mapping[str, object]) -> dict[str, Any]:
    """Return the entries of a stored document that are fields of a dataclass. Others are of a newer release."""
    names = {each.name for each in fields(cls)}
    return {name: value for name, value in stored.items() if name in names}


def mapping(part: object) -> Mapping[str, object]:
    """Return the part of a document if it is a map; an empty map otherwise."""
    return part if isinstance(part, Mapping) else {}
