"""What of a plan has a price at the rating service (CloudKitty), which rates descriptions of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heatlite.planning.costs.consumption import Consumed, Flavors, Meter, before_and_after
from heatlite.planning.plan import PlannedChange

MOST_RATED = 2000                       # objects in one request; a plan with more has no cost
SERVER, VOLUME, ADDRESS = 'instance', 'volume.size', 'ip.floating'


class TooMany(ValueError):
    """There are more than MOST_RATED objects to rate."""


@dataclass(frozen=True)
class Rated:
    """One object as the service rates it: `service` and the keys of `metadata` as its usual metrics name them;
    `volume`: servers, GiB or addresses."""

    service: str
    volume: int
    metadata: tuple[tuple[str, object], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return it with its metadata as former releases of the service take them, and as present ones do."""
        found = dict(self.metadata)
        return {'service': self.service, 'desc': {**found, 'metadata': found}, 'volume': self.volume}


@dataclass(frozen=True)
class Quoted:
    """What is rated of a plan, before and after."""

    before: list[Rated]
    after: list[Rated]


def quoted(changes: Iterable[PlannedChange], flavors: Flavors) -> Quoted:
    """Return what the rating service has to rate. Raises TooMany."""
    found = Quoted([], [])
    for _change, old, new in before_and_after(changes, flavors):
        found.before.extend(_rated(old))
        found.after.extend(_rated(new))
        if max(len(found.before), len(found.after)) > MOST_RATED:
            raise TooMany
    return found


def _rated(what: Consumed) -> Iterator[Rated]:
    if what.flavor is not None:
        yield Rated(SERVER, 1, (('flavor_name', what.flavor.name), ('flavor_id', what.flavor.id),
                                ('vcpus', what.flavor.vcpus)))
    for kind, size in what.volumes:
        yield Rated(VOLUME, size, (('volume_type', kind),) if kind is not None else ())
    for _each in range(what.amounts.get(Meter.FLOATING_ADDRESSES, 0)):
        yield Rated(ADDRESS, 1)
