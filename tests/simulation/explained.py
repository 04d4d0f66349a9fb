"""Faults planted in stacks of many types: the explanation has to name the right resource, file and line.

    python -m tests.simulation.explained [FIRST [COUNT]]         the score; tests use the odd numbers
"""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from heatlite.api.handlers import explain
from heatlite.common import exception
from heatlite.db import stacks
from heatlite.engine.types import registry
from heatlite.testing.clouds import Simulated, simulated
from heatlite.testing.examples import Example
from tests.plugins.own_types import own_types
from tests.simulation.openstack import Stack, stack

# What a service answers when the object is to be made, or what becomes of the object.
FAULTS: tuple[Mapping[str, Any], ...] = (
    {'kind': 'error', 'status': 400, 'text': 'it makes no sense'}, {'kind': 'error', 'status': 403, 'text': 'not you'},
    {'kind': 'error', 'status': 404, 'text': 'there is none'}, {'kind': 'quota'})
STATES: tuple[Mapping[str, Any], ...] = ({'kind': 'fail', 'text': 'No valid host was found'}, {'kind': 'stay'})
WITH_STATES = frozenset({'OS::Nova::Server', 'OS::Cinder::Volume', 'OS::Octavia::LoadBalancer', 'OS::Trove::Instance'})
PLACES = ('template', 'file', 'file in a file', 'group')
IT = 'it'
TIMEOUT = 5                             # minutes of a stack


@dataclass(frozen=True)
class Case:
    """A template with a fault. `path`: of the resource, '*' for any member; `line`: of its name in `file`."""

    type: str
    template: Mapping[str, Any]
    files: Mapping[str, str]
    environment: Mapping[str, Any]
    fault: Mapping[str, Any]
    path: tuple[str, ...]
    file: str | None
    line: int | None


def types() -> dict[str, Example]:
    """The types that are made under a name which the template gives, and so can be recognised in a request."""
    found = own_types()
    made = {name: found.example(name) for name, kind in found.types.items() if 'name' in kind.properties_schema}
    return {name: example[1] for name, example in sorted(made.items()) if example is not None}


def case(seed: int, examples: Mapping[str, Example], parameters: Mapping[str, str]) -> Case:
    rng = random.Random(f'explained {seed}')
    kind = rng.choice([*examples, *sorted(WITH_STATES & set(examples)) * 5])
    example, mark = examples[kind], f'planted-{seed}'
    fault = {'method': '*', 'body': mark, 'count': 0,
             **rng.choice(STATES if kind in WITH_STATES and rng.random() < 0.7 else FAULTS)}
    resources = {**example.needs, IT: {'type': kind, 'properties': {**example.properties, 'name': mark}},
                 **{f'calm{number}': {'type': 'OS::Heat::RandomString'} for number in range(rng.randrange(4))},
                 'after': {'type': 'OS::Heat::RandomString', 'depends_on': IT}}
    names = list(resources)
    rng.shuffle(names)
    inner = document({name: resources[name] for name in names}, parameters)
    place = rng.choice(PLACES)
    path: tuple[str, ...]
    text = yaml.safe_dump(inner, sort_keys=False)
    line = text.splitlines().index(f'  {IT}:') + 1
    calm = {'calm': {'type': 'OS::Heat::RandomString'}}
    match place:
        case 'file':
            outer, files, path = document({**calm, 'part': {'type': 'part.yaml'}}), {'part.yaml': text}, ('part', IT)
        case 'file in a file':
            middle = yaml.safe_dump(document({'whole': {'type': 'part.yaml'}, **calm}))
            outer, path = document({'top': {'type': 'middle.yaml'}}), ('top', 'whole', IT)
            files = {'part.yaml': text, 'middle.yaml': middle}
        case 'group':
            group = {'type': 'OS::Heat::ResourceGroup', 'properties': {
                'count': 1, 'resource_def': {'type': 'part.yaml'}}}
            outer, files, path = document({'group': group, **calm}), {'part.yaml': text}, ('group', '*', IT)
        case _:
            return Case(kind, inner, {}, example.environment, fault, (IT,), None, None)
    return Case(kind, outer, files, example.environment, fault, path, 'part.yaml', line)


def document(resources: Mapping[str, Any], parameters: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {'heat_template_version': '2021-04-16', 'resources': dict(resources), **({} if not parameters else {
        'parameters': {name: {'type': 'string', 'default': value} for name, value in parameters.items()}})}


def wrong(it: Stack, wanted: Case) -> str | None:
    """What is wrong with the explanation; '' for nothing. None if the template was refused at once, or the stack was
    made in spite of the fault."""
    it.fault(**wanted.fault)
    try:
        it.id = it.cluster.create('s', dict(wanted.template), dict(wanted.environment), files=dict(wanted.files),
                                  timeout_mins=TIMEOUT)
    except exception.HeatException:
        return None
    if it.cluster.settle(it.id).status == 'COMPLETE':
        return None
    with it.cluster.database.reader() as tx:
        row = stacks.get(tx, it.id, deleted=True)
        assert row is not None
        found = explain.explained(tx, row, 3600)
    if not found['causes']:
        return f'no cause: {found["status_reason"]}'
    cause = found['causes'][0]
    path, place = tuple(cause['path']), cause['place']
    if len(path) != len(wanted.path) or any(one not in ('*', two) for one, two in zip(wanted.path, path, strict=True)):
        return f'{path} instead of {wanted.path}: {cause["reason"]}'
    if (place['file'], place['line']) != (wanted.file, wanted.line):
        return f'{place} instead of line {wanted.line} of {wanted.file}: {cause["reason"]}'
    if [each[-1] for each in found['not_started'] if each[:-1] == list(path[:-1])] != ['after']:
        return f'not started: {found["not_started"]}'
    return ''


def judged(cloud: Simulated, seeds: Iterator[int]) -> Iterator[tuple[int, str, str]]:
    """(seed, type, what is wrong) of each fault that made its stack fail."""
    registry.create()
    examples = types()
    for seed in seeds:
        wanted = case(seed, examples, cloud.parameters)
        with stack(cloud, engines=1) as it:
            found = wrong(it, wanted)
        if found is not None:
            yield seed, wanted.type, found


def main(arguments: list[str]) -> int:
    first = int(arguments[0]) if arguments else 0
    count = int(arguments[1]) if len(arguments) > 1 else 200
    logging.disable(logging.ERROR)
    began, tried, right, kinds = time.monotonic(), 0, 0, set()
    with simulated() as cloud:
        for seed, kind, found in judged(cloud, iter(range(first, first + count))):
            tried, right = tried + 1, right + (not found)
            kinds.add(kind)
            if found:
                print(f'{seed} ({kind}): {found}', flush=True)
    print(f'{count} faults, {tried} stacks of {len(kinds)} types failed of them, {right} explained with resource and '
          f'line ({100 * right / max(tried, 1):.1f} %) in {time.monotonic() - began:.0f} s')
    return int(right < 0.95 * tried)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
