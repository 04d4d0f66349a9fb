"""Complaints: all of them, in order, with places and hints; and the command that shows them."""

import dataclasses
import json

import pytest

from heatlite.cmd import lint as command
from heatlite.common import exception
from heatlite.common.limits import Limits
from heatlite.engine.resources import packed_types
from heatlite.language import advice, describe, lint, template, versions, wrong_parameters
from heatlite.language import definition as definitions
from heatlite.language import diagnostics as diagnostic_module
from heatlite.language.definition import StackIdentity
from heatlite.language.diagnostics import MOST_COMPLAINTS, Diagnostic
from heatlite.language.environment import Environment

TYPES = packed_types.PackedTypes()
OPERATOR = packed_types.operator_registry()

WRONG = '''heat_template_version: 2018-08-31
parameters:
  size: {type: nummer}
  kind: {typ: string}
resources:
  one:
    type: OS::Heat::RandomStrings
  two:
    type: OS::Heat::RandomString
    properties:
      lenght: 5
      salt: {get_resource: thre}
  three: {type: OS::Heat::TestResource, property: {}}
  four:
    type: OS::Heat::TestResource
    properties: {value: {get_attr: [two, valeu]}}
outputs:
  out: {value: {get_attr: [fourr, x]}}
  bad: {valeu: 1}
'''


def build(text, environment=None, files=None, **options):
    return definitions.build(template.load(text), Environment(environment, OPERATOR), files or {},
                             StackIdentity('s', None, 'p'), **options)


def diagnostics(text, **options):
    return lint.check(build(text, **options), TYPES)


def test_everything_wrong_is_reported_with_place_and_hint():
    found = [(each.line, str(each.error).split('\n')[0], each.hint) for each in diagnostics(WRONG)]
    assert found == [
        (3, 'Invalid type (nummer)', 'did you mean "number"?'),
        (4, "Invalid key 'typ' for parameter (kind)", 'did you mean "type"?'),
        (13, '"property" is not a valid keyword inside a resource definition', 'did you mean "properties"?'),
        (7, 'The Resource Type (OS::Heat::RandomStrings) could not be found.',
            'did you mean "OS::Heat::RandomString"?'),
        (19, 'Output validation error: outputs.bad: Each output definition must contain a value key.', None),
        (12, 'The specified reference "thre" (in two.Properties.salt) is incorrect.', None),
        (11, 'Property error: resources.two.properties: Unknown Property lenght', 'did you mean "length"?'),
        (16, 'resources.four.properties.value.get_attr: The Referenced Attribute (two valeu) is incorrect.',
         'did you mean "value"?'),
        (18, 'outputs.out.value.get_attr: The specified reference "fourr" (in unknown) is incorrect.',
            'did you mean "four"?')]


def test_the_first_line_is_the_one_clients_know():
    with pytest.raises(exception.InvalidSchemaError) as caught:
        lint.raise_first(diagnostics(WRONG))
    first, place, *rest = str(caught.value).split('\n')
    assert first == 'Invalid type (nummer)'
    assert place == 'root stack:3:3, parameters.size: did you mean "number"?'
    assert len(rest) == 8
    mended = WRONG.replace('nummer', 'number, default: 1').replace('typ: string', 'type: string, default: a')
    mended = mended.replace('property:', 'properties:')
    with pytest.raises(exception.StackValidationFailed) as caught:
        lint.raise_first(diagnostics(mended))
    assert caught.value.first_line == 'The Resource Type (OS::Heat::RandomStrings) could not be found.'


def test_one_is_enough_when_asked_so():
    assert len(lint.check(build(WRONG), TYPES, all=False)) == 1


def test_nothing_wrong():
    assert diagnostics('heat_template_version: rocky\nresources: {r: {type: OS::Heat::RandomString}}') == []


def test_a_cycle_is_reported_as_the_cycle():
    text = ('heat_template_version: rocky\nresources:\n' + ''.join(
        f'  r{n}: {{type: OS::Heat::TestResource, depends_on: r{(n + 1) % 3}}}\n' for n in range(3))
        + '  waits: {type: OS::Heat::TestResource, depends_on: r0}\n')
    found, = diagnostics(text)
    assert isinstance(found.error, exception.CircularDependencyException)
    assert found.found == 'r0 -> r1 -> r2 -> r0'
    assert 'waits' not in str(found.error)


NESTED = 'heat_template_version: rocky\nresources:\n  c: {type: child.yaml, properties: {p: 1}}\n'
CHILD = ('heat_template_version: rocky\nparameters: {p: {type: number}}\nresources:\n'
         '  inner: {type: OS::Heat::Value, properties: {valu: {get_param: p}}}\n')


def test_places_inside_nested_templates():
    found, missing = lint.check(build(NESTED, files={'child.yaml': CHILD}), TYPES)
    assert str(missing.error).endswith('Property value not assigned')
    assert (found.file, found.line, found.hint) == ('child.yaml', 4, 'did you mean "value"?')
    assert str(found.error) == ('Property error: resources.c<child.yaml>.resources.inner.properties: '
                                'Unknown Property valu')


def test_a_tree_of_templates_is_looked_into_once():
    files = {f'{level}.yaml': 'heat_template_version: rocky\nresources:\n' + ''.join(
        f'  r{n}: {{type: {level + 1}.yaml}}\n' for n in range(50)) for level in range(4)}
    files['4.yaml'] = CHILD.replace('valu:', 'value:').replace('{type: number}', '{type: number, default: 1}')
    root = 'heat_template_version: rocky\nresources:\n' + ''.join(f'  r{n}: {{type: 0.yaml}}\n' for n in range(50))
    assert lint.check(build(root, files=files, limits=Limits(max_nested_depth=6)), TYPES) == []
    found = lint.check(build(root, files=files, limits=Limits(max_nested_depth=3)), TYPES)
    assert 'Recursion depth exceeds 3.' in str(found[0].error)


def test_complaints_have_an_end():
    text = 'heat_template_version: rocky\nresources:\n' + ''.join(f'  r{n}: {{type: No::T}}\n' for n in range(300))
    assert len(diagnostics(text)) <= lint.MOST_COMPLAINTS


def test_what_a_types_own_check_raises_is_a_complaint():
    class Broken(packed_types.PackedTypes):
        def facts(self, *args):
            import dataclasses
            return dataclasses.replace(super().facts(*args), own_check=lambda resource, values: 1 / 0)

    found, = lint.check(build('heat_template_version: rocky\nresources: {r: {type: OS::Heat::Value, '
                              'properties: {value: 1}}}'), Broken())
    assert str(found.error) == 'ZeroDivisionError: resources.r: division by zero'


def test_sections_in_an_update_have_another_name():
    text = 'heat_template_version: rocky\nresource: {}\n'
    assert isinstance(diagnostics(text)[0].error, exception.StackValidationFailed)
    assert isinstance(lint.check(build(text), TYPES, updating=True)[0].error, exception.InvalidTemplateSection)


def test_the_answer_of_validate_raises_as_a_bad_request():
    with pytest.raises(exception.HTTPBadRequest, match='could not be found'):
        describe.validation_answer(build('heat_template_version: rocky\nresources: {r: {type: Nope}}'), TYPES)


def test_advice():
    text = '''heat_template_version: 2016-10-14
resources:
  r: {type: OS::Heat::Value, properties: {value: {filter: [[a], [b]]}}, metadata: {a: {get_param: nope}}}
outputs:
  a: {value: {lst_join: [1]}}
  a: {value: {lst_join: [2]}}
  b: {value: {get_resource: q}, descripton: x}
'''
    made = build(text, {'resource_registry': {'A::*': 'OS::Heat::None', 'A::B': 'OS::Heat::Value'}})
    assert lint.check(made, TYPES) == []
    found = [(item.line, item.text) for item in advice.advise(made)]
    assert found == [
        (1, 'The registry entry "A::*" is tried before "A::B"'),
        (3, '"filter" is no function of heat_template_version.2016-10-14: it is taken as data'),
        (3, 'The metadata cannot be evaluated: The Parameter (nope) was not provided.'),
        (6, 'The key "a" stands here twice; the last one counts'),
        (6, '"lst_join" is no function: it is taken as data'),
        (7, 'There is no resource "q": this output will only show an error'),
        (7, 'The key "descripton" of an output means nothing')]


# --- the command ----------------------------------------------------------------------------------------------

@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'nested').mkdir()
    (tmp_path / 'root.yaml').write_text(
        'heat_template_version: rocky\nparameters: {p: {type: number}}\nresources:\n'
        '  c: {type: nested/child.yaml, properties: {p: {get_param: p}}}\n  m: {type: My::T}\n'
        'outputs: {o: {value: {get_file: script.sh}}}\n')
    (tmp_path / 'nested' / 'child.yaml').write_text(CHILD.replace('valu:', 'value:') + (
        '  f: {type: OS::Heat::Value, properties: {value: {get_file: ../script.sh}}}\n'))
    (tmp_path / 'script.sh').write_text('echo\n')
    (tmp_path / 'env.yaml').write_text('resource_registry: {"My::T": nested/mine.yaml}\nparameters: {p: 5}\n')
    (tmp_path / 'nested' / 'mine.yaml').write_text('heat_template_version: rocky\n')
    return tmp_path


def test_a_sound_template_with_all_it_uses(folder, capsys):
    assert command.main(['root.yaml', '-e', 'env.yaml']) == 0
    assert capsys.readouterr().out == ''


def test_problems_in_any_file_are_shown_where_they_are(folder, capsys):
    child = folder / 'nested' / 'child.yaml'
    child.write_text(child.read_text().replace('value: {get_param', 'valu: {get_param'))
    assert command.main(['root.yaml', '--format', 'short']) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'root.yaml:5:7: error: The Resource Type (My::T) could not be found. [HL201]'
    assert lines[1].startswith('nested/child.yaml:4:')
    assert lines[1].endswith('(did you mean "value"?) [HL301]')


def test_machines_read_it_too(folder, capsys):
    (folder / 'root.yaml').write_text('heat_template_version: rocky\nresources: {r: {type: OS::Heat::Valu}}\n')
    assert command.main(['root.yaml', '--format', 'json']) == 1
    finding, = json.loads(capsys.readouterr().out)
    assert (finding['line'], finding['type'], finding['found']) == (2, 'StackValidationFailed', 'OS::Heat::Valu')
    assert command.main(['root.yaml', '--format', 'sarif']) == 1
    run, = json.loads(capsys.readouterr().out)['runs']
    assert run['results'][0]['locations'][0]['physicalLocation']['region'] == {'startLine': 2, 'startColumn': 17}


@pytest.mark.parametrize('text, line', [('a: [', 1), ('heat_template_version: nope\n', 1), ('x: y\n', None)])
def test_what_is_no_template_is_a_problem(folder, capsys, text, line):
    (folder / 'root.yaml').write_text(text)
    assert command.main(['root.yaml', '--format', 'json']) == 1
    finding, = json.loads(capsys.readouterr().out)
    assert (finding['file'], finding['line']) == ('root.yaml', line)


def test_missing_files_are_problems_a_missing_template_is_wrong_usage(folder, capsys):
    (folder / 'script.sh').unlink()
    assert command.main(['root.yaml', '-e', 'env.yaml']) == 1
    assert 'script.sh' in capsys.readouterr().out
    assert command.main(['nope.yaml']) == 2
    assert command.main([]) == 2
    assert command.main(['root.yaml', '--format', 'xml']) == 2


def test_values_inside_nested_stacks_are_guesses():
    child = ('heat_template_version: rocky\n'
             'parameters: {p: {type: string}}\nconditions: {c: {equals: [{get_param: p}, x]}}\nresources:\n'
             '  v: {type: OS::Heat::Value, properties: {type: number, value: {get_param: p}}}\n'
             '  w: {type: OS::Heat::Value, condition: c, properties: {value: {digest: [md5, {get_attr: [v, x]}]}}}\n')
    parent = ('heat_template_version: rocky\nresources:\n  a: {type: OS::Heat::Value, properties: {value: 1}}\n'
              '  c: {type: child.yaml, properties: {p: {get_attr: [a, value]}}}\n')
    assert lint.check(build(parent, files={'child.yaml': child}), TYPES) == []


INNER = '''heat_template_version: 2018-08-31
parameters:
  text: {type: string}
  list: {type: comma_delimited_list}
  map: {type: json}
  number: {type: number}
resources:
  inner: {type: OS::Heat::Value, properties: {value: CALL}}
'''
OUTER = '''heat_template_version: 2018-08-31
parameters: {missing: {type: string}}
resources:
  first: {type: OS::Heat::RandomString}
  second: {type: inner.yaml, properties: {text: WHOLE, list: LIST, map: MAP, number: WHOLE}}
'''
LATER = '{get_attr: [first, value]}'


def outer(call, value, parameters=None):
    parts = {'WHOLE': value, 'LIST': f'[a, {value}]', 'MAP': f'{{k: {value}}}'}
    text = OUTER
    for name, part in parts.items():
        text = text.replace(name, part)
    return build(text, {'parameters': parameters or {}}, {'inner.yaml': INNER.replace('CALL', call)})


@pytest.mark.parametrize('call', [
    '{str_replace: {template: a $x, params: {$x: {get_param: text}}}}',
    '{str_replace: {template: {get_param: text}, params: {get_param: map}}}',
    '{str_replace_vstrict: {template: a $x, params: {$x: {get_param: [map, k]}}}}',
    '{list_join: [",", [{get_param: text}], {get_param: list}]}',
    '{str_split: [",", {get_param: text}, 1]}',
    '{get_param: [map, {get_param: text}]}',
    '{digest: [md5, {get_param: text}]}',
    '{make_url: {scheme: http, host: {get_param: text}, port: {get_param: number}}}',
    '{yaql: {expression: $.data.k.toUpper(), data: {get_param: map}}}',
    '{repeat: {template: {x: i}, for_each: {i: {get_param: list}}}}',
    '{map_replace: [{get_param: map}, {values: {a: b}}]}',
    '{if: [{not: {equals: [{get_param: text}, b]}}, {list_join: [",", [{get_param: text}]]}, c]}'])
def test_functions_of_nested_stacks_wait_for_attributes(call):
    assert lint.check(outer(call, LATER, {'missing': 'x'}), TYPES) == []


@pytest.mark.parametrize('value', [LATER, '{get_param: missing}', '{list_join: [",", [{get_param: missing}]]}'])
def test_values_that_are_not_known_yet_are_not_shown(value):
    answer = describe.validation_answer(outer('{get_param: text}', value), TYPES, show_nested=True)
    shown = json.loads(json.dumps(answer))['NestedParameters']['second']['Parameters']
    assert 'Value' not in shown['text']
    assert shown['text']['Type'] == 'String'


def test_further_errors_of_an_object_have_the_path_of_their_place():
    document = {'heat_template_version': '2021-04-16', 'resources': {
        'a': {'type': 'OS::Heat::Valu'}, 'b': {'type': 'OS::Heat::None', 'depends_on': 'c'}}}
    made = definitions.build(template.from_mapping(document), Environment(None, OPERATOR), {},
                             StackIdentity('s', None, 'p'))
    with pytest.raises(exception.StackValidationFailed) as caught:
        lint.raise_first(lint.check(made, TYPES))
    assert str(caught.value).split('\n')[-1] == (
        'root stack, resources.b.depends_on: The specified reference "c" (in b) is incorrect.')


def sent_as_object(resources):
    """The lines of the error of a template that was sent as an object, as the command line client does."""
    document = {'heat_template_version': '2021-04-16', 'resources': resources}
    made = definitions.build(template.from_mapping(document), Environment(None, OPERATOR), {},
                             StackIdentity('s', None, 'p'))
    with pytest.raises(exception.HeatException) as caught:
        lint.raise_first(lint.check(made, TYPES))
    return str(caught.value).split('\n')


def test_the_first_error_of_an_object_is_followed_by_its_path_unless_it_names_its_place():
    assert sent_as_object({'a': {}}) == ['Each resource must contain a type key.', 'root stack, resources.a']
    assert sent_as_object({'a': {'type': 'OS::Heat::None', 'depends_on': 'c'}}) == [
        'The specified reference "c" (in a) is incorrect.']


def test_an_unavailable_service_is_followed_by_the_path_of_the_resource(monkeypatch):
    def absent():
        raise exception.ResourceTypeUnavailable(service_name='x', resource_type='OS::Heat::Value', reason='none')

    facts = type(TYPES).facts
    monkeypatch.setattr(type(TYPES), 'facts', lambda *given: dataclasses.replace(facts(*given), available=absent))
    first, second = sent_as_object({'a': {'type': 'OS::Heat::Value', 'properties': {'value': 1}}})
    assert first.startswith('HEAT-E99001') and second == 'root stack, resources.a.type'


@pytest.mark.parametrize('part, value, first, path', [
    ('properties', {'name': 'x', 'size': 3}, '"name" is not a valid keyword inside a resource definition', '.name'),
    ('metadata', {}, 'Each resource must contain a type key.', ''),
    ('depends_on', ['net'], '"resources" must contain a map of resource maps. Found a list instead', ''),
    ('type', 'OS::Heat::None', '"resources" must contain a map of resource maps. Found a string instead', '')])
def test_a_part_of_a_resource_beside_it_is_one_error_with_a_hint(part, value, first, path):
    assert sent_as_object({'net': {'type': 'OS::Heat::None'}, part: value}) == [
        first, f'root stack, resources.{part}{path}: was "{part}" meant to be indented one level deeper, '
        'inside a resource?']


def test_a_resource_may_be_named_as_a_part_of_one():
    assert sent_as_object({'properties': {'type': 'OS::Heat::None', 'propertys': {}}})[1] == (
        'root stack, resources.properties.propertys: did you mean "properties"?')


def reported(text):
    return [(each.line, str(each.error)) for each in lint.check(build(text), TYPES)]


@pytest.mark.parametrize('parts, lines', [
    ('parameters:\n  a: {type: strin}\n  b: {type: strin}', [3, 4]),
    ('resources:\n  a: {}\n  b: {properties: {}}', [3, 4]),
    ('resources:\n  a: {type: OS::Heat::Valu}\n  b: {type: OS::Heat::Valu}', [3, 4]),
    ('resources:\n  a: []\n  b: []', [3, 4]),
    ('resources:\n  a: {type: OS::Heat::Value, depend_on: x, properties: {value: 1}}\n'
     '  b: {type: OS::Heat::Value, depend_on: x, properties: {value: 1}}', [3, 4])])
def test_the_same_mistake_at_two_places_is_reported_twice(parts, lines):
    assert [line for line, _text in reported(f'heat_template_version: 2018-08-31\n{parts}\n')] == lines


CYCLES = '''heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::Value, depends_on: b, properties: {valu: 1, value: 1}}
  b: {type: OS::Heat::Value, depends_on: [a, c], properties: {value: 1}}
  c: {type: OS::Heat::RandomString, depends_on: d, properties: {length: 100000}}
  d: {type: OS::Heat::RandomString, depends_on: c}
  e: {type: OS::Heat::RandomString, depends_on: d, properties: {length: none}}
'''


def test_a_cycle_hides_nothing():
    """Neither another cycle, nor what is wrong with resources on it or behind it."""
    found = reported(CYCLES)
    assert [text.rpartition('(')[2] for _line, text in found[:2]] == ['a -> b -> a)', 'c -> d -> c)']
    assert [line for line, _text in found[2:]] == [3, 5, 7]


SEVERAL = '''heat_template_version: 2018-08-31
parameters:
  p:
    type: strin
    tags: a
    constraints:
      - {length: {min: x}}
      - {allowed_values: a}
      - {range: {minimum: 1}}
  q: {typ: string, defalt: 1}
resources:
  a:
    type: OS::Heat::Valu
    deletion_policy: Kep
    metadata: 5
    depends_on: 3
    condition: nope
  b:
    type: OS::Heat::Value
    properties:
      value: {str_replace: 1}
      valu: {list_join: {}}
    update_policy: []
  c: {typ: x, propertie: {}}
  d:
    type: OS::Heat::Value
    deletion_policy: Kep
    properties: {valu: 1, value: 1}
'''


def test_all_mistakes_of_one_element_are_reported_at_once():
    assert [(line, text.split('\n')[0]) for line, text in reported(SEVERAL)] == [
        (5, 'Tags property should be a list for parameter: p'),
        (3, 'Invalid type (strin)'),
        (7, 'A bound of a constraint must be a number, not "x"'),
        (8, 'AllowedValues must be a list'),
        (9, "Invalid key 'minimum' for range constraint"),
        (10, "Invalid key 'typ' for parameter (q)"),
        (10, "Invalid key 'defalt' for parameter (q)"),
        (24, '"typ" is not a valid keyword inside a resource definition'),
        (24, '"propertie" is not a valid keyword inside a resource definition'),
        (15, 'Resource a metadata type must be object'),
        (16, 'Resource a depends_on type must be list or string'),
        (14, 'Invalid deletion policy "Kep"'),
        (17, 'resources.a.condition: Invalid condition "nope"'),
        (21, 'resources.b.properties.value.str_replace: Arguments to "str_replace" must be a map'),
        (23, 'Resource b update_policy type must be object'),
        (22, 'resources.b.properties.valu.list_join: Incorrect arguments to "list_join" should be: '
             '"list_join" : [ " ", [ "str1", "str2"] ...]'),
        (27, 'Invalid deletion policy "Kep"'),
        (13, 'The Resource Type (OS::Heat::Valu) could not be found.'),
        (28, 'Property error: resources.d.properties: Unknown Property valu')]


def test_all_mistakes_of_one_parameter_in_the_format_of_aws():
    text = '''AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  P:
    Type: String
    MinValue: x
    AllowedValues: a
    Defalt: 1
'''
    assert reported(text) == [
        (3, "Invalid key 'Defalt' for parameter (P)"),
        (5, 'A bound of a constraint must be a number, not "x"'),
        (6, 'AllowedValues must be a list')]


def test_the_first_mistake_of_an_element_is_the_one_that_clients_know():
    """The error that using the definition raises without a check."""
    for text in (SEVERAL, SEVERAL.replace('tags: a', 'tags: []'), SEVERAL.replace('strin', 'string')):
        with pytest.raises(exception.InvalidSchemaError) as caught:
            build(text).parameters                                              # noqa: B018
        assert str(caught.value) == reported(text)[0][1]


@pytest.mark.parametrize('part, first', [
    ('metadata: 5', 'Resource a metadata type must be object'),
    ('condition: nope', 'resources.a.condition: Invalid condition "nope"')])
def test_calls_are_counted_once_in_a_resource_with_a_mistake(part, first):
    calls = ', '.join('{get_file: a}' for _n in range(15))
    text = ('heat_template_version: 2018-08-31\nresources:\n  a:\n    type: OS::Heat::Value\n'
            f'    {part}\n    properties: {{value: [{calls}]}}\n')
    found = [str(each.error) for each in diagnostics(text, limits=Limits(max_functions=20))]
    assert found[0] == first
    assert not [each for each in found if 'function calls' in each]


@pytest.mark.parametrize('text', [
    'heat_template_version: 2018-08-31\nparameters:\n  count: {type: integral}\n',
    '{"heat_template_version": "2018-08-31", "parameters": {"count": {"type": "integral"}}}'], ids=['yaml', 'one line'])
def test_an_error_that_names_nothing_is_followed_by_its_path_and_what_is_allowed(text):
    with pytest.raises(exception.InvalidSchemaError) as caught:
        lint.raise_first(diagnostics(text))
    first, second = str(caught.value).splitlines()
    assert first == 'Invalid type (integral)'
    place = 'root stack:3:3, ' if text.count('\n') > 1 else 'root stack, '
    assert second == (f'{place}parameters.count: types of parameters are string, number, comma_delimited_list, json, '
                      'boolean')


def test_thousands_of_mistakes_of_one_parameter_cost_as_much_as_a_hundred(monkeypatch):
    read = []
    schema_of = wrong_parameters.schema_of
    monkeypatch.setattr(wrong_parameters, 'schema_of', lambda *given: read.append(1) or schema_of(*given))
    constraints = [{f'wrong-{number}': 1} for number in range(5000)]
    found = wrong_parameters.errors_of('p', {'type': 'string', 'constraints': constraints}, versions.of(
        {'heat_template_version': '2018-08-31'}))
    assert MOST_COMPLAINTS <= len(found) <= MOST_COMPLAINTS + 1
    assert len(read) <= MOST_COMPLAINTS + 3


def test_no_pattern_is_made_of_a_very_long_name(monkeypatch):
    monkeypatch.setattr(diagnostic_module.re, 'escape', lambda text: pytest.fail('a pattern was made'))
    name = 'n' * 500_000
    assert Diagnostic(exception.InvalidSchemaError('wrong'), ('resources', name)).names_path
    assert not Diagnostic(exception.InvalidSchemaError(f'"{name}" is wrong'), ('resources', name)).names_path


def test_an_error_whose_cause_is_elsewhere_has_no_path():
    path = ('resources', 'there')
    assert Diagnostic(exception.StackValidationFailed(message='no answer'), path).names_path
    assert not Diagnostic(exception.StackValidationFailed(message='no answer', elsewhere=True), path).names_path


@pytest.mark.parametrize('condition', [
    '{"Fn::Not": [{"Fn::Equals": [{"Ref": "P"}, ""]}]}', '{"Fn::Equals": [{"Ref": "P"}, "x"]}'])
@pytest.mark.parametrize('declared, error', [
    (True, (exception.UserParameterMissing, 'The Parameter (P) was not provided.')),
    (False, (exception.InvalidTemplateReference, 'The specified reference "P" (in unknown) is incorrect.'))])
def test_a_parameter_without_a_value_in_a_condition_is_missing(condition, declared, error):
    parameters = '"P": {"Type": "String"}' if declared else ''
    found = diagnostics(f'''{{"AWSTemplateFormatVersion": "2010-09-09", "Parameters": {{{parameters}}},
        "Conditions": {{"C": {condition}}}, "Resources": {{"r": {{"Type": "OS::Heat::None", "Condition": "C"}}}}}}''')
    assert (type(found[0].error), str(found[0].error)) == error


@pytest.mark.parametrize('inside, text', [
    ('OS::Nope', 'The Resource Type (OS::Nope) could not be found.'),
    ('a.yaml', 'Could not fetch remote template "a.yaml": Invalid URL scheme')])
def test_what_is_wrong_inside_keeps_its_type(inside, text):
    """With show_nested, as in Heat; what is wrong in the template itself is HTTPBadRequest."""
    nested = f'heat_template_version: 2018-08-31\nresources: {{r: {{type: {inside}}}}}\n'
    parent = 'heat_template_version: 2018-08-31\nresources: {n: {type: n.yaml}}\n'
    with pytest.raises(exception.StackValidationFailed) as caught:
        describe.validation_answer(build(parent, files={'n.yaml': nested}), TYPES, show_nested=True)
    assert str(caught.value).split('\n')[0] == text
    with pytest.raises(exception.HTTPBadRequest):
        describe.validation_answer(build(nested), TYPES, show_nested=True)


def test_aliases_that_were_used_are_shown():
    shown = describe.validation_answer(build('''heat_template_version: 2018-08-31
resources:
  alarm: {type: OS::Ceilometer::Alarm, properties: {meter_name: x, threshold: 1}}
  net: {type: OS::Quantum::Net}
  other: {type: OS::Neutron::Net}
'''), TYPES)
    assert shown['Environment']['resource_registry'] == {
        'resources': {}, 'OS::Ceilometer::Alarm': 'OS::Aodh::Alarm', 'OS::Quantum::Net': 'OS::Neutron*'}


@pytest.mark.parametrize('kind, more, message', [
    ('t' * 256, '', 'Resource type is longer than 255 characters'),
    ('t' * 255, '', None),
    ('OS::Heat::Value', f'external_id: {"x" * 256}', 'External id is longer than 255 characters'),
    ('OS::Heat::Value', 'external_id: {list_join: ["", [' + 'x' * 128 + ', ' + 'x' * 128 + ']]}',
     'External id is longer than 255 characters'),
    ('OS::Heat::Value', f'external_id: {"x" * 255}', None)])
def test_texts_that_are_longer_than_their_column(kind, more, message):
    text = f'heat_template_version: 2018-08-31\nresources:\n  r:\n    type: {kind}\n    {more}\n'
    child = 'heat_template_version: 2018-08-31\n'
    found = lint.check(build(text, {'resource_registry': {kind: 'child.yaml'}} if kind[0] == 't' else None,
                             files={'child.yaml': child}), TYPES)
    assert [str(each.error) for each in found] == ([] if message is None else [message])
