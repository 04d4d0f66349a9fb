"""Bounds that are found from the text of a JSON value: never below what a look at each value finds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heatlite.common import exception, json_bounds
from heatlite.common.document_size import check_size, measure
from heatlite.common.limits import MOST_DIGITS, Limits

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
                   st.text(st.characters(exclude_categories=['Cs'])), st.text('{}[]"\\,:e1é€😀'))
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(
    st.lists(inner, max_size=4), st.dictionaries(st.text('{}[]"\\,aé😀', max_size=4), inner, max_size=4)),
    max_leaves=40)
WAYS = st.sampled_from([{}, {'ensure_ascii': False}, {'separators': (',', ':')}, {'indent': 2}])
MANY = Limits(max_size=-1)


def written(value, **how):
    return json.dumps(value, **how).encode()


def depth(value):
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


@given(VALUES, WAYS)
def test_nothing_is_found_smaller_than_it_is(value, how):
    text = written(value, **how)
    assert json_bounds._values(text) >= measure(value, MANY)
    assert json_bounds._depth(text) >= depth(value)
    assert json_bounds.most_characters(text) >= len(json.dumps(value))


@given(VALUES, WAYS, st.integers(1, 60), st.integers(1, 200))
def test_what_keeps_to_the_limits_passes_the_check(value, how, deepest, most):
    limits = replace(MANY, max_depth=deepest, max_expansion=most)
    if json_bounds.keeps_to(written(value, **how), limits):
        assert check_size(value, limits) is value


def test_usual_templates_need_no_check():
    template = {'heat_template_version': '2018-08-31', 'resources': {f'r{number}': {
        'type': 'OS::Nova::Server', 'properties': {
            'networks': [{'network': 'net'}], 'user_data': '#!/bin/bash\n[ -f x ] && echo "{a: [1]}\\n"',
            'metadata': {'deep': [[[{'deeper': {}}]]]}}} for number in range(10_000)}}
    assert json_bounds.keeps_to(written(template), MANY)


@pytest.mark.parametrize('text', [
    b'[' * 4000 + b']' * 4000, b'{"a":' * 4000 + b'1' + b'}' * 4000, b'[%s]' % (b'1' * (MOST_DIGITS + 1)),
    b'[%s]' % b','.join([b'1'] * 1_000_001), b'["\\ud800"]', b'["\\uD800"]', b'[NaN]', b'[-Infinity]', b'["]', b'[[}]'])
def test_what_is_beyond_the_limits_or_no_json_is_not_known(text):
    assert not json_bounds.keeps_to(text, MANY)


@pytest.mark.parametrize('text', [b'1e15', b'[1e15,1e15]', b'-1e15', b'"\xc3\xa9"', b'"\xf0\x9f\x98\x80"', b'1e-5'])
def test_the_most_characters_that_become_of_a_byte(text):
    assert json_bounds.most_characters(text) >= len(json.dumps(json.loads(text)))


def test_the_check_is_made_where_the_text_tells_too_little():
    deep = json.loads('[' * 200 + ']' * 200)
    assert not json_bounds.keeps_to(written(deep), MANY)
    check_size(deep, MANY)
    with pytest.raises(exception.RequestLimitExceeded):
        check_size(deep, replace(MANY, max_depth=199))


@given(st.integers(0, 3 * MOST_DIGITS), st.integers(MOST_DIGITS - 2, MOST_DIGITS + 3))
def test_a_long_number_is_found_at_any_place(before, digits):
    text = b'[%s1,%s]' % (b' ' * before, b'7' * digits)
    assert json_bounds.keeps_to(text, MANY) == (digits <= MOST_DIGITS)
