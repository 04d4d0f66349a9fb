"""What is hidden in a stack, and how it is taken out of values."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heatlite.api import masking as api_masking
from heatlite.common import turns
from heatlite.language import hiding, masking, parameter_schema, template
from heatlite.language.masking import Mask
from heatlite.language.text_index import TextIndex

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


HOT, CFN = 'heat_template_version: 2018-08-31\nparameters: {p: {type: string, hidden: %s}}', (
    "AWSTemplateFormatVersion: '2010-09-09'\nParameters: {p: {Type: String, NoEcho: %s}}")
WRITTEN = ['true', 'y', 't', "'yes'", "'on'", '1', '2', "'2'", '[1]', 'Y', "' TRUE '", 'whatever']
NOT_HIDDEN = ['false', 'null', "''", '0', '[]']


@pytest.mark.parametrize('text, written, is_hidden', [
    *((text, written, True) for text in (HOT, CFN) for written in WRITTEN),
    *((text, written, False) for text in (HOT, CFN) for written in NOT_HIDDEN),
    *((HOT, written, True) for written in ("'false'", "'no'", 'n')),           # texts, which are true as in Heat
    *((CFN, written, False) for written in ("'false'", "'no'", 'n', 'F', "'0'")),
])
def test_a_parameter_is_hidden_everywhere_or_nowhere(text, written, is_hidden):
    source = template.Template(template.parse(text % written))
    schema = parameter_schema.schemata(source.section('parameters'), source.edition)['p']
    mask = masking.of_documents(source.document, {'parameters': {'p': 'SECRETVALUE'}})
    names = masking.hidden_names(source.document, {})
    shown = api_masking.environment({'parameters': {'p': 'SECRETVALUE'}}, source.document)['parameters']['p']
    found = (schema.hidden, mask('SECRETVALUE') == '******', names == {'p'}, shown == '******')
    assert found == (is_hidden,) * 4


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


def replaced_in_turn(value, texts):
    """What masks did before they had an index."""
    for text in sorted(texts, key=lambda text: (-len(text), text)):
        value = value.replace(text, hiding.HIDDEN_TEXT)
    return value


HIDDEN_TEXTS = st.sets(st.text('ab', min_size=4, max_size=12) | st.text('abc\n"\\', min_size=4, max_size=20),
                       max_size=40)
SEARCHED = st.text('ab', max_size=80) | st.text('abc\n"\\', max_size=80)


@given(HIDDEN_TEXTS, SEARCHED, st.data())
def test_an_index_replaces_what_searches_in_turn_replace(texts, value, data):
    for part in data.draw(st.lists(st.sampled_from(sorted(texts)), max_size=4)) if texts else ():
        place = data.draw(st.integers(0, len(value)))
        value = value[:place] + part + value[place:]
    index = TextIndex(texts)
    assert index.replaced(value, hiding.HIDDEN_TEXT) == replaced_in_turn(value, texts)
    assert index.within(value) == {text for text in texts if text in value}


@given(HIDDEN_TEXTS, JSON, SEARCHED)
def test_many_hidden_texts_are_masked_as_few_are(texts, value, text):
    value = {'value': value, 'text': text, 'json': json.dumps([text]), text: 'xaaaax'}
    few, many = Mask(texts), Mask(texts)
    few._searches_each, many._searches_each = (lambda seen: True), (lambda seen: False)
    assert many(value) == few(value)
    assert many.within(value) == few.within(value)
    assert many.text(text) == few.text(text)


@pytest.fixture
def steps(monkeypatch):
    """How many steps of `turns` were spent, in a list of one number."""
    spent = [0]
    monkeypatch.setattr(turns, 'spend', lambda steps=1: spent.__setitem__(0, spent[0] + steps))
    return spent


@pytest.mark.parametrize('secrets, value', [
    ([f's{number:06}' for number in range(20_000)], 's0' * 50_000),
    ([f's{number:06}' for number in range(20_000)], ' '.join(f's{number:06}' for number in range(12_000))),
    (['a' * length for length in range(4, 500)], 'a' * 100_000),
    (['a' * length + 'b' for length in range(4, 500)], 'a' * 100_000),
    (['a' * 50_000 + end for end in 'bc'] * 20, 'a' * 100_000),
])
def test_a_mask_costs_steps_in_proportion_to_the_value_however_much_is_hidden(steps, secrets, value):
    mask = Mask(secrets)
    mask(value[:len(value) // 2])           # makes the index
    counts = []
    for length in (len(value) // 2, len(value)):
        before = steps[0]
        mask(value[:length])
        mask.within(value[:length])
        counts.append(steps[0] - before)
    assert counts[0] > 1000 or len(secrets) == 40
    assert counts[1] < min(2.5 * counts[0], 10 * len(value))


ESCAPED = (st.text(min_size=masking.SHORTEST) | st.text('ab"\\\n\x7f\u2028', min_size=masking.SHORTEST)).filter(
    lambda text: '<' not in text)


@given(ESCAPED, st.lists(st.booleans(), max_size=2))
@example('ab"c\x7fd', [False])
@example('-----BEGIN KEY-----\nab"c\n', [True, True])
def test_a_hidden_text_is_hidden_in_json_and_in_json_that_is_a_text_in_json(secret, ascii_only):
    text = secret
    for each in ascii_only:
        text = json.dumps(text, ensure_ascii=each)[1:-1]
    assert Mask([secret]).text(f'<{text}>') == '<******>'


def test_masks_of_many_stacks_do_not_escape_each_others_texts_again():
    mask = Mask(['\\' * 8])
    for number in range(20):
        mask |= Mask([f'secret-{number}'])
    assert len(mask._whole) == 3 + 20
    assert mask('a secret-19 ' + '\\' * 16) == 'a ****** ******'


def test_a_hidden_json_text_of_any_depth_is_hidden():
    secret = '[' * 900 + '"secret-1"' + ']' * 900
    deep = json.loads(secret)
    for _level in range(100):
        deep = [deep] * 1
    mask = masking.of_documents({'parameters': {'p': HIDDEN}}, {'parameters': {'p': secret}})
    assert mask('a secret-1') == 'a ******'
    for _level in range(100_000):
        deep = [deep]
    assert Mask([deep])('a secret-1') == 'a ******'


def test_a_prepared_mask_makes_no_index_later():
    mask = Mask(f'secret-{number}' for number in range(masking.FEW + 1))
    mask.prepare()
    before = mask._all
    assert before is not None
    assert mask('x' * masking.QUICK) == 'x' * masking.QUICK and mask._all is before
    few = Mask(['secret'])
    few.prepare()
    assert few._all is None


def test_the_export_of_a_nested_stack_alone_shows_no_hidden_value():
    """Types have written its template, as in the export of the stack around it."""
    document = {'heat_template_version': '2018-08-31', 'resources': {
        '0': {'type': 'OS::Heat::TestResource', 'properties': {'value': 'is-SECRETWORD'}}}}
    shown = api_masking.export({'template': document, 'environment': {masking.VALUES: ['SECRETWORD']}, 'resources': {}})
    assert shown['template']['resources']['0']['properties'] == {'value': 'is-******'}
    assert 'SECRETWORD' not in json.dumps(shown)
