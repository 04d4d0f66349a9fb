"""What lists of rows are asked for, whichever rows they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Page(Protocol):
    """The part of a list that a request asks for. Names are those of columns; `marker`: of the row before the first."""

    @property
    def limit(self) -> int | None: ...

    @property
    def marker(self) -> str | None: ...

    @property
    def sort_keys(self) -> Sequence[str]: ...

    @property
    def sort_dir(self) -> str | None: ...

    @property
    def filters(self) -> Mapping[str, Sequence[Any]]: ...
