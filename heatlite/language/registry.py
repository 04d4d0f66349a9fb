"""The resource registry: maps type names to implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from heatlite.common import exception, name_patterns, turns
from heatlite.common.i18n import _
from heatlite.language.kind_names import kind_name
from heatlite.language.template import is_template_name

RESOURCES, HOOKS, RESTRICTED, BASE_URL = 'resources', 'hooks', 'restricted_actions', 'base_url'
DRIFT, IMPORT = 'drift', 'import'
IMPORT_KEYS = (ID, NAME, TAG) = ('id', 'name', 'tag')
LONGEST_IMPORT_VALUE = 255      # characters
HOOK_TYPES = ('pre-create', 'pre-update', 'pre-delete', 'post-create', 'post-update', 'post-delete')
LONGEST_CHAIN = 100             # entries in a chain of mappings
RESTRICTED_ACTIONS = ('update', 'replace')
DRIFT_POLICIES = (IGNORE, REPORT, REPAIR, REPLACE) = ('ignore', 'report', 'repair', 'replace')
EVERY = '*'                     # the pattern of all types
PATTERN_SIGNS = '*?['

_Check = Callable[[str, object], None]      # of the value of a key; raises an error that says what is wrong with it


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

    `entries` may have any object as the target of a type; null entries remove those of the level below.
    """

    def __init__(self, entries: Mapping[str, object], behind: Registry | None = None) -> None:
        self.entries = _without_removed(entries)
        self.behind = behind
        # Results by type name, as a cache while no entry is for single resources.
        self._found: dict[str, FoundType] = {}
        # Whether a type name may mean another type for another resource.
        self.is_by_resource: bool = bool(entries.get(RESOURCES)) or (behind is not None and behind.is_by_resource)
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


def _without_removed(entries: Mapping[str, object]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for key, value in entries.items():
        if value is not None:
            kept[key] = value
        elif key.endswith('*'):
            turns.spend(1 + len(kept) // 8)
            for name in [name for name in kept if name.startswith(key[:-1])]:
                del kept[name]
        else:
            kept.pop(key, None)
    return kept


def check_entries(entries: object) -> None:
    """Raise for unknown hooks, restrictions or policies, and for values that are neither text nor map."""
    if not isinstance(entries, Mapping):
        raise exception.StackValidationFailed(
            message=_('The resource registry must be a map. Found a %s instead') % kind_name(entries))
    for key, value in entries.items():
        _OF_ALL.get(key, _check_other)(key, value)


def _check_resources(key: str, value: object) -> None:
    """Check the section `resources`: its keys are names of resources."""
    if isinstance(value, str):
        raise exception.StackValidationFailed(
            message=_('The entry "resources" of the resource registry must be a map, not %s') % value)
    if not isinstance(value, Mapping):
        _check_other(key, value)
        return
    for name, entry in value.items():
        _AMONG_NAMES.get(name, _check_named)(name, entry)


def _check_named(name: str, value: object) -> None:
    """Check the entry of a resource, or of a pattern of names."""
    if isinstance(value, Mapping) and IMPORT in value and is_pattern(name):
        raise exception.StackValidationFailed(message=_(
            'The entry "%s" of the resource registry imports one object into many resources') % name)
    _check_other(name, value)


def _check_other(key: str, value: object) -> None:
    """Check a type and its target, or a map inside an entry."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            _INSIDE.get(name, _check_other)(name, entry)
    elif value is not None and not isinstance(value, str):
        raise exception.StackValidationFailed(
            message=_('The resource registry entry "%(key)s" must be text or a map, not a %(kind)s')
            % {'key': key, 'kind': kind_name(value)})


def _check_hooks(_key: str, value: object) -> None:
    _check_words(value, HOOK_TYPES, exception.InvalidBreakPointHook(
        _('Invalid hook type "%(value)s" for resource breakpoint, acceptable hook types are: %(known)s')
        % {'value': value, 'known': HOOK_TYPES}))


def _check_restricted(_key: str, value: object) -> None:
    _check_words(value, RESTRICTED_ACTIONS, exception.InvalidRestrictedAction(message=(
        _('Invalid restricted_action type "%(value)s" for resource, acceptable restricted_action types are: %(known)s')
        % {'value': value, 'known': RESTRICTED_ACTIONS})))


def _check_drift(_key: str, value: object) -> None:
    """Raise for anything but a policy, or a map of types and patterns to policies."""
    for word in value.values() if isinstance(value, Mapping) else [value]:
        if word not in DRIFT_POLICIES:
            raise exception.StackValidationFailed(message=_(
                'Invalid drift policy "%(value)s", acceptable policies are: %(known)s') % {
                'value': word, 'known': ', '.join(DRIFT_POLICIES)})


def _check_import(_key: str, value: object) -> None:
    """Raise for anything but {id} or {name, tag}, with one of the latter two at least."""
    if not isinstance(value, Mapping) or not value or set(value) - set(IMPORT_KEYS) or (ID in value and len(value) > 1):
        raise exception.StackValidationFailed(message=_(
            'An import must be a map with "id", or with "name", "tag" or both, not %s') % value)
    for key, given in value.items():
        if not isinstance(given, str) or not 0 < len(given) <= LONGEST_IMPORT_VALUE:
            raise exception.StackValidationFailed(message=_(
                'The %(key)s of an import must be a text of at most %(limit)d characters') % {
                'key': key, 'limit': LONGEST_IMPORT_VALUE})


def _check_words(value: object, known: tuple[str, ...], error: exception.HeatException) -> None:
    words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str) and word in known for word in words):
        raise error


# Key -> its check: in the registry, in its section `resources`, and in all maps inside.
_AMONG_NAMES: Mapping[str, _Check] = {HOOKS: _check_hooks, RESTRICTED: _check_restricted}
_OF_ALL: Mapping[str, _Check] = {**_AMONG_NAMES, DRIFT: _check_drift, RESOURCES: _check_resources}
_INSIDE: Mapping[str, _Check] = {**_AMONG_NAMES, DRIFT: _check_drift, IMPORT: _check_import}


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
    """Return the registry of a nested stack: without the entry that led to it, `resources` reduced to its own."""
    child = {key: value for key, value in entries.items() if key != RESOURCES and (key,) != used}
    own: dict[str, object] = {}
    for entry in entries_of(entries, resource_name):
        for key, value in entry.items():
            if used[:1] == (RESOURCES,) and used[1:] == (resource_name, key):
                continue
            if key == DRIFT:
                child[DRIFT] = {**_drift(child), **_drift(entry)}       # it holds for all inside
            elif key not in (HOOKS, RESTRICTED, IMPORT):
                own[key] = value
    child[RESOURCES] = own
    return child
