"""What connections to database servers of all kinds have in common."""

from __future__ import annotations

import inspect
import select

CERTIFIES = 'certifies'                     # key in `tx.info`: whether the server is a node of a Galera cluster
LOCK_WAIT = 10                              # seconds for a lock another transaction holds
# Seconds without a reply until a server counts as down, for processes with cooperative threads: all services. A machine
# that vanishes, or a proxy that drops the connection, sends nothing; the operating system would wait for hours.
# heatlite-manage does wait: a migration may take that long.
SILENCE = 30
PING = 5                                    # the same for the test of a connection that has rested in the pool
# Seconds between two statements of a transaction, on servers that can limit it. A machine that is frozen must not
# retain its locks: other engines take its stacks over meanwhile.
IDLE = 5


def is_cooperative() -> bool:
    """Whether other threads run while one waits in select()."""
    return not inspect.isbuiltin(select.select)
