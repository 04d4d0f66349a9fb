"""Texts of the catalogue: each member of each type has the text of the most exact entry; a wrong entry is named."""

from __future__ import annotations

import textwrap

import pytest

from heatlite.engine.resources.catalogue import source, texts

LAMPS = '''\
OS::Vendor::DeskLamp:
  properties:
    name: string
    bulbs: {type: list, schema: {type: map, schema: {watts: integer}}}
    switch: {type: map, schema: {state: string}}
    grid: {type: list, schema: {type: list, schema: {type: map, schema: {cell: string}}}}
  update_policy:
    rolling: {type: map, schema: {pause: number}}
  attributes: {name: string, light: integer}
OS::Vendor::Lamp: {properties: {name: string}}
'''
TEXTS = '''\
'*':
  words: {made: 'When it is left out, one is made.'}
OS::Vendor::*:
  properties: {name: 'Name of the {noun}. {made}'}
OS::Vendor::*Lamp:
  attributes: {name: Name as the service has it.}
OS::Vendor::Lamp:
  words: {noun: light}
'''


def described(folder, *files):
    (folder / 'vendor.yaml').write_text(LAMPS)
    (folder / texts.FOLDER.name).mkdir(exist_ok=True)
    for number, text in enumerate(files):
        (folder / texts.FOLDER.name / f'{number}.yaml').write_text(textwrap.dedent(text))
    return source.read(folder).facts


def texts_of(facts):
    return {path: body['description'] for (_section, path), body in texts.members(facts) if 'description' in body}


def test_members_are_properties_inside_others_and_attributes_too(tmp_path):
    assert [member for member, _body in texts.members(described(tmp_path)['OS::Vendor::DeskLamp'])] == [
        ('properties', 'name'), ('properties', 'bulbs'), ('properties', 'bulbs.watts'), ('properties', 'switch'),
        ('properties', 'switch.state'), ('properties', 'grid'), ('properties', 'grid.cell'),
        ('update_policy', 'rolling'), ('update_policy', 'rolling.pause'), ('attributes', 'light'),
        ('attributes', 'name')]


def test_a_text_of_a_pattern_is_that_of_each_type_with_its_own_noun(tmp_path):
    found = described(tmp_path, TEXTS)
    assert found['OS::Vendor::Lamp']['properties']['name']['description'] == (
        'Name of the light. When it is left out, one is made.')
    assert found['OS::Vendor::DeskLamp']['properties']['name']['description'] == (
        'Name of the desk lamp. When it is left out, one is made.')
    assert found['OS::Vendor::DeskLamp']['attributes']['name']['description'] == 'Name as the service has it.'


def test_the_most_exact_name_wins(tmp_path):
    found = described(tmp_path, TEXTS, 'OS::Vendor::DeskLamp: {properties: {name: Its name.}}')
    assert found['OS::Vendor::DeskLamp']['properties']['name']['description'] == 'Its name.'
    assert found['OS::Vendor::Lamp']['properties']['name']['description'].startswith('Name of the light.')


def test_texts_of_inner_properties(tmp_path):
    found = described(tmp_path, '''\
        OS::Vendor::DeskLamp:
          properties: {bulbs.watts: Power in watts., switch.state: On or off., grid.cell: One of them.}
          update_policy: {rolling.pause: Seconds.}
        ''')['OS::Vendor::DeskLamp']
    assert texts_of(found) == {'bulbs.watts': 'Power in watts.', 'switch.state': 'On or off.',
                               'grid.cell': 'One of them.', 'rolling.pause': 'Seconds.'}
    assert found['properties']['bulbs']['schema']['*']['schema']['watts']['description'] == 'Power in watts.'
    assert texts.missing(found) == ['properties: name', 'properties: bulbs', 'properties: switch', 'properties: grid',
                                    'update_policy: rolling', 'attributes: light', 'attributes: name']


def test_several_names_share_an_entry(tmp_path):
    found = described(tmp_path, 'OS::Vendor::Lamp OS::Vendor::Desk*: {properties: {name: Its name.}}')
    assert {facts['properties']['name']['description'] for facts in found.values()} == {'Its name.'}


def test_an_entry_of_one_type_wins_over_one_of_several(tmp_path):
    found = described(tmp_path, '''\
        OS::Vendor::DeskLamp OS::Vendor::Lamp: {properties: {name: Its name.}}
        OS::Vendor::Lamp: {properties: {name: Name of the lamp.}}
        ''')
    assert [found[name]['properties']['name']['description'] for name in ('OS::Vendor::DeskLamp', 'OS::Vendor::Lamp')] \
        == ['Its name.', 'Name of the lamp.']


@pytest.mark.parametrize('text, error', [
    ('OS::Vendor::Lamp: [', '0.yaml, line 2: did not find expected node content'),
    ('OS::Vendor::Lamp: Its name.',
     '0.yaml, line 1: OS::Vendor::Lamp: expected a map of words, properties, update_policy, attributes'),
    ('OS::Vendor::Lamp:\n  outputs: {}',
     '0.yaml, line 2: OS::Vendor::Lamp, outputs: expected one of words, properties, update_policy, attributes'),
    ('OS::Vendor::Lamp:\n  properties: [name]', 'line 2: OS::Vendor::Lamp, properties: expected a map of texts'),
    ('OS::Vendor::Lamp:\n  properties: {name: 7}', 'line 2: OS::Vendor::Lamp, properties: expected a map of texts'),
    ('OS::Vendor::Lamp: {properties: {colour: Its colour.}}',
     '0.yaml, line 1: OS::Vendor::Lamp, properties.colour: expected a name that a type has'),
    ('OS::Village::*: {properties: {name: Its name.}}',
     '0.yaml, line 1: OS::Village::*, properties.name: expected a name that a type has'),
    ('OS::Vendor::Lamp: {properties: {name: Its name}}',
     '0.yaml, line 1: OS::Vendor::Lamp, properties.name: expected sentences that end with a full stop, found '
     "'Its name'"),
    ("OS::Vendor::Lamp: {properties: {name: 'The {thing}.'}}",
     "OS::Vendor::Lamp, properties.name: expected one of the words noun, found 'thing'"),
])
def test_a_wrong_entry(tmp_path, text, error):
    with pytest.raises(source.CatalogueError) as caught:
        described(tmp_path, text)
    assert error in str(caught.value)
