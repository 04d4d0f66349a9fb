"""Bounds of protections that are tedious to write down in YAML."""

import pytest

from heatlite.api.handlers import guards
from heatlite.common import exception, limits


def protection(**fields):
    return {'path': 'a', 'deny': ['delete'], **fields}


def test_as_many_as_there_may_be():
    many = [protection(path=f'r{number}') for number in range(limits.MOST_PROTECTIONS)]
    assert len(guards._protections({'protections': many})) == limits.MOST_PROTECTIONS
    with pytest.raises(exception.HTTPBadRequest, match='at most 100'):
        guards._protections({'protections': [*many, protection()]})


@pytest.mark.parametrize('wrong', [
    None, [], 'a', {}, {'path': 'a'}, {'deny': ['delete']}, protection(path=1), protection(path='/'),
    protection(path='a/'), protection(path='x' * 1025), protection(deny=[]), protection(deny='delete'),
    protection(deny=[['delete']]), protection(deny=['delete', 'explode']), protection(reason=1),
    protection(reason='x' * 256), protection(more=1)])
def test_what_is_wrong_is_named_and_not_repeated_at_length(wrong):
    with pytest.raises(exception.HTTPBadRequest, match='protections.0') as refused:
        guards._protections({'protections': [wrong]})
    assert len(str(refused.value)) < 1500


def test_what_is_missing_has_a_default():
    assert guards._protections({'protections': [{'path': '', 'deny': ['update']}]}) == (
        {'path': '', 'deny': ['update'], 'reason': ''},)
