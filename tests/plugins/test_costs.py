"""What the check of a resource costs: in proportion to its texts and lists, for each property of each built-in type.

No test measures time. Calls of functions are counted; work inside one call of a function in C is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heatlite.common import limits
from heatlite.engine.requests import offline_types
from heatlite.engine.resources import packed, packed_types
from heatlite.language import definition as definitions
from heatlite.language import lint
from heatlite.language import template as templates
from heatlite.language.environment import Environment
from tests import steps
from tests.plugins.rest import samples

OPERATOR = packed_types.operator_registry()
UNIT = 'f x,1/a:.'
FEW, LONG = 1_000, 400_000              # characters of a text
ITEMS, MANY = 50, 500                   # items of a list
Path = tuple[str, ...]                  # names of properties; '*' is an item of a list


def places(facts: Mapping[str, Any], kind: str, path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the properties of one kind, with those inside lists and maps."""
    for name, body in facts.items():
        if samples.hidden(body):
            continue
        if body['type'] == kind:
            yield (*path, name), body
        yield from places(body.get('schema') or {}, kind, (*path, name))


def put(facts: Mapping[str, Any], given: Any, path: Path, value: Any) -> Any:
    """Return the properties with a value at a path, and what else must be there to reach it."""
    if not path:
        return value
    name, *rest = path
    body = facts[name]
    inner = body.get('schema') or {}
    if name == '*':
        return [put(inner, samples.value('x', body), tuple(rest), value)]
    found = dict(given) if isinstance(given, Mapping) else {}
    if rest:
        below = found.get(name, samples.value(name, body))
        found[name] = put(inner, below, tuple(rest), value)
    else:
        found[name] = value
    return found


def check(type_name: str, properties: Mapping[str, Any]) -> list[str]:
    """Check a template with one such resource, without services. Return the errors."""
    template = templates.from_mapping({'heat_template_version': '2018-08-31', 'resources': {
        'r': {'type': type_name, 'properties': properties}}}, limits.USUAL.of_accepted)
    definition = definitions.build(template, Environment({}, OPERATOR), {}, definitions.StackIdentity('s', None, 'p'))
    return [str(found.error) for found in lint.check(definition, offline_types.OfflineTypes())]


def assert_linear(work: Any, small: int, large: int, what: object) -> None:
    work(small)                         # what is made once
    once = steps.calls(lambda: work(small))
    most = int(steps.SPARE * once * large / small) + 1000
    assert steps.calls(lambda: work(large), most) <= most, what


@pytest.mark.parametrize('type_name', sorted(packed.names()))
def test_a_long_text_costs_its_length(type_name, types):
    facts = packed.facts(type_name).get('properties', {})
    given = samples.required(type_name, packed.facts(type_name))
    for path, _body in places(facts, 'string'):
        assert_linear(lambda size, path=path: check(
            type_name, put(facts, given, path, UNIT * (size // len(UNIT)))), FEW, LONG, path)


@pytest.mark.parametrize('type_name', sorted(packed.names()))
def test_a_long_list_costs_its_items(type_name, types):
    facts = packed.facts(type_name).get('properties', {})
    given = samples.required(type_name, packed.facts(type_name))
    for path, body in places(facts, 'list'):
        item = samples.value('x', (body.get('schema') or {}).get('*') or {'type': 'string'})
        for items in (lambda size, item=item: [item] * size, lambda size: [f'x{number}' for number in range(size)]):
            assert_linear(lambda size, path=path, items=items: check(
                type_name, put(facts, given, path, items(size))), ITEMS, MANY, path)
