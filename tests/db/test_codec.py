"""Columns of JSON: what is read is what was written, and belongs to the reader alone. Rows that are kept."""

from dataclasses import dataclass

import pytest

from heatlite.common import crypt
from heatlite.db import codec


@pytest.mark.parametrize('value', [{}, [], '', 0, None, 12, {'a': {}}, [[]], 'ab', {'': None}, True])
def test_what_is_read_is_what_was_written(value):
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize('text', ['{}', '[]', '{"a":1}', '[1]'])
def test_two_readers_do_not_share_what_they_read(text):
    assert codec.decode(text) is not codec.decode(text)


@pytest.mark.parametrize('text', ['{', '', '"' * 3, '[' * 100_000, crypt.seal('{}', 'o' * 32), 'unknown:text'],
                         ids=['begun', 'empty', 'quotes', 'deep', 'sealed', 'unknown'])
def test_what_cannot_be_decoded_is_no_error_where_it_must_not_cost_others(text):
    found = codec.decode_each(text)
    assert isinstance(found, codec.Unreadable) and found.reason
    assert codec.document_or_none(text) is None


@pytest.mark.parametrize('text', ['{}', '[]', '{"a":1}', 'null', None])
def test_what_can_be_decoded_is_the_same_everywhere(text):
    assert codec.decode(text) == codec.decode_each(text)
    assert codec.document_or_none(text) == (codec.decode(text) if text in ('{}', '{"a":1}') else None)


def test_no_text_is_no_value():
    assert codec.decode(None) is None


@dataclass(frozen=True, eq=False)
class Row(codec.CachedRow):
    id: int
    name: str
    tags: list[str] | None


@pytest.fixture
def read():
    """Reads one row."""
    reader = codec.cached_reader(Row, 'tags')
    return lambda *row, before=0: reader([row], before)[0]


def test_a_row_that_is_as_it_was_is_read_once(read):
    first = read(1, 'a', '["x"]')
    assert (first.id, first.name, first.tags, first.is_cached) == (1, 'a', ['x'], True)
    assert read(1, 'a', '["x"]') is first
    for changed in ((2, 'a', '["x"]'), (1, 'b', '["x"]'), (1, 'a', '["y"]'), (1, 'a', None)):
        assert read(*changed) is not first


@pytest.mark.parametrize('row', [
    (1, 'n' * (codec.SMALL + 1), None), (1, 'n', codec.encode(['t' * codec.SMALL])),
    (1, 'n', codec.encode(list(range(codec.SMALL // 2)))),
], ids=['text', 'text in a list', 'list'])
def test_a_large_row_is_not_kept(read, row):
    assert read(*row) is not read(*row)
    assert not read(*row).is_cached


def test_the_first_rows_of_a_list_are_kept():
    reader = codec.cached_reader(Row, 'tags')
    rows = [(number, 'a', None) for number in range(codec.CACHED_OF_A_LIST + 5)]
    first, second = reader(rows), reader(rows)
    assert [each.id for each in first] == [each.id for each in second] == [row[0] for row in rows]
    assert [one is other for one, other in zip(first, second, strict=True)] == (
        [True] * codec.CACHED_OF_A_LIST + [False] * 5)
    assert [each.is_cached for each in reader(rows[:9], codec.CACHED_OF_A_LIST - 4)] == [True] * 4 + [False] * 5
