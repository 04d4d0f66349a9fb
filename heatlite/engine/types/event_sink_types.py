"""Names of the types of event sinks that an environment may use."""

from __future__ import annotations

from typing import Final

from heatlite.engine.compat import extensions

ZAQAR_QUEUE: Final = 'zaqar-queue'
BUILT_IN: Final = frozenset({ZAQAR_QUEUE})


def names() -> frozenset[str]:
    return BUILT_IN | extensions.names(extensions.EVENT_SINKS)
