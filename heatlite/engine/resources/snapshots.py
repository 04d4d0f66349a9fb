"""The data of one resource in a stored snapshot of a stack."""

from __future__ import annotations

from typing import TypedDict


class Snapshotted(TypedDict, total=False):
    """The part that types use: the resource's data at that time."""

    resource_data: dict[str, str] | None
