"""The choice of faults of `tests.system.chaos`."""

import random

import pytest

from tests.system.chaos.deck import Deck, Decks


@pytest.mark.parametrize('seed', range(20))
def test_each_card_comes_once_before_any_comes_again(seed):
    deck = Deck('abcde', random.Random(seed))
    dealt = [deck.deal() for _ in range(15)]
    assert [sorted(dealt[begin:begin + 5]) for begin in (0, 5, 10)] == [list('abcde')] * 3


def test_some_come_more_often():
    deck = Deck('abc', random.Random(1), often='aa')
    assert sorted(deck.deal() for _ in range(5)) == list('aaabc')


def test_a_deck_knows_what_has_not_come():
    deck = Deck('abc', random.Random(1))
    first = deck.deal()
    assert sorted(deck.unseen) == sorted(set('abc') - {first})
    deck.deal()
    deck.deal()
    assert deck.unseen == []


def test_the_seed_decides_the_order():
    def order(seed):
        deck = Deck(range(20), random.Random(seed))
        return [deck.deal() for _ in range(40)]
    assert order('1/faults') == order('1/faults') != order('2/faults')


def test_each_kind_of_fault_meets_all_its_seconds():
    decks = Decks(random.Random(1))
    dealt = [(decks.deal('one', (2.0, 8.0, 30.0)), decks.deal('another', (2.0, 8.0, 30.0))) for _ in range(3)]
    assert [sorted(each) for each in zip(*dealt, strict=True)] == [[2.0, 8.0, 30.0]] * 2
