"""Client plug-ins of OpenStack's services, and what they share.

Must not import stacks, resources or rows.
"""

from __future__ import annotations

import abc
from collections.abc import Collection

from heatlite.engine.clients.caching import MEMOIZE_EXTENSIONS, MEMOIZE_FINDER

__all__ = ['MEMOIZE_EXTENSIONS', 'MEMOIZE_FINDER', 'ExtensionMixin']


class ExtensionMixin(metaclass=abc.ABCMeta):
    """For services whose API has optional parts. Subclasses define `_list_extensions`."""

    @abc.abstractmethod
    def _list_extensions(self) -> Collection[str]:
        """Aliases of the extensions the service has."""

    def has_extension(self, alias: str) -> bool:
        return alias in self._list_extensions()
