"""Calls the operator's plug-ins before and after each action of a stack.

Source: docs/spec/plugins.rst, "Lifecycle plug-ins".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oslo_log import log

from heatlite.common.context import RequestContext
from heatlite.engine.compat import extensions

LOG = log.getLogger(__name__)


class LifecyclePlugin:
    """The base of these plug-ins. One instance for a process; its methods may be called for several stacks at once."""

    def do_pre_op(self, cnxt: object, stack: object, current_stack: object = None, action: str | None = None) -> None:
        """Called before `action` of `stack`; `current_stack`: the stack before an update. An error fails the action."""

    def do_post_op(self, cnxt: object, stack: object, current_stack: object = None, action: str | None = None,
                   is_stack_failure: bool = False) -> None:
        """Called after the action. Errors are only logged."""

    def get_ordinal(self) -> int:
        """Return the position: plug-ins with lower numbers are called first."""
        return 100


class LifecyclePlugins:
    """All lifecycle plug-ins, in order."""

    def __init__(self, plugins: Iterable[Any] = ()) -> None:
        self._plugins = sorted(plugins, key=_ordinal)

    @classmethod
    def installed(cls) -> LifecyclePlugins:
        """Load those of installed packages; one that cannot be loaded or made is logged and left out."""
        made = []
        for extension in extensions.load_all(extensions.LIFECYCLE_PLUGINS):
            try:
                made.append(extension.plugin())
            except Exception as error:
                LOG.error('The lifecycle plug-in %s was left out: %s: %s', extension.name, type(error).__name__, error)
        return cls(made)

    def __bool__(self) -> bool:
        return bool(self._plugins)

    def before(self, context: RequestContext, stack: object, current_stack: object = None,
               action: str | None = None) -> None:
        """Call all plug-ins. An error of one passes through, after `do_post_op` of those called before it."""
        called: list[object] = []
        for plugin in self._plugins:
            try:
                plugin.do_pre_op(context, stack, current_stack, action)
            except Exception:
                LifecyclePlugins(called).after(context, stack, current_stack, action, is_stack_failure=True)
                raise
            called.append(plugin)

    def after(self, context: RequestContext, stack: object, current_stack: object = None, action: str | None = None,
              is_stack_failure: bool = False) -> None:
        for plugin in self._plugins:
            try:
                plugin.do_post_op(context, stack, current_stack, action, is_stack_failure)
            except Exception:
                LOG.exception('The lifecycle plug-in %r failed after %s', plugin, action)


def _ordinal(plugin: object) -> int:
    return int(plugin.get_ordinal()) if hasattr(plugin, 'get_ordinal') else 100
