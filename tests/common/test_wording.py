"""Lists in texts are short, and say how many items they omit."""

import pytest

from heatlite.common.wording import first_few


@pytest.mark.parametrize('count, most, text', [
    (0, 2, ''), (1, 2, '0'), (2, 2, '0, 1'), (3, 2, '0, 1, and 1 more'), (12, 2, '0, 1, and 10 more'),
])
def test_a_list_names_the_first_items_and_the_number_of_the_others(count, most, text):
    assert first_few(range(count), most) == text
    assert first_few(range(count), most, '; ') == text.replace(',', ';')
