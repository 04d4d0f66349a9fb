"""Values for properties: another valid one than a property has, from its schema and constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from heatlite.engine.properties import Schema
from heatlite.language.constraints import AllowedValues, CustomConstraint, Length, Modulo, Range

TEXTS = ('another', 'one-more')
# Custom constraints that check a form only -> values of that form. The others name things of a service.
FORMS: Mapping[str, tuple[str, str]] = {
    'ip_addr': ('10.3.0.77', '10.3.0.78'), 'net_cidr': ('10.78.0.0/24', '10.79.0.0/24'),
    'ip_or_cidr': ('10.78.0.0/24', '10.79.0.0/24'), 'mac_addr': ('fa:16:3e:00:77:01', 'fa:16:3e:00:77:02'),
    'cron_expression': ('0 5 * * *', '0 6 * * *'), 'timezone': ('Europe/Berlin', 'UTC'),
    'json_string': ('{"a": 1}', '{"a": 2}'), 'dns_name': ('lamp.example', 'lantern.example'),
    'rel_dns_name': ('lamp', 'lantern'), 'dns_domain': ('lamp.example.', 'lantern.example.'),
    'expiration': ('2999-01-01T00:00:00', '2999-01-02T00:00:00'),
    'iso_8601': ('2999-01-01T00:00:00', '2999-01-02T00:00:00')}


Named = Mapping[str, Sequence[object]]
"""Custom constraint -> values that satisfy it where the types are tried."""
NONE_NAMED: Named = {}


class NoValue(Exception):
    """No other valid value can be made of the schema; the text says why."""


def value(name: str, schema: Schema, given: object, named: Named = NONE_NAMED) -> object:
    """Another valid value for the property `name`, which has the value `given` (None: its default).

    A reference to a resource is no value of this function: see `references`. Raises NoValue.
    """
    now = schema.default if given is None else given
    if isinstance(now, str) and schema.type in (Schema.LIST, Schema.MAP):
        now = None                          # wrong, or what an old type takes for one: another value replaces it
    for candidate in _candidates(name, schema, now, named):
        if candidate != now and str(candidate).lower() != str(now).lower() and _is_valid(schema, candidate):
            return candidate
    customs = [str(each.body()) for each in schema.constraints if isinstance(each, CustomConstraint)]
    raise NoValue(f'it must satisfy {", ".join(customs)}' if customs else 'its schema allows no other value')


def references(given: object) -> str | None:
    """Return the resource that a value refers to as a whole: {get_resource: NAME}."""
    match given:
        case {'get_resource': str(name)}:
            return name
    return None


def _candidates(name: str, schema: Schema, now: object, named: Named) -> Iterator[object]:
    for constraint in schema.constraints:
        if isinstance(constraint, AllowedValues):
            allowed = list(constraint.allowed)
            if schema.type == Schema.LIST:
                yield from ([each] for each in allowed)
                yield allowed
            else:
                yield from allowed
            return
    match schema.type:
        case Schema.BOOLEAN:
            yield str(now).lower() != 'true'
        case Schema.INTEGER | Schema.NUMBER:
            yield from _numbers(schema, now)
        case Schema.LIST:
            yield from _lists(name, schema, now, named)
        case Schema.MAP:
            yield from _maps(schema, now, named)
        case _:
            yield from _texts(name, schema, named)


def _numbers(schema: Schema, now: object) -> Iterator[object]:
    current = now if isinstance(now, int | float) else int(str(now)) if str(now).isdigit() else 0
    step = next((each.step for each in schema.constraints if isinstance(each, Modulo)), 1)
    yield current + step
    for each in schema.constraints:
        if isinstance(each, Range):
            yield from (bound for bound in (each.min, each.max) if bound is not None)
            if each.min is not None:
                yield each.min + step
    yield current - step


def _texts(name: str, schema: Schema, named: Named) -> Iterator[object]:
    for each in schema.constraints:
        if isinstance(each, CustomConstraint):
            found: Sequence[object] = named.get(each.body()) or FORMS.get(each.body()) or ()
            yield from found
            return
    for text in TEXTS:
        yield text
        for each in schema.constraints:
            if isinstance(each, Length) and each.min:
                yield (text * each.min)[:max(each.min, len(text))]
    if name.endswith(('url', 'uri')):
        yield 'http://another.example'


def _lists(name: str, schema: Schema, now: object, named: Named) -> Iterator[list[object]]:
    element = schema.schema
    if not isinstance(element, Schema):
        yield [TEXTS[0]]
        return
    first = now[0] if isinstance(now, list) and now else None
    try:
        yield [value(name, element, first, named)]
    except NoValue:
        if not now:
            raise
        yield []


def _maps(schema: Schema, now: object, named: Named) -> Iterator[dict[str, object]]:
    inner, before = schema.of_children, now if isinstance(now, Mapping) else {}
    if not inner:
        yield {**before, 'another': 'b'}
        return
    given = dict(before)
    for name, child in inner.items():
        if child.required and name not in given:
            given[name] = value(name, child, None, named)
    for name, child in inner.items():
        if references(given.get(name)) is None and not isinstance(given.get(name), dict | list):
            try:
                yield {**given, name: value(name, child, given.get(name), named)}
            except NoValue:
                continue


def _is_valid(schema: Schema, candidate: object) -> bool:
    try:
        schema.validate_constraints(schema.coerce(candidate), skipped=(CustomConstraint,))
    except (ValueError, TypeError):
        return False
    return True
