import pytest

from heatlite.common.limits import UNLIMITED, has_room


@pytest.mark.parametrize('most, used, added, expected', [
    (2, 1, 1, True), (2, 2, 1, False), (2, 0, 2, True), (2, 1, 2, False), (0, 0, 1, False), (2, 5, 1, False)])
def test_room_for_more(most, used, added, expected):
    assert has_room(most, lambda: used, added) is expected


def test_nothing_is_counted_without_a_limit():
    assert has_room(UNLIMITED, lambda: pytest.fail('counted'))
