"""Checks the entries of a resource registry, as a user gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language.kind_names import kind_name
from heatlite.language.registry import (
    DRIFT,
    DRIFT_POLICIES,
    HOOK_TYPES,
    HOOKS,
    ID,
    IMPORT,
    IMPORT_KEYS,
    RESOURCES,
    RESTRICTED,
    RESTRICTED_ACTIONS,
    is_pattern,
)

LONGEST_IMPORT_VALUE = 255      # characters
_NEVER_NULL = (IMPORT,)         # without its value, another object would be made

_Check = Callable[[str, object], None]      # of the value of a key; raises an error that says what is wrong with it


def check_entries(entries: object) -> None:
    """Raise for unknown hooks, restrictions or policies, and for values that are neither text nor map."""
    if not isinstance(entries, Mapping):
        raise exception.StackValidationFailed(
            message=_('The resource registry must be a map. Found a %s instead') % kind_name(entries))
    _check_each(entries, _OF_ALL, _check_other)


def _check_each(entries: Mapping[str, object], checks: Mapping[str, _Check], otherwise: _Check) -> None:
    for key, value in entries.items():
        if value is not None or (key in _NEVER_NULL and key in checks):     # null removes an entry
            checks.get(key, otherwise)(key, value)


def _check_resources(key: str, value: object) -> None:
    """Check the section `resources`: its keys are names of resources."""
    if isinstance(value, str):
        raise exception.StackValidationFailed(
            message=_('The entry "resources" of the resource registry must be a map, not %s') % value)
    if not isinstance(value, Mapping):
        _check_other(key, value)
        return
    _check_each(value, _AMONG_NAMES, _check_named)


def _check_named(name: str, value: object) -> None:
    """Check the entry of a resource, or of a pattern of names."""
    if isinstance(value, Mapping) and value.get(IMPORT) is not None and is_pattern(name):
        raise exception.StackValidationFailed(message=_(
            'The entry "%s" of the resource registry imports one object into many resources') % name)
    _check_other(name, value)


def _check_other(key: str, value: object) -> None:
    """Check a type and its target, or a map inside an entry."""
    if isinstance(value, Mapping):
        _check_each(value, _INSIDE, _check_other)
    elif not isinstance(value, str):
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
        if word is not None and word not in DRIFT_POLICIES:
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
