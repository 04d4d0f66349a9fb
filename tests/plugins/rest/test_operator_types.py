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
    (('attributes: {color: color}', 'follow: {watts: {ad: "PUT /x"}}'), 11, 'ad: not known here'),
    (('attributes: {color: color}', 'before_delete: ["DELETE /rooms/{room}"]'), 11, '{room} is neither a property nor'),
    (('attributes: {color: color}', 'hooks: {body: nobody}'), 11, 'there is no hook nobody'),
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
    8: 'keys is no word of descriptions', 9: 'redy: not known in a wait', 10: 'a call is written as "VERB /path"',
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


def test_all_entries_that_are_no_maps_are_named(load):
    failure, = load('families: {lantern: 5}\nAcme::Lamp: 3\nAcme::Post: [x]\n').failures
    assert failure.types == ('Acme::Lamp', 'Acme::Post')
    assert [text in failure.error for text in ('line 1: the family lantern is not', 'line 2: Acme::Lamp is not a map',
                                               'line 3: Acme::Post is not')] == [True] * 3


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
