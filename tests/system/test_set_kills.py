"""Engines that are killed while a stack set goes from wave to wave; many by `python -m tests.system.set_kills`."""

import os
import random

import pytest

from tests.system import regions, set_kills

SEED = int(os.environ.get('HEATLITE_TEST_CHAOS_SEED', '1'))


@pytest.mark.service
@pytest.mark.skipif(not regions.is_possible(), reason=regions.REASON)
def test_nothing_is_lost_or_made_twice_and_waves_keep_their_order(tmp_path):
    with set_kills.started(tmp_path) as place:
        place.live('killed', random.Random(SEED), kills=2)
    print(f'{place.kills} kills, {place.between} between waves')
    assert place.kills > 2
