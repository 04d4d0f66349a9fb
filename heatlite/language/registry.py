"""The resource registry: maps type names to implementations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from heatlite.common import exception, name_patterns, turns
from heatlite.common.i18n import _
from heatlite.language.template import is_template_name

RESOURCES, HOOKS, RESTRICTED, BASE_URL = 'resources', 'hooks', 'restricted_actions', 'base_url'
DRIFT, IMPORT = 'drift', 'import'
IMPORT_KEYS = (ID, NAME, TAG) = ('id', 'name', 'tag')
HOOK_TYPES = ('pre-create', 'pre-update', 'pre-delete', 'post-create', 'post-update', 'post-delete')
LONGEST_CHAIN = 100             # entries in a chain of mappings
RESTRICTED_ACTIONS = ('update', 'replace')
DRIFT_POLICIES = (IGNORE, REPORT, REPAIR, REPLACE) = ('ignore', 'report', 'repair', 'replace')
EVERY = '*'                     # the pattern of all types
PATTERN_SIGNS = '*?['
_NO_TYPES = frozenset({RESOURCES, HOOKS, RESTRICTED, DRIFT, IMPORT, BASE_URL})


@dataclass(frozen=True)
class FoundType:
    """The result of looking up a type name. `target`: an object of the operator's registry, or the name of a template.

    `first`: keys of the registry entry used first, () without one. `path`: of a template, those of the user's entry
    used last, which is left out inside of it, or else of the operator's; of an object `first`. `is_user`: that entry is
    a user's. `type_name`: the last name in the chain (of the object, or the one mapped to the template). `by_operator`:
    an entry of the operator names the target, not a user's, nor is it the name that was looked up.
    """

    target: Any
    path: tuple[str, ...] = ()
    is_user: bool = False
    type_name: str = ''
    first: tuple[str, ...] = ()
    by_operator: bool = False

    @property
    def is_template(self) -> bool:
        return isinstance(self.target, str)


class Registry:
    """One level of entries, on top of the operator's level.

    `entries` may have any object as the target of a type; see `layered` for those that are null.
    """

    def __init__(self, entries: Mapping[str, object], behind: Registry | None = None) -> None:
        self.entries = layered(entries)
        self.behind = behind
        # Results by type name, as a cache while no entry is for single resources.
        self._found: dict[str, FoundType] = {}
        # Whether a type name may mean another type for another resource.
        self.is_by_resource: bool = bool(self.entries.get(RESOURCES)) or (behind is not None and behind.is_by_resource)
        self._wildcards = sorted(
            key for key, value in self.entries.items()
            if key.endswith('*') and isinstance(value, str) and not is_template_name(value))

    @cached_property
    def mappings(self) -> Mapping[str, str]:
        """The entries of this level that map a type name to another name or to a template."""
        return {name: target for name, target in self.entries.items() if isinstance(target, str) and name != BASE_URL}

    def resolve(self, type_name: str, resource_name: str | None = None) -> object:
        """Return the target alone. Raises as `find`."""
        return self.find(type_name, resource_name).target

    def find(self, type_name: str, resource_name: str | None = None) -> FoundType:
        """Look up a type name. Raises StackValidationFailed if it has no implementation."""
        if type_name in self._found:
            return self._found[type_name]
        loop: list[str] = []
        found = self._find(type_name, resource_name, frozenset(), loop)
        if found is not None:
            if not self.is_by_resource:
                self._found[type_name] = found
            return found
        if loop:
            raise exception.StackValidationFailed(
                message=_('The resource registry maps %s in a circle') % ' -> '.join(loop))
        raise exception.StackValidationFailed(
            message=_('The Resource Type (%s) could not be found.') % type_name)

    def _find(self, name: str, resource_name: str | None, seen: frozenset[str], loop: list[str]) -> FoundType | None:
        if is_template_name(name):
            return self._by_wildcard(name, resource_name, seen, loop) or FoundType(name, type_name=name)
        if len(seen) > LONGEST_CHAIN:
            raise exception.StackValidationFailed(
                message=_('The resource registry maps %(name)s over more than %(limit)d names')
                % {'name': name, 'limit': LONGEST_CHAIN})
        level: Registry | None = self
        while level is not None:
            if name not in seen:
                found = level._find_here(name, resource_name, seen | {name}, loop)
                if found is not None:
                    return found
            elif level is self:
                loop[:] = loop or [*sorted(seen), name]
                # A cycle among wildcards still leads to the built-in type of the name.
                target = self.builtin(name)
                return None if target is None else FoundType(target, type_name=name)
            level = level.behind
        return None

    def builtin(self, name: str) -> object:
        level: Registry | None = self
        while level is not None:
            target = level.entries.get(name)
            if target is not None and not isinstance(target, str | Mapping):
                return target
            level = level.behind
        return None

    def _find_here(self, name: str, resource_name: str | None, seen: frozenset[str],
                   loop: list[str]) -> FoundType | None:
        for path, target in self._candidates(name, resource_name):
            is_user = self.behind is not None
            if not isinstance(target, str) or is_template_name(target):
                return FoundType(target, path, is_user, name, path, by_operator=not is_user)
            found = self._find(target, resource_name, seen, loop)
            if found is not None:
                return _behind(found, path, is_user)
        return None

    def _by_wildcard(self, name: str, resource_name: str | None, seen: frozenset[str],
                     loop: list[str]) -> FoundType | None:
        """Return what a user's wildcard makes of the name of a template; None if none does."""
        for key in self._wildcards if self.behind is not None else ():
            mapped = self._mapped(key, name) if name.startswith(key[:-1]) else name
            if mapped == name:
                continue
            found = FoundType(mapped, type_name=mapped) if is_template_name(mapped) else self._find(
                mapped, resource_name, seen | {name}, loop)
            if found is not None:
                return _behind(found, (key,), is_user=True)
        return None

    def _mapped(self, key: str, name: str) -> str:
        """Return the name that the wildcard `key` makes of a name with its prefix."""
        target = str(self.entries[key])
        return target[:-1] + name[len(key) - 1:] if target.endswith('*') else target

    def _candidates(self, name: str, resource_name: str | None) -> Iterator[tuple[tuple[str, ...], object]]:
        if resource_name is not None:
            own = self.entries.get(RESOURCES)
            own = own.get(resource_name) if isinstance(own, Mapping) else None
            if isinstance(own, Mapping) and own.get(name) is not None:
                yield (RESOURCES, resource_name, name), own[name]
        if not self._wildcards:
            if name in self.entries:
                yield (name,), self.entries[name]
            return
        turns.spend(1 + len(self._wildcards) // 8)
        keys = [key for key in self._wildcards if name.startswith(key[:-1])]
        if name in self.entries and name not in keys:
            keys = sorted([*keys, name])
        for key in keys:
            target = self.entries[key]
            if key == name or not key.endswith('*') or not isinstance(target, str):
                yield (key,), target
                continue
            mapped = self._mapped(key, name)
            if mapped != name:
                yield (key,), mapped

    def types(self) -> Iterator[str]:
        """Names of all entries with a target, this level's first."""
        seen = set()
        level: Registry | None = self
        while level is not None:
            for name in level.entries:
                if name not in seen and name not in (RESOURCES, HOOKS, RESTRICTED, DRIFT, BASE_URL):
                    seen.add(name)
                    yield name
            level = level.behind


def _behind(found: FoundType, first: tuple[str, ...], is_user: bool) -> FoundType:
    """Return what an entry leads to that maps the name to another one."""
    if found.is_template and found.path:
        if is_user and not found.is_user:
            return replace(found, path=first, first=first, is_user=True)
        return replace(found, first=first)
    return FoundType(found.target, first, is_user, found.type_name, first)


def layered(*layers: Mapping[str, object]) -> dict[str, object]:
    """Return one registry made of several, each laid over those before it, entry by entry: a copy without null.

    Maps are merged at every depth; of anything else, and of an import, the later one replaces the earlier one. null
    removes the entry at its place; `Prefix*: null` also the types beside it whose names begin so.
    """
    made: dict[str, object] = {}
    for layer in layers:
        _lay(made, layer)
    return made


def _lay(made: dict[str, object], layer: Mapping[str, object]) -> None:
    turns.spend(1 + len(layer) // 8)
    for key, value in layer.items():
        if value is None:
            _remove(made, key)
        elif isinstance(value, Mapping) and key != IMPORT:
            inside = made.get(key)
            if not isinstance(inside, dict):
                inside = made[key] = {}
            _lay(inside, value)
        else:
            made[key] = value


def _remove(entries: dict[str, object], key: str) -> None:
    entries.pop(key, None)
    if key.endswith('*'):
        turns.spend(1 + len(entries) // 8)
        for name in [name for name, value in entries.items() if name.startswith(key[:-1])
                     and name not in _NO_TYPES and not isinstance(value, Mapping)]:
            del entries[name]


def is_pattern(name: str) -> bool:
    """Whether the key of an entry for single resources names many."""
    return any(sign in name for sign in PATTERN_SIGNS)


def entries_of(entries: Mapping[str, object], resource_name: str) -> Iterator[Mapping[str, object]]:
    """Entries of the `resources` section whose name or pattern matches, in order."""
    for _pattern, entry in _matching(entries, resource_name):
        yield entry


def _matching(entries: Mapping[str, object], resource_name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    own = entries.get(RESOURCES)
    if not isinstance(own, Mapping):
        return
    turns.spend(1 + len(own))
    for pattern, entry in own.items():
        if isinstance(entry, Mapping) and name_patterns.matches(pattern, resource_name):
            yield pattern, entry


def words_of(entries: Mapping[str, object], resource_name: str, key: str) -> list[str]:
    """Return the `hooks` or `restricted_actions` that apply to a resource."""
    found: set[str] = set()
    for entry in entries_of(entries, resource_name):
        value = entry.get(key)
        if value is not None:
            found.update(value if isinstance(value, list) else [str(value)])
    return sorted(found)


def import_of(entries: Mapping[str, object], resource_name: str) -> Mapping[str, str] | None:
    """Return what is to be imported into a resource, {id} or {name, tag}; None if it is to be created."""
    own = entries.get(RESOURCES)
    entry = own.get(resource_name) if isinstance(own, Mapping) else None
    found: Mapping[str, str] | None = entry.get(IMPORT) if isinstance(entry, Mapping) else None
    return found


def has_imports(entries: object) -> bool:
    """Whether an entry for single resources, or one inside it, imports something."""
    return isinstance(entries, Mapping) and any(
        (isinstance(entry, Mapping) and IMPORT in entry) or has_imports(entry) for entry in entries.values())


def with_imports(entries: Mapping[str, object], imports: Mapping[str, object]) -> dict[str, object]:
    """Return the registry with further imports: path of a resource, as names joined by `/` -> {id} or {name, tag}."""
    found = dict(entries)
    for path, wanted in imports.items():
        level = found
        for name in (RESOURCES, *path.split('/')):
            inner = level.get(name)
            level[name] = level = dict(inner) if isinstance(inner, Mapping) else {}
        level[IMPORT] = wanted
    return found


def drift_policy(entries: Mapping[str, object], resource_name: str, type_name: str) -> str:
    """Return the policy about the drift of a resource; `report` without one.

    That of its name holds before that of its type, an exact one before a pattern, a longer pattern before a shorter
    one."""
    found = [(True, pattern == resource_name, len(pattern), *each)
             for pattern, entry in _matching(entries, resource_name) for each in _of_type(_drift(entry), type_name)]
    found += [(False, False, 0, *each) for each in _of_type(_drift(entries), type_name)]
    return max(found)[-1] if found else REPORT


def _of_type(policies: Mapping[str, str], type_name: str) -> Iterator[tuple[bool, int, str]]:
    for pattern, word in policies.items():
        if name_patterns.matches(pattern, type_name):
            yield pattern == type_name, len(pattern), word


def _drift(entries: Mapping[str, object]) -> Mapping[str, str]:
    found = entries.get(DRIFT)
    return found if isinstance(found, Mapping) else {} if found is None else {EVERY: str(found)}


def for_child(entries: Mapping[str, object], resource_name: str, used: tuple[str, ...]) -> dict[str, object]:
    """Return the registry of a nested stack: without the entry that led to it, `resources` reduced to its own. What is
    said of the resource by its name comes over what patterns say."""
    child = {key: value for key, value in entries.items() if key != RESOURCES and (key,) != used}
    matching = [entry for _pattern, entry in sorted(
        _matching(entries, resource_name), key=lambda found: found[0] == resource_name)]
    policies = [_drift(entry) for entry in matching if DRIFT in entry]
    if policies:
        child[DRIFT] = layered(_drift(child), *policies)        # it holds for all inside
    left_out = {HOOKS, RESTRICTED, IMPORT, DRIFT, *(used[2:] if used[:2] == (RESOURCES, resource_name) else ())}
    child[RESOURCES] = layered(*({key: value for key, value in entry.items() if key not in left_out}
                                 for entry in matching))
    return child
