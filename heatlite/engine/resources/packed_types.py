"""Answers the questions of the language about resource types from the catalogue's packed facts alone.

No class is imported, and no service is asked.

The checks types make themselves are there for the types that need no service; groups are looked into with one member.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources import group_outputs, packed
from heatlite.engine.types import event_sink_types
from heatlite.language import custom_constraints
from heatlite.language.definition import DefinedResource
from heatlite.language.environment import Environment
from heatlite.language.facts import NO_SNAPSHOTS, SNAPSHOTS, Nested, OwnCheck, TypeFacts
from heatlite.language.registry import Registry, layered
from heatlite.language.schema import Reader, Schema
from heatlite.language.template import missing_template
from heatlite.language.translation import REPLACE, TranslationRule
from heatlite.language.unknown import UNKNOWN

if TYPE_CHECKING:
    from heatlite.engine.properties import Values

SNAPSHOT_TYPES = frozenset({'OS::Cinder::Volume', 'AWS::EC2::Volume', 'OS::Nova::Server', 'OS::Heat::DeployedServer'})
RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP = (
    'OS::Heat::ResourceGroup', 'OS::Heat::ResourceChain', 'OS::Heat::AutoScalingGroup')
PLACEHOLDER = 'placeholder'                 # the family of types that take everything
VALUE_TYPES = {'string': Schema.STRING, 'number': Schema.NUMBER, 'comma_delimited_list': Schema.LIST,
               'json': Schema.MAP, 'boolean': Schema.BOOLEAN}


@dataclass(frozen=True)
class BuiltIn:
    """The entry of a built-in type in the registry of the operator."""

    name: str


def operator_registry(files: Iterable[Mapping[str, object]] = ()) -> Registry:
    """Built-in types, their aliases, then the registries of the operator's environment files in order."""
    entries: dict[str, object] = {name: BuiltIn(name) for name in packed.names()}
    entries.update(packed.aliases())
    return Registry(layered(entries, *files))


class PackedTypes:
    """A `language.facts.TypeCatalog`. `only_pure_constraints`: custom constraints that would ask a service pass;
    otherwise they are not found."""

    def __init__(self, *, only_pure_constraints: bool = True) -> None:
        self._makers = custom_constraints.builtin(lambda: datetime.now(UTC), ZoneInfo)
        self._only_pure = only_pure_constraints
        self._facts: dict[str, TypeFacts] = {}

    @staticmethod
    def sink_error(sink: Mapping[str, object]) -> str:
        """Types of plug-ins are not known here, nor are arguments."""
        return '' if sink['type'] == 'zaqar-queue' else event_sink_types.unknown(sink)

    def is_pure(self, name: str) -> bool:
        """Whether a custom constraint is checked without a service."""
        return name in self._makers

    def lookup(self, name: str) -> custom_constraints.PureConstraint | None:
        maker = self._makers.get(name)
        if maker is not None:
            return maker()
        return custom_constraints.PureConstraint(_accept) if self._only_pure else None

    def facts(self, type_name: str, resource_name: str | None, environment: Environment) -> TypeFacts:
        name = environment.find(type_name, resource_name).target.name
        if name not in self._facts:
            self._facts[name] = facts_of(name)
        return self._facts[name]

    def fetch(self, template_name: str, by_operator: bool) -> str:
        scheme = template_name.rpartition('://')[0]
        raise missing_template(template_name, f'Invalid URL scheme {scheme}'.rstrip())


def _accept(value: object) -> None:
    """Accept any value: only a service could check it."""


def facts_of(name: str) -> TypeFacts:
    """Raise KeyError for a type that is not among the facts."""
    known = packed.facts(name)
    attributes, flags = known.get('attributes', {}), known.get('class_flags', {})
    found = TypeFacts(
        name=name, properties=packed.properties(name), update_policy=packed.update_policy(name),
        attributes={key: body.get('type') for key, body in attributes.items()},
        class_name=known['class_name'], hidden=known['support_status'].get('hidden', False),
        deletion_policies=SNAPSHOTS if name in SNAPSHOT_TYPES else NO_SNAPSHOTS,
        accepts_any_attribute=flags.get('accepts_any_attribute', False),
        strict_dependency=flags.get('strict_dependency', True),
        own_check=OWN_CHECKS.get(name), nested=GROUPS.get(name), rules=_rules(known.get('translation_rules', ())))
    if known.get('family') == PLACEHOLDER:
        return replace(found, accepts_any_property=True, accepts_any_attribute=True)
    return found


def _rules(packed_rules: Iterable[packed.RuleFacts]) -> Callable[..., list[TranslationRule]] | None:
    """Replacements only: what else there is either asks a service or depends on values."""
    rules = [TranslationRule(None, REPLACE, rule['path'], value_name=rule.get('value_name'),
                             value_path=rule.get('value_path'))
             for rule in packed_rules
             if rule['rule'] == 'replace' and not rule.get('conditional')
             and (rule.get('value_path') or rule.get('value_name'))
             and not any(str(part).startswith('$') for part in rule['path'])]
    return (lambda resource, given: rules) if rules else None


def check_random_string(resource: DefinedResource, values: Values) -> Iterator[exception.HeatException]:
    parts = [*(values.get('character_classes') or ()), *(values.get('character_sequences') or ())]
    smallest = [part.get('min') for part in parts]
    length = values.get('length')
    if UNKNOWN in (length, *smallest) or length is None:
        return
    if length < sum(1 if minimum is None else minimum for minimum in smallest) or length < 1:
        yield exception.StackValidationFailed(message=_(
            'Length property cannot be smaller than combined character class and character sequence minimums'))


def check_value(resource: DefinedResource, values: Mapping[str, object]) -> Iterator[exception.HeatException]:
    wanted = VALUE_TYPES.get(str(values.get('type')))
    if wanted is None or 'value' in resource.referring:
        return
    errors: list[exception.StackValidationFailed] = []
    Reader(errors.append).value(Schema(wanted), values.get('value'), resource.property_path('value'))
    yield from errors


def group_members(resource: DefinedResource, values: Mapping[str, object]) -> dict[str, object] | None:
    """Return a ResourceGroup's members, of which the first stands for all. A definition without use is not checked."""
    snippet, variable = values.get('resource_def'), values.get('index_var') or '%index%'
    if not isinstance(snippet, Mapping) or values.get('count') == 0:
        return None
    member = {key: item for key, item in snippet.items() if item is not None}
    if isinstance(member.get('properties'), Mapping):
        member['properties'] = {key: _replaced(item, str(variable), '0') for key, item in member['properties'].items()
                                if item is not None}
    return _members(RESOURCE_GROUP, {'0': member}, resource)


def chain_members(resource: DefinedResource, values: Mapping[str, object]) -> dict[str, object] | None:
    """A ResourceChain's members, each after the one before it."""
    types = values.get('resources')
    if not isinstance(types, list):
        return None
    members: dict[str, object] = {}
    for place, name in enumerate(types):
        member: dict[str, object] = {'type': name, 'properties': values.get('resource_properties') or {}}
        if place and not values.get('concurrent'):
            member['depends_on'] = [str(place - 1)]
        members[str(place)] = member
    return _members(RESOURCE_CHAIN, members, resource)


def scaled_members(resource: DefinedResource, values: Mapping[str, object]) -> dict[str, object] | None:
    """An AutoScalingGroup's members, of which one stands for all."""
    snippet = values.get('resource')
    if not isinstance(snippet, Mapping):
        return None
    member = {key: item for key, item in snippet.items() if item is not None}
    return _members(SCALING_GROUP, {'member': member}, resource)


def _members(group: str, members: dict[str, object], resource: DefinedResource) -> dict[str, object]:
    """Return the template of the members, with an output for each of their attributes that are asked for.

    `group`: the type. A number names the first member, if it is no other one: it stands for all.
    """
    asked: Collection[group_outputs.Asked] = ()
    with contextlib.suppress(exception.HeatException):      # what is wrong elsewhere is said elsewhere
        asked = resource.owner.referenced_attributes(resource.name)
    first = next(iter(members), None)
    outputs = {name: {'value': value} for name, value in MEMBER_ATTRIBUTES[group].outputs(
        asked, list(members), packed.facts(group).get('attributes', {}),
        lambda name: name if name in members else first if name.isdigit() else None)}
    return {'heat_template_version': '2015-04-30', 'resources': members, 'outputs': outputs}


def _replaced(value: object, old: str, new: str) -> object:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    if isinstance(value, Mapping):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    return value


OWN_CHECKS: dict[str, OwnCheck] = {'OS::Heat::RandomString': check_random_string, 'OS::Heat::Value': check_value}
GROUPS: dict[str, Nested] = {
    RESOURCE_GROUP: group_members, RESOURCE_CHAIN: chain_members, SCALING_GROUP: scaled_members}
MEMBER_ATTRIBUTES = {
    RESOURCE_GROUP: group_outputs.INDEXED, RESOURCE_CHAIN: group_outputs.INDEXED, SCALING_GROUP: group_outputs.SCALED}
