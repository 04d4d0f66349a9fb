"""What the language server answers, without the program: a text with a mark -> the answer."""

import pytest

from heatlite.editing import completing, formatting, hovering, navigating, structure
from heatlite.editing.outline import Outline
from heatlite.editing.text import Text
from tests.editing.client import cut

HEAD = 'heat_template_version: 2021-04-16\n'
HOT = f'''{HEAD}parameters:
  size: {{type: number}}
conditions:
  big: {{equals: [{{get_param: size}}, 3]}}
resources:
  value: {{type: OS::Heat::Value, properties: {{value: 1}}}}
'''
SERVER = HOT + '  server:\n    type: OS::Nova::Server\n    properties:\n'
CFN = "HeatTemplateFormatVersion: '2012-12-12'\n"


def labels(text):
    text, offset = cut(text)
    found = completing.complete(text, offset)
    return [item.label for item in sorted(found.items, key=lambda item: item.rank + item.label)]


@pytest.mark.parametrize('text, first', [
    ('|', ['conditions', 'description', 'heat_template_version', 'outputs', 'parameter_groups', 'parameters']),
    ('heat_template_version: 2015-04-30\n|', ['description', 'outputs', 'parameter_groups', 'parameters', 'resources']),
    (CFN + '|', ['Description', 'Mappings', 'Outputs', 'Parameters', 'Resources']),
    ('heat_template_version: 2021|', ['2013-05-23', '2014-10-16']),
    (HEAD + 'parameters:\n  p:\n    type: |', ['boolean', 'comma_delimited_list', 'json', 'number', 'string']),
    (HEAD + 'parameters:\n  p:\n    |', ['type', 'constraints', 'default']),
    (HEAD + 'parameters:\n  p:\n    hidden: |', ['false', 'true']),
    (HOT + '  x:\n    |', ['type', 'condition', 'deletion_policy', 'depends_on']),
    (HOT + '  x:\n    type: OS::Heat::Value\n    dep|: value\n', ['condition', 'deletion_policy', 'depends_on']),
    (HOT + '  x:\n    depends_on: |', ['value']),
    (HOT + '  x:\n    depends_on: [value, |\noutputs: {}\n', ['value']),
    (HOT + '  x:\n    condition: |', ['big']),
    (HOT + '  x:\n    type: OS::Heat::Value\n    deletion_policy: |', ['Delete', 'Retain']),
    (SERVER + '      |', ['flavor', 'admin_pass']),
    (SERVER + '      flavor: x\n      |\n      image: y\n', ['admin_pass']),
    (SERVER + '      networks:\n        - |', ['allocate_network', 'fixed_ip']),
    (SERVER + '      networks: [{fixed_ip: 1, |}]', ['allocate_network', 'floating_ip']),
    (SERVER + '      networks:\n        - allocate_network: |', ['auto', 'none']),
    (SERVER + '      config_drive: |\n      flavor: x\n', ['false', 'true']),
    (SERVER + '      flavor: {if: [|, a, b]}', ['big', 'and', 'contains', 'equals']),
    (SERVER + '      config_drive: {if: [big, |, false]}', ['false', 'true']),
    (SERVER + '      flavor: {get_param: |', ['size', 'OS::project_id', 'OS::stack_id', 'OS::stack_name']),
    (SERVER + '      flavor: {get_param: si|}\noutputs: {}\n', ['size', 'OS::project_id']),
    (SERVER + '      flavor: {get_resource: |}', ['server', 'value']),
    (SERVER + '      flavor: {get_attr: [value, |]}', ['show', 'value']),
    (SERVER + '      flavor: {get_attr: ["|", value]}', ['server', 'value']),
    (SERVER + '      flavor: {|}', ['contains', 'digest', 'filter', 'get_attr']),
    (HEAD.replace('2021-04-16', '2013-05-23') + 'outputs:\n  o: {value: {|}}',
     ['Fn::Base64', 'Fn::GetAZs', 'Fn::Join']),
    (CFN + 'Parameters: {P: {Type: String}}\nResources: {R: {Type: "AWS::EC2::EIP"}}\n'
     'Outputs: {O: {Value: {Ref: |}}}\n',
     ['P', 'R', 'AWS::Region']),
    (HEAD + 'resources:\n  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      resource_def:\n'
     '        type: OS::Heat::RandomString\n        properties:\n          |',
     ['character_classes', 'character_sequences']),
    ('resources:\n  a:\n    |\nheat_template_version: 2015-10-15\n', ['type', 'deletion_policy']),
    ('resources:\n  a: {type: x, |}\nheat_template_version: 2016-10-14\n', ['condition', 'deletion_policy']),
    (HEAD + 'conditions:\n  a: {equals: [1, 2]}\n  b: {not: |}\n', ['a', 'b', 'and', 'contains']),
    (HEAD + 'outputs:\n  o:\n    |', ['value', 'condition', 'description']),
    (HEAD + 'parameters:\n  p: {type: string}\nparameter_groups:\n- parameters: [|]\n', ['p']),
    ('parameter_defaults: {}\n|', ['encrypted_param_names', 'event_sinks', 'parameter_merge_strategies', 'parameters']),
    (HEAD + 'resources: {}  # heatlite-lint: disable=HL501,|', ['HL001', 'HL002']),
    ('{"heat_template_version": "2021-04-16", "resources": {"r": {"type": "OS::Heat::Value", "properties": {"|"}}}}',
     ['value', 'type']),
])
def test_completion(text, first):
    assert labels(text)[:len(first)] == first


@pytest.mark.parametrize('text', [
    HEAD + 'description: some |\n', HEAD + 'resources: {}  # |\n', HEAD + 'description: >\n  two |\n',
    'services:\n  web:\n    |\n', '\0|', '- |', HEAD + 'resources:\n  |\n', HOT + '  x: {type: &|a *b}\n'])
def test_nothing_to_complete(text):
    assert labels(text) == []


@pytest.mark.parametrize('lost', [1, 5, 40])
def test_texts_with_a_hole_are_answered(lost):
    for offset in range(0, len(NAMES), 3):
        text = NAMES[:offset] + NAMES[offset + lost:]
        completing.complete(text, offset)
        outline = Outline(text)
        hovering.hover(outline, offset)
        structure.symbols(outline)
        assert Outline(formatting.applied(text, formatting.edits(text))).tree.is_whole == outline.tree.is_whole


@pytest.mark.parametrize('text, wanted, label', [
    (SERVER + '      fla|: 1\n', SERVER + '      flavor: 1\n', 'flavor'),
    (SERVER + '      fla|\n', SERVER + '      flavor: \n', 'flavor'),
    (SERVER + '      net|\n', SERVER + '      networks:\n', 'networks'),
    (SERVER + '      flavor: {get_p|: x}\n', SERVER + '      flavor: {get_param: x}\n', 'get_param'),
    (SERVER + '      flavor: |\n', SERVER + '      flavor: {get_param: \n', 'get_param'),
    (HOT + '  x: {type: OS::No|va}\n', HOT + '  x: {type: OS::Nova::Server}\n', 'OS::Nova::Server'),
    (HOT + '  x: {"typ|": 1}\n', HOT + '  x: {"type": 1}\n', 'type')])
def test_what_an_item_inserts(text, wanted, label):
    text, offset = cut(text)
    found = completing.complete(text, offset)
    item = next(item for item in found.items if item.label == label)
    assert text[:found.span.start] + item.insert + text[found.span.end:] == wanted


def test_old_types_are_marked_and_come_last():
    items = {item.label: item for item in completing.types()}
    assert items['OS::Heat::HARestarter'].is_deprecated and items['OS::Heat::HARestarter'].rank == completing.LAST
    assert not items['OS::Nova::Server'].is_deprecated
    assert 'hidden' in {item.detail for item in items.values()}


def test_names_of_a_text_that_cannot_be_read_come_from_the_last_one_that_could():
    text, offset = cut(HEAD + 'outputs:\n  o: {value: {get_resource: |\n}}}\nresources: {\n')
    outlines = [Outline(text), Outline(HOT)]
    assert [item.label for item in completing.complete(text, offset, outlines).items] == ['value']


@pytest.mark.parametrize('text, part', [
    (HOT.replace('OS::Heat::Val', 'OS::Heat::V|al'), 'Required properties: `value`'),
    (SERVER + '      fla|vor: x\n', 'Update: in place'),
    (SERVER + '      user_data_for|mat: x\n', 'Update: a change replaces the resource'),
    (SERVER + '      networks: [{po|rt: x}]\n', '**port**'),
    (SERVER + '      flavor: {get_pa|ram: size}\n', '**get_param**'),
    (SERVER + '      flavor: {get_param: si|ze}\n', 'type: number'),
    (SERVER + '      flavor: {get_attr: [server, first_ad|dress]}\n', '(attribute)'),
    (SERVER + '      flavor: {if: [bi|g, 1, 2]}\n', 'equals'),
    ('resource_registry:\n  OS::Nova::Ser|ver: x.yaml\n', '**OS::Nova::Server**'),
    ('resource_registry:\n  My: OS::Nova::Ser|ver\n', '**OS::Nova::Server**')])
def test_hover(text, part):
    text, offset = cut(text)
    assert part in hovering.hover(Outline(text), offset).text


@pytest.mark.parametrize('text', [HEAD + 'descrip|tion: x\n', 'a: |b\n', '|', HOT + '  x: {type: No::Such|Type}\n'])
def test_nothing_to_hover(text):
    text, offset = cut(text)
    assert hovering.hover(Outline(text), offset) is None


NAMES = '''heat_template_version: 2021-04-16
parameter_groups:
- parameters: [big]
parameters:
  big: {type: boolean, default: false}
conditions:
  big: {equals: [{get_param: big}, true]}
  both: {and: [big, {not: big}]}
resources:
  "a b": {type: OS::Heat::None, condition: big}
  b:
    type: OS::Heat::None
    depends_on: ["a b", 'a b']
    condition: {or: [big, both]}
    properties:
      big: {get_attr: ["a b", big]}
      data: {big: big, str_replace: {template: big, params: {big: {get_param: [big, big]}}}}
      choice: {if: [big, big, {get_resource: a b}]}
outputs:
  o: {value: {get_param: big}, condition: big}
'''


@pytest.mark.parametrize('place, new, changed', [
    ('- parameters: [', 'p', [
        ('- parameters: [big]', '- parameters: [p]'), ('  big: {type', '  p: {type'),
        ('{get_param: big}, t', '{get_param: p}, t'),
        ('[big, big]}', '[p, big]}'), ('{get_param: big}, c', '{get_param: p}, c')]),
    ('and: [', 'c', [
        ('  big: {equals', '  c: {equals'), ('[big, {not: big}]', '[c, {not: c}]'),
        ('condition: big}\n  b', 'condition: c}\n  b'),
        ('[big, both]', '[c, both]'), ('if: [big,', 'if: [c,'), ('condition: big}\n', 'condition: c}\n')]),
    ('get_resource: ', 'x', [
        ('"a b": {', '"x": {'), ('["a b", \'a b\']', '["x", \'x\']'), ('["a b", big]', '["x", big]'),
        ('get_resource: a b', 'get_resource: x')]),
    ('condition: big}\n  b', 'yes', [('  b:', '  "yes":')])])
def test_rename(place, new, changed):
    offset = NAMES.index(place) + len(place)
    outline = Outline(NAMES)
    wanted = NAMES
    for old, fresh in changed:
        assert old in wanted
        wanted = wanted.replace(old, fresh)
    assert formatting.applied(NAMES, navigating.rename(outline, offset, new)) == wanted
    definition = navigating.definition(outline, offset)
    assert definition in navigating.references(outline, offset)
    assert len(navigating.references(outline, offset, with_declaration=False)) == len(
        navigating.references(outline, offset)) - 1


@pytest.mark.parametrize('place, new, why', [
    ('get_resource: ', 'b', 'already'), ('get_resource: ', 'big', 'already the parameter'),
    ('get_resource: ', 'a/b', '"/"'),
    ('and: [', 'both', 'already'), ('and: [', ' ', 'empty'), ('OS::He', 'x', 'nothing')])
def test_refused_names(place, new, why):
    with pytest.raises(navigating.NotRenamed, match=why):
        navigating.rename(Outline(NAMES), NAMES.index(place) + len(place), new)


def test_versions_without_a_function_have_no_reference():
    text = NAMES.replace('2021-04-16', '2015-10-15')
    uses = Outline(text).uses
    assert {use.kind for use in uses} == {'parameter', 'resource', 'output'}


def test_names_of_cloudformation():
    text = CFN + '''Parameters: {P: {Type: String}}
Mappings: {M: {a: {b: c}}}
Resources:
  R:
    Type: AWS::EC2::EIP
    DependsOn: S
    Properties: {Domain: {Ref: P}, InstanceId: {'Fn::FindInMap': [M, a, b]}}
  S: {Type: AWS::EC2::EIP, Metadata: {Ref: R}}
Outputs: {O: {Value: {'Fn::GetAtt': [R, AllocationId]}}}
'''
    outline = Outline(text)
    assert {(use.kind, use.name): len(outline.uses_of(use.kind, use.name)) for use in outline.uses} == {
        ('parameter', 'P'): 2, ('mapping', 'M'): 2, ('resource', 'R'): 3, ('resource', 'S'): 2, ('output', 'O'): 1}


@pytest.mark.parametrize('text, wanted', [
    ('a: 1  \n\n\n', 'a: 1\n'), ('a: 1', 'a: 1\n'), ('a:\n      b: 1\n', 'a:\n  b: 1\n'),
    ('a:\r\n   b: 1 \r\n', 'a:\r\n  b: 1\r\n'),
    ('# x\na:\n    # y\n    b: 1  # z \n', '# x\na:\n  # y\n  b: 1  # z\n'),
    ('a:\n- b\n', 'a:\n- b\n'), ('a:\n   - b\n   -   c:\n           d\n', 'a:\n  - b\n  -   c:\n          d\n'),
    ('a: |\n    b  \n      c\n\n    d\n', 'a: |\n    b  \n      c\n\n    d\n'),
    ('a:\n   b: |\n       c  \n   d: "e  \n     f"\n', 'a:\n  b: |\n      c  \n  d: "e  \n    f"\n'),
    ('a:\n    - - b\n      - c\n', 'a:\n  - - b\n    - c\n'),
    ('a: {b: 1,\n   c: 2}  \n', 'a: {b: 1,\n   c: 2}\n'),
    ('a: |+\n  b\n\n', 'a: |+\n  b\n\n'), ('a: |\n  b', 'a: |\n  b'),
    ('a: [\n', 'a: [\n'), ('a: &x\n   - b\nc: *x  \n', 'a: &x\n   - b\nc: *x\n'), ('', ''),
    ('a:  1\n---\nb:   2  \n', 'a:  1\n---\nb:   2\n')])
def test_formatting(text, wanted):
    once = formatting.applied(text, formatting.edits(text))
    assert once == wanted
    assert formatting.edits(once) == []


def test_positions():
    text = Text('a\r\nö🛒b\rc\n\u2028d')
    assert [text.position(text.text.index(each)) for each in 'aö🛒bcd'] == [
        (0, 0), (1, 0), (1, 1), (1, 3), (2, 0), (3, 1)]
    for offset in range(len(text.text)):
        if text.text[offset] != '\n' or text.text[offset - 1] != '\r':
            assert text.offset(*text.position(offset)) == offset
    assert text.offset(1, 2) == text.text.index('🛒')          # in the middle of a pair
    assert (text.offset(1, 99), text.offset(99, 0)) == (text.text.index('\rc'), len(text.text))
    assert text.found_at(5, 1) == text.text.index('d')          # YAML ends lines in more ways


def test_folds_and_symbols_of_a_broken_text():
    outline = Outline(HOT + '  broken: [\n')
    names = {symbol.name: [each.name for each in symbol.inside] for symbol in structure.symbols(outline)}
    assert names['resources'] == ['value', 'broken'] and names['parameters'] == ['size']
    text = 'a:\n  b: |\n    c\n    d\n\ne: 1\n'
    assert structure.folds(Outline(text), Text(text)) == [(0, 3), (1, 3)]
