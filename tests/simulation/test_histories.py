"""Some of the random histories; thousands by `python -m tests.simulation.histories 0 10000`."""

import os

import pytest

from tests.simulation import histories

COUNT = int(os.environ.get('HEATLITE_TEST_HISTORIES', '100'))
PORTION = 5


@pytest.mark.parametrize('first', range(0, COUNT, PORTION))
def test_histories(first):
    for seed in range(first, min(first + PORTION, COUNT)):
        histories.run(seed)
