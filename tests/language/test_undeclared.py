"""Names that a template uses but does not declare: accepted by the service as by Heat, reported by the linter."""

import pytest

from heatlite.language import advice, lint, rules
from tests.language.test_lint import TYPES, build

HOT = '''heat_template_version: 2018-08-31
parameters:
  size: {type: number, default: 1}
conditions:
  big: {equals: [{get_param: size}, 3]}
  large: {equals: [{get_param: sise}, 3]}
  both: {and: [bigg, {not: larg}, {equals: [{get_param: [far_away, 0]}, 1]}]}
outputs:
  plain: {value: {get_param: sise}}
  inside: {value: {list_join: [',', [a, {get_param: [sise, 0]}]]}}
  path: {value: {get_param: [size, {get_param: OS::stack_name}]}}
  computed: {value: {get_param: [{get_param: size}]}}
  data: {value: {get_param: sise, other: 1}}
  other: {value: {if: [both, {get_param: sise}, large]}}
'''
CFN = '''AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  Size: {Type: Number, Default: 1}
Conditions:
  Big: {'Fn::Equals': [{Ref: Sise}, 3]}
  Small: {'Fn::Not': [Bigg]}
Resources:
  Note: {Type: OS::Heat::None}
Outputs:
  One: {Value: {Ref: Size}}
  Two: {Value: {Ref: Note}}
  Three: {Value: {Ref: Nota}}
  Four: {Value: {Ref: AWS::Region}}
'''
UNDECLARED = (rules.UNDECLARED_PARAMETER, rules.UNDECLARED_CONDITION)


def advised(text):
    return [(each.line, each.rule, each.text, each.hint) for each in advice.advise(build(text, assume_unknown=True))
            if each.rule in UNDECLARED]


def test_outputs_and_conditions_that_use_what_is_not_declared():
    parameter, condition = UNDECLARED
    size = 'did you mean "size"?'
    assert advised(HOT) == [
        (6, parameter, 'There is no parameter "sise"', size),
        (7, condition, 'There is no condition "bigg"', 'did you mean "big"?'),
        (7, condition, 'There is no condition "larg"', 'did you mean "large"?'),
        (7, parameter, 'There is no parameter "far_away"', None),
        (9, parameter, 'There is no parameter "sise"', size),
        (10, parameter, 'There is no parameter "sise"', size),
        (14, parameter, 'There is no parameter "sise"', size)]


def test_the_format_of_aws():
    parameter, condition = UNDECLARED
    assert advised(CFN) == [
        (5, parameter, 'There is no parameter "Sise"', 'did you mean "Size"?'),
        (6, condition, 'There is no condition "Bigg"', 'did you mean "Big"?'),
        (12, parameter, 'There is no parameter or resource "Nota"', 'did you mean "Note"?')]


@pytest.mark.parametrize('text', [HOT.replace('  other', '  # other'), CFN])
def test_the_service_accepts_them(text):
    assert lint.check(build(text), TYPES) == []


ERRORS = '''heat_template_version: 2018-08-31
parameters:
  size: {type: number, default: 1}
conditions:
  big: {equals: [{get_param: size}, 3]}
resources:
  one: {type: OS::Heat::Value, condition: bigg, properties: {value: 1}}
  two: {type: OS::Heat::Value, properties: {value: {list_join: [',', [{if: [bigg, 1, 2]}]]}}}
  three: {type: OS::Heat::Value, properties: {value: {get_param: sise}}}
  four: {type: OS::Heat::Value, condition: {equals: [{get_param: sise}, 3]}, properties: {value: 1}}
outputs:
  e: {value: 1, condition: bigg}
  d: {value: {if: [bigg, 1, 2]}}
'''


def test_errors_about_such_names_have_a_hint():
    found = lint.check(build(ERRORS), TYPES)
    condition, parameter = 'did you mean "big"?', 'did you mean "size"?'
    assert sorted((each.line, each.hint) for each in found) == [
        (7, condition), (8, condition), (9, parameter), (10, parameter), (12, condition), (13, condition)]


def test_a_declared_parameter_without_a_value_is_no_misspelling():
    text = ERRORS.replace(', default: 1}', '}\n  sise: {type: number}')
    assert {each.hint for each in lint.check(build(text), TYPES) if 'Parameter (' in str(each.error)} == {None}
