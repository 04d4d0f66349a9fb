"""What a plan costs, by the operator's prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from heatlite.planning.costs.consumption import Consumed, Flavors, Meter, before_and_after
from heatlite.planning.plan import PlannedChange

DEFAULT = 'default'                     # the price of flavors or volume types without one of their own
MOST_UNPRICED = 20                      # that a plan names
SECTIONS = ('currency', 'flavors', 'volume_types', 'each')


@dataclass(frozen=True)
class Prices:
    """Prices per hour. `flavors`: by name, of a server; `volume_types`: by name, of a GiB; `each`: of one of a
    meter."""

    currency: str
    flavors: Mapping[str, Decimal] = field(default_factory=dict)
    volume_types: Mapping[str, Decimal] = field(default_factory=dict)
    each: Mapping[Meter, Decimal] = field(default_factory=dict)


class WrongPrices(ValueError):
    """The text says what is wrong in the file."""


def parse(document: object) -> Prices:
    """Return the prices of a parsed file. Raises WrongPrices."""
    if not isinstance(document, Mapping) or not isinstance(document.get('currency'), str):
        raise WrongPrices('prices: expected a map with "currency"')
    unknown = [name for name in document if name not in SECTIONS]
    if unknown:
        raise WrongPrices(f'prices: {unknown[0]}: expected one of {", ".join(SECTIONS)}')
    meters = {str(meter): meter for meter in Meter}
    each = _table(document, 'each')
    wrong = [name for name in each if name not in meters]
    if wrong:
        raise WrongPrices(f'prices: each.{wrong[0]}: expected one of {", ".join(meters)}')
    return Prices(document['currency'], _table(document, 'flavors'), _table(document, 'volume_types'),
                  {meters[name]: price for name, price in each.items()})


def _table(document: Mapping[str, object], section: str) -> dict[str, Decimal]:
    found = document.get(section) or {}
    if not isinstance(found, Mapping):
        raise WrongPrices(f'prices: {section}: expected a map')
    table: dict[str, Decimal] = {}
    for name, value in found.items():
        try:
            price = Decimal(str(value))
        except InvalidOperation:
            raise WrongPrices(f'prices: {section}.{name}: {value!r} is no number') from None
        if isinstance(value, bool) or not price.is_finite() or price < 0:
            raise WrongPrices(f'prices: {section}.{name}: {value!r} is no price')
        table[str(name)] = price
    return table


def cost(changes: Iterable[PlannedChange], flavors: Flavors, prices: Prices) -> dict[str, object]:
    """Return the costs per hour before and after, as decimal texts, and what has no price.

    {currency, per_hour: {before, after}, without_price: [names of flavors and volume types, at most MOST_UNPRICED]}
    """
    before = after = Decimal(0)
    unpriced: Counter[str] = Counter()
    for _change, old, new in before_and_after(changes, flavors):
        before, after = before + _of(old, prices, unpriced), after + _of(new, prices, unpriced)
    return shown(prices.currency, before, after, sorted(unpriced)[:MOST_UNPRICED])


def shown(currency: str, before: Decimal, after: Decimal, unpriced: Sequence[str] = ()) -> dict[str, object]:
    """Return costs as a plan shows them."""
    return {'currency': currency, 'per_hour': {'before': _text(before), 'after': _text(after)},
            'without_price': list(unpriced)}


def _of(what: Consumed, prices: Prices, unpriced: Counter[str]) -> Decimal:
    total = sum((prices.each[meter] * amount for meter, amount in what.amounts.items() if meter in prices.each),
                Decimal(0))
    if what.flavor is not None:
        total += _priced(prices.flavors, what.flavor.name, f'flavor {what.flavor.name}', unpriced)
    for kind, size in what.volumes:
        total += size * _priced(prices.volume_types, kind or DEFAULT, f'volume type {kind or DEFAULT}', unpriced)
    return total


def _priced(table: Mapping[str, Decimal], name: str, shown: str, unpriced: Counter[str]) -> Decimal:
    """Return the price of a name; 0, noted in `unpriced`, if the table has prices but not this one."""
    found = table.get(name, table.get(DEFAULT))
    if found is None and table:
        unpriced[shown] += 1
    return found or Decimal(0)


def _text(amount: Decimal) -> str:
    """Return the shortest decimal text without an exponent."""
    text = f'{amount:f}'
    return text.rstrip('0').rstrip('.') if '.' in text else text
