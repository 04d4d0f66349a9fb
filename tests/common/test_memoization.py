"""What is remembered is what would be made, is made once, and takes a bounded amount of memory."""

import pytest

from heatlite.common.memoization import memoized


@pytest.fixture
def made():
    return []


@pytest.fixture
def double(made):
    """Doubles texts, keeps two results of at most six characters, and fails for `bad`."""

    def twice(text, *more):
        made.append(text)
        if text == 'bad':
            raise ValueError(text)
        return [text + text]

    return memoized(twice, 2, is_small=lambda result, text, *more: len(result[0]) <= 6 and len(more) < 3)


def test_the_same_arguments_give_the_same_object(double, made):
    assert double('a') is double('a')
    assert double('a', 1) is not double('a', 2)
    assert made == ['a', 'a', 'a']


def test_of_too_many_the_one_that_was_used_least_recently_goes(double, made):
    for text in ('a', 'b', 'a', 'c', 'a', 'b'):
        assert double(text) == [text + text]
    assert made == ['a', 'b', 'c', 'b']


@pytest.mark.parametrize('given', [('large',), ('a', 1, 2, 3)], ids=['result', 'arguments'])
def test_what_is_not_small_is_not_kept(double, made, given):
    assert double(*given) == double(*given)
    assert double(*given) is not double(*given)
    assert len(made) == 4


def test_an_error_is_raised_each_time(double, made):
    for _ in range(2):
        with pytest.raises(ValueError, match='bad'):
            double('bad')
    assert made == ['bad', 'bad']
