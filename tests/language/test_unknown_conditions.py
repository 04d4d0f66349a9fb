"""Conditions whose value is not known yet: one expression has one truth wherever it stands."""

import random

import pytest

from heatlite.language import definition, template
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS
from heatlite.language.unknown import UNKNOWN
from tests.language import run_cases

SEED, CASES = 20261129, 300
CHILD = '''
heat_template_version: 2018-08-31
parameters: {p: {type: string}}
conditions: {c: {equals: [{get_param: p}, a]}, n: {not: {equals: [{get_param: p}, a]}}}
resources:
  a: {type: OS::Heat::Value, condition: c, properties: {value: is a}}
  b: {type: OS::Heat::Value, condition: n, properties: {value: is not}}
  d: {type: OS::Heat::Value, condition: {or: [c, {equals: [1, 1]}]}, properties: {value: always}}
outputs: {x: {value: {if: [c, {get_attr: [a, value]}, {get_attr: [b, value]}]}}, y: {value: {get_attr: [d, value]}}}
'''


def built(conditions, assume_unknown, **sections):
    document = template.from_mapping({
        'heat_template_version': '2018-08-31', 'parameters': {'p': {'type': 'string'}}, 'conditions': conditions,
        **sections})
    made = definition.build(document, Environment({'parameters': {'p': UNKNOWN}}), {},
                            definition.StackIdentity('s', None, 'p'))
    made.assume_unknown = assume_unknown
    return made


def drawn(source, depth=0):
    """A random condition of atoms that are known, unknown, or named before."""
    kind = source.choice(('equals', 'contains', 'known', 'not', 'and', 'or') if depth < 4 else ('equals', 'known'))
    match kind:
        case 'equals':
            return {'equals': [{'get_param': 'p'}, source.choice('ab')]}
        case 'contains':
            return {'contains': [source.choice('ab'), {'get_param': 'p'}]}
        case 'known':
            return {'equals': [1, source.choice((1, 2))]}
        case 'not':
            return {'not': drawn(source, depth + 1)}
    return {kind: [drawn(source, depth + 1) for _each in range(source.randint(2, 3))]}


@pytest.mark.parametrize('assumed', [False, True])
def test_a_condition_or_its_negation_holds(assumed):
    source = random.Random(SEED)
    for _case in range(CASES):
        condition = drawn(source)
        made = built({'c': condition, 'by_name': {'not': 'c'}, 'inline': {'not': condition}}, assumed,
                     resources={'a': {'type': 'T', 'condition': condition}, 'b': {'type': 'T', 'condition': 'by_name'}},
                     outputs={'o': {'value': {'if': ['c', {'get_resource': 'a'}, {'get_resource': 'b'}]}}})
        assert made.condition('c') is not made.condition('by_name'), condition
        assert made.condition('by_name') is made.condition('inline'), condition
        assert len(made.resource_names) == 1, condition
        assert made.outputs['o'].resolve(PLACEHOLDERS) in made.resource_names, condition


@pytest.mark.parametrize('assumed, holds', [(False, {'equals': False, 'not': True, 'or': True, 'and': False}),
                                            (True, {'equals': True, 'not': False, 'or': True, 'and': True})])
def test_what_is_not_known_counts_as_assumed(assumed, holds):
    unknown = {'equals': [{'get_param': 'p'}, 'a']}
    true = {'equals': [1, 1]}
    made = built({'equals': unknown, 'not': {'not': unknown}, 'or': {'or': [unknown, true]},
                  'and': {'and': [unknown, true]}}, assumed)
    assert {name: made.condition(name) for name in holds} == holds


@pytest.mark.parametrize('value, found', [('a', 'is a'), ('z', 'is not')])
def test_a_nested_template_chooses_by_a_value_that_comes_later(value, found):
    case = {'name': 'later', 'op': 'create', 'files': {'c.yaml': CHILD}, 'template': {
        'heat_template_version': '2018-08-31', 'resources': {
            'q': {'type': 'OS::Heat::Value', 'properties': {'value': value}},
            'k': {'type': 'c.yaml', 'properties': {'p': {'get_attr': ['q', 'value']}}}},
        'outputs': {'o': {'value': {'get_attr': ['k', 'x']}}, 'y': {'value': {'get_attr': ['k', 'y']}}}}}
    assert run_cases.OPERATIONS['create'](case)['result'] == {'o': found, 'y': 'always'}
