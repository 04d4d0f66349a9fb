"""Some of the random histories; thousands by `python -m tests.simulation.histories 0 10000`.

HEATLITE_TEST_HISTORIES: how many; HEATLITE_TEST_FIRST_HISTORY: the number of the first one.
"""

import os

import pytest

from tests.simulation import histories

FIRST = int(os.environ.get('HEATLITE_TEST_FIRST_HISTORY', '0'))
COUNT = int(os.environ.get('HEATLITE_TEST_HISTORIES', '100'))
PORTION = 5


@pytest.mark.parametrize('first', range(FIRST, FIRST + COUNT, PORTION))
def test_histories(first):
    for seed in range(first, min(first + PORTION, FIRST + COUNT)):
        histories.run(seed)
