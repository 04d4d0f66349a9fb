import pytest

from heatlite.common.limits import UNLIMITED, Limits, has_room
from tests.architecture.source import ROOT


@pytest.mark.parametrize('most, used, added, expected', [
    (2, 1, 1, True), (2, 2, 1, False), (2, 0, 2, True), (2, 1, 2, False), (0, 0, 1, False), (2, 5, 1, False)])
def test_room_for_more(most, used, added, expected):
    assert has_room(most, lambda: used, added) is expected


def test_nothing_is_counted_without_a_limit():
    assert has_room(UNLIMITED, lambda: pytest.fail('counted'))


def test_what_comes_after_an_accepted_template_has_its_limits():
    limits = Limits(max_size=5, max_expansion=7)
    accepted = limits.of_accepted
    assert accepted.max_size > 10 ** 12 and accepted.max_expansion > 10 ** 12
    assert limits.of_later is limits and accepted.of_later is limits


def test_only_stored_templates_count_as_accepted():
    users = [str(path.relative_to(ROOT)) for path in sorted((ROOT / 'heatlite').rglob('*.py'))
             if 'of_accepted' in path.read_text()]
    assert users == ['heatlite/common/limits.py', 'heatlite/engine/reconcile/loading.py']
