"""For services whose API counts its changes in microversions."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Generic, TypeVar

C = TypeVar('C')                        # the class of the client


class MicroversionMixin(Generic[C], metaclass=abc.ABCMeta):
    """Subclasses define `get_max_microversion` and `is_version_supported`; `client()` speaks the newest by default."""

    _client_instances: dict[str | None, C]  # of ClientPlugin, beside which this is mixed in
    _create: Callable[..., C]

    def client(self, version: str | None = None) -> C:
        wanted = version
        if wanted is None or not self.is_version_supported(wanted):
            wanted = self.get_max_microversion()
        if wanted not in self._client_instances:
            self._client_instances[wanted] = self._create(version=wanted)
        return self._client_instances[wanted]

    @abc.abstractmethod
    def get_max_microversion(self) -> str:
        """Return the newest version both sides know."""

    @abc.abstractmethod
    def is_version_supported(self, version: str) -> bool:
        """Whether the service speaks it."""
