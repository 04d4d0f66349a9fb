"""Caches answers of services: which extensions there are, which id a name has, which value passed a constraint.

An answer holds for one piece of work (one request context), at most a minute. When the operator has enabled [cache],
it holds for all work of the project in a region, for the time that the group of options says, in the backend of
oslo.cache that [cache] names: memcached shares it between processes. While the backend cannot be reached, services are
asked instead. Errors are not cached.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Hashable
from datetime import UTC
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from oslo_config import cfg

from heatlite.common import outages
from heatlite.common import runtime as runtimes
from heatlite.common.expiring_cache import ExpiringCache

if TYPE_CHECKING:
    from heatlite.common.context import RequestContext

MISSING: Final = object()
LARGEST: Final = 10000                      # answers of one request context
ONE_WORK: Final = 60.0                      # seconds, within one request context
NO_BACKEND: Final = 'dogpile.cache.null'    # the default: no answer is kept

Key = tuple[object, ...]
P = ParamSpec('P')
R = TypeVar('R')


class HasContext(Protocol):
    @property
    def context(self) -> RequestContext: ...


S = TypeVar('S', bound=HasContext)


class Cache(Protocol):
    def get(self, key: Key) -> Any:
        """Return the value, or MISSING."""

    def put(self, key: Key, value: object) -> None: ...


class LocalCache(ExpiringCache[object]):
    """In the memory of this process, for one request context."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(LARGEST, ONE_WORK)

    def get(self, key: Hashable, default: object = MISSING) -> object:
        return super().get(key, default)


class Region(Protocol):
    """What is used of a region of dogpile."""

    def get(self, key: str, *, ignore_expiration: bool) -> object: ...

    def set(self, key: str, value: str) -> None: ...


class SharedCache:
    """In the backend of [cache]. Keeps what JSON can carry, as JSON: nothing that is read from there is executed."""

    def __init__(self, region: Region, seconds: float) -> None:
        """`region`: of dogpile. `seconds`: how long an answer holds."""
        self._region = region
        self._seconds = seconds

    def get(self, key: Key) -> object:
        try:
            text = self._region.get(_text(key), ignore_expiration=True)
        except Exception as error:          # each backend has errors of its own
            outages.away(outages.CACHE, error)
            return MISSING
        if not isinstance(text, str):       # NO_VALUE
            return MISSING
        until, value = json.loads(text)
        return value if until > _now() else MISSING

    def put(self, key: Key, value: object) -> None:
        try:
            text = json.dumps([_now() + self._seconds, value])
        except TypeError:
            return
        try:
            self._region.set(_text(key), text)
        except Exception as error:
            outages.away(outages.CACHE, error)
        else:
            outages.back(outages.CACHE)


def of(group: str, context: RequestContext | None) -> Cache:
    """Return the cache for answers that `context` gets. `group`: the options with `caching` and `expiration_time`."""
    if is_shared(group):
        return SharedCache(_region(), cfg.CONF[group].expiration_time)
    if context is None:
        return LocalCache()
    found: Cache | None = context.__dict__.get('_cached_answers')
    if found is None:
        found = context.__dict__['_cached_answers'] = LocalCache()
    return found


def is_shared(group: str) -> bool:
    """Whether the operator wants answers of this group to hold for all work of a project."""
    if 'cache' not in cfg.CONF:
        from oslo_cache import core
        core.configure(cfg.CONF)
    chosen = cfg.CONF.cache.enabled and cfg.CONF.cache.backend != NO_BACKEND
    return bool(chosen and cfg.CONF[group].caching)


@functools.cache
def _region() -> Region:
    """Return the backend of this process, connected on first use."""
    from oslo_cache import core
    found: Region = core.configure_cache_region(cfg.CONF, core.create_region())
    return found


def forget() -> None:
    """Read [cache] again when it is next used."""
    _region.cache_clear()


def remember(group: str) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Return a decorator for methods of client plug-ins, which have a `context`. `group`: as `of`."""
    def decorate(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        is_finder = method.__name__.startswith(('find_', 'get_'))       # a name in, the id out

        @functools.wraps(method)
        def asked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            cache = of(group, self.context)
            key = (*key_of(type(self), self.context), method.__name__, args, tuple(sorted(kwargs.items())))
            known: R = cache.get(key)
            if known is not MISSING:
                return known
            value = method(self, *args, **kwargs)
            cache.put(key, value)
            if is_finder and isinstance(value, str) and args and not kwargs:
                # An id that was just found need not be looked for when it is checked in its turn.
                cache.put((*key[:-2], (*args[:-1], value), ()), value)
            return value

        return asked

    return decorate


def key_of(kind: type, context: object) -> Key:
    """Begin the keys of what an object of `kind` asks for `context`: another project, or region, has other answers, and
    another user if `kind` has a true attribute `is_of_user`."""
    region = getattr(context, 'region_name', None) or cfg.CONF.region_name_for_services
    user = getattr(context, 'user_id', None) if getattr(kind, 'is_of_user', False) else None
    return f'{kind.__module__}.{kind.__qualname__}', getattr(context, 'project_id', None), region, user


def _text(key: Key) -> str:
    """Short, and of characters that every backend takes."""
    return f'heatlite:{hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).hexdigest()}'


def _now() -> float:
    """Seconds since 1970: processes on several machines compare it."""
    return runtimes.current().now().replace(tzinfo=UTC).timestamp()


MEMOIZE_EXTENSIONS = remember('service_extension_cache')
MEMOIZE_FINDER = remember('resource_finder_cache')
