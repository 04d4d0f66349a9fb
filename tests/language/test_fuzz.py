"""A sample of the broken templates; all one wants by `python -m tests.language.fuzz FIRST COUNT`."""

import pytest

from tests.language import fuzz


@pytest.mark.parametrize('first', range(0, 2000, 500))
def test_broken_templates_are_refused_in_words(first):
    ends = {fuzz.attempt(seed) for seed in range(first, first + 500)}
    assert {'fine', 'refused'} <= ends
