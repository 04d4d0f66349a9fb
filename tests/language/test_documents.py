"""Text to data: what YAML and JSON mean here, and how far a document may go."""

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from heatlite.common import document_size, exception, template_format, yaml_reading
from heatlite.common.limits import Limits
from heatlite.common.yaml_reading import DocumentError
from heatlite.language import document, template
from heatlite.language.positions import Positions

HEAD = 'heat_template_version: 2018-08-31\n'
LIMITS = Limits()


def read(text):
    return document.read(text, 'root stack', LIMITS)


@pytest.mark.parametrize('text, value', [
    ('yes', True), ('Off', False), ('y', 'y'), ('~', None), ('', None), ('010', 8), ('0x1F', 31), ('0b11', 3),
    ('1_000', 1000), ('12:30', 750), ('12:34:56', 45296), ('0o17', '0o17'), ('1e3', '1e3'), ('1.5e+3', 1500.0),
    ('1.10', 1.1), ('2013-05-23', '2013-05-23'), ('2001-12-14 21:59:43', '2001-12-14 21:59:43'),
    ('!!str 5', '5'), ('!!int "5"', 5), ('!!set {b, a}', ['b', 'a']), ('!!binary aGk=', 'hi'), ('"5"', '5'),
    ('=', '='), ('"<<"', '<<'), ('[<<]', ['<<'])])
def test_plain_scalars(text, value):
    found = document.read_yaml(f'x: {text}\n', 'root stack', LIMITS)['x']
    assert found == value
    assert type(found) is type(value)


def test_what_only_the_slow_reader_takes():
    text = HEAD + 'resources:\n  a: {value: {get_attr:[b, name]}}\n  b: {type: X}\n'
    assert read(text)['resources']['a'] == {'value': {'get_attr': ['b', 'name']}}
    assert Positions(text).find(('resources', 'b', 'type')) == (4, 7)
    with pytest.raises(DocumentError):
        read('x: @\n' + text)
    with pytest.raises(DocumentError):
        read(text + '#' * yaml_reading.SLOW_READER_LIMIT)


@pytest.mark.parametrize('text, value', [
    ('{1: a, true: b, 1.5: c, ~: d}', {'1': 'b', '1.5': 'c', 'null': 'd'}),
    ('{a: 1, a: 2}', {'a': 2}), ('{true: a, 1.0: b, 0: c, 1: d, -0.0: e}', {'true': 'd', '0': 'e'}),
    ('{x: &a {k: 1, l: 2}, y: {<<: *a, l: 3}}', {'x': {'k': 1, 'l': 2}, 'y': {'k': 1, 'l': 3}}),
    ('{a: &a {k: 1}, b: &b {k: 2, m: 3}, c: {<<: [*a, *b]}}',
     {'a': {'k': 1}, 'b': {'k': 2, 'm': 3}, 'c': {'k': 1, 'm': 3}}),
    ('\ufeffa: 1\r\nb: 2\r\n', {'a': 1, 'b': 2}),
    ('# nothing\n', None)])
def test_documents(text, value):
    assert read(text) == value


@pytest.mark.parametrize('text, said', [
    ('a: [', "expected the node content, but found '<stream end>'"),
    ('a: 1\n---\nb: 2\n', 'expected a single document in the stream'),
    ('a: !Ref b\n', "could not determine a constructor for the tag '!Ref'"),
    ('a: !!python/name:os.system x\n', 'could not determine a constructor'),
    ('? [a]\n: b\n', 'found unhashable key'), ('a: *nope\n', "found undefined alias 'nope'"),
    ('a:\n\t- b\n', "found character '\\t' that cannot start any token"), ('a: \x01\n', 'special characters are not'),
    ('{a: {<<: 5}}', 'expected a mapping or list of mappings for merging')])
def test_unreadable_texts_are_explained_as_clients_know(text, said):
    with pytest.raises(DocumentError, match=r'^Error parsing template \[root stack\] ') as caught:
        read(text)
    assert said in str(caught.value)


def test_errors_know_their_place():
    with pytest.raises(DocumentError) as caught:
        read('a: 1\nb: [c\n')
    assert (caught.value.line, caught.value.column) == (3, 1)


@pytest.mark.parametrize('text', [
    'x: ' + '[' * 100_000, 'x: ' + '[' * 50_000 + ']' * 50_000, 'x:\n' + '- ' * 50_000 + 'a',
    '{"x": ' + '[' * 50_000 + ']' * 50_000 + '}', 'x: ' + '{a: ' * 50_000 + '1' + '}' * 50_000])
def test_deep_documents_are_refused(text):
    with pytest.raises(exception.RequestLimitExceeded, match='option max_template_depth'):
        read(text)


def test_depth_within_the_limit_is_fine():
    found = document.read('[' * 100 + ']' * 100, 'root stack', Limits(max_depth=100))
    assert json.dumps(found) == '[' * 100 + ']' * 100


def bomb(levels):
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    lines += [f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 10)}]' for n in range(1, levels)]
    return '\n'.join(lines)


def test_aliases_may_expand_only_so_far():
    assert read(bomb(3))['a2'][9][9] == ['x'] * 10
    with pytest.raises(exception.RequestLimitExceeded, match='option max_template_expansion'):
        read(bomb(12))


LEAVES = (st.none() | st.booleans() | st.integers() | st.integers(10**30, 10**300) | st.text(max_size=80)
          | st.floats(allow_nan=False, allow_infinity=False) | st.text('a\0"é😀', min_size=15, max_size=300))
KEYS = st.text(max_size=20) | st.text('a\0"é😀', min_size=15, max_size=300)
MOST_OF_A_VALUE = 200       # characters of JSON for each value that is counted: a control character takes six


@st.composite
def shared_documents(draw):
    """Values whose containers have the same parts many times, as aliases give them."""
    parts = draw(st.lists(LEAVES, min_size=1, max_size=4))
    for _level in range(draw(st.integers(1, 4))):
        inner = st.sampled_from(parts)
        parts.append(draw(st.dictionaries(KEYS, inner, max_size=4)
                          | st.builds(lambda part, times: [part] * times, inner, st.integers(0, 30))))
    return parts[-1]


@given(shared_documents())
def test_json_is_not_longer_than_what_is_counted(value):
    assert len(json.dumps(value)) <= MOST_OF_A_VALUE * document.measure(value, LIMITS)


@pytest.mark.parametrize('shared', ['{? "%s" : 1}' % ('k' * 20_000), '{? "%s" : 1}' % ('é' * 5_000), '7' * 4300])
def test_long_keys_and_numbers_count_at_each_alias(shared):
    text = f'x: &m {shared}\nl: [{", ".join(["*m"] * 5000)}]\n'
    with pytest.raises(exception.RequestLimitExceeded, match='option max_template_expansion'):
        document.read(text, 'root stack', Limits(max_expansion=1_000_000))


def test_a_text_is_encoded_once_however_often_it_is_shared(monkeypatch):
    looked = []
    checked = document_size._checked
    monkeypatch.setattr(document_size, '_checked', lambda value: looked.append(value) or checked(value))
    text = 'é' * 1000
    document.measure({text: [text] * 100, 'again': [[text] * 100]}, LIMITS)
    assert len(looked) <= 2


def test_an_alias_inside_its_own_anchor_is_refused():
    with pytest.raises(DocumentError, match='inside its own anchor'):
        read('x: &a [*a]')


def test_long_integers_are_an_error_of_the_template():
    with pytest.raises(exception.HTTPBadRequest, match='Template not in valid format'):
        template.load(HEAD + 'x: ' + '9' * 10_000)


def test_size_is_counted_in_characters():
    limits = Limits(max_size=len(HEAD))
    assert template.load(HEAD, limits=limits).version == 'heat_template_version.2018-08-31'
    with pytest.raises(exception.RequestLimitExceeded, match=r'Template size \(35 bytes\) exceeds maximum'):
        template.load(HEAD + '#', limits=limits)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10**20, 10**20) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20)


@given(JSON)
def test_json_texts_mean_what_json_says(value):
    assert read(json.dumps(value)) == value


@given(JSON)
def test_dumped_yaml_is_read_back(value):
    assert document.read_yaml(yaml.safe_dump(value), 'x', LIMITS) == value


PIECES = st.sampled_from([
    'a', 'b: ', '- ', '\n', '  ', '[', ']', '{', '}', ', ', ': ', '"', "'", '&x ', '*x', '!!str ', '!x ', '# c', '|\n ',
    '? ', '<<: ', '1', '2001-01-01', '~', '---\n', '%', '\t', 'é', '1:30', 'on'])


class Fast(yaml.CSafeLoader):
    """The library's own composer and constructor, with dates as text."""

    yaml_implicit_resolvers = template_format.yaml_loader.yaml_implicit_resolvers


class Slow(yaml.SafeLoader):
    """The same in Python: it takes some texts that the other refuses."""

    yaml_implicit_resolvers = template_format.yaml_loader.yaml_implicit_resolvers


for _loader in (Fast, Slow):
    _loader.add_constructor('tag:yaml.org,2002:timestamp', yaml.SafeLoader.construct_yaml_str)


def by_the_library(text):
    try:
        return yaml.load(text, Loader=Fast)
    except yaml.YAMLError:
        return yaml.load(text, Loader=Slow)


@given(st.lists(PIECES, max_size=25).map(''.join))
@example('|\n \t')
@example('{1: a, on: b, "on": c, ~: d}')
def test_the_builder_agrees_with_the_library(text):
    try:
        expected = by_the_library(text)
        json.dumps(document.clean(expected))
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, KeyError, IndexError):
        with pytest.raises(DocumentError):
            document.read_yaml(text, 'x', LIMITS)
        return
    assert document.read_yaml(text, 'x', LIMITS) == document.clean(expected)


class Compared(int):
    """A number that counts how often it is compared with another key of the same hash."""

    times = 0

    def __hash__(self):
        return int(self) % (2 ** 61 - 1)

    def __eq__(self, other):
        Compared.times += 1
        return int(self) == other


def test_numbers_of_the_same_hash_are_not_compared_as_keys(monkeypatch):
    monkeypatch.setattr(Compared, 'times', 0)
    monkeypatch.setattr(yaml_reading, 'plain_value', Compared)
    numbers = [7 + place * (2 ** 61 - 1) for place in range(200)]
    found = document.read_yaml(''.join(f'{number}: !!str x\n' for number in numbers), 'x', LIMITS)
    assert list(found) == [str(number) for number in numbers]
    assert Compared.times == 0


@given(JSON)
def test_clean_is_stable(value):
    assert document.clean(document.clean(value)) == document.clean(value) == value


def test_positions():
    found = Positions('a:\n  b: [x, {c: 1}]\n  g: [{h: 1, i: 2}]\n  g: [{h: 1, h: 2}]\nd: &e {f: 1, 2: 3}\n')
    assert found.find(('a', 'b', 1, 'c')) == (2, 11)
    assert found.find(('a', 'nope')) == (1, 1)
    assert found.find(('a', 'g')) == (4, 3)
    assert found.find(('d', '2')) == (5, 14)
    assert found.duplicates == [(('a', 'g'), (4, 3))]
    assert Positions('a: [').find(('a',)) == (1, 1)
    assert Positions('').find(('a',)) is None


def test_what_plug_ins_import():
    assert template_format.parse(HEAD)['heat_template_version'] == '2018-08-31'
    assert template_format.simple_parse('') == {}
    with pytest.raises(ValueError, match='Template format version not found.'):
        template_format.parse('a: b')
    with pytest.raises(ValueError, match='not a JSON object or YAML mapping'):
        template_format.simple_parse('[a]')
    written = template_format.convert_json_to_yaml('{"b": "x\\ny", "a": [1]}')
    assert yaml.safe_load(written) == {'b': 'x\ny', 'a': [1]}
    assert written.startswith('b: |')


@pytest.mark.parametrize('key, version', [
    ('heat_template_version', '2018-08-31'), ('HeatTemplateFormatVersion', '2012-12-12'),
    ('AWSTemplateFormatVersion', '2010-09-09')])
def test_the_key_of_the_version_under_the_name_that_plugins_read(key, version):
    found = template.from_mapping({key: version})
    assert str(found.VERSION) == key
