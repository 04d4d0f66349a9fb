"""What resources consume of the cloud: instances, cores, memory, disks, addresses.

`FACTS` says which properties of which type count. Sizes of flavors are handed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from heatlite.common import turns
from heatlite.language.constraints import to_whole
from heatlite.language.unknown import is_known
from heatlite.planning.plan import MeasuredResource, Path, PlanAction, PlannedChange


class Meter(StrEnum):
    """A quantity that a service limits or sells."""

    INSTANCES = 'instances'
    VCPUS = 'vcpus'
    RAM = 'ram_mib'
    DISK = 'disk_gib'                   # of the flavors
    SERVER_GROUPS = 'server_groups'
    VOLUMES = 'volumes'
    VOLUME_SIZE = 'volume_gib'
    NETWORKS = 'networks'
    SUBNETS = 'subnets'
    PORTS = 'ports'
    ROUTERS = 'routers'
    FLOATING_ADDRESSES = 'floating_addresses'
    SECURITY_GROUPS = 'security_groups'
    SECURITY_GROUP_RULES = 'security_group_rules'
    LOAD_BALANCERS = 'load_balancers'
    LISTENERS = 'listeners'
    POOLS = 'pools'
    POOL_MEMBERS = 'pool_members'
    HEALTH_MONITORS = 'health_monitors'
    SHARES = 'shares'
    SHARE_SIZE = 'share_gib'
    SHARE_NETWORKS = 'share_networks'


Amounts = Counter[Meter]

COMPUTE, VOLUME, NETWORK, IMAGE = 'compute', 'volume', 'network', 'image'
LOAD_BALANCER, SHARED_FILES = 'load-balancer', 'shared-file-system'
SERVICE_OF: Mapping[Meter, str] = {
    **dict.fromkeys((Meter.INSTANCES, Meter.VCPUS, Meter.RAM, Meter.SERVER_GROUPS), COMPUTE),
    **dict.fromkeys((Meter.VOLUMES, Meter.VOLUME_SIZE), VOLUME),
    **dict.fromkeys((Meter.NETWORKS, Meter.SUBNETS, Meter.PORTS, Meter.ROUTERS, Meter.FLOATING_ADDRESSES,
                     Meter.SECURITY_GROUPS, Meter.SECURITY_GROUP_RULES), NETWORK),
    **dict.fromkeys((Meter.LOAD_BALANCERS, Meter.LISTENERS, Meter.POOLS, Meter.POOL_MEMBERS, Meter.HEALTH_MONITORS),
                    LOAD_BALANCER),
    **dict.fromkeys((Meter.SHARES, Meter.SHARE_SIZE, Meter.SHARE_NETWORKS), SHARED_FILES)}


@dataclass(frozen=True, slots=True)
class Facts:
    """What a resource of one type counts for; texts are names of properties, '' where the type has none.

    `each`: fixed amounts. `flavor`, `image`: of a server. `size`: GiB of a volume, `volume_type`: its type. `networks`:
    a list of interfaces; one without `port` makes a port. `disks`: a list of disks; one with `volume_size` makes a
    volume. `rules`: a list of security group rules. `share_size`: GiB of a share. `zone`: an availability
    zone, `zone_of`: of this service.
    """

    each: Mapping[Meter, int] = field(default_factory=dict)
    flavor: str = ''
    image: str = ''
    size: str = ''
    volume_type: str = ''
    networks: str = ''
    disks: str = ''
    rules: str = ''
    share_size: str = ''
    zone: str = ''
    zone_of: str = ''

    @property
    def names(self) -> tuple[str, ...]:
        """The properties that count."""
        return tuple(name for name in (self.flavor, self.image, self.size, self.volume_type, self.networks, self.disks,
                                       self.rules, self.share_size, self.zone) if name)


STEPS_PER_RESOURCE = 10                 # of a turn, for one resource
DEFAULT_RULES = 2                       # of a new security group: all outgoing traffic, for two versions of IP
PORT = Facts({Meter.PORTS: 1})
NETWORKED = Facts({Meter.NETWORKS: 1})
ADDRESS = Facts({Meter.FLOATING_ADDRESSES: 1})

FACTS: Mapping[str, Facts] = {
    'OS::Nova::Server': Facts(
        {Meter.INSTANCES: 1}, flavor='flavor', image='image', networks='networks', disks='block_device_mapping_v2',
        zone='availability_zone', zone_of=COMPUTE),
    'AWS::EC2::Instance': Facts(
        {Meter.INSTANCES: 1, Meter.PORTS: 1}, flavor='InstanceType', image='ImageId', zone='AvailabilityZone',
        zone_of=COMPUTE),
    'OS::Nova::ServerGroup': Facts({Meter.SERVER_GROUPS: 1}),
    'OS::Cinder::Volume': Facts(
        {Meter.VOLUMES: 1}, size='size', volume_type='volume_type', zone='availability_zone', zone_of=VOLUME),
    'AWS::EC2::Volume': Facts({Meter.VOLUMES: 1}, size='Size', zone='AvailabilityZone', zone_of=VOLUME),
    'OS::Neutron::Net': NETWORKED,
    'OS::Neutron::ProviderNet': NETWORKED,
    'OS::Neutron::Subnet': Facts({Meter.SUBNETS: 1}),
    'OS::Neutron::Port': PORT,
    'OS::Neutron::RouterInterface': PORT,
    'OS::Octavia::LoadBalancer': Facts({Meter.LOAD_BALANCERS: 1, Meter.PORTS: 1}),
    'OS::Octavia::Listener': Facts({Meter.LISTENERS: 1}),
    'OS::Octavia::Pool': Facts({Meter.POOLS: 1}),
    'OS::Octavia::PoolMember': Facts({Meter.POOL_MEMBERS: 1}),
    'OS::Octavia::HealthMonitor': Facts({Meter.HEALTH_MONITORS: 1}),
    'OS::Manila::Share': Facts({Meter.SHARES: 1}, share_size='size'),
    'OS::Manila::ShareNetwork': Facts({Meter.SHARE_NETWORKS: 1}),
    'AWS::EC2::NetworkInterface': PORT,
    'OS::Neutron::Router': Facts({Meter.ROUTERS: 1}),
    'OS::Neutron::FloatingIP': ADDRESS,
    'AWS::EC2::EIP': ADDRESS,
    'OS::Neutron::SecurityGroup': Facts({Meter.SECURITY_GROUPS: 1}, rules='rules'),
    'OS::Neutron::SecurityGroupRule': Facts({Meter.SECURITY_GROUP_RULES: 1}),
}


def measured(type_name: str, properties: Mapping[str, object]) -> MeasuredResource | None:
    """Return what counts of a resource; None if its type is not among `FACTS`."""
    facts = FACTS.get(type_name)
    return None if facts is None else MeasuredResource(type_name, {name: properties.get(name) for name in facts.names})


@dataclass(frozen=True, slots=True)
class Flavor:
    """Sizes of a flavor; `ram` in MiB, `disk` in GiB."""

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int


Flavors = Mapping[str, Flavor]
"""By id and by name."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """What one resource consumes. `volumes`: (volume type or None, GiB) of each; `is_certain`: all of it is known."""

    amounts: Amounts
    flavor: Flavor | None
    volumes: tuple[tuple[str | None, int], ...]
    is_certain: bool


def consumed(what: MeasuredResource | None, flavors: Flavors) -> Consumed:
    """Return what a resource consumes; nothing for None."""
    if what is None:
        return Consumed(Counter(), None, (), True)
    turns.spend(STEPS_PER_RESOURCE)
    facts, values = FACTS[what.type], what.values
    amounts: Amounts = Counter(facts.each)
    is_certain = all(is_known(value) for name, value in values.items() if name not in (facts.image, facts.zone))
    flavor = flavors.get(str(values.get(facts.flavor))) if facts.flavor else None
    if flavor is not None:
        amounts.update({Meter.VCPUS: flavor.vcpus, Meter.RAM: flavor.ram, Meter.DISK: flavor.disk})
    volumes = _volumes(facts, values)
    amounts[Meter.VOLUMES] += len(volumes) - bool(facts.size)
    amounts[Meter.VOLUME_SIZE] += sum(size or 0 for _type, size in volumes)
    if facts.networks:
        interfaces = _listed(values.get(facts.networks))
        amounts[Meter.PORTS] += sum(_makes_port(each) for each in interfaces) if interfaces else 1
    if facts.rules:
        amounts[Meter.SECURITY_GROUP_RULES] += len(_listed(values.get(facts.rules))) + DEFAULT_RULES
    if facts.share_size:
        size = _number(values.get(facts.share_size))
        amounts[Meter.SHARE_SIZE] += size or 0
        is_certain = is_certain and size is not None
    is_certain = (is_certain and (flavor is not None or not facts.flavor)
                  and all(size is not None for _type, size in volumes))
    return Consumed(+amounts, flavor, tuple((kind, size or 0) for kind, size in volumes), is_certain)


def _volumes(facts: Facts, values: Mapping[str, object]) -> list[tuple[str | None, int | None]]:
    """Return (volume type, GiB) of the volumes that a resource makes; None for what is not known."""
    found: list[tuple[str | None, int | None]] = []
    if facts.size:
        kind = values.get(facts.volume_type) if facts.volume_type else None
        found.append((kind if isinstance(kind, str) else None, _number(values.get(facts.size))))
    for disk in _listed(values.get(facts.disks)) if facts.disks else ():
        if isinstance(disk, Mapping) and disk.get('volume_size') is not None and not disk.get('volume_id'):
            found.append((None, _number(disk['volume_size'])))
    return found


def _makes_port(interface: object) -> bool:
    return not isinstance(interface, Mapping) or not (
        interface.get('port') or interface.get('allocate_network') == 'none')


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _number(value: object) -> int | None:
    try:
        return to_whole(value)
    except (TypeError, ValueError):
        return None


@dataclass(slots=True)
class Totals:
    """What a plan consumes. `before`, `after`: of all resources of the tree. `added`: what is made; `freed`: what is
    deleted, when depends on the order; `replaced`: the old objects of replacements, which exist beside the new ones.

    `uncertain`: paths of resources of which not everything is known.
    """

    before: Amounts = field(default_factory=Counter)
    after: Amounts = field(default_factory=Counter)
    added: Amounts = field(default_factory=Counter)
    freed: Amounts = field(default_factory=Counter)
    replaced: Amounts = field(default_factory=Counter)
    uncertain: list[Path] = field(default_factory=list)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return {meter: {before, after, at_once}}; `at_once`: the most that may exist at one time."""
        return {str(meter): {'before': self.before[meter], 'after': self.after[meter],
                             'at_once': self.before[meter] + self.added[meter]}
                for meter in Meter if self.before[meter] or self.after[meter] or self.added[meter]}


def before_and_after(changes: Iterable[PlannedChange],
                     flavors: Flavors) -> Iterator[tuple[PlannedChange, Consumed, Consumed]]:
    """Yield each change that counts, with what its resource consumes before and after it. A resource whose action is
    not known stays as it is."""
    for change in changes:
        if change.before is not None or change.after is not None:
            old = consumed(change.before, flavors)
            yield change, old, old if change.action is PlanAction.UNKNOWN else consumed(change.after, flavors)


def totals(changes: Iterable[PlannedChange], flavors: Flavors) -> Totals:
    """Sum up what the changes of a plan consume."""
    consumption = Totals()
    for change, old, new in before_and_after(changes, flavors):
        consumption.before.update(old.amounts)
        match change.action:
            case PlanAction.CREATE:
                consumption.added.update(new.amounts)
            case PlanAction.REPLACE:
                consumption.added.update(new.amounts)
                consumption.replaced.update(old.amounts)
            case PlanAction.UPDATE:
                consumption.added.update(new.amounts - old.amounts)
                consumption.freed.update(old.amounts - new.amounts)
            case PlanAction.DELETE:
                consumption.freed.update(old.amounts)
        consumption.after.update(new.amounts)
        if change.action is PlanAction.UNKNOWN or not (old.is_certain and new.is_certain):
            consumption.uncertain.append(change.path)
    return consumption
