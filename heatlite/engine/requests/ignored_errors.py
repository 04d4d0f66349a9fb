"""Errors that a type ignores by the name of their class, as `ignore_error_by_name` of Heat's RPC client does."""

from __future__ import annotations

from types import TracebackType


class IgnoredError:
    """Ignores errors with one class name: as a context manager, or called with an error, which raises all others."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> bool:
        return error is not None and self._is_meant(error)

    def __call__(self, error: BaseException) -> None:
        if not self._is_meant(error):
            raise error

    def _is_meant(self, error: BaseException) -> bool:
        return any(kind.__name__ == self._name for kind in type(error).__mro__)
