"""Described types that operators add: loaded from the plug-in folders, mistakes named by file and line."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from heatlite.common import exception
from heatlite.engine.resources.rest import description, waits
from heatlite.engine.types import plugin_loading

LAMP = '''
    families:
      lantern: {service_type: lantern, create: POST, update: PUT, delete: DELETE}

    Acme::Lamp:
      family: lantern
      path: /lamps
      key: lamp
      properties:
        watts: {type: integer, update_allowed: true}
      attributes: {color: color}
    '''


@pytest.fixture
def load(tmp_path, plugin_folders):
    def from_text(text):
        (tmp_path / 'lamps.yaml').write_text(textwrap.dedent(text))
        return plugin_loading.load([str(tmp_path)])
    return from_text


def test_a_file_of_types(load):
    found = load(LAMP)
    kind = found.types['Acme::Lamp']
    assert found.failures == []
    assert kind.properties_schema['watts'].update_allowed
    assert kind.default_client_name == 'lantern'
    assert set(kind.attributes_schema) == {'color'}


def test_properties_and_attributes_have_texts_for_users(load):
    kind = load(LAMP.replace('update_allowed: true}', 'update_allowed: true, description: Power in watts.}').replace(
        '{color: color}', '{color: {field: color, description: Color of the light.}}')).types['Acme::Lamp']
    assert kind.properties_schema['watts'].description == 'Power in watts.'
    assert kind.attributes_schema['color'].description == 'Color of the light.'
    assert load(LAMP).types['Acme::Lamp'].attributes_schema['color'].description is None


@pytest.mark.parametrize('change, line, text', [
    (('path: /lamps', 'pth: /lamps'), 7, 'pth is no word of descriptions'),
    (('family: lantern', 'family: lanterns'), 6, 'there is no family lanterns in this file'),
    (('type: integer', 'type: int'), 10, 'watts needs a type: one of any, boolean, integer, list, map, number, string'),
    (('update_allowed', 'updatable'), 10, 'watts: updatable is no word of properties'),
    (('attributes: {color: color}', 'body: {color: shade}'), 11, 'there is no property color'),
    (('attributes: {color: color}', 'suspend: [HALT /lamps]'), 11, 'a call is written as "VERB /path"'),
    (('attributes: {color: color}', 'follow: {watts: {ad: "PUT /x"}}'), 11, 'ad: not known; did you mean "add"?'),
    (('attributes: {color: color}', 'before_delete: ["DELETE /rooms/{room}"]'), 11, '{room} is neither a property nor'),
    (('attributes: {color: color}', 'hooks: {body: nobody}'), 11, 'there is no hook nobody'),
    (('path: /lamps', 'path: /lamps\n      service_typ: x'), 8,
     'service_typ is no word of descriptions; did you mean "service_type"?'),
    (('update_allowed: true', 'updat_allowed: true'), 10, 'no word of properties; did you mean "update_allowed"?'),
    (('family: lantern', 'family: lanten'), 6, 'no family lanten in this file; did you mean "lantern"?'),
    (('attributes: {color: color}', 'body: {wats: shade}'), 11, 'no property wats; did you mean "watts"?'),
    (('color: color}', 'color: }'), 11, 'color: a field of the answer or a map is wanted, not None'),
    (('color: color}', 'color: {feld: color}}'), 11, 'color: feld: not known; did you mean "field"?'),
    (('color: color}', 'color: {type: string}}'), 11, 'color: one of call, data, field, hook, value is missing'),
    (('update: PUT, ', ''), 5, 'watts may be updated, but nothing does it'),
    (('key: lamp', 'key: lamp\n      key: lamps'), 9, 'key is there twice'),
    (('attributes: {color: color}', 'attributes: [color'), 12, 'expected'),
])
def test_a_mistake_is_named_with_its_line(load, change, line, text):
    found = load(LAMP.replace(*change))
    assert not found.types
    failure, = found.failures
    assert failure.name == 'lamps.yaml'
    assert f'line {line}: ' in failure.error and text in failure.error


@pytest.mark.parametrize('wait, text', [
    ('{feld: state}', 'feld: not known; did you mean "field"?'),
    ('{busy: dark, after: [creat]}', 'field is missing; ready is missing; busy: a list is wanted, not \'dark\'; '
                                     'after: creat: no such action; did you mean "create"?'),
    ('{field: state, ready: lit}', "ready: a list is wanted, not 'lit'"),
    ('{field: state, ready: [lit], error: other}', "error: a list is wanted, not 'other'"),
    ('{field: [state], ready: [lit]}', "field: text is wanted, not ['state']"),
    ('{field: state, ready: [lit], after: create}', "after: a list is wanted, not 'create'"),
    ('{creat: {field: state, ready: [lit]}}', 'creat: no such action; did you mean "create"?'),
    ('{create: state}', "a map is wanted, not 'state'"),
    ('[state]', "a map is wanted, not ['state']"),
])
def test_a_wait_of_another_form(load, wait, text):
    failure, = load(LAMP.replace('key: lamp', f'wait: {wait}')).failures
    assert failure.error == f'line 8: Acme::Lamp, wait: {text}'


@pytest.mark.parametrize('word, value', [
    ('wait', '{field: state, ready: [lit]}'), ('gone', '[404]'), ('healthy', '{state: lit}'), ('keep_failed', '{}'),
    ('suspend', '[PUT /lamps]'), ('resume', '[PUT /lamps]')])
def test_what_needs_an_object_that_is_shown(load, word, value):
    """Else it would fail when the object was created, or deleted."""
    lines = LAMP.replace('key: lamp', f'show: false\n      {word}: {value}').replace(
        'attributes: {color: color}', 'send: all')
    failure, = load(lines).failures
    assert failure.error == f'line 9: Acme::Lamp, {word}: this reads the object, which is not shown'


@pytest.mark.parametrize('existing', ['{by: [watts]}', '{mark: watts}'])
def test_a_search_needs_a_path(load, existing):
    lines = LAMP.replace('create: POST', 'create: POST /lamps').replace(
        'path: /lamps', f'object: "/lamps/{{id}}"\n      existing: {existing}')
    failure, = load(lines).failures
    assert failure.error == 'line 8: Acme::Lamp, existing: there is no path to list objects from'


@pytest.mark.parametrize('given, text', [
    ('{valus: [gone]}', 'valus: not known; did you mean "values"?'),
    ('{values: gone}', "field is missing; values: a list is wanted, not 'gone'"),
    ('{field: state, busy: other}', "busy: a list is wanted, not 'other'"),
    ('[404, pag]', 'pag: not known; did you mean "page"?'),
])
def test_a_deletion_that_is_waited_for_in_another_form(load, given, text):
    failure, = load(LAMP.replace('key: lamp', f'gone: {given}')).failures
    assert failure.error == f'line 8: Acme::Lamp, gone: {text}'


@pytest.mark.parametrize('words, text', [
    ('constraints: [{rnge: {min: 1}}]', 'rnge is no constraint; there are range, length, modulo, allowed_values, '
                                        'allowed_pattern, custom_constraint; did you mean "range"?'),
    ('constraints: [{range: 3}]', 'range is a map of min, max, not 3'),
    ('constraints: [{range: {min: 1, mx: 3}}]', 'mx: not known in range; did you mean "max"?'),
    ('constraints: [{range: {}}]', 'range: A range constraint must have a min value and/or a max value specified.'),
    ('constraints: [{allowed_values: red}]', 'allowed_values: AllowedValues must be a list'),
    ('constraints: [{length: {min: 1}}]', 'Length constraint invalid for Integer'),
    ('default: lots', "the default 'lots' does not fit: Value 'lots' is not an integer"),
    ('default: lots, constraints: [{range: {min: 1}}]',
     "the default 'lots' does not fit: Value 'lots' is not an integer"),
    ('default: 0, constraints: [{range: {min: 1}}]',
     'the default 0 does not fit: 0 is out of range (min: 1, max: None)'),
    ('update_allowed: true, immutable: true', 'Options UpdateAllowed and Immutable cannot both be True'),
])
@pytest.mark.parametrize('inside', [False, True])
def test_a_property_that_contradicts_itself_is_named_with_its_line(load, words, text, inside):
    """Also one inside of another."""
    given = f'{{type: integer, {words}}}'
    lines = LAMP.replace('attributes:', f'  volts: {{type: map, schema: {{low: {given}}}}}\n      attributes:' if inside
                         else f'  volts: {given}\n      attributes:')
    failure, = load(lines).failures
    assert failure.error == f'line 11: {"volts.schema.low" if inside else "volts"}: {text}'


ALL_WRONG = '''
    families:
      lantern: {service_type: lantern, create: POST, update: PUT, delete: DELETE}

    Acme::Lamp:
      family: lantern
      path: /lamps
      keys: lamp
      wait: {field: state, redy: [lit]}
      suspend: [HALT /lamps]
      before_delete: ["DELETE /rooms/{room}"]
      body: {color: shade}
      hooks: {body: missing}
      properties:
        watts: {type: int, update_allowed: true}
        volts:
          type: map
          updatable: true
          schema:
            low: {type: text}
            high: {defaults: 3}
        amps: {type: integer, constraints: {range: 3}}
    '''
MISTAKES = {                                # line -> what is said of it
    8: 'keys is no word of descriptions', 9: 'redy: not known; did you mean "ready"?',
    10: 'a call is written as "VERB /path"',
    11: '{room} is neither a property nor', 12: 'there is no property color', 13: 'there is no hook missing',
    15: 'watts needs a type', 18: 'volts: updatable is no word of properties', 20: 'volts.schema.low needs a type',
    21: 'volts.schema.high: defaults is no word of properties', 22: 'amps: constraints are a list of maps'}


def test_all_mistakes_of_a_type_are_named_at_once_with_their_lines(load):
    failure, = load(ALL_WRONG).failures
    places = re.findall(r'line (\d+): (.*?)(?=; line \d+: |$)', failure.error)
    assert [int(line) for line, _text in places] == sorted([*MISTAKES, 21])         # high has no type, either
    for line, text in MISTAKES.items():
        assert any(int(where) == line and text in said for where, said in places), (line, failure.error)


def test_what_follows_from_a_mistake_is_not_named(load):
    """A misspelt `create` is one mistake, not also `nothing is ever created`."""
    failure, = load(LAMP.replace('create: POST', 'creates: POST')).failures
    assert failure.error.count('line ') == 1 and 'creates is no word of descriptions' in failure.error


ENTRIES = """
    families:
      lantern: {service_type: lantern, create: POST, delete: DELETE}
      switch: 5
    Acme::Lamp: {family: lantern, path: /lamps}
    Acme::Nothing: nothing
    Acme::Post: [x]
    Acme::Broken: {family: lantern, path: /lamps, size: 3}
    Acme::Switch: {family: switch, pth: /switches}
    """


def test_an_entry_that_is_no_map_costs_only_itself_and_what_hangs_on_it(load):
    found = load(ENTRIES)
    assert set(found.types) == {'Acme::Lamp'}
    assert [(failure.types, failure.error) for failure in found.failures] == [
        ((), 'line 4: the family switch is not a map'),
        (('Acme::Nothing',), 'line 6: Acme::Nothing is not a map'),
        (('Acme::Post',), 'line 7: Acme::Post is not a map'),
        (('Acme::Broken',), 'line 8: size is no word of descriptions'),
        (('Acme::Switch',), 'line 9: pth is no word of descriptions; did you mean "path"?; '
                            'line 9: the family switch is not a map')]


def test_families_that_are_no_map_cost_no_type_without_one(load):
    found = load('families: 5\nAcme::Lamp: {path: /lamps, service_type: lantern, create: POST, delete: DELETE}\n')
    assert set(found.types) == {'Acme::Lamp'}
    assert [(failure.types, failure.error) for failure in found.failures] == [((), 'line 1: families is not a map')]


def test_the_file_is_named_once(load):
    for text in (LAMP.replace('path: /lamps', 'pth: /lamps'), 'Acme::Lamp: [x', 'Acme::Lamp: 5'):
        failure, = load(text).failures
        assert str(failure).count(failure.file) == 1, str(failure)


@pytest.mark.parametrize('word', sorted(description.WORDS))
@pytest.mark.parametrize('value', ['5', '[5]', '{a: 5}', '[[x]]', 'text'])
def test_values_of_another_form_never_cost_more_than_the_type(load, word, value):
    given = {'path': '/lamps', 'service_type': 'lantern', 'create': 'POST', 'delete': 'DELETE',
             'properties': '{watts: integer}'}
    good, odd = ('{' + ', '.join(f'{key}: {text}' for key, text in entry.items()) + '}'
                 for entry in (given, {**given, word: value}))
    found = load(f'Acme::Good: {good}\nAcme::Odd: {odd}\n')
    assert 'Acme::Good' in found.types
    for failure in found.failures:
        assert failure.types == ('Acme::Odd',) and 'line 2: ' in failure.error


def test_a_status_that_is_not_described_fails_with_those_that_are():
    wait = waits.waits({'field': 'state', 'busy': ['dark'], 'ready': ['lit', 'on'], 'error': ['broken']})['create']
    with pytest.raises(exception.ResourceUnknownStatus) as error:
        wait.is_over({'state': 'BUILD'})
    assert str(error.value) == (
        'Resource is not built - Unknown status BUILD due to "state is none of the described statuses: '
        'busy dark; ready lit, on; error broken"')


def test_one_wrong_type_does_not_cost_the_others(load):
    found = load(LAMP + '''
    Acme::Broken:
      family: lantern
      path: /lamps
      size: 3
    ''')
    assert set(found.types) == {'Acme::Lamp'}
    assert [failure.types for failure in found.failures] == [('Acme::Broken',)]


def test_a_type_of_ours_described_anew_keeps_its_face(load):
    found = load('''
    OS::Neutron::AddressScope:
      path: /my-address-scopes
      key: address_scope
      create: POST
      update: PUT
      delete: DELETE
    ''')
    kind = found.types['OS::Neutron::AddressScope']
    assert kind.default_client_name == 'neutron' and set(kind.properties_schema) == {
        'name', 'shared', 'tenant_id', 'ip_version'}


def test_every_word_is_explained():
    page = Path(__file__).parents[3] / 'docs' / 'authors' / 'described-types.rst'
    explained = page.read_text()
    assert [word for word in sorted(description.WORDS)
            if f'``{word}``' not in explained and f' {word}:' not in explained] == []


@pytest.mark.parametrize('words, is_repaired', [
    ('', True), ('finish: ["POST /lamps/{id}/light"]', False), ('then: ["POST /lamps/{id}/light"]', False),
    ('wait: {field: status, ready: [on], after: [create]}', False),
    ('wait: {field: status, ready: [on], after: [update]}', True),
    ('retry: {create: [409]}', False), ('retry: {update: [409]}', True)])
def test_an_object_that_is_created_in_turns_is_replaced(load, words, is_repaired):
    found = load(LAMP.replace('key: lamp', f'key: lamp\n      id: "{{watts}}"\n      existing: again\n      {words}'))
    assert found.failures == []
    assert found.types['Acme::Lamp'].repaired_in_place is is_repaired
