"""Custom constraints that ask a service: in whose name, and how long an answer holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from heatlite.common import allowance, exception
from heatlite.common.i18n import _
from heatlite.engine.clients import caching
from heatlite.language.constraints import CustomCheck
from heatlite.language.custom_constraints import PureConstraint

if TYPE_CHECKING:
    from heatlite.common.context import RequestContext

T = TypeVar('T')

GROUP = 'constraint_validation_cache'
MOST_ITEMS = 1000               # of a list, about each of which a service is asked


def lookup(constraint: Callable[[str], type[CustomCheck] | CustomCheck | None], context: RequestContext | None,
           is_made: Callable[[object], bool] | None = None) -> Callable[[str], CachedConstraint | None]:
    """`constraint(name)` for use by the language: what it gives asks in the name of `context`. No service is asked
    about an id that is known: `is_made(value)`."""
    def find(name: str) -> CachedConstraint | None:
        found = constraint(name)
        if found is None:
            return None
        return CachedConstraint(found() if isinstance(found, type) else found, context, is_made)
    return find


def ask(value: object, check: Callable[[], T], is_remote: bool = True) -> T:
    """Return `check()`, which asks a service about a value (`is_remote`) within the time of the request.

    Raises TooLate after it, and StackValidationFailed when the service cannot be asked: the value may be right then.
    """
    request = allowance.current()
    if request is not None and is_remote:
        request.left()
    try:
        return check()
    except exception.HeatException:
        raise
    except Exception as error:
        raise exception.StackValidationFailed(
            message=_("Error validating value '%(value)s': %(error)s") % {'value': value, 'error': error}) from error


class CachedConstraint:
    """A custom constraint with the context it asks in. Only "yes" is remembered."""

    def __init__(self, check: CustomCheck, context: RequestContext | None,
                 is_made: Callable[[object], bool] | None = None) -> None:
        self._check = check
        self._context = context
        self._is_made = is_made
        # Of a list that is checked item by item; None for a check that asks no service.
        self.most_items = None if isinstance(check, PureConstraint) else MOST_ITEMS

    def validate(self, value: object, context: object = None) -> bool:
        if self._is_made is not None and self._is_made(value):
            return True
        key = self._key(value)
        if key is None:
            return self._ask(value)
        cache = caching.of(GROUP, self._context)
        if cache.get(key) is True:
            return True
        right = self._ask(value)
        if right:
            cache.put(key, True)
        return right

    def _ask(self, value: object) -> bool:
        return bool(ask(value, lambda: self._check.validate(value, self._context),
                        is_remote=self.most_items is not None))

    def error(self, value: object) -> str:
        own = getattr(self._check, 'error', None)
        return str(own(value)) if own is not None else f"Error validating value '{value}'"

    def _key(self, value: object) -> caching.Key | None:
        """None for values that cannot be remembered."""
        if not isinstance(value, str | int | float | None):
            return None
        return (*caching.key_of(type(self._check), self._context), type(value).__name__, value)
