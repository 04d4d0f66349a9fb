"""The files that come with a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Files(dict[str, str]):
    """Name -> text, never changed. A whole tree of stacks has one of them.

    `id`: of the row that holds them, None before they are stored. `templates`: those among them that were parsed, by
    name, for all who need them.
    """

    def __init__(self, content: Mapping[str, str] | None = None) -> None:
        super().__init__(content or {})
        self.id: str | None = None
        self.templates: dict[str, Any] = {}

    @classmethod
    def of(cls, content: Mapping[str, str]) -> Files:
        return content if isinstance(content, Files) else cls(content)
