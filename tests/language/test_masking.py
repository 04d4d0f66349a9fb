"""What is hidden in a stack, and how it is taken out of values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.language import hiding, masking
from heatlite.language.masking import Mask

HIDDEN = {'type': 'string', 'hidden': True}


@pytest.mark.parametrize('value, shown', [
    ('hunter2', '******'), ('pw=hunter2;', 'pw=******;'), ('hunter', 'hunter'),
    ({'a': ['x', 'hunter2']}, {'a': ['x', '******']}), ({'hunter2': 1}, {'******': 1}),
    (4711, '******'), ('4711 km', '****** km'), (True, True), (None, None), (47, 47),
    ('on', '******'), ('one', 'one'),                                   # short: only as a whole
    ('{"k": "say \\"aha\\""}', '{"k": "******"}'), ('say "aha"', '******'),
])
def test_values(value, shown):
    assert Mask(['hunter2', 4711, 'on', 'say "aha"'])(value) == shown


def test_longer_texts_go_first_and_nothing_is_copied_without_need():
    assert Mask(['abcd', 'abcdef'])('abcdefg') == '******g'
    value = {'a': [1]}
    assert masking.NOTHING(value) is value


@pytest.mark.parametrize('environment', [
    {'parameters': {'p': 'secret-1'}}, {'parameter_defaults': {'p': 'secret-1'}},
    {'parameters': {'p': {'k': ['secret-1']}}}, {'parameters': {'p': '{"k": "secret-1"}'}},
    {'parameters': {'p': 'x,secret-1,y'}}, {'parameters': {'p': ['secret-1']}},
    {'parameters': {'q': 'secret-1'}, 'encrypted_param_names': ['q']}, {'hidden_values': ['secret-1']},
])
@pytest.mark.parametrize('document', [
    {'parameters': {'p': HIDDEN, 'q': {'type': 'string'}}},
    {'Parameters': {'p': {'Type': 'String', 'NoEcho': 'true'}, 'q': {'Type': 'String'}}}])
def test_the_documents_of_a_stack_say_what_is_hidden(document, environment):
    assert masking.of_documents(document, environment)('a secret-1') == 'a ******'


def test_a_default_is_hidden_and_what_is_not_declared_so_is_shown():
    document = {'parameters': {'p': {**HIDDEN, 'default': 'secret-1'}, 'q': {'type': 'string', 'default': 'shown'}}}
    mask = masking.of_documents(document, {'parameters': {'q': 'visible'}})
    assert mask(['secret-1', 'shown', 'visible']) == ['******', 'shown', 'visible']


def test_a_nested_stack_inherits_only_what_occurs_in_it():
    mask = Mask(['secret-1', 'secret-2', 'secret-3'])
    assert masking.inherited(mask, ['d', 'e'], {'resources': {'a': 'has secret-2'}}, {'p': 'x secret-1', 'q': 'shown'},
                             {'d': '1'}) == {'encrypted_param_names': ['d', 'p'],
                                             'hidden_values': ['secret-1', 'secret-2']}
    assert masking.inherited(mask, [], {}, {'q': 'shown'}, {}) == {}


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8)


@given(JSON, st.text(min_size=masking.SHORTEST).filter(lambda text: '*' not in text))
def test_no_hidden_text_is_left_anywhere(value, secret):
    mask = Mask([secret])
    shown = mask({'known': f'<{secret}>', 'value': value})
    assert mask.within(shown) == []


def test_only_keys_that_look_generated_are_secrets():
    token = 'x7Kq92LmPf04TzRw8sVb'
    mask = masking.Mask([{token: 1, 'database_host_number_1': 2, 'a': 3, 'passwordofthedatabase': 4}])
    assert mask.text(f'a {token}, database_host_number_1, passwordofthedatabase') == (
        'a ******, database_host_number_1, passwordofthedatabase')
    assert hiding.masked(f'no {token}', hiding.texts_of([{token: 'v'}])) == 'no ******'
