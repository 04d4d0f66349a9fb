"""Some of the random histories; thousands by `python -m tests.simulation.histories 0 10000`.

HEATLITE_TEST_HISTORIES: how many; HEATLITE_TEST_FIRST_HISTORY: the number of the first one.
"""

import os

import pytest

from tests.simulation import histories, stores

FIRST = int(os.environ.get('HEATLITE_TEST_FIRST_HISTORY', '0'))
COUNT = int(os.environ.get('HEATLITE_TEST_HISTORIES', '100'))
PORTION = 5
SELDOM = 20                     # one of so many is repeated on each server


@pytest.mark.parametrize('first', range(FIRST, FIRST + COUNT, PORTION))
def test_histories(first):
    for seed in range(first, min(first + PORTION, FIRST + COUNT)):
        histories.run(seed)


@pytest.mark.parametrize('store', [each for each in stores.AVAILABLE if each != stores.SQLITE])
@pytest.mark.parametrize('seed', range(FIRST, FIRST + COUNT, SELDOM))
def test_histories_on_servers(store, seed):
    histories.run(seed, store)
