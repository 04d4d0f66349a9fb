"""Tags of the definitions of stacks: clients quote one to have a change refused if the stack was changed meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol

LENGTH = 32                 # hexadecimal digits


class UpdatableStack(Protocol):
    """What an update may change of a stack. `template_id`: of the template with its environment and its files, which
    are never changed."""

    @property
    def template_id(self) -> str: ...

    @property
    def timeout_mins(self) -> int | None: ...

    @property
    def disable_rollback(self) -> bool: ...

    @property
    def tags(self) -> Sequence[str] | None: ...


def of(stack: UpdatableStack) -> str:
    """Return the tag of the present definition of a stack.

    It does not depend on the state of the stack, and is the former one after a rollback to the former definition.
    """
    defined = [stack.template_id, stack.timeout_mins or None, bool(stack.disable_rollback), list(stack.tags or ())]
    return hashlib.sha256(json.dumps(defined).encode('ascii')).hexdigest()[:LENGTH]
