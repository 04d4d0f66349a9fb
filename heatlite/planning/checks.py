"""Compares a plan with what services say: quotas, sizes, zones, what is in the way of deletes.

Each check gets what was read, and yields findings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from heatlite.common.limits import UNLIMITED
from heatlite.common.wording import first_few
from heatlite.planning.costs.consumption import FACTS, Flavors, Meter, Totals, consumed
from heatlite.planning.findings import FindingLevel, PlanFinding, of_change
from heatlite.planning.plan import MOST_NAMED, Plan, PlanAction, PlannedChange

MADE = frozenset({PlanAction.CREATE, PlanAction.REPLACE})


@dataclass(frozen=True, slots=True)
class Limit:
    """A quota of the project. `most`: UNLIMITED, or the most that may be used; `used`: now."""

    most: int
    used: int


@dataclass(frozen=True, slots=True)
class Image:
    """`min_disk` in GiB, `min_ram` in MiB."""

    id: str
    name: str
    min_disk: int
    min_ram: int


@dataclass(frozen=True, slots=True)
class Hold:
    """Something outside the stack that uses an object. `object_id`: the object; `text`: what uses it."""

    object_id: str
    text: str


def quotas(totals: Totals, limits: Mapping[Meter, Limit]) -> Iterator[PlanFinding]:
    """Check that what the plan adds fits beside what is used. A replaced object exists beside its replacement;
    what is deleted may be freed before or after."""
    for meter, limit in limits.items():
        added, freed = totals.added[meter], totals.freed[meter]
        if not added or limit.most == UNLIMITED or limit.used + added <= limit.most:
            continue
        level = FindingLevel.ERROR if limit.used + added - freed > limit.most else FindingLevel.WARNING
        replaced = totals.replaced[meter]
        more = [f'{replaced} of it beside what is replaced'] if replaced else []
        more += [f'{freed} is deleted, perhaps too late'] if freed else []
        yield PlanFinding(level, f'The quota of {meter} is {limit.most}, of which {limit.used} is used; the plan adds '
                                 f'{added}{" (" + ", ".join(more) + ")" if more else ""}.')


def uncertain(totals: Totals) -> Iterator[PlanFinding]:
    """How many resources could not be counted completely."""
    paths = ['/'.join(path) for path in totals.uncertain]
    if paths:
        yield PlanFinding(FindingLevel.NOTE, 'Not everything that these resources consume is known, and counted: '
                                      f'{first_few(paths, MOST_NAMED)}.')


def dry_run(plan: Plan) -> Iterator[PlanFinding]:
    """Why the action would fail, what of the request it ignores, and which objects are gone in the cloud."""
    if plan.fails:
        yield PlanFinding(FindingLevel.ERROR, plan.fails)
    for text in plan.ignored:
        yield PlanFinding(FindingLevel.WARNING, text)
    for change in plan.changes:
        if change.is_gone:
            remade = change.action in (PlanAction.REPLACE, PlanAction.CREATE)
            yield PlanFinding(FindingLevel.NOTE if remade else FindingLevel.WARNING,
                              f"Its object is gone in the cloud{'; it is made again' if remade else ''}.", change.path)


def images_fit(changes: Iterable[PlannedChange], flavors: Flavors,
               images: Mapping[str, Image]) -> Iterator[PlanFinding]:
    """Check that the flavor of a server has the memory and the disk that its image needs. `images`: by id and name."""
    for change in changes:
        if change.after is None or not is_chosen(change):
            continue
        facts = FACTS[change.after.type]
        image = images.get(str(change.after.values.get(facts.image))) if facts.image else None
        flavor = consumed(change.after, flavors).flavor
        if image is None or flavor is None:
            continue
        if image.min_ram > flavor.ram:
            yield of_change(FindingLevel.ERROR, change, facts.flavor,
                            f'Image {image.name} needs {image.min_ram} MiB of '
                            f'memory, flavor {flavor.name} has {flavor.ram}.')
        if 0 < flavor.disk < image.min_disk:        # with 0 the image itself says how large the disk is
            yield of_change(FindingLevel.ERROR, change, facts.flavor,
                            f'Image {image.name} needs a disk of {image.min_disk} '
                            f'GiB, flavor {flavor.name} has {flavor.disk}.')


def zones_exist(changes: Iterable[PlannedChange], zones: Mapping[str, Collection[str]]) -> Iterator[PlanFinding]:
    """`zones`: service -> availability zones; services that are not there could not be asked."""
    for change in changes:
        if change.after is None or not is_chosen(change):
            continue
        facts = FACTS[change.after.type]
        wanted = change.after.values.get(facts.zone) if facts.zone else None
        if not isinstance(wanted, str) or not wanted or facts.zone_of not in zones:
            continue
        zone = wanted.partition(':')[0]             # ZONE:HOST:NODE is allowed for some
        if zone not in zones[facts.zone_of]:
            known = first_few(sorted(zones[facts.zone_of]), MOST_NAMED)
            yield of_change(FindingLevel.ERROR, change, facts.zone, f'There is no availability zone {zone} of the '
                            f'{facts.zone_of} service; there is {known}.')


def volumes_grow(changes: Iterable[PlannedChange]) -> Iterator[PlanFinding]:
    """Check that no volume is made smaller."""
    for change in changes:
        if change.action is not PlanAction.UPDATE or change.before is None or change.after is None:
            continue
        name = FACTS[change.after.type].size
        old, new = (each.values.get(name) for each in (change.before, change.after))
        if name and isinstance(old, int) and isinstance(new, int) and new < old:
            yield of_change(FindingLevel.ERROR, change, name, f'A volume cannot be made smaller: it has {old} GiB.')


def deletes_blocked(changes: Iterable[PlannedChange], holds: Iterable[Hold]) -> Iterator[PlanFinding]:
    """Check that what is deleted is not in use outside the stack."""
    by_id: dict[str, list[str]] = {}
    for hold in holds:
        by_id.setdefault(hold.object_id, []).append(hold.text)
    for change in changes:
        found = by_id.get(change.physical_id or '')
        if found and is_deleted(change):
            more = f' and {len(found) - 1} more' if len(found) > 1 else ''
            yield PlanFinding(FindingLevel.ERROR,
                              f'It is in use outside the stack, by {found[0]}{more}, and cannot be deleted.',
                              change.path)


def is_chosen(change: PlannedChange) -> bool:
    """Whether the plan makes an object, or changes what counts of it."""
    return change.action in MADE or (change.action is PlanAction.UPDATE and change.before != change.after)


def is_deleted(change: PlannedChange) -> bool:
    """Whether the present object of the resource is deleted."""
    return change.action in (PlanAction.DELETE, PlanAction.REPLACE) and change.physical_id is not None


@dataclass(frozen=True)
class Checked:
    """What the checks of a plan have found. `cost`: of `prices.cost`, None without prices."""

    findings: Sequence[PlanFinding]
    totals: Totals
    cost: Mapping[str, object] | None = None

    def to_json(self, mask: Callable[[object], object]) -> dict[str, object]:
        """Return the part of the plan's document: {findings, totals, cost}. `mask(value)`: hides secrets."""
        cost = self.cost and {**self.cost, 'without_price': mask(self.cost['without_price'])}
        return {'findings': mask([each.to_json() for each in self.findings]), 'totals': self.totals.to_json(),
                'cost': cost}
