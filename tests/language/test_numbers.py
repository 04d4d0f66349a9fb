"""Numbers and characters that JSON cannot carry: refused in words and at once, wherever they stand."""

import json
import math

import pytest

from heatlite.common import document_size, exception, json_values, yaml_reading
from heatlite.common.limits import Limits
from heatlite.language import definition as definitions
from heatlite.language import document, parameters, template, versions
from heatlite.language import environment as environments
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from heatlite.language.expression import PLACEHOLDERS
from heatlite.language.positions import Positions
from heatlite.language.schema import Schema

HEAD = 'heat_template_version: 2018-08-31\n'
LIMITS = Limits()
REFUSED = (ValueError, exception.HTTPBadRequest)

LONG = {
    'base 60': '1' + ':59' * 100_000, 'base 60 float': '1' + ':59' * 100_000 + '.5', 'decimal': '7' * 400_000,
    'hexadecimal': '0x' + 'f' * 4000, 'octal': '0' + '7' * 400_000, 'binary': '0b' + '1' * 400_000,
    'float': '1' * 400_000 + '.5', 'negative': '-' + '7' * 5000, 'underscores': '1_' * 200_000 + '1',
    'tagged': '!!int "' + '7' * 5000 + '"', 'short hexadecimal': '0x' + 'f' * 3900}
NOT_FINITE = {'nan': '.nan', 'NaN': '.NaN', 'inf': '.inf', 'minus': '-.INF', 'exponent': '1.0e+999',
              'tagged': '!!float "1.0e+999"'}


@pytest.mark.parametrize('number', [*LONG.values(), *NOT_FINITE.values()], ids=[*LONG, *NOT_FINITE])
@pytest.mark.parametrize('text', ['  x: {}\n', '  - [a, {}]\n', '  {}: x\n'], ids=['value', 'item', 'key'])
def test_a_number_of_yaml_is_refused_with_its_place(number, text):
    with pytest.raises(yaml_reading.DocumentError, match=r'digits|finite') as caught:
        template.parse(HEAD + 'a:\n' + text.format(number))
    assert caught.value.line == 3
    assert str(caught.value).endswith(f'line 3, column {caught.value.column}')
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize('text', [
    '{"x": NaN}', '{"x": [Infinity]}', '{"x": -Infinity}', '{"x": 1e999}', '{"x": -1e999}', '{"x": %s}' % ('7' * 4301),
    '{"x": "\\ud800"}', '{"\\udfff": 1}', '["a", ["\\udc00b"]]'],
                         ids=lambda text: text[:16])
@pytest.mark.parametrize('read', [
    lambda text: document.read(text, 'root stack', LIMITS),
    lambda text: document_size.check_text(json_values.loads(text)),
    lambda text: environments.parse(text.replace('x', 'parameters'))], ids=['template', 'body', 'environment'])
def test_json_that_is_none_is_refused(text, read):
    with pytest.raises(REFUSED):
        read(text)


@pytest.mark.parametrize('value', [
    math.nan, [math.inf], {'a': {'b': -math.inf}}, 10 ** 4301, [-10 ** 4300], '\ud800', {'\udfff': 1}, [['a\udc00']]],
    ids=lambda value: type(value).__name__)
def test_no_value_goes_on_that_cannot_be_written(value):
    with pytest.raises(exception.HTTPBadRequest):
        document.check_size(value, LIMITS)
    with pytest.raises(exception.HTTPBadRequest):
        document_size.check_text(value)


@pytest.mark.parametrize('value', [
    '9' * 4300, '0x' + 'f' * 3500, '1:59:59', '0b' + '1' * 4000, '1.5e+300', '"é\\U0001F600"'],
    ids=lambda value: value[:9])
def test_what_fits_is_read(value):
    found = template.parse(f'{HEAD}x: {value}\n')
    assert json.loads(json.dumps(found)) == found


def test_a_long_number_as_a_key_is_not_converted_for_its_place():
    Positions(HEAD + LONG['base 60'] + ': x\n')


def test_merges_count_as_what_they_expand_to():
    big = ', '.join(f'k{number}: v' for number in range(20_000))
    text = f'{HEAD}a: &a {{{big}}}\nb:\n' + '- {<<: *a}\n' * 5000
    with pytest.raises(exception.RequestLimitExceeded, match='max_template_expansion'):
        template.parse(text)


@pytest.mark.parametrize('value', ['nan', 'inf', '-Infinity', '1e999', '9' * 4301, '9' * 500_000, math.inf, math.nan],
                         ids=lambda value: str(value)[:9])
@pytest.mark.parametrize('constraint', [
    {}, {'constraints': [{'range': {'min': 0}}]}, {'constraints': [{'modulo': {'step': 2, 'offset': 0}}]},
    {'constraints': [{'allowed_values': [1, 2]}]}], ids=['none', 'range', 'modulo', 'allowed_values'])
def test_a_parameter_of_type_number_is_a_number(value, constraint):
    schemas = parameters.schemata({'p': {'type': 'number', **constraint}}, versions.EDITIONS[-1])
    given = parameters.Parameters(schemas, {}, {'p': value}, {})
    with pytest.raises(exception.StackValidationFailed) as caught:
        given.check()
    assert len(str(caught.value)) < 2000
    with pytest.raises(exception.StackValidationFailed):
        given['p']


@pytest.mark.parametrize('text', ['{"a": NaN}', '[1e999]', '[%s]' % ('9' * 4301), '["\\ud800"]'],
                         ids=lambda value: value[:9])
def test_a_parameter_of_type_json_is_json(text):
    schemas = parameters.schemata({'p': {'type': 'json'}}, versions.EDITIONS[-1])
    with pytest.raises(exception.StackValidationFailed, match='valid JSON'):
        parameters.Parameters(schemas, {}, {'p': text}, {}).check()


@pytest.mark.parametrize('kind, value', [
    ('Number', 'inf'), ('Number', 'nan'), ('Number', '9' * 5000), ('Integer', '9' * 5000), ('Integer', 'inf'),
    ('Integer', math.inf), ('Number', math.nan)], ids=lambda value: str(value)[:9])
def test_a_property_of_type_number_is_a_number(kind, value):
    with pytest.raises(ValueError):
        Schema(kind).coerce(value)


@pytest.mark.parametrize('expression', [
    {'str_split': [',', 'a,b', '9' * 5000]}, {'Fn::Select': ['9' * 5000, ['a']]}, {'Fn::Select': ['0', '[NaN]']},
    {'make_url': {'host': 'h', 'port': '9' * 5000}}, {'get_param': ['data', '9' * 5000]},
    {'yaql': {'expression': 'int($.data)', 'data': '9' * 5000}},
    {'yaql': {'expression': '$.data * $.data * $.data', 'data': 10 ** 4000}}], ids=lambda value: next(iter(value)))
def test_functions_take_no_such_numbers(expression):
    is_cfn = next(iter(expression)).startswith('Fn')
    document = {'HeatTemplateFormatVersion' if is_cfn else 'heat_template_version':
                '2012-12-12' if is_cfn else '2021-04-16',
                'Outputs' if is_cfn else 'outputs': {'o': {'Value' if is_cfn else 'value': expression}}}
    if not is_cfn:
        document['parameters'] = {'data': {'type': 'json', 'default': ['a']}}
    made = definitions.build(template.from_mapping(document), Environment(), {}, StackIdentity('s', None, 'p'))
    value, error = made.outputs['o'].evaluated(PLACEHOLDERS)
    assert not value
    assert error is None or len(error) < 20_000
