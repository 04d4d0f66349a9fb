"""Writes the template of objects that exist, with parameters and references instead of ids, and the imports to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from heatlite.common import name_patterns, turns

VERSION = '2021-04-16'
STEPS_OF_OBJECT = 10                # of a turn
LONGEST_NAME = 60                   # characters of a name in the template
NOT_IN_NAMES = re.compile('[^a-z0-9]+')


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """In place of a value: the object of a kind (a key of KINDS) with this id."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A kind of object. `type`: of its resources; None: it only becomes a parameter. `constraint`: of the parameter."""

    type: str | None
    label: str
    constraint: str | None = None


# In the order of the template.
KINDS: Mapping[str, ObjectKind] = {
    'image': ObjectKind(None, 'Image', 'glance.image'),
    'flavor': ObjectKind(None, 'Flavor', 'nova.flavor'),
    'key': ObjectKind(None, 'Key pair', 'nova.keypair'),
    'external_network': ObjectKind(None, 'External network', 'neutron.network'),
    'volume_type': ObjectKind(None, 'Volume type', 'cinder.vtype'),
    'share_type': ObjectKind(None, 'Share type', 'manila.share_type'),
    'net': ObjectKind('OS::Neutron::Net', 'Network', 'neutron.network'),
    'subnet': ObjectKind('OS::Neutron::Subnet', 'Subnet', 'neutron.subnet'),
    'router': ObjectKind('OS::Neutron::Router', 'Router', 'neutron.router'),
    'interface': ObjectKind('OS::Neutron::RouterInterface', 'Interface of a router'),
    'security_group': ObjectKind('OS::Neutron::SecurityGroup', 'Security group', 'neutron.security_group'),
    'port': ObjectKind('OS::Neutron::Port', 'Port', 'neutron.port'),
    'server_group': ObjectKind('OS::Nova::ServerGroup', 'Group of servers'),
    'volume': ObjectKind('OS::Cinder::Volume', 'Volume', 'cinder.volume'),
    'server': ObjectKind('OS::Nova::Server', 'Server', 'nova.server'),
    'attachment': ObjectKind('OS::Cinder::VolumeAttachment', 'Volume in a server'),
    'floating_ip': ObjectKind('OS::Neutron::FloatingIP', 'Floating address'),
    'load_balancer': ObjectKind('OS::Octavia::LoadBalancer', 'Load balancer', 'octavia.loadbalancer'),
    'pool': ObjectKind('OS::Octavia::Pool', 'Pool of a load balancer', 'octavia.pool'),
    'listener': ObjectKind('OS::Octavia::Listener', 'Listener of a load balancer', 'octavia.listener'),
    'member': ObjectKind('OS::Octavia::PoolMember', 'Member of a pool'),
    'monitor': ObjectKind('OS::Octavia::HealthMonitor', 'Monitor of a pool'),
    'zone': ObjectKind('OS::Designate::Zone', 'Zone', 'designate.zone'),
    'record': ObjectKind('OS::Designate::RecordSet', 'Records'),
    'container': ObjectKind('OS::Swift::Container', 'Container'),
    'share_network': ObjectKind('OS::Manila::ShareNetwork', 'Share network', 'manila.share_network'),
    'share': ObjectKind('OS::Manila::Share', 'Share'),
}
TYPES = {kind.type: name for name, kind in KINDS.items() if kind.type is not None}
PLACES = {name: place for place, name in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object that exists. `id`: the physical id of its resource. `properties`: as its type has them, with an
    `ObjectReference` in place of other objects. `networks`: ids of those that it is in."""

    kind: str
    id: str
    name: str
    properties: Mapping[str, object]
    tags: tuple[str, ...] = ()
    networks: frozenset[str] = frozenset()

    @property
    def type(self) -> str:
        return str(KINDS[self.kind].type)


@dataclass(frozen=True)
class Selection:
    """What is wanted; all that is said must hold. `types`, `networks` (ids): one of them; `tags`: all of them;
    `name`: a pattern. An empty field wants everything."""

    types: Collection[str] = ()
    tags: Collection[str] = ()
    name: str = ''
    networks: Collection[str] = ()

    def wants(self, found_object: FoundObject) -> bool:
        return ((not self.types or found_object.type in self.types) and set(self.tags) <= set(found_object.tags)
                and (not self.name or name_patterns.matches(self.name, found_object.name))
                and (not self.networks or not found_object.networks.isdisjoint(self.networks)))


@dataclass(frozen=True)
class TemplateDraft:
    """`imports`: resource -> the id of its object. `counts`: type -> number of resources."""

    template: Mapping[str, object]
    imports: Mapping[str, str]
    counts: Mapping[str, int] = field(default_factory=dict)


def compose(objects: Iterable[FoundObject], label: Callable[[ObjectReference], str]) -> TemplateDraft:
    """Return the template of these objects. What they refer to and is not among them becomes a parameter.

    `label(ref)`: a name or id by which the service finds the object of a parameter. The same objects give the same
    template, whatever their order.
    """
    chosen = sorted(objects, key=lambda each: (PLACES[each.kind], each.name, each.id))
    names = _Names()
    resources = {(each.kind, each.id): names.of(each.kind, each.name or each.id) for each in chosen}
    writer = _Writer(resources, label)
    written: dict[str, object] = {}
    for number, each in enumerate(chosen):
        turns.spend(STEPS_OF_OBJECT)
        properties = writer.written(each, number)
        written[resources[each.kind, each.id]] = {
            'type': each.type, **({'properties': properties} if properties else {})}
    template: dict[str, object] = {
        'heat_template_version': VERSION, 'description': 'Objects of a project, as they were found.'}
    if writer.parameters:
        template['parameters'] = dict(sorted(writer.parameters.items()))
    counts: dict[str, int] = {}
    for each in chosen:
        counts[each.type] = counts.get(each.type, 0) + 1
    return TemplateDraft({**template, 'resources': written},
                         {resources[each.kind, each.id]: each.id for each in chosen}, counts)


def references(value: object) -> Iterator[ObjectReference]:
    """Yield all references in a value."""
    match value:
        case ObjectReference():
            yield value
        case Mapping():
            for each in value.values():
                yield from references(each)
        case list() | tuple():
            for each in value:
                yield from references(each)


class _Names:
    """Gives names that say what they are of, each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, resource_type: str, text: str) -> str:
        words = NOT_IN_NAMES.sub('_', text.lower()).strip('_')[:LONGEST_NAME].strip('_')
        if not words:
            plain = resource_type
        else:
            has_type = words == resource_type or words.startswith(f'{resource_type}_')
            plain = words if has_type else f'{resource_type}_{words}'
        name, number = plain, 1
        while name in self._taken:
            number += 1
            name = f'{plain}_{number}'
        self._taken.add(name)
        return name


class _Writer:
    """Puts references and parameters in the place of ids."""

    def __init__(self, resources: Mapping[tuple[str, str], str], label: Callable[[ObjectReference], str]) -> None:
        self._resources = resources
        self._places = {key: place for place, key in enumerate(resources)}
        self._label = label
        self._names = _Names()
        self._named: dict[ObjectReference, str] = {}
        self.parameters: dict[str, object] = {}

    def written(self, found_object: FoundObject, place: int) -> dict[str, object]:
        """Return the properties as a template has them. `place`: of the object in the template."""
        return {name: self._value(value, found_object.kind, place) for name, value in found_object.properties.items()}

    def _value(self, value: object, resource_type: str, place: int) -> object:
        match value:
            case ObjectReference():
                return self._reference(value, resource_type, place)
            case Mapping():
                return {name: self._value(each, resource_type, place) for name, each in value.items()}
            case list() | tuple():
                return [self._value(each, resource_type, place) for each in value]
        return value

    def _reference(self, ref: ObjectReference, resource_type: str, place: int) -> object:
        key = (ref.kind, ref.id)
        if key not in self._resources:
            return {'get_param': self._parameter(ref)}
        if ref.kind == resource_type and self._places[key] >= place:
            return ref.id                           # two groups that name each other would be a cycle
        return {'get_resource': self._resources[key]}

    def _parameter(self, ref: ObjectReference) -> str:
        if ref not in self._named:
            kind, label = KINDS[ref.kind], self._label(ref)
            name = self._named[ref] = self._names.of(ref.kind, label)
            self.parameters[name] = {
                'type': 'string', 'description': kind.label, 'default': label,
                **({'constraints': [{'custom_constraint': kind.constraint}]} if kind.constraint else {})}
        return self._named[ref]


def unknown_types(types: Sequence[str]) -> list[str]:
    """Return those of which no template is written."""
    return [each for each in types if each not in TYPES]
