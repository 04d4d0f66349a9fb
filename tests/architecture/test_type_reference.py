"""The reference pages of resource types: one for each, with all names and texts, and an example that is valid."""

from __future__ import annotations

import sys

import pytest
import yaml

from heatlite.authoring import checking
from heatlite.engine.resources import packed
from heatlite.engine.resources.catalogue import texts
from heatlite.engine.types import registry
from heatlite.language import rules
from tests.architecture import source

sys.path.insert(0, str(source.ROOT / 'docs'))

import type_examples
import type_reference

EXECUTED, OTHERS, TEMPLATES = type_examples.executed(), type_examples.others(), type_examples.templates()
VISIBLE = sorted(name for name in packed.names() if not packed.facts(name)['support_status'].get('hidden'))


@pytest.fixture(scope='module')
def pages():
    yield type_reference.pages()
    registry.use(None)


def test_each_type_has_a_page_and_a_line_in_the_index(pages):
    assert set(pages) == {type_reference.page_name(name) for name in packed.names()} | {'index'}
    lines = {name: f'`{name} <{type_reference.page_name(name)}.rst>`__' for name in VISIBLE}
    assert [name for name, line in lines.items() if line not in pages['index']] == []


@pytest.mark.parametrize('name', sorted(packed.names()))
def test_a_page_has_all_names_and_texts(pages, name):
    page = pages[type_reference.page_name(name)]
    assert page.startswith(f'{name}\n{"=" * len(name)}\n')
    for (_section, path), body in texts.members(packed.facts(name)):
        assert f'``{path}``' in page and type_reference.escaped(body['description']) in page, path


def test_a_row_says_what_a_property_is():
    body = {'type': 'list', 'default': [], 'update_allowed': True, 'description': 'Sizes of the *lamps*.',
            'support_status': {'status': 'DEPRECATED', 'version': '9.0.0', 'message': 'Use bulbs.'},
            'constraints': [{'kind': 'length', 'value': {'max': 3}}],
            'schema': {'*': {'type': 'string', 'constraints': [{'kind': 'allowed_values', 'value': ['S', 'M']}]}}}
    assert list(type_reference.rows([(('properties', 'sizes'), body)], 'properties')) == [
        ('``sizes``', 'list of strings', '``[]``', 'length at most 3; each: ``S``, ``M``', 'in place',
         'Sizes of the \\*lamps\\*. *Deprecated since 9.0.0.* Use bulbs.')]


@pytest.mark.parametrize('body, default, update', [
    ({'type': 'string', 'required': True}, '**required**', 'replaces'),
    ({'type': 'string', 'immutable': True, 'default': ''}, 'an empty text', 'refused'),
    ({'type': 'string', 'update_allowed': True, 'default': 'a', 'default_from_config': 'lamp'},
     '``a`` (option ``lamp``)', 'in place'),
])
def test_defaults_and_updates(body, default, update):
    assert (type_reference.default(body), type_reference.update('lamp', body)) == (default, update)
    assert type_reference.update('lamp.bulb', body) == ''


@pytest.mark.parametrize('kind, value, text', [
    ('range', {'min': 1, 'max': 5}, '1 to 5'), ('range', {'min': 0}, 'at least 0'), ('range', {'max': 0}, 'at most 0'),
    ('modulo', {'step': 2, 'offset': 1}, '1 more than a multiple of 2'), ('allowed_pattern', 'a*', 'pattern ``a*``'),
    ('allowed_values', list(range(20)), ', '.join(f'``{each}``' for each in range(16)) + ' and 4 others'),
    ('custom_constraint', 'ip_addr', 'an IP address'), ('custom_constraint', 'nova.server', '``nova.server``'),
])
def test_limits(kind, value, text):
    assert type_reference.limit(kind, value) == text


# --- examples ---------------------------------------------------------------------------------------------

def test_each_type_that_does_something_has_an_example():
    """Those in type-examples.yaml are for types that the conformance suite does not create."""
    assert set(EXECUTED) & set(OTHERS) == set()
    assert sorted(set(VISIBLE) - set(TEMPLATES)) == []


@pytest.mark.parametrize('name', sorted(TEMPLATES))
def test_an_example_is_valid_as_it_is_printed(tmp_path, pages, name):
    file = tmp_path / 'example.yaml'
    text = type_reference.written(TEMPLATES[name])
    file.write_text(text)
    assert yaml.safe_load(text)['resources'].popitem()[1]['type'] == name
    assert [f'{each.line}: {each.message}' for each in checking.check(str(file))
            if each.level == rules.ERROR] == []
    printed = pages[type_reference.page_name(name)]
    assert all(line.strip() in printed for line in text.splitlines())
