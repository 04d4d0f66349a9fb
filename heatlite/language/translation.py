"""Rules by which a type rewrites given properties before it uses them.

Rules change the given values before coercion. Removed values become `schema.ERASED`. The look-up of names in a service
(Resolve) is done by a callable that is passed in.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.language.schema import ERASED, Schema
from heatlite.language.unknown import UNKNOWN

RULES = (ADD, REPLACE, DELETE, RESOLVE) = ('Add', 'Replace', 'Delete', 'Resolve')
ORDER = (ADD, REPLACE, RESOLVE, DELETE)

Resolver = Callable[['TranslationRule', object], object]
"""(rule, value given by the user) -> the id. Asks a service; errors are the service's."""


class TranslationRule:
    """One rule. `properties` is passed by old plug-ins and not used.

    Raises ValueError when the arguments contradict each other.
    """

    ADD, REPLACE, DELETE, RESOLVE = ADD, REPLACE, DELETE, RESOLVE
    RULE_KEYS = RULES

    def __init__(self, properties: object, rule: str, translation_path: Sequence[str], value: object = None,
                 value_name: str | None = None, value_path: Sequence[str] | None = None, client_plugin: Any = None,
                 finder: str | None = None, entity: str | None = None,
                 custom_value_path: Sequence[str] | None = None) -> None:
        if rule not in RULES:
            raise ValueError(_('There is no rule %(rule)s. List of allowed rules is: %(rules)s.')
                             % {'rule': rule, 'rules': ', '.join(RULES)})
        if not isinstance(translation_path, list | tuple) or not translation_path:
            raise ValueError(_('"translation_path" should be non-empty list with path to translate.'))
        value = value or None
        if sum(source is not None for source in (value, value_name, value_path)) > 1:
            raise ValueError(_('"value", "value_path" and "value_name" are mutually exclusive.'))
        if rule == ADD and value is not None and not isinstance(value, list):
            raise ValueError(_('"value" must be list type when rule is Add.'))
        if rule == RESOLVE and not (client_plugin or finder):
            raise ValueError(_('"client_plugin" and "finder" should be specified for Resolve rule'))
        self.properties = properties
        self.rule = rule
        self.translation_path = list(translation_path)
        self.value = value
        self.value_name = value_name
        self.value_path = list(value_path) if value_path is not None else None
        self.client_plugin = client_plugin
        self.finder = finder
        self.entity = entity
        self.custom_value_path = custom_value_path

    def names(self) -> str:
        """Both ends of a replacement, for the error when both are given."""
        target = '.'.join(self.translation_path)
        source = ('.'.join([*self.translation_path[:-1], self.value_name]) if self.value_name
                  else '.'.join(self.value_path or ()))
        return f'{target}, {source}'


def apply(rules: Sequence[TranslationRule], given: Mapping[str, object], path: Sequence[object] = (),
          resolver: Resolver | None = None, schemas: Mapping[str, Schema] | None = None) -> dict[str, object]:
    """`given` after all rules, as a copy. Rules of one path run in the order Add, Replace, Resolve, Delete.

    Raises StackValidationFailed at `path` + the target's path when a value and its replacement are both given.
    Without `resolver` the Resolve rules are skipped. With `schemas`, a replaced property that is not given has its
    default.
    """
    if not rules:
        return dict(given)
    values: dict[str, object] = copy.deepcopy(dict(given))
    for kind in ORDER:
        for rule in rules:
            if rule.rule == kind:
                _apply_one(rule, values, tuple(path), resolver, schemas or {})
    return values


def moved(rules: Sequence[TranslationRule], names: frozenset[str]) -> frozenset[str]:
    """`names` of properties, and those to which rules move the values of one of them."""
    return names | {rule.translation_path[0] for rule in rules
                    if (rule.value_path[0] if rule.value_path else rule.value_name) in names}


def sources(rules: Sequence[TranslationRule], names: Collection[str]) -> frozenset[str]:
    """Names of the properties whose whole values rules move to one of `names`."""
    found = set()
    for rule in rules:
        if rule.rule == REPLACE and len(rule.translation_path) == 1 and rule.translation_path[0] in names:
            if rule.value_name is not None and not rule.custom_value_path:
                found.add(rule.value_name)
            elif rule.value_path is not None and len(rule.value_path) == 1:
                found.add(rule.value_path[0])
    return frozenset(found)


def _apply_one(rule: TranslationRule, values: dict[str, object], path: tuple[object, ...],
               resolver: Resolver | None, schemas: Mapping[str, Schema]) -> None:
    *parents, name = rule.translation_path
    for holder, at in _holders(values, parents, path, create=rule.rule in (ADD, REPLACE)):
        match rule.rule:
            case 'Add':
                _add(rule, holder, name, values)
            case 'Replace':
                _replace(rule, holder, name, values, (*at, name))
                _take_default(rule, holder, name, values, schemas)
            case 'Delete':
                holder[name] = ERASED
            case 'Resolve' if resolver is not None and _given(holder, name):
                holder[name] = _resolve(rule, holder[name], resolver)
    if rule.rule == REPLACE and rule.value_path:
        _erase(rule.value_path, values, path)


def _holders(value: object, names: Sequence[str], at: tuple[object, ...],
             create: bool = False) -> Iterator[tuple[dict[str, object], tuple[object, ...]]]:
    """Yield the maps at the end of `names`, through every item of lists on the way, each with its path."""
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _holders(item, names, (*at, place))
    elif isinstance(value, dict):
        if not names:
            yield value, at
        elif names[0] in value and value[names[0]] is not None:
            yield from _holders(value[names[0]], names[1:], (*at, names[0]), create)


def _given(holder: Mapping[str, object], name: str) -> bool:
    return holder.get(name) is not None and holder[name] is not ERASED


def _source(rule: TranslationRule, holder: Mapping[str, object], values: Mapping[str, object]) -> object:
    """Return the value to move; None if it was not given."""
    found: object
    if rule.value is not None:
        return rule.value
    if rule.value_name is not None:
        found = holder[rule.value_name] if _given(holder, rule.value_name) else None
        for name in rule.custom_value_path or ():       # a part of it: the rest is for other rules
            found = found.get(name) if isinstance(found, Mapping) else None
        return found
    found = values
    for name in rule.value_path or ():
        if not isinstance(found, Mapping) or not _given(found, name):
            return None
        found = found[name]
    return found


def _add(rule: TranslationRule, holder: dict[str, object], name: str, values: dict[str, object]) -> None:
    added = _source(rule, holder, values)
    if added is None:
        return
    there = holder[name] if _given(holder, name) else []
    if there is UNKNOWN or added is UNKNOWN:
        holder[name] = UNKNOWN
        return
    added = copy.deepcopy(added if isinstance(added, list) else [added])
    holder[name] = [*(there if isinstance(there, list) else [there]), *added]


def _replace(rule: TranslationRule, holder: dict[str, object], name: str, values: dict[str, object],
             at: tuple[object, ...]) -> None:
    source = _source(rule, holder, values)
    there = holder[name] if _given(holder, name) else None
    if rule.value is None and source and there:
        raise exception.StackValidationFailed(
            error='Property error', path=at,
            message=_('Cannot define the following properties at the same time: %s') % rule.names())
    if source is not None and (source or not there):
        holder[name] = copy.deepcopy(source)
    if rule.value_name is not None and not rule.custom_value_path:
        holder[rule.value_name] = ERASED


def _take_default(rule: TranslationRule, holder: dict[str, object], name: str, values: Mapping[str, object],
                  schemas: Mapping[str, Schema]) -> None:
    """Move the default of a replaced property that was not given."""
    if rule.value_path is None or len(rule.value_path) != 1 or rule.value_path[0] in values or _given(holder, name):
        return
    schema = schemas.get(rule.value_path[0])
    if schema is not None and schema.default is not None:
        holder[name] = schema.empty()


def _erase(names: Sequence[str], values: dict[str, object], path: tuple[object, ...]) -> None:
    *parents, name = names
    for holder, _at in _holders(values, parents, path):
        holder[name] = ERASED


def _resolve(rule: TranslationRule, value: object, resolver: Resolver) -> object:
    if isinstance(value, list):
        return [_resolve(rule, item, resolver) for item in value]
    if not value:
        return None                 # a service may have an object with an empty name
    return value if value is UNKNOWN else resolver(rule, value)
