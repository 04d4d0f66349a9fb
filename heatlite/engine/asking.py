"""Custom constraints that ask a service: in whose name, and how long an answer holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from heatlite.common import exception
from heatlite.common import world as worlds
from heatlite.common.i18n import _
from heatlite.engine.clients import memory

GROUP = 'constraint_validation_cache'
ONE_WORK = 60.0                             # seconds an answer holds within one request context
LARGEST = 10000                             # answers kept for all contexts

_shared: dict[Any, float] = {}              # (class, project, value) -> until when it is known to be right


def lookup(constraint: Callable[[str], Any], context: Any,
           is_made: Callable[[Any], bool] | None = None) -> Callable[[str], Any]:
    """`constraint(name)` for use by the language: what it gives asks in the name of `context`. Nobody is asked about an
    id that is known: `is_made(value)`."""
    def find(name: str) -> Any:
        found = constraint(name)
        return None if found is None else Asking(found() if isinstance(found, type) else found, context, is_made)
    return find


class Asking:
    """A custom constraint with the context it asks in. Only "yes" is remembered."""

    def __init__(self, check: Any, context: Any, is_made: Callable[[Any], bool] | None = None) -> None:
        self._check = check
        self._context = context
        self._is_made = is_made

    def validate(self, value: Any, context: Any = None) -> bool:
        if self._is_made is not None and self._is_made(value):
            return True
        key = self._key(value)
        if key is None:
            return self._ask(value)
        kept, seconds = self._memory()
        now = worlds.current().monotonic()
        if kept.get(key, now) > now:
            return True
        right = self._ask(value)
        if right:
            if len(kept) >= LARGEST:
                kept.clear()
            kept[key] = now + seconds
        return right

    def _ask(self, value: Any) -> bool:
        """Raises StackValidationFailed when the service cannot be asked: nobody knows then whether it is right."""
        try:
            return bool(self._check.validate(value, self._context))
        except exception.HeatException:
            raise
        except Exception as error:
            raise exception.StackValidationFailed(
                message=_("Error validating value '%(value)s': %(error)s")
                % {'value': value, 'error': error}) from error

    def error(self, value: Any) -> str:
        own = getattr(self._check, 'error', None)
        return str(own(value)) if own is not None else f"Error validating value '{value}'"

    def _key(self, value: Any) -> Any:
        """None for values that cannot be remembered."""
        if not isinstance(value, str | int | float | None):
            return None
        return type(self._check), getattr(self._context, 'project_id', None), type(value), value

    def _memory(self) -> tuple[dict[Any, float], float]:
        """Where answers are kept, and for how many seconds."""
        if memory.is_on(GROUP):
            return _shared, cfg.CONF[GROUP].expiration_time
        if self._context is None:
            return {}, 0.0
        return self._context.__dict__.setdefault('_right_values', {}), ONE_WORK
