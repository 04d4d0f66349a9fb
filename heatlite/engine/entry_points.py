"""Entry points of installed packages, listed without loading any of them."""

from __future__ import annotations

import functools
from importlib import metadata
from typing import Any

from heatlite.engine import alias

NOT_OURS = 'openstack-heat'                 # the original, when it is installed beside: its built-ins are not plug-ins


@functools.cache
def of(namespace: str) -> tuple[metadata.EntryPoint, ...]:
    """Those of one namespace, in the order of installation; the original service's own are left out."""
    return tuple(point for point in _all().select(group=namespace)
                 if point.dist is None or point.dist.name.lower().replace('_', '-') != NOT_OURS)


@functools.cache
def _all() -> metadata.EntryPoints:
    return metadata.entry_points()


def forget() -> None:
    """Looks at the installed packages anew when next asked."""
    _all.cache_clear()
    of.cache_clear()


def load(point: metadata.EntryPoint) -> Any:
    """The object. Plug-ins import `heat.*`, whatever they are."""
    alias.install()
    return point.load()
