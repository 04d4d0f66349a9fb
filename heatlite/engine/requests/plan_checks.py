"""Checks plans: reads quotas, sizes, zones and what is in use, as far as a plan depends on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import TypeVar

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.common.i18n import _
from heatlite.common.runtime import Runtime
from heatlite.engine import clients
from heatlite.engine.clients import inventory
from heatlite.engine.requests import questions
from heatlite.engine.requests.questions import Question
from heatlite.planning import checks, findings
from heatlite.planning.checks import Checked, Hold, Image, Limit
from heatlite.planning.costs import consumption, prices, quotes
from heatlite.planning.costs.consumption import COMPUTE, FACTS, SERVICE_OF, Flavor, Flavors, Meter
from heatlite.planning.costs.prices import Prices
from heatlite.planning.findings import FindingLevel, PlanFinding
from heatlite.planning.plan import MeasuredResource, Plan

K = TypeVar('K')
T = TypeVar('T')

FREE = Decimal(0)
MOST_ASKED = 100                        # objects of one type, or images, about which one plan asks


class PlanReading:
    """What one plan reads of services: at most one question about each subject, whatever the number of resources."""

    def __init__(self, context: RequestContext, plan: Plan) -> None:
        self._clients = clients.of(context)
        self._plan = plan
        self.flavors = self._flavors()
        self.limits = [Question(_('quotas of the %s service') % service,
                                partial(inventory.limits, self._clients, service))
                       for service in self._limiting_services()]
        self.zones = {service: Question(_('availability zones of the %s service') % service,
                                        partial(inventory.zones, self._clients, service))
                      for service in sorted(self._zoned_services())}
        self.images = list(self._images())
        self.holds = list(self._holds())
        self.rates: list[Question[Decimal | None]] = []         # before and after: asked once the flavors are known

    @property
    def all(self) -> list[Question[object]]:
        return [*self.flavors, *self.limits, *self.zones.values(), *self.images, *self.holds, *self.rates]

    def _measured(self) -> Iterator[MeasuredResource]:
        """Yield each present and future object that counts."""
        for change in self._plan.changes:
            yield from (what for what in (change.before, change.after) if what is not None)

    def _chosen(self) -> Iterator[MeasuredResource]:
        """Yield the future objects that are made, or of which something that counts is changed."""
        for change in self._plan.changes:
            if change.after is not None and checks.is_chosen(change):
                yield change.after

    def _flavors(self) -> list[Question[dict[str, Flavor]]]:
        if any(FACTS[what.type].flavor for what in self._measured()):
            return [Question(_('flavors'), partial(inventory.flavors, self._clients))]
        return []

    def _limiting_services(self) -> list[str]:
        """Return the services of which the plan adds something that has a quota."""
        added = consumption.totals(self._plan.changes, {}).added
        found = {SERVICE_OF[meter] for meter in added if meter in SERVICE_OF}
        if any(FACTS[what.type].flavor for what in self._chosen()):
            found.add(COMPUTE)                  # the size of a flavor may differ, which is not known yet
        return sorted(found)

    def _zoned_services(self) -> set[str]:
        return {FACTS[what.type].zone_of for what in self._chosen()
                if FACTS[what.type].zone and what.values.get(FACTS[what.type].zone)}

    def _images(self) -> Iterator[Question[dict[str, Image]]]:
        wanted = {value for what in self._chosen() if FACTS[what.type].image
                  and isinstance(value := what.values.get(FACTS[what.type].image), str)}
        for by in ('id', 'name') if wanted else ():
            yield Question(_('images'), partial(inventory.images, self._clients, sorted(wanted)[:MOST_ASKED], by))

    def _holds(self) -> Iterator[Question[list[Hold]]]:
        own = {change.physical_id for change in self._plan.changes if change.physical_id is not None}
        deleted: dict[str, list[str]] = {}
        for change in self._plan.changes:
            if checks.is_deleted(change) and change.physical_id is not None:
                type_name = change.before.type if change.before is not None else change.type
                deleted.setdefault(type_name, []).append(change.physical_id)
        volumes = [each for type_name in inventory.VOLUME_TYPES for each in deleted.get(type_name, ())]
        if volumes:
            yield Question(_('volumes in use'), partial(
                inventory.volumes_in_use, self._clients, frozenset(volumes), own))
        for type_name in inventory.PORTS_OF.keys() & deleted.keys():
            yield Question(_('ports'), partial(
                inventory.ports_in_use, self._clients, type_name, deleted[type_name][:MOST_ASKED], own))


class PlanChecks:
    """Checks plans that are made or applied, in threads of requests; services are asked in those of `questions`."""

    def __init__(self, runtime: Runtime, seconds: float, load_prices: Callable[[], Prices | None],
                 rating: str | None = None) -> None:
        """`seconds`: in which services have to answer; 0: they are not asked. `load_prices()`: raises what is wrong
        with the operator's file. `rating`: the currency of the rating service; None: it is not asked."""
        self._runtime = runtime
        self._seconds = seconds
        self._rating = rating
        self._load_prices = load_prices
        self._prices = load_prices()

    def reload(self) -> None:
        """Read the prices again. Raises what is wrong with them; then the former ones hold."""
        self._prices = self._load_prices()

    def of(self, context: RequestContext, plan: Plan) -> Checked:
        """Return the findings, totals and costs of a plan. A service that does not answer makes a warning."""
        reading = PlanReading(context, plan)
        if self._seconds:
            questions.ask(self._runtime, context, reading.all, self._seconds)
        flavors: Flavors = _merged(reading.flavors)
        if self._seconds and self._rating is not None and self._prices is None:
            reading.rates = _rates(context, plan, flavors)
            questions.ask(self._runtime, context, reading.rates, self._seconds)     # even if another one hangs
        totals = consumption.totals(plan.changes, flavors)
        images, limits = _merged(reading.images), _merged(reading.limits)
        found = findings.bounded(self._findings(plan, reading, totals, flavors, images, limits))
        return Checked(found, totals, self._cost(plan, reading, flavors))

    def _cost(self, plan: Plan, reading: PlanReading, flavors: Flavors) -> dict[str, object] | None:
        if self._prices is not None:
            return prices.cost(plan.changes, flavors, self._prices)
        quoted = [each.answer(FREE) for each in reading.rates if not each.failure]
        if len(quoted) < 2 or None in quoted or not any(quoted):    # or the service has no price for any of it
            return None
        before, after = (each or FREE for each in quoted)
        return prices.shown(self._rating or '', before, after)

    def _findings(self, plan: Plan, reading: PlanReading, totals: consumption.Totals, flavors: Flavors,
                  images: Mapping[str, Image], limits: Mapping[Meter, Limit]) -> Iterator[PlanFinding]:
        zones: dict[str, Collection[str]] = {service: found for service, asked in reading.zones.items()
                                             if (found := asked.answer(None)) is not None}
        yield from checks.dry_run(plan)
        yield from checks.quotas(totals, limits)
        yield from checks.images_fit(plan.changes, flavors, images)
        yield from checks.volumes_grow(plan.changes)
        yield from checks.zones_exist(plan.changes, zones)
        yield from checks.deletes_blocked(plan.changes, [hold for each in reading.holds for hold in each.answer([])])
        yield from checks.uncertain(totals)
        failures = {each.what: each.failure for each in reading.all if each.failure}
        for what, why in failures.items():
            yield PlanFinding(FindingLevel.WARNING, _('Not checked: %(what)s; %(why)s.') % {'what': what, 'why': why})


def _rates(context: RequestContext, plan: Plan, flavors: Flavors) -> list[Question[Decimal | None]]:
    """Return the questions what the objects of a plan cost, before and after; none if it has nothing with a price."""
    try:
        rated = quotes.quoted(plan.changes, flavors)
    except quotes.TooMany:
        refused = exception.RequestLimitExceeded(
            message=_('there are more than %d objects with a price') % quotes.MOST_RATED)
        return [Question(_('costs'), partial(_raise, refused))]
    if not rated.before and not rated.after:
        return []
    return [Question(_('costs'), partial(_quote, context, each)) for each in (rated.before, rated.after)]


def _quote(context: RequestContext, rated: list[quotes.Rated]) -> Decimal | None:
    return inventory.quote(context, rated) if rated else FREE


def _raise(error: Exception) -> None:
    raise error


def _merged(asked: list[Question[dict[K, T]]]) -> dict[K, T]:
    """Return the answers as one map."""
    return {key: value for each in asked for key, value in each.answer({}).items()}
