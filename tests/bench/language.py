"""Text to plan without a service: what parsing, building, checking and ordering a template costs.

A flat template of Value resources of which each refers to the one before, in four sizes; and one value of a thousand
functions within each other. Medians of three runs, in seconds of this process's CPU.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from heatlite.common.limits import Limits
from heatlite.engine.resources import packed_types
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import expression, lint
from heatlite.language import template as templates
from heatlite.planning import graph

SIZES = (1000, 5000, 10_000, 20_000)
CALLS = 1000
RUNS = 3
LIMITS = Limits(max_size=100_000_000)
HEAD = 'heat_template_version: 2021-04-16\nresources:\n'


def flat(count: int) -> str:
    lines = [HEAD]
    for number in range(count):
        value = f'{{get_attr: [r{number - 1}, value]}}' if number else 'first'
        lines.append(f'  r{number}:\n    type: OS::Heat::Value\n    properties:\n      value: {value}\n')
    return ''.join(lines)


def nested(calls: int) -> str:
    value = '{list_join: ["", [a, ' * calls + 'b' + ']]}' * calls
    return f'{HEAD}  r0:\n    type: OS::Heat::Value\n    properties:\n      value: {value}\n'


def steps(text: str) -> Iterator[tuple[str, float]]:
    """(name, CPU seconds) of one run."""
    def timed(function: Callable[..., Any], *args: Any) -> Any:
        nonlocal took
        began = time.process_time()
        found = function(*args)
        took = time.process_time() - began
        return found

    took = 0.0
    template = timed(templates.load, text, 'flat.yaml', LIMITS)
    yield 'parse', took
    definition = timed(build, template)
    yield 'build', took
    diagnostics = timed(lint.check, definition, packed_types.PackedTypes())
    assert not diagnostics, diagnostics[0].error
    yield 'check', took
    order = timed(lambda: list(graph.order({name: each.requires for name, each in definition.resources.items()})))
    assert len(order) == len(definition.resources)
    yield 'order', took
    timed(lambda: [expression.evaluate(each.parsed.properties, expression.PLACEHOLDERS)
                   for each in definition.resources.values()])
    yield 'evaluate', took


def build(template: templates.Template) -> definitions.StackDefinition:
    return definitions.build(
        template, environments.Environment(None, packed_types.operator_registry()), {},
        definitions.StackIdentity('flat', None, 'project'), limits=LIMITS)


def measure(smaller: int = 1) -> list[dict[str, Any]]:
    """Medians of seconds per step of reading a template. `smaller`: divides the sizes."""
    sizes, calls, rows = [size // smaller for size in SIZES], CALLS // smaller, []
    for name, text in [*((str(size), flat(size)) for size in sizes), (f'{calls} calls', nested(calls))]:
        runs = [dict(steps(text)) for _run in range(RUNS)]
        medians = {step: statistics.median(run[step] for run in runs) for step in runs[0]}
        rows.append({'template': name, 'kib': len(text) // 1024, **medians, 'all': sum(medians.values())})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    names = list(rows[0])
    return '\n'.join([' '.join(f'{name:>10}' for name in names), *(
        ' '.join(f'{row[name]:>10.3f}' if isinstance(row[name], float) else f'{row[name]:>10}' for name in names)
        for row in rows)])
