"""The files sent along with a template."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping


class Files(dict[str, str]):
    """Maps names to texts; never changed. All stacks of a tree share one object.

    `id`: the id of its row, None before it is stored. `unknown`: names of further files, whose texts are not at hand;
    the linter has such. Caches by name: `templates`, parsed ones among the files;
    `readings` and `digests`, see `language.influence`.
    """

    def __init__(self, content: Mapping[str, str] | None = None) -> None:
        super().__init__(content or {})
        self.id: str | None = None
        self.unknown: frozenset[str] = frozenset()
        self.templates: dict[str, object] = {}
        self.readings: dict[str, tuple[frozenset[str] | None, frozenset[str]]] = {}
        self.digests: dict[str, str] = {}

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of all names and texts, in hexadecimal digits."""
        return hashlib.sha256(json.dumps(self, sort_keys=True).encode()).hexdigest()

    @classmethod
    def of(cls, content: Mapping[str, str]) -> Files:
        return content if isinstance(content, Files) else cls(content)
