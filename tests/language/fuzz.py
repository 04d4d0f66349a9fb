"""Broken templates by the thousand: `python -m tests.language.fuzz FIRST COUNT`; a failure names its seed.

Each seed takes a template of the carried cases, breaks it a few times (values swapped, doubled, deleted, put one level
down, other functions, other kinds; then the text itself) and asks for everything the service would: parse, build,
check, read every property and output. Only errors that clients understand may come of it, in bounded memory and time.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import functools
import random
import resource
from pathlib import Path
from typing import Any

import yaml

from heatlite.common import exception
from heatlite.engine.resources import packed_types
from heatlite.language import advice, expression, lint, versions
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import template as templates
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.document import DocumentError
from heatlite.language.outputs import OutputDefinition
from tests.language.dry_run import MEMBERS, SIMPLE, Failed, Stack

CASES = Path(__file__).parent / 'template-cases.yaml'
UNDERSTOOD = (exception.HeatException, DocumentError)
HUNG = 120                                          # seconds; then the process ends with a trace of where it is
DEEP, MOST = 300, 20_000                            # of what is broken further
MEMORY = 4 * 2 ** 30                                # bytes of addresses the command may have
SCALARS = (None, True, False, 0, -1, 10 ** 30, 1.5, float('inf'), float('nan'), '', ' ', 'é\u2028', '%(a)s', '{{',
           'a' * 5000, '(a+)+$', '2018-08-31', '$.x', '../../etc/passwd', '${a}', 'OS::stack_id', 'AWS::Region')
PIECES = ('\t', '\x00', '\ud800', '{', '}', '[', ']', ': ', '- ', '&a ', '*a', '!!python/object:os.system ', '? ',
          '"', "'", '|', '>', '#', '\n', '<<: ', '%YAML 9.9\n', '---\n', '\x85', '0x', '1e999', '~')


@functools.cache
def sources() -> list[Any]:
    """(template, sections of the environment, files) of the carried cases that are a template."""
    found = []
    for case in yaml.load(CASES.read_text(), Loader=yaml.CSafeLoader):
        document = case.get('template')
        try:
            document = yaml.load(document, Loader=yaml.CSafeLoader) if isinstance(document, str) else document
        except yaml.YAMLError:
            continue
        try:
            environment = environments.parse(case.get('env'), case.get('params'))
        except UNDERSTOOD:
            continue
        if isinstance(document, dict):
            found.append((document, environment, case.get('files') or {}))
    return found


@functools.cache
def names() -> list[str]:
    return sorted({function.name for function in versions.FUNCTIONS + versions.CONDITION_FUNCTIONS})


def places(value: Any) -> list[tuple[Any, ...]]:
    """The ways to what is inside; to no more, and no deeper, than a writer can write."""
    found: list[tuple[Any, ...]] = []
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while waiting and len(found) < MOST:
        way, here = waiting.pop()
        children = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        for key, item in children:
            if len(way) < DEEP:
                found.append((*way, key))
                waiting.append(((*way, key), item))
    return found


def at(value: Any, way: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda found, key: found[key], way, value)


def broken(rng: random.Random, document: Any) -> Any:
    """The document with one thing changed."""
    ways = places(document)
    if not ways:
        return rng.choice(SCALARS)
    *above, key = way = rng.choice(ways)
    parent, old = at(document, tuple(above)), at(document, way)
    kind = rng.randrange(8)
    if kind == 0:
        parent[key] = rng.choice(SCALARS)
    elif kind == 1:
        parent[key] = copy.deepcopy(at(document, rng.choice(ways)))
    elif kind == 2:
        del parent[key]
    elif kind == 3:
        parent[key] = {rng.choice(names()): old}
    elif kind == 4:
        parent[key] = [old] * rng.choice((0, 1, 2, 50))
    elif kind == 5 and isinstance(parent, dict):
        parent[rng.choice([*names(), *(way[-1] for way in ways), *SCALARS])] = parent.pop(key)
    elif kind == 6:
        for _level in range(rng.choice((3, 30, 300))):
            old = {rng.choice(names()): old} if rng.random() < 0.5 else [old]
        parent[key] = old
    else:
        parent[key] = str(old)
    return document


def text_of(rng: random.Random, document: Any) -> str:
    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, allow_unicode=True)
    for _time in range(rng.choice((0, 0, 0, 1, 3))):
        here = rng.randrange(len(text) + 1)
        text = text[:here] + rng.choice(PIECES) + text[here + rng.choice((0, 0, 1, 20)):]
    return text


def attempt(seed: int) -> str:
    """How far the template of this seed comes. Raises what nobody should see."""
    rng = random.Random(seed)
    document, environment, files = copy.deepcopy(rng.choice(sources()))
    for _time in range(rng.choice((1, 1, 2, 5))):
        if any(environment.values()) and rng.random() < 0.2:
            environment = broken(rng, environment)
        else:
            document = broken(rng, document)
    try:
        text, sections = text_of(rng, document), text_of(rng, environment)
    except (RecursionError, yaml.YAMLError):
        return 'not written'                        # the writer of the library has bounds of its own
    try:
        template = templates.load(text)
        definition = definitions.build(
            template, environments.Environment(environments.parse(sections), packed_types.operator_registry()), files,
            StackIdentity('s', '6a5d5c52-0c1e-4b3e-8f3b-0d4f1c6f3b11', 'project'))
        if lint.check(definition, packed_types.PackedTypes()):
            return 'refused'
        advice.advise(definition)
        scope = Stack(definition) if is_simple(definition) else expression.PLACEHOLDERS
    except UNDERSTOOD:
        return 'refused'
    except Failed:
        return 'not created'
    read_well = [read(output, scope) for output in definition.outputs.values()]     # all of them, also after a failure
    return 'fine' if all(read_well) else 'fine but for outputs'


def is_simple(definition: StackDefinition) -> bool:
    return all(each.type in (*SIMPLE, *MEMBERS) for each in definition.resources.values())


def read(output: OutputDefinition, scope: Any) -> bool:
    try:
        output.resolve(scope)
    except (MemoryError, RecursionError):
        raise
    except Exception:                               # functions, YAQL above all, may raise anything; outputs carry it
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(prog='python -m tests.language.fuzz', description=__doc__)
    parser.add_argument('first', type=int)
    parser.add_argument('count', type=int)
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    ends: dict[str, int] = {}
    failed = 0
    for seed in range(chosen.first, chosen.first + chosen.count):
        faulthandler.dump_traceback_later(HUNG, exit=True)
        try:
            end = attempt(seed)
        except Exception as error:
            failed += 1
            print(f'seed {seed}: {type(error).__name__}: {str(error)[:300]}')
            continue
        ends[end] = ends.get(end, 0) + 1
    faulthandler.cancel_dump_traceback_later()
    print(', '.join(f'{count} {end}' for end, count in sorted(ends.items())))
    print(f'peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB')
    print(f'{chosen.count - failed} passed, {failed} failed')
    raise SystemExit(bool(failed))


if __name__ == '__main__':
    main()
