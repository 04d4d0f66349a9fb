"""Runs a file of template cases against heatlite and tells which fail.

    tests/language/run_cases.py FILE [--only NAME]...

Prints each failing case with what was expected and what came, then the skipped and the quirk cases, and at the end
`N passed, N failed`. The format of the file: docs/spec/templates.rst, "Template cases".
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import pathlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import yaml

from heatlite.common import exception
from heatlite.engine.resources import packed_types
from heatlite.language import definition as definitions
from heatlite.language import describe, lint, merging, translation, versions
from heatlite.language import environment as environments
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language.constraints import (
    AllowedPattern,
    AllowedValues,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)
from heatlite.language.definition import StackDefinition, StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS
from heatlite.language.registry import Registry
from heatlite.language.schema import Reader, Schema
from tests.language import engine_driver

STACK = StackIdentity('tplcase', None, 'project0')
TYPES = packed_types.PackedTypes(only_pure_constraints=False)
OPERATOR = packed_types.operator_registry()


@dataclass(frozen=True)
class Verdict:
    case: Mapping[str, Any]
    passed: bool
    got: Any


# --- the operations -----------------------------------------------------------------------------------------------

def document_of(case: Mapping[str, Any]) -> dict[str, Any]:
    source = case.get('template')
    if source is None:
        raise exception.HTTPBadRequest('No template specified')
    if isinstance(source, str):
        try:
            return templates.parse(source)
        except ValueError as error:
            raise templates.not_in_valid_format(error) from None
    return json.loads(json.dumps(source))


def operator_of(case: Mapping[str, Any]) -> Registry:
    files = []
    for text in case.get('global_env') or ():
        with contextlib.suppress(environments.EnvironmentError_):
            files.append(environments.read(text).get('resource_registry') or {})
    return packed_types.operator_registry(files) if files else OPERATOR


def sections_of(case: Mapping[str, Any], template: templates.Template) -> dict[str, Any]:
    if case.get('environment_files'):
        return merging.merge_files(case['environment_files'], case.get('files') or {}, case.get('params') or {},
                                   kinds_of(case, template))
    return environments.parse(case.get('env'), case.get('params'))


def kinds_of(case: Mapping[str, Any], template: templates.Template) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for text in [*(case.get('files') or {}).values(), None]:
        if text is not None and 'heat_template_version' not in text:
            continue
        found = template if text is None else templates.load(text)
        section = parameter_definitions.schemata(found.section('parameters'), found.edition)
        kinds.update({name: schema.kind for name, schema in section.items()})
    return kinds


def definition_of(case: Mapping[str, Any]) -> StackDefinition:
    document = document_of(case)
    if not case.get('environment_files'):
        environments.parse(case.get('env'), case.get('params'))
    text = case['template'] if isinstance(case['template'], str) else None
    template = templates.from_mapping(document, text=text)
    environment = Environment(sections_of(case, template), operator_of(case))
    return definitions.build(template, environment, case.get('files') or {}, STACK)


def validated(case: Mapping[str, Any]) -> StackDefinition:
    definition = definition_of(case)
    lint.raise_first(lint.check(definition, TYPES))
    return definition


def run_parse(case: Mapping[str, Any]) -> dict[str, Any]:
    return {'result': document_of(case)}


def run_validate(case: Mapping[str, Any]) -> dict[str, Any]:
    validated(case)
    return {'result': 'valid'}


def run_resolve(case: Mapping[str, Any]) -> dict[str, Any]:
    definition = validated(case)
    values, errors = {}, {}
    for key, output in definition.outputs.items():
        value, error = output.evaluated(PLACEHOLDERS)
        if error is None:
            values[key] = value
        else:
            errors[key] = error
    found: dict[str, Any] = {'result': json.loads(json.dumps(values))}
    return {**found, 'output_errors': errors} if errors else found


def run_dependencies(case: Mapping[str, Any]) -> dict[str, Any]:
    definition = validated(case)
    requires = {name: sorted(resource.requires) for name, resource in definition.resources.items()}
    return {'result': requires, 'order_ok': True}


def run_properties(case: Mapping[str, Any]) -> dict[str, Any]:
    schemas = {name: schema_of(body) for name, body in case['schema'].items()}
    rules = [translation.TranslationRule(None, rule['rule'], rule['path'], value=rule.get('value'),
                                         value_name=rule.get('value_name'), value_path=rule.get('value_path'))
             for rule in case.get('translation') or ()]
    given = translation.apply(rules, case['properties'], ('Properties',))
    return {'result': Reader(lookup=TYPES.lookup).read(schemas, given, ('Properties',))}


def schema_of(body: Mapping[str, Any]) -> Schema:
    children = body.get('schema')
    if children is not None:
        children = (schema_of(children) if body['type'] == 'List'
                    else {name: schema_of(child) for name, child in children.items()})
    return Schema(body['type'], default=body.get('default'), schema=children, required=body.get('required', False),
                  constraints=[constraint_of(item) for item in body.get('constraints') or ()],
                  implemented=body.get('implemented', True), update_allowed=body.get('update_allowed', False),
                  immutable=body.get('immutable', False), allow_conversion=body.get('allow_conversion', False))


def constraint_of(item: Mapping[str, Any]) -> Any:
    text = item.get('description')
    match item:
        case {'range': body}:
            return Range(body.get('min'), body.get('max'), text)
        case {'length': body}:
            return Length(body.get('min'), body.get('max'), text)
        case {'modulo': body}:
            return Modulo(body.get('step'), body.get('offset'), text)
        case {'allowed_values': body}:
            return AllowedValues(body, text)
        case {'allowed_pattern': body}:
            return AllowedPattern(body, text)
    return CustomConstraint(item['custom_constraint'], text)


def run_env_parse(case: Mapping[str, Any]) -> dict[str, Any]:
    return {'result': environments.parse(case.get('env'), case.get('params'))}


def run_env_merge(case: Mapping[str, Any]) -> dict[str, Any]:
    return {'result': validated(case).environment.shown()}


def run_registry(case: Mapping[str, Any]) -> dict[str, Any]:
    sections = environments.parse(case.get('env'))
    found = {}
    for lookup in case['lookups'] or ['']:
        type_name, _at, resource_name = lookup.partition('@')
        environment = Environment(sections, operator_of(case))
        try:
            target = environment.registry.resolve(type_name, resource_name or None)
        except exception.HeatException as error:
            found[lookup] = f'error: {error}'
        else:
            found[lookup] = target if isinstance(target, str) else target.name
    return {'result': found}


def run_hooks(case: Mapping[str, Any]) -> dict[str, Any]:
    environment = Environment(environments.parse(case.get('env')), OPERATOR)
    found: dict[str, Any] = {}
    for lookup in case['lookups']:
        name, at, hook = lookup.partition('@')
        found[lookup] = environment.hooks(name, hook) if at else environment.restricted_actions(name)
    return {'result': found}


def run_functions(case: Mapping[str, Any]) -> dict[str, Any]:
    rows = versions.listed_functions(case['version'], case.get('with_conditions', False))
    return {'result': sorted(row['functions'] for row in rows)}


def run_template_validate(case: Mapping[str, Any]) -> dict[str, Any]:
    return {'result': describe.validation_answer(definition_of(case), TYPES,
                                                 show_nested=case.get('show_nested', False))}


OPERATIONS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    'parse': run_parse, 'validate': run_validate, 'resolve': run_resolve, 'dependencies': run_dependencies,
    'properties': run_properties, 'env_parse': run_env_parse, 'env_merge': run_env_merge,
    'registry': run_registry, 'hooks': run_hooks, 'generate': engine_driver.generate, 'functions': run_functions,
    'template_validate': run_template_validate, 'create': engine_driver.create, 'update': engine_driver.update}


# --- comparing ----------------------------------------------------------------------------------------------------

UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')
ID = re.compile(r'(?<=-)[a-z0-9]{12}(?![a-z0-9])')


def run(case: Mapping[str, Any]) -> Verdict:
    try:
        got = OPERATIONS[case['op']](case)
    except exception.HeatException as error:
        got = {'error': {'type': type(error).__name__, 'status': error.http_code, 'message': str(error)}}
    except ValueError as error:
        got = {'error': {'type': type(error).__name__, 'status': 400, 'message': str(error)}}
    return Verdict(case, agrees(case, got), got)


def agrees(case: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    expect = case['expect']
    if 'error' in expect:
        if 'error' not in got:
            return 'quirk' in case
        error, mine = expect['error'], got['error']
        if 'quirk' in case:
            return bool(mine['message']) and mine['status'] < 500
        return (error['type'] == mine['type'] and error['status'] == mine['status']
                and single(error['message_contains']) in single(mine['message']))
    if 'error' in got:
        return False
    if 'quirk' in case:
        return True
    return (all(same(expect[key], got.get(key), key, case) for key in expect)
            and ('output_errors' in expect or 'output_errors' not in got))


def same(expected: Any, found: Any, key: str, case: Mapping[str, Any]) -> bool:
    if key == 'output_errors':
        return (isinstance(found, Mapping) and set(expected) == set(found)
                and all(single(expected[name]) in single(found[name]) for name in expected))
    if key == 'reason':
        return single(expected) in single(found or '')
    if case.get('without') == 'descriptions':
        expected, found = without_descriptions(expected), without_descriptions(found)
    return equal(expected, masked(found))


def equal(expected: Any, found: Any) -> bool:
    """Equality that tells 1 from true and 1.0, and takes any order of map keys."""
    if isinstance(expected, dict):
        return (isinstance(found, dict) and expected.keys() == found.keys()
                and all(equal(expected[key], found[key]) for key in expected))
    if isinstance(expected, list):
        return (isinstance(found, list) and len(expected) == len(found)
                and all(equal(left, right) for left, right in zip(expected, found, strict=True)))
    if isinstance(expected, float) and expected != expected:
        return isinstance(found, float) and found != found
    return type(expected) is type(found) and expected == found


def masked(value: Any) -> Any:
    if isinstance(value, str):
        return ID.sub('<ID>', UUID.sub('<UUID>', value))
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    return value


def without_descriptions(value: Any, inside: bool = False) -> Any:
    """Without the description texts of parameters and outputs."""
    if not isinstance(value, dict):
        return value
    return {key: ({name: {word: item for word, item in body.items() if word.lower() != 'description'}
                   for name, body in part.items()} if key.lower() in ('parameters', 'outputs') else part)
            for key, part in value.items()}


OURS = (                            # what Heat writes, and what heatlite writes instead
    (re.compile(': :'), ':'),
    (re.compile(r"could not convert string to float: ('[^']*')"), r'\1 is not a number'),
    (re.compile(r"int\(\) argument must be a string, a bytes-like object or a real number, not '(\w+)'"),
     r'expected a number, found a \1'))


def single(text: str) -> str:
    """A message without the differences between Heat's words and ours."""
    for pattern, replacement in OURS:
        text = pattern.sub(replacement, text)
    return text.rstrip()


@functools.cache
def load(path: str) -> list[dict[str, Any]]:
    """The cases of a file: read once for all modules that execute them."""
    with open(path, encoding='utf-8') as file:
        return yaml.load(file, Loader=yaml.CSafeLoader)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('file')
    parser.add_argument('--only', action='append', metavar='NAME', help='run only this case (may be repeated)')
    options = parser.parse_args()
    cases = [case for case in load(options.file) if not options.only or case['name'] in options.only]
    skipped = [case for case in cases if case['op'] in engine_driver.OPERATIONS and not engine_driver.READY]
    verdicts = [run(case) for case in cases if case not in skipped]
    plain = [verdict for verdict in verdicts if 'quirk' not in verdict.case]
    quirks = [verdict for verdict in verdicts if 'quirk' in verdict.case]
    for verdict in verdicts:
        if not verdict.passed or options.only:
            report(verdict)
    if skipped:
        print(f'{len(skipped)} skipped: operations create and update need the engine')
    print(f'quirk cases: {sum(v.passed for v in quirks)} passed, {sum(not v.passed for v in quirks)} failed')
    failed = [verdict for verdict in plain if not verdict.passed]
    print(f'{len(plain) - len(failed)} passed, {len(failed)} failed')
    return 1 if failed or any(not verdict.passed for verdict in quirks) else 0


def report(verdict: Verdict) -> None:
    word = 'ok' if verdict.passed else 'FAILED'
    quirk = ' (quirk)' if 'quirk' in verdict.case else ''
    print(f'{word} {verdict.case["name"]} [{verdict.case["op"]}]{quirk}')
    print('  expected:', json.dumps(verdict.case['expect']))
    print('  got:     ', json.dumps(verdict.got, default=repr))


if __name__ == '__main__':
    sys.exit(main())
