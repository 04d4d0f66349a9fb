"""The catalogue of resource types: the packed file is what the YAML files say, and a wrong entry is named exactly."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import json
import textwrap

import pytest

from heatlite.engine import attributes
from heatlite.engine.resource_checking import Checking
from heatlite.engine.resources import catalogue, packed, yaml_lines
from heatlite.engine.resources.catalogue import packing, source
from heatlite.engine.resources.rest import types as rest_types
from heatlite.engine.types import registry

LAMP = '''\
# A comment, so that lines and entries differ.
OS::Vendor::Lamp:
  properties:
    watts: {type: integer, default: 5, constraints: [{range: {min: 1, max: 60}}]}
'''


@pytest.fixture(scope='module')
def whole():
    return source.read()


def read(folder, text, name='vendor.yaml'):
    (folder / name).write_text(textwrap.dedent(text))
    return source.read(folder)


# --- the packed file --------------------------------------------------------------------------------------

def test_the_packed_file_is_what_the_yaml_files_say(whole):
    assert packing.differences(whole, packed.FILE.read_text()) == [], packing.REMEDY


def test_the_service_reads_the_facts_of_the_source(whole):
    assert list(packed.names()) == list(whole.facts)
    assert {name: packed.facts(name) for name in packed.names()} == whole.facts
    assert (packed.modules(), packed.aliases()) == (whole.modules, whole.aliases)


def test_differences_are_named(whole):
    head, *types = packing.packed_text(whole).splitlines()
    other = json.dumps(['OS::Nova::Server', {'properties': {}}])
    changed = [other if line.startswith('["OS::Nova::Server"') else line for line in types
               if not line.startswith('["OS::Heat::Value"')]
    assert packing.differences(whole, '\n'.join([head, *changed, '["OS::Vendor::Lamp",{}]'])) == [
        'OS::Heat::Value', 'OS::Nova::Server', 'OS::Vendor::Lamp']
    assert packing.differences(whole, '\n'.join(['{"aliases":{}}', *types])) == ['aliases', 'modules']
    assert packing.differences(whole, '\n'.join([head, *reversed(types), ''])) == ['the order of the lines']
    assert packing.differences(whole, '')


def test_the_command_compares(capsys):
    assert packing.main(['--check']) == 0
    assert capsys.readouterr() == ('', '')


# --- what an entry becomes --------------------------------------------------------------------------------

def test_what_is_left_out_has_its_default(tmp_path):
    assert read(tmp_path, 'OS::Vendor::Lamp: {}').facts['OS::Vendor::Lamp'] == {
        'class_name': 'Lamp', 'support_status': {'status': 'SUPPORTED', 'version': None},
        'reference': {'kind': 'physical_id', 'before_create': 'resource_name'},
        'attributes': {'show': {'type': 'map', 'cache_mode': 'cache_none'}}}


def test_short_forms_become_long(tmp_path):
    facts = read(tmp_path, '''\
        OS::Vendor::Lamp:
          support_status: [HIDDEN 9.0.0, {DEPRECATED 5.0.0: Use candles.}, SUPPORTED]
          reference: {before_create: null}
          properties:
            name: string
            bulbs: {type: list, required: true, schema: {type: map, schema: {colour: string}}}
          attributes:
            light: {type: integer, cached: false, support_status: SUPPORTED 2014.2}
            name: string
        ''').facts['OS::Vendor::Lamp']
    assert facts['support_status'] == {
        'status': 'HIDDEN', 'version': '9.0.0', 'hidden': True, 'previous': [
            {'status': 'DEPRECATED', 'version': '5.0.0', 'message': 'Use candles.'},
            {'status': 'SUPPORTED', 'version': None}]}
    assert facts['reference'] == {'kind': 'physical_id', 'before_create': None}
    assert facts['properties'] == {
        'name': {'type': 'string'},
        'bulbs': {'type': 'list', 'required': True, 'schema': {'*': {'type': 'map', 'schema': {
            'colour': {'type': 'string'}}}}}}
    assert facts['attributes']['light'] == {
        'type': 'integer', 'cache_mode': 'cache_none', 'support_status': {'status': 'SUPPORTED', 'version': '2014.2'}}
    assert facts['attributes']['name'] == {'type': 'string', 'cache_mode': 'cache_local'}
    status = packed.status(facts['support_status'])
    assert (status.status, status.previous_status.message, status.previous_status.previous_status.version) == (
        'HIDDEN', 'Use candles.', None)
    assert catalogue.attributes_of(facts)['light'].cache_mode == attributes.CACHE_NONE


def test_types_of_all_files_are_sorted_and_aliases_kept(tmp_path):
    read(tmp_path, 'OS::Vendor::Lamp: {module: heatlite.engine.resource}')
    read(tmp_path, '"OS::City*": "OS::Vendor*"\nOS::City::Light: OS::Vendor::Lamp\n', 'aliases.yaml')
    found = read(tmp_path, 'OS::Harbour::Lamp: {}', 'z.yaml')
    assert list(found.facts) == ['OS::Harbour::Lamp', 'OS::Vendor::Lamp']
    assert found.modules == {'OS::Vendor::Lamp': 'heatlite.engine.resource'}
    assert found.aliases == {'OS::City*': 'OS::Vendor*', 'OS::City::Light': 'OS::Vendor::Lamp'}


# --- what is refused --------------------------------------------------------------------------------------

def entry(line):
    """A file whose type has `line` as its fourth line."""
    return f'# One.\n# Two.\nOS::Vendor::Lamp:\n  {line}\n'


def of_property(body):
    return f'OS::Vendor::Lamp:\n  properties:\n    name: string\n    watts: {body}\n'


WATTS = 'vendor.yaml, line 4: OS::Vendor::Lamp, properties.watts'


@pytest.mark.parametrize('text, error', [
    # files
    ('a: [', "vendor.yaml, line 2: did not find expected node content"),
    ('- a', 'vendor.yaml, line 1: expected a map of names'),
    ('', 'vendor.yaml, line 1: expected a map of names'),
    ('OS::Vendor::Lamp: {}\nOS::Vendor::Lamp: {}', 'vendor.yaml, line 2: OS::Vendor::Lamp is there twice'),
    ('OS::Vendor::Lamp: {}\nOS::Vendor::Bulb: {}',
     'vendor.yaml, line 2: OS::Vendor::Bulb: expected types in alphabetical order; OS::Vendor::Lamp stands before it'),
    ('Lamp: {}', 'vendor.yaml, line 1: Lamp: expected a name such as OS::Nova::Server'),
    # types
    ('OS::Vendor::Lamp: string', "vendor.yaml, line 1: OS::Vendor::Lamp: expected a map with words of module, "),
    (entry('colour: red'), 'vendor.yaml, line 4: OS::Vendor::Lamp, colour: expected one of the words module, '),
    (entry('module: heatlite.engine.resources.openstack.vendor.lamp'),
     'vendor.yaml, line 4: OS::Vendor::Lamp, module: expected the dotted name of a module of heatlite, found '
     "'heatlite.engine.resources.openstack.vendor.lamp'"),
    (entry('family: plain'),
     "line 4: OS::Vendor::Lamp, family: expected one of placeholder, found 'plain'"),
    (entry('policy: member'), "line 4: OS::Vendor::Lamp, policy: expected one of project_admin, found 'member'"),
    (entry('entity: 7'), 'line 4: OS::Vendor::Lamp, entity: expected a text, found 7'),
    (entry('reference: {sort: none}'),
     'line 4: OS::Vendor::Lamp, reference.sort: expected one of the words kind, before_create, output, property'),
    (entry('reference: {kind: null}'), 'line 4: OS::Vendor::Lamp, reference.kind: expected a text, found None'),
    (entry('class_flags: []'), 'line 4: OS::Vendor::Lamp, class_flags: expected a map of names, found []'),
    (entry('properties: {}'), 'line 4: OS::Vendor::Lamp, properties: expected a map of names, found {}'),
    (entry('update_policy: {rolling: {type: group}}'),
     'line 4: OS::Vendor::Lamp, update_policy.rolling.type: expected one of any, '),
    # status
    (entry('support_status: 5.0.0'),
     'line 4: OS::Vendor::Lamp, support_status: expected a status '
     '(UNKNOWN, SUPPORTED, DEPRECATED, UNSUPPORTED, HIDDEN) '
     "with the version in which it began, or a list of them from the newest to the oldest, found '5.0.0'"),
    (entry('support_status: []'), 'line 4: OS::Vendor::Lamp, support_status: expected a status'),
    (entry('support_status: {HIDDEN: 5}'), 'line 4: OS::Vendor::Lamp, support_status: expected a status'),
    # properties
    (of_property('text'), f'{WATTS}.type: expected one of any, boolean, integer, list, map, number, string, found '
                          "'text'"),
    (of_property('{required: true}'), f'{WATTS}.type: expected one of any, '),
    (of_property('[string]'), f"{WATTS}: expected a map with words of type, required, default, "),
    (of_property('{type: integer, min: 5}'), f'{WATTS}.min: expected one of the words type, required, '),
    (of_property('{type: integer, required: false}'),
     f'{WATTS}.required: expected true; leave the word out otherwise, found False'),
    (of_property('{type: integer, update_allowed: "yes"}'), f"{WATTS}.update_allowed: expected true; leave the word"),
    (of_property('{type: integer, implemented: true}'),
     f'{WATTS}.implemented: expected false; leave the word out otherwise, found True'),
    (of_property('{type: integer, update_allowed: true, immutable: true}'),
     f'{WATTS}: Options UpdateAllowed and Immutable cannot both be True'),
    (of_property('{type: integer, support_status: NEW}'), f'{WATTS}.support_status: expected a status'),
    (of_property('{type: integer, schema: {a: string}}'),
     f'{WATTS}.schema: expected no schema for the type integer, only for list and map'),
    (of_property('{type: map, schema: string}'),
     f"{WATTS}.schema: expected a map of names of properties, found 'string'"),
    (of_property('\n      type: map\n      schema:\n        inner: text'),
     'vendor.yaml, line 7: OS::Vendor::Lamp, properties.watts.schema.inner.type: expected one of any, '),
    # constraints
    (of_property('{type: integer, constraints: {range: {min: 1}}}'),
     f"{WATTS}.constraints: expected a list of constraints, found {{'range': {{'min': 1}}}}"),
    (of_property('{type: integer, constraints: [odd]}'),
     f'{WATTS}.constraints.0: expected a map with one of the words range, length, modulo, allowed_values, '
     "allowed_pattern, custom_constraint, found 'odd'"),
    (of_property('{type: integer, constraints: [{odd: true}]}'),
     f'{WATTS}.constraints.0.odd: expected one of the words range, '),
    (of_property('{type: integer, constraints: [{range: {from: 1}}]}'),
     f"{WATTS}.constraints.0.range: expected a map with min, max or both, which are numbers, found {{'from': 1}}"),
    (of_property('{type: integer, constraints: [{modulo: {step: 2}}]}'),
     f'{WATTS}.constraints.0.modulo: expected a map with step and offset, which are integers'),
    (of_property('{type: integer, constraints: [{allowed_values: 5}]}'),
     f'{WATTS}.constraints.0.allowed_values: expected a list of values, found 5'),
    (of_property('{type: string, constraints: [{allowed_pattern: 5}]}'),
     f'{WATTS}.constraints.0.allowed_pattern: expected a text, found 5'),
    (of_property('{type: string, constraints: [{allowed_pattern: "("}]}'), f'{WATTS}: AllowedPattern "("'),
    (of_property('{type: integer, constraints: [{length: {min: 1}}]}'), f'{WATTS}: Length constraint invalid for Int'),
    (of_property('{type: integer, default: 9, constraints: [{range: {max: 5}}]}'), f'{WATTS}: Invalid default 9'),
    # attributes
    (entry('attributes: {light: lumen}'), 'line 4: OS::Vendor::Lamp, attributes.light.type: expected one of boolean, '),
    (entry('attributes: {light: {cache_mode: none}}'),
     'line 4: OS::Vendor::Lamp, attributes.light.cache_mode: expected one of the words type, cached, '),
    (entry('attributes: {light: {cached: true}}'),
     'line 4: OS::Vendor::Lamp, attributes.light.cached: expected false; leave the word out otherwise, found True'),
    (entry('attributes: {show: map}'),
     'line 4: OS::Vendor::Lamp, attributes.show: expected no entry: every type has this attribute'),
    # translation rules
    (entry('translation_rules: [{path: [name]}]'),
     'line 4: OS::Vendor::Lamp, translation_rules.0.rule: expected one of add, delete, replace, resolve'),
    (entry('translation_rules: [{rule: move, path: [name]}]'),
     "translation_rules.0.rule: expected one of add, delete, replace, resolve, found 'move'"),
    (entry('translation_rules: [{rule: delete}]'), 'translation_rules.0.path: expected a list of texts'),
    (entry('translation_rules: [{rule: delete, path: name}]'),
     "translation_rules.0.path: expected a list of texts, found 'name'"),
    (entry('translation_rules: [{rule: delete, path: [name], to: id}]'),
     'translation_rules.0.to: expected one of the words rule, path, finder, '),
])
def test_a_wrong_entry(tmp_path, text, error):
    with pytest.raises(source.CatalogueError) as caught:
        read(tmp_path, text)
    assert error in str(caught.value)


def test_a_type_has_one_file(tmp_path):
    read(tmp_path, LAMP)
    with pytest.raises(source.CatalogueError) as caught:
        read(tmp_path, LAMP, 'village.yaml')
    assert str(caught.value) == ('village.yaml, line 2: OS::Vendor::Lamp: expected an entry in one file only; '
                                 'vendor.yaml has one, too')


@pytest.mark.parametrize('text, error', [
    ('OS::City::Lamp: OS::City::Bulb', "aliases.yaml, line 1: OS::City::Lamp: expected the name of a type, or for a "
                                       "prefix with * another prefix with *, found 'OS::City::Bulb'"),
    ('"OS::City*": OS::Vendor::Lamp', 'aliases.yaml, line 1: OS::City*: expected the name of a type'),
    ('OS::Vendor::Lamp: OS::Vendor::Lamp',
     'aliases.yaml, line 1: OS::Vendor::Lamp: expected a name that is not a type'),
])
def test_a_wrong_alias(tmp_path, text, error):
    read(tmp_path, LAMP)
    with pytest.raises(source.CatalogueError) as caught:
        read(tmp_path, text, 'aliases.yaml')
    assert error in str(caught.value)


# --- its page ---------------------------------------------------------------------------------------------

def test_the_page_explains_every_word():
    page = (source.ROOT / 'docs/developers/catalogue.rst').read_text()
    words = {*source.TYPE_WORDS, *source.PROPERTY_WORDS, *source.ATTRIBUTE_WORDS, *source.CONSTRAINTS,
             *source.REFERENCE_WORDS, *source.FAMILIES, *source.POLICIES, *source.RULES,
             *(word for word in source.RULE_WORDS if word in ('rule', 'path', 'finder', 'client_plugin'))}
    assert sorted(word for word in words if f'``{word}' not in page) == []


# --- from an entry to the code, and back ------------------------------------------------------------------

RESOURCES = source.FOLDER.parent


@functools.cache
def entries():
    """Type -> the file of the catalogue that has its entry."""
    return {name: path for path in source.FOLDER.glob('*.yaml') if path.name != source.ALIASES
            for name in yaml_lines.read(path.read_text()).values}


def leading_comment(path):
    return '\n'.join(itertools.takewhile(lambda line: line.startswith('#'), path.read_text().splitlines()))


def from_root(path):
    return str(path.relative_to(source.ROOT))


@pytest.mark.parametrize('path', [path for path in sorted(RESOURCES.rglob('*.py'))
                                  if 'def resource_mapping(' in path.read_text() and path.parent.name != 'rest'],
                         ids=from_root)
def test_a_module_with_classes_and_its_entries_name_each_other(path):
    module = from_root(path.with_suffix('')).replace('/', '.')
    types = importlib.import_module(module).resource_mapping()
    assert set(types) == {name for name, named in packed.modules().items() if named == module}
    files = {entries()[name] for name in types}
    assert [line for line in ast.get_docstring(ast.parse(path.read_text())).splitlines()
            if line.startswith('Schema: ')] == [f'Schema: {from_root(file)}' for file in files]


def test_a_description_and_its_entries_name_each_other():
    files = entries()
    for name, description in rest_types.files().items():
        assert name not in packed.modules(), f'{name} has a class and a description'
        assert from_root(description) in leading_comment(files[name]), name
        assert from_root(files[name]) in leading_comment(description), name


def test_every_class_has_the_schemata_of_its_entry():
    known = registry.create()
    different = [(name, key) for name in packed.modules() for key, schema in packed.properties(name).items()
                 if known.resolve(name, 'r').properties_schema[key] is not schema]
    registry.use(None)
    assert different == []


def test_every_class_with_a_check_says_whether_it_runs_before_the_creation():
    """With values that were not known when the stack was accepted. What the check bounds needs it."""
    known = registry.create()
    silent = set()
    for name in packed.names():
        defining = next(each for each in known.resolve(name, 'r').__mro__ if 'validate' in vars(each))
        if defining is not Checking and 'validates_at_creation' not in vars(defining):
            silent.add(defining.__name__)
    registry.use(None)
    assert silent == set()
