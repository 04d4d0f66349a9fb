"""What plug-ins written for Heat expect of properties, schemas and translation rules."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine.properties import Properties, Property, Schema
from heatlite.engine.translation import TranslationRule

WRONG = {'Integer': 'x', 'Number': 'x', 'String': [1], 'Boolean': 'yes', 'Map': 'x', 'List': 'x'}


# --- errors ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize('kind', WRONG)
def test_a_wrong_value_is_a_value_error_and_a_failed_validation(kind):
    properties = Properties({'p': Schema(kind)}, {'p': WRONG[kind]}, parent_name='r')
    for read in (lambda: properties['p'], lambda: properties.get_user_value('p'),
                 lambda: Property(Schema(kind), 'p').get_value(WRONG[kind])):
        with pytest.raises(ValueError) as caught:
            read()
        assert isinstance(caught.value, exception.StackValidationFailed)
        assert caught.value.wire_name == 'StackValidationFailed'
    with pytest.raises(exception.StackValidationFailed, match=r'r\.Properties\.p'):
        properties.validate()


def test_a_missing_value_is_a_value_error():
    properties = Properties({'p': Schema('String', required=True)}, {})
    with pytest.raises(ValueError, match='Property p not assigned'):
        _ = properties['p']
    with pytest.raises(exception.StackValidationFailed):
        properties.validate()


# --- what the user gave ----------------------------------------------------------------------------------

SCHEMA = {'plain': Schema('Integer'), 'default': Schema('Integer', default=1),
          'needed': Schema('Integer', required=True)}


@pytest.mark.parametrize('name', SCHEMA)
def test_the_users_value_has_no_default(name):
    assert Properties(SCHEMA, {}).get_user_value(name) is None
    assert Properties(SCHEMA, {name: '5'}).get_user_value(name) == 5


def test_the_users_value_of_an_unknown_name():
    with pytest.raises(KeyError, match='Invalid Property nope'):
        Properties(SCHEMA, {}).get_user_value('nope')


class Finder:
    def __init__(self):
        self.asked = []

    def find(self, name):
        self.asked.append(name)
        return f'id-{name}'


def resolving(finder):
    return TranslationRule(None, TranslationRule.RESOLVE, ['new'], client_plugin=finder, finder='find')


def test_the_users_value_is_translated():
    schema = {'old': Schema('String'), 'new': Schema('String'), 'gone': Schema('String')}
    rules = [TranslationRule(None, TranslationRule.REPLACE, ['new'], value_name='old'), resolving(Finder()),
             TranslationRule(None, TranslationRule.DELETE, ['gone'])]
    for given, found in (({'new': 'a'}, {'new': 'id-a', 'old': None}), ({'old': 'a'}, {'new': None, 'old': None}),
                         ({'gone': 'a'}, {'gone': None})):
        properties = Properties(schema, given)
        properties.update_translation(rules)
        assert {name: properties.get_user_value(name) for name in found} == found
