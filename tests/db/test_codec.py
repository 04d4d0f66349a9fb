"""Columns of JSON: what is read is what was written, and belongs to the reader alone."""

import pytest

from heatlite.db import codec


@pytest.mark.parametrize('value', [{}, [], '', 0, None, 12, {'a': {}}, [[]], 'ab', {'': None}, True])
def test_what_is_read_is_what_was_written(value):
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize('text', ['{}', '[]', '{"a":1}', '[1]'])
def test_two_readers_do_not_share_what_they_read(text):
    assert codec.decode(text) is not codec.decode(text)


def test_no_text_is_no_value():
    assert codec.decode(None) is None
