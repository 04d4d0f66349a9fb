"""Finds custom constraints by name: built-in ones, those of the language, and those of installed packages."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from datetime import UTC

from oslo_log import log

from heatlite.common import runtime as runtimes
from heatlite.common.whole_imports import resolved
from heatlite.engine.clients import constraint_names
from heatlite.engine.compat import extensions
from heatlite.language import custom_constraints
from heatlite.language.constraints import CustomCheck

LOG = log.getLogger(__name__)

TEST_CONSTRAINT = 'heatlite.engine.resources.openstack.heat.test_resource:TestConstraintDelay'
BUILT_IN: dict[str, str] = {                # name -> module:class
    'test_constr': TEST_CONSTRAINT,
    'nova.network': TEST_CONSTRAINT,        # a left-over name of old templates
    **constraint_names.NAMES,
}


class ConstraintMaker:
    """Makes a constraint of the language for each use: an instance stores its last error."""

    def __init__(self, make: Callable[[], CustomCheck]) -> None:
        self.make = make


def find(name: str) -> type[CustomCheck] | ConstraintMaker | None:
    """Return a constraint by its name; None if it is unknown, or the package that has it cannot be loaded."""
    if name in BUILT_IN:
        found: type[CustomCheck] = resolved(BUILT_IN[name])
        return found
    pure = custom_constraints.builtin(lambda: runtimes.current().now().replace(tzinfo=UTC), zoneinfo.ZoneInfo)
    if name in pure:
        return ConstraintMaker(pure[name])
    if name in extensions.names(extensions.CONSTRAINTS):
        try:
            named: type[CustomCheck] = extensions.load(extensions.CONSTRAINTS, name)
        except Exception as error:
            LOG.warning('The constraint %s cannot be loaded: %s: %s', name, type(error).__name__, error)
        else:
            return named
    return None
