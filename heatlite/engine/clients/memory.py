"""Answers of services, remembered for a while: which extensions there are, what id a name has.

Always for the length of one piece of work (one request context), at most a minute; when the operator has enabled
[cache] also beyond it, per project, in this process. Errors are not remembered.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from heatlite.common import world as worlds

LARGEST = 10000                             # answers of one function
NO_BACKEND = 'dogpile.cache.null'           # the default: remember nothing
ONE_WORK = 60.0                             # seconds, within one request context


def remember(group: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for methods of client plug-ins. `group`: the options with `caching` and `expiration_time`."""
    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        answers: dict[Any, tuple[float, Any]] = {}
        is_finder = method.__name__.startswith(('find_', 'get_'))       # a name in, the id out

        @functools.wraps(method)
        def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
            shared = is_on(group)
            kept = answers if shared else self.__dict__.setdefault('_answers', {})
            key = (method.__qualname__, type(self), getattr(self.context, 'project_id', None), args,
                   tuple(sorted(kwargs.items())))
            now = worlds.current().monotonic()
            found = kept.get(key)
            if found is not None and found[0] > now:
                return found[1]
            answer = method(self, *args, **kwargs)
            if len(kept) >= LARGEST:
                kept.clear()
            until = now + (cfg.CONF[group].expiration_time if shared else ONE_WORK)
            kept[key] = (until, answer)
            if is_finder and isinstance(answer, str) and args and not kwargs:
                # An id that was just found need not be looked for when it is checked in its turn.
                kept[*key[:3], (*args[:-1], answer), key[4]] = (until, answer)
            return answer

        asked.forget = answers.clear        # type: ignore[attr-defined]
        return asked

    return decorate


def is_on(group: str) -> bool:
    """Whether the operator wants answers of this group remembered for everybody."""
    if 'cache' not in cfg.CONF:
        from oslo_cache import core
        core.configure(cfg.CONF)
    chosen = cfg.CONF.cache.enabled and cfg.CONF.cache.backend != NO_BACKEND
    return bool(chosen and cfg.CONF[group].caching)


MEMOIZE_EXTENSIONS = remember('service_extension_cache')
MEMOIZE_FINDER = remember('resource_finder_cache')
