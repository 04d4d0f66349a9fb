"""The bombs that are templates: a table of what a stack request may carry, each below the largest body.

A case is the stack part of a request: template, environment, files, parameters. `Case.expected` says what the service
may answer: it may refuse (4xx) or accept what it can carry, never fail (5xx) or fall silent.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VERSION = '2018-08-31'
TYPE = 'OS::Heat::Value'


@dataclass(frozen=True)
class Case:
    """`request()`: template, and what else belongs to the stack. `quick`: part of the selection for every run."""

    name: str
    request: Callable[[], dict[str, Any]]
    refused: bool = True            # each stage answers 4xx; False: it may accept, too
    quick: bool = False


def stack(resources: Any = None, outputs: Any = None, **sections: Any) -> dict[str, Any]:
    """A request with a template of these sections."""
    template = {'heat_template_version': VERSION, 'resources': resources or {}}
    if outputs:
        template['outputs'] = outputs
    return {'template': {**template, **sections}}


def compact(request: dict[str, Any]) -> dict[str, Any]:
    """The same with the template as text, without blanks: more fits into it."""
    return {**request, 'template': json.dumps(request['template'], separators=(',', ':'))}


def value(expression: Any, name: str = 'a') -> dict[str, Any]:
    return {name: {'type': TYPE, 'properties': {'value': expression}}}


def with_text(size: int, resources: Any, outputs: Any = None) -> dict[str, Any]:
    """A stack whose parameter `b` is a text of `size` characters; it comes beside the template."""
    return {**stack(resources, outputs, parameters={'b': {'type': 'string'}}), 'parameters': {'b': 'x' * size}}


B = {'get_param': 'b'}


# --- functions whose results are larger than the request ----------------------------------------------------

def join() -> dict[str, Any]:
    return with_text(400_000, value({'list_join': ['', [B] * 2000]}))


def join_in_output() -> dict[str, Any]:
    return with_text(400_000, value('v'), {'o': {'value': {'list_join': ['', [B] * 2000]}}})


def many_replaces() -> dict[str, Any]:
    one = {'str_replace': {'template': {'get_param': 'b'}, 'params': {'x': 'yyyyyyyyyy'}}}
    return with_text(200_000, value([one] * 600))


def replaces_in_outputs() -> dict[str, Any]:
    one = {'str_replace': {'template': B, 'params': {'x': 'yyyyyyyyyy'}}}
    return with_text(200_000, value('v'), {f'o{number}': {'value': one} for number in range(2000)})


def joins_in_joins() -> dict[str, Any]:
    expression: Any = B
    for _level in range(12):
        expression = {'list_join': ['', [expression] * 2]}
    return with_text(100_000, value(expression))


def repeat_cube() -> dict[str, Any]:
    many = [str(number) for number in range(1000)]
    return stack(value({'repeat': {'template': 'abc', 'for_each': {'a': many, 'b': many, 'c': many}}}))


def references() -> dict[str, Any]:
    return with_text(400_000, value([B] * 20_000))


def large_parameter_everywhere() -> dict[str, Any]:
    return with_text(400_000, {f'r{number}': value(B)['a'] for number in range(900)})


def files_repeated() -> dict[str, Any]:
    found = stack(value([{'get_file': 'f'}] * 5000))
    return {**found, 'files': {'f': 'x' * 400_000}}


def unique_maps() -> dict[str, Any]:
    return stack(value({'list_concat_unique': [{'get_param': 'j'}] * 2}), parameters={
        'j': {'type': 'json', 'default': [{'k': number} for number in range(20_000)]}})


def filtered() -> dict[str, Any]:
    many = [f'item {number}' for number in range(20_000)]
    return stack(value({'filter': [{'get_param': 'j'}, {'get_param': 'j'}]}), parameters={
        'j': {'type': 'json', 'default': many}})


def splits() -> dict[str, Any]:
    return with_text(400_000, value([{'str_split': ['x', B]}] * 2000))


def digests() -> dict[str, Any]:
    return with_text(400_000, value([{'digest': ['sha512', B]}] * 5000))


def merges() -> dict[str, Any]:
    table = {f'k{number}': number for number in range(2000)}
    return stack(value([{'map_merge': [{'get_param': 'j'}] * 50}] * 400), parameters={
        'j': {'type': 'json', 'default': table}})


def own_text_replaced() -> dict[str, Any]:
    return with_text(400_000, value([{'str_replace': {'template': B, 'params': {'never': 'x'}}}] * 3000))


def long_keys_replaced() -> dict[str, Any]:
    """Keys that begin at each character of the text, and differ from it at the end."""
    return with_text(400_000, value({'str_replace': {
        'template': B, 'params': {'x' * 2450 + 'b': 'y', 'x' * 2400 + 'c': 'y'}}}))


def growing_repeat() -> dict[str, Any]:
    """The first name makes a text of millions of characters, in which the others are looked for."""
    names = {f'aaaab{number}': ['z'] for number in range(2000)}
    return stack(value({'repeat': {'template': 'X' * 2000, 'for_each': {'X': ['a' * 1000], **names}}}))


def unique_lists_of_one_hash() -> dict[str, Any]:
    """Lists of -1 and -2, whose hashes are the same in Python."""
    many = [[-1 - (number >> bit & 1) for bit in range(12)] for number in range(4096)]
    return stack(value({'list_concat_unique': [{'get_param': 'j'}] * 2}), parameters={
        'j': {'type': 'json', 'default': many}})


# --- expressions that take long -----------------------------------------------------------------------------

def yaql(expression: str, data: Any = None) -> dict[str, Any]:
    return stack(value({'yaql': {'expression': expression, 'data': data or {}}}))


def yaql_in_output(expression: str) -> dict[str, Any]:
    return stack(value('v'), {'o': {'value': {'yaql': {'expression': expression, 'data': {}}}}})


def many_yaql() -> dict[str, Any]:
    one = {'yaql': {'expression': 'range(150).select($ * 2).sum()', 'data': {}}}
    return stack(value([one] * 3000))


def many_patterns() -> dict[str, Any]:
    one = {'yaql': {'expression': '("a"*2000) =~ "^a*a*a*a*b$"', 'data': {}}}
    return stack(value([one] * 500))


def pattern(expression: str, size: int = 30_000) -> dict[str, Any]:
    found = stack(value({'get_param': 'p'}), parameters={
        'p': {'type': 'string', 'constraints': [{'allowed_pattern': expression}]}})
    return {**found, 'parameters': {'p': 'a' * size + '!'}}


def many_pattern_parameters() -> dict[str, Any]:
    declared = {f'p{number}': {'type': 'string', 'default': 'a' * 2000 + '!',
                               'constraints': [{'allowed_pattern': '(a|aa)+$'}]} for number in range(200)}
    return stack(value('v'), parameters=declared)


def many_allowed_values() -> dict[str, Any]:
    found = stack(value({'get_param': 'p'}), parameters={
        'p': {'type': 'comma_delimited_list', 'constraints': [{'allowed_values': [f'v{n}' for n in range(5000)]}]}})
    return {**found, 'parameters': {'p': ','.join(['v4999'] * 10_000)}}


# --- documents that are hard to read ------------------------------------------------------------------------

def document(body: str) -> dict[str, Any]:
    return {'template': f'heat_template_version: {VERSION}\n{body}'}


def aliases() -> dict[str, Any]:
    lines = ['x0: &x0 [a, a, a, a, a, a, a, a, a, a]']
    lines += [f'x{level}: &x{level} [{", ".join([f"*x{level - 1}"] * 10)}]' for level in range(1, 9)]
    return document('parameters: {p: {type: json, default: {' + ', '.join(lines) + '}}}\n')


def merge_keys() -> dict[str, Any]:
    lines = ['x0: &x0 {' + ', '.join(f'k{number}: 1' for number in range(3000)) + '}']
    lines += [f'x{level}: &x{level} {{<<: [{", ".join([f"*x{level - 1}"] * 50)}]}}' for level in range(1, 40)]
    return document('parameters: {p: {type: json, default: {' + ', '.join(lines) + '}}}\n')


def deep() -> dict[str, Any]:
    return document('resources: ' + '[' * 100_000 + ']' * 100_000)


def deep_json() -> dict[str, Any]:
    return {'template': '{"heat_template_version": "2018-08-31", "resources": ' + '[' * 200_000 + ']' * 200_000 + '}'}


def aliases_to_a_long_key() -> dict[str, Any]:
    """58 kB that would be 100 MB with each alias written out."""
    return document('resources: {a: {type: OS::Heat::Value, properties: {value: [&k {' + 'k' * 50_000 + ': 1}'
                    + ', *k' * 2000 + ']}}}\n')


def integers_of_one_hash() -> dict[str, Any]:
    """Keys of a map; the hash of an integer is its remainder by this prime number."""
    prime = 2 ** 61 - 1
    return document('parameters: {p: {type: json, default: {' + ', '.join(
        f'{number * prime + 7}: 1' for number in range(15_000)) + '}}}\n')


def base_60() -> dict[str, Any]:
    return document('parameters: {p: {type: string, default: 1' + ':59' * 150_000 + '}}\n')


def base_60_float() -> dict[str, Any]:
    return document('parameters: {p: {type: string, default: 1' + ':59' * 150_000 + '.5}}\n')


def hexadecimal() -> dict[str, Any]:
    return document('parameters: {p: {type: number, default: 0x' + 'f' * 400_000 + '}}\n')


def digits() -> dict[str, Any]:
    return document('parameters: {p: {type: number, default: ' + '9' * 400_000 + '}}\n')


def digits_as_text() -> dict[str, Any]:
    found = stack(value({'get_param': 'p'}), parameters={'p': {'type': 'number'}})
    return {**found, 'parameters': {'p': '9' * 400_000}}


def dates() -> dict[str, Any]:
    return document('parameters: {p: {type: json, default: [' + ', '.join(['2018-08-31T12:00:00.5+01:00'] * 15_000)
                    + ']}}\n')


def not_a_number() -> dict[str, Any]:
    return document('resources: {a: {type: OS::Heat::Value, properties: {value: [.nan, .inf, -.inf]}}}\n')


def surrogates() -> dict[str, Any]:
    return stack(value('\ud800'))


# --- groups and trees ---------------------------------------------------------------------------------------

def group(count: Any) -> dict[str, Any]:
    return stack({'g': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': count, 'resource_def': {'type': 'OS::Heat::None'}}}})


def scaling_group(least: int, most: int) -> dict[str, Any]:
    return stack({'g': {'type': 'OS::Heat::AutoScalingGroup', 'properties': {
        'min_size': least, 'max_size': most, 'resource': {'type': 'OS::Heat::None'}}}})


def group_by_parameter() -> dict[str, Any]:
    found = group({'get_param': 'n'})
    found['template']['parameters'] = {'n': {'type': 'number'}}
    return {**found, 'parameters': {'n': 10 ** 9}}


def group_by_function() -> dict[str, Any]:
    return group({'yaql': {'expression': '1000 * 1000 * 1000', 'data': {}}})


def groups_in_groups() -> dict[str, Any]:
    inner = {'type': 'OS::Heat::None'}
    for _level in range(3):
        inner = {'type': 'OS::Heat::ResourceGroup', 'properties': {'count': 900, 'resource_def': inner}}
    return stack({'g': inner})


def many_groups() -> dict[str, Any]:
    one = group(1_000_000)['template']['resources']['g']
    return stack({f'g{number}': one for number in range(500)})


def group_in_batches() -> dict[str, Any]:
    found = group(10 ** 8)
    found['template']['resources']['g']['update_policy'] = {'batch_create': {'max_batch_size': 1, 'pause_time': 1}}
    return found


def chain() -> dict[str, Any]:
    return stack({'c': {'type': 'OS::Heat::ResourceChain', 'properties': {
        'resources': ['OS::Heat::None'] * 25_000}}})


def fan_out() -> dict[str, Any]:
    """Thirty nested stacks in each of thirty, four levels deep."""
    def level(child: str) -> str:
        return json.dumps({'heat_template_version': VERSION, 'resources': {
            f'r{number}': {'type': child} for number in range(30)}})
    files = {'file:///1.yaml': level('file:///2.yaml'), 'file:///2.yaml': level('file:///3.yaml'),
             'file:///3.yaml': level('OS::Heat::None')}
    return {**stack({f'r{number}': {'type': 'file:///1.yaml'} for number in range(30)}), 'files': files}


def inside_itself() -> dict[str, Any]:
    content = json.dumps(stack({'again': {'type': 'file:///a.yaml'}})['template'])
    return {**stack({'r': {'type': 'file:///a.yaml'}}), 'files': {'file:///a.yaml': content}}


def validated_tree() -> dict[str, Any]:
    """Five levels, each of thirty nested stacks: what `validate?show_nested` would show has 24 million resources."""
    files = {f'file:///{level}.yaml': json.dumps({'heat_template_version': VERSION, 'resources': {
        f'r{number}': {'type': f'file:///{level + 1}.yaml' if level < 5 else 'OS::Heat::None'}
        for number in range(30)}}) for level in range(1, 6)}
    return {**stack({'r': {'type': 'file:///1.yaml'}}), 'files': files}


# --- many small things --------------------------------------------------------------------------------------

def outputs() -> dict[str, Any]:
    return compact(stack(value('v'), {f'o{number}': {'value': {'get_attr': ['a', 'value']}}
                                      for number in range(10_000)}))


def calls() -> dict[str, Any]:
    return compact(stack(value([{'get_param': 'b'}] * 25_000), parameters={'b': {'type': 'string', 'default': 'v'}}))


def dependencies() -> dict[str, Any]:
    found = {}
    for number in range(900):
        found[f'r{number:03}'] = {'type': TYPE, 'properties': {'value': 'v'},
                                  'depends_on': [f'r{other:03}' for other in range(max(0, number - 40), number)]}
    return stack(found)


def circle() -> dict[str, Any]:
    return stack({f'r{number}': value({'get_attr': [f'r{(number + 1) % 900}', 'value']})['a'] for number in range(900)})


def line() -> dict[str, Any]:
    return stack({f'r{number}': {'type': TYPE, 'properties': {
        'value': {'get_attr': [f'r{number - 1}', 'value']} if number else 'v'}} for number in range(900)})


def conditions() -> dict[str, Any]:
    found: dict[str, Any] = {'c0': {'equals': ['a', 'a']}}
    for number in range(1, 5000):
        found[f'c{number}'] = {'and': [f'c{number - 1}', f'c{max(0, number - 2)}']}
    return stack({'a': {'type': TYPE, 'condition': 'c4999', 'properties': {'value': 'v'}}}, conditions=found)


def deep_functions() -> dict[str, Any]:
    expression = '{"list_join": ["", [' * 1500 + '"v"' + ']]}' * 1500
    return document('resources: {a: {type: OS::Heat::Value, properties: {value: ' + expression + '}}}\n')


def parameters() -> dict[str, Any]:
    return stack(value('v'), parameters={f'p{number}': {'type': 'string', 'default': 'v'} for number in range(11_000)})


def unknown_parameters() -> dict[str, Any]:
    found = stack(value('v'), parameters={f'parameter_with_a_name_{number}': {'type': 'string', 'default': ''}
                                          for number in range(5000)})
    return {**found, 'parameters': {f'paramter_with_a_name_{number}': 'v' for number in range(5000)}}


def wrong_names() -> dict[str, Any]:
    wrong = {f'resource_number_{number}': {'type': TYPE, 'properties': {
        'value': {'get_resource': f'resuorce_nubmer_{number}'}}} for number in range(900)}
    return stack(wrong)


def diagnostics() -> dict[str, Any]:
    return stack({f'r{number}': {'type': 'OS::Heat::RandomString', 'properties': {
        'length': 'many', 'lenght': 1, 'sequence': 'none of those', 'character_classes': [{'class': 'x', 'min': 'y'}]}}
        for number in range(900)})


def long_names() -> dict[str, Any]:
    return stack({'n' * 150_000: {'type': 'T' * 150_000, 'properties': {'P' * 150_000: 'v'}}})


def random_string() -> dict[str, Any]:
    return stack({'r': {'type': 'OS::Heat::RandomString', 'properties': {'length': 10 ** 9}}})


def environment() -> dict[str, Any]:
    found = stack(value('v'))
    registry = {f'My::Type{number}': 'OS::Heat::None' for number in range(10_000)}
    return {**found, 'environment': {'resource_registry': registry, 'parameter_defaults': {
        f'p{number}': 'v' for number in range(10_000)}}}


def environment_named_often() -> dict[str, Any]:
    content = json.dumps({'parameter_defaults': {f'p{number}': 'v' * 10 for number in range(1000)}})
    return {**stack(value('v')), 'files': {'file:///e.yaml': content}, 'environment_files': ['file:///e.yaml'] * 2000,
            'environment': {'parameter_merge_strategies': {'default': 'merge'}}}


def aliases_of_types() -> dict[str, Any]:
    registry = {f'My::T{number}': f'My::T{number + 1}' for number in range(5000)}
    return {**stack({'a': {'type': 'My::T0'}}), 'environment': {'resource_registry': registry}}


def base_60_environment() -> dict[str, Any]:
    return {**stack(value('v')), 'environment': 'parameters: {p: 1' + ':59' * 150_000 + '}'}


# --- what becomes known only while the stack is driven -------------------------------------------------------

LATE = {'get_attr': ['v', 'value']}


def late(known: Any, properties: dict[str, Any], kind: str, **request: Any) -> dict[str, Any]:
    """A resource with properties that use LATE, which is `known` to no check of the request."""
    found = stack({**value(known, 'v'), 'a': {'type': kind, 'properties': properties}})
    return {**found, **request}


def late_template(text: str) -> dict[str, Any]:
    return late('late.yaml', {'TemplateURL': LATE}, 'AWS::CloudFormation::Stack', files={'late.yaml': text})


def late_aliases() -> dict[str, Any]:
    lines = ['- &a0 [x]', *(f'- &a{level} [{",".join([f"*a{level - 1}"] * 9)}]' for level in range(1, 12))]
    head = f'heat_template_version: {VERSION}\nresources:\n  r:\n    type: {TYPE}\n    metadata:\n      m:\n'
    return late_template(head + ''.join(f'        {line}\n' for line in lines))


def late_brackets() -> dict[str, Any]:
    return late_template(f'heat_template_version: {VERSION}\nresources: {{r: {{type: {TYPE}, metadata: {{m: '
                         f'{"[" * 200_000}{"]" * 200_000}}}}}}}\n')


def late_minimums() -> dict[str, Any]:
    return late([{'sequence': 'ab', 'min': 512}] * 20_000, {'length': 8, 'character_sequences': LATE},
                'OS::Heat::RandomString')


def late_timeout() -> dict[str, Any]:
    return late(10 ** 11, {'TemplateURL': 'inner.yaml', 'TimeoutInMinutes': LATE}, 'AWS::CloudFormation::Stack',
                files={'inner.yaml': f'heat_template_version: {VERSION}\nresources: {{r: {{type: OS::Heat::None}}}}\n'})


def metadata_of_members() -> dict[str, Any]:
    member = {'type': TYPE, 'properties': {'value': 'v'}, 'metadata': {'m': B}}
    return with_text(400_000, {'g': {'type': 'OS::Heat::ResourceGroup', 'properties': {
        'count': 900, 'resource_def': member}}})


def written_texts() -> dict[str, Any]:
    """Control characters take the longest to write as YAML."""
    long = {'str_replace': {'template': {'get_param': 'b'}, 'params': {'x': '\x01\x02\x03\x04'}}}
    return with_text(400_000, {'c': {'type': 'OS::Heat::CloudConfig', 'properties': {
        'cloud_config': {'a': [long] * 4}}}})


ANY = {'refused': False}
CASES = (
    Case('join of a large text', join, quick=True),
    Case('join in an output', join_in_output, **ANY, quick=True),
    Case('600 replaces', many_replaces, quick=True),
    Case('2 000 outputs of a large text', replaces_in_outputs, **ANY, quick=True),
    Case('joins in joins', joins_in_joins, **ANY),
    Case('repeat of 10^9', repeat_cube, quick=True),
    Case('20 000 references to a large text', references, **ANY, quick=True),
    Case('a large parameter in 900 resources', large_parameter_everywhere, **ANY),
    Case('5 000 files', files_repeated, **ANY),
    Case('unique maps', unique_maps, **ANY, quick=True),
    Case('filter of 20 000', filtered, **ANY),
    Case('2 000 splits', splits, **ANY),
    Case('5 000 digests', digests, **ANY, quick=True),
    Case('merges', merges, **ANY),
    Case('3 000 replaces of nothing', own_text_replaced, **ANY),
    Case('long keys replaced', long_keys_replaced, **ANY, quick=True),
    Case('repeat of a text that grows', growing_repeat, quick=True),
    Case('unique lists of one hash', unique_lists_of_one_hash, **ANY),
    Case('YAQL power with a modulus', functools.partial(yaql, 'pow($.a, $.b, $.c)', {
        'a': 10 ** 4290, 'b': 10 ** 4291, 'c': 10 ** 4292 + 1}), **ANY),
    Case('YAQL escaped quotes', functools.partial(yaql, '"' + '\\"' * 4990), **ANY),
    Case('YAQL endless length', functools.partial(yaql, 'sequence().len()'), **ANY),
    Case('YAQL match', functools.partial(yaql, '("a"*5000) =~ "^a*a*a*a*a*a*b$"'), **ANY, quick=True),
    Case('YAQL search', functools.partial(yaql, 'regex("a*a*a*a*a*b").search("a"*9000)'), **ANY),
    Case('YAQL split', functools.partial(yaql, 'regex("(a|aa)+b").split("a"*9000)'), **ANY),
    Case('YAQL replace', functools.partial(yaql, 'regex("a*a*a*a*a*b").replace("a"*9000, "c")'), **ANY),
    Case('YAQL in an output', functools.partial(yaql_in_output, '("a"*5000) =~ "^a*a*a*a*a*a*b$"'), **ANY, quick=True),
    Case('YAQL loops', functools.partial(yaql, 'range(190).select(range(190).select(range(190).sum()).sum()).sum()'),
         **ANY),
    Case('YAQL powers', functools.partial(yaql, 'range(100).aggregate($1 * 1000000007, 7)'), **ANY),
    Case('YAQL texts', functools.partial(yaql, 'range(60).aggregate($1 + $1, "aaaa")'), **ANY),
    Case('3 000 YAQL loops', many_yaql, **ANY, quick=True),
    Case('500 YAQL patterns', many_patterns, **ANY),
    Case('pattern (a+)+', functools.partial(pattern, '^(a+)+$'), **ANY, quick=True),
    Case('pattern (a|aa)+', functools.partial(pattern, '^(a|aa)+$'), **ANY),
    Case('pattern a*a*a*', functools.partial(pattern, '^a*a*a*a*a*a*b$'), **ANY),
    Case('pattern (.*)*', functools.partial(pattern, '^(.*a){30}b$'), **ANY),
    Case('200 parameters with patterns', many_pattern_parameters, **ANY, quick=True),
    Case('5 000 allowed values', many_allowed_values, **ANY),
    Case('aliases', aliases, quick=True),
    Case('aliases to a long key', aliases_to_a_long_key, quick=True),
    Case('integers of one hash', integers_of_one_hash, **ANY),
    Case('merge keys', merge_keys, **ANY, quick=True),
    Case('deep YAML', deep, quick=True),
    Case('deep JSON', deep_json),
    Case('base 60', base_60, quick=True),
    Case('base 60 float', base_60_float, **ANY),
    Case('base 60 in the environment', base_60_environment, **ANY),
    Case('hexadecimal', hexadecimal, quick=True),
    Case('digits', digits),
    Case('digits as text', digits_as_text, **ANY),
    Case('dates', dates, **ANY),
    Case('not a number', not_a_number, **ANY),
    Case('surrogate', surrogates, **ANY, quick=True),
    Case('group of 10^9', functools.partial(group, 10 ** 9), quick=True),
    Case('group of 5 000', functools.partial(group, 5000)),
    Case('scaling group of 10^8', functools.partial(scaling_group, 10 ** 8, 10 ** 9), quick=True),
    Case('group by parameter', group_by_parameter, quick=True),
    Case('group by function', group_by_function, **ANY),
    Case('groups in groups', groups_in_groups, **ANY, quick=True),
    Case('500 groups of 10^6', many_groups),
    Case('group in batches', group_in_batches),
    Case('chain of 25 000', chain),
    Case('fan-out of 30^4', fan_out, **ANY),
    Case('a tree of 24 million', validated_tree),
    Case('a template inside itself', inside_itself),
    Case('10 000 outputs', outputs, **ANY, quick=True),
    Case('25 000 calls', calls, **ANY),
    Case('900 x 40 dependencies', dependencies, **ANY, quick=True),
    Case('a circle of 900', circle),
    Case('a chain of 900 values', line, **ANY),
    Case('5 000 conditions', conditions, **ANY, quick=True),
    Case('1 500 functions in each other', deep_functions, **ANY),
    Case('11 000 parameters', parameters, **ANY),
    Case('5 000 unknown parameters', unknown_parameters, **ANY),
    Case('900 wrong names', wrong_names, quick=True),
    Case('4 500 complaints', diagnostics, quick=True),
    Case('long names', long_names),
    Case('random string of 10^9', random_string, **ANY),
    Case('large environment', environment, **ANY),
    Case('an environment file named 2 000 times', environment_named_often),
    Case('5 000 aliases of types', aliases_of_types, **ANY),
    Case('aliases in a template named late', late_aliases, **ANY, quick=True),
    Case('brackets in a template named late', late_brackets, **ANY, quick=True),
    Case('minimums that come late', late_minimums, **ANY, quick=True),
    Case('a timeout beyond all dates', late_timeout, **ANY, quick=True),
    Case('metadata of 900 members', metadata_of_members, **ANY, quick=True),
    Case('texts that are written as YAML', written_texts, **ANY, quick=True),
)
