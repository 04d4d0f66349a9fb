"""Periodic work: an error of one piece, or of one search, costs no other one."""

from __future__ import annotations

import pytest

from heatlite.common import exception
from heatlite.engine.durability.periodic import Periodic, Search, paged
from heatlite.testing.runtime import SimulatedRuntime, Universe

ERRORS = {'expected': exception.Error('no'), 'defect': TypeError('a defect'),
          'outage': exception.DatabaseUnavailable(reason='no')}


@pytest.mark.parametrize('error', ERRORS.values(), ids=ERRORS)
def test_an_error_costs_only_its_own_piece_or_search(error):
    universe = Universe(1)
    runtime = SimulatedRuntime(universe, 'engine')
    done, searched = [], []

    def find():
        searched.append('first')
        yield from 'abc'
        raise error

    def each(piece):
        if piece == 'b':
            raise error
        done.append(piece)

    periodic = Periodic(runtime, 1.0, Search('piece', find, each), Search('letter', lambda: 'xyz', each))
    periodic.start()
    assert universe.run(lambda: len(searched) == 3)
    periodic.stop()
    assert done[:10] == ['a', 'c', 'x', 'y', 'z'] * 2


@pytest.mark.parametrize('count', [0, 1, 2, 3, 4, 5])
def test_all_pages_are_read(count):
    ids, asked = [f'{number}' for number in range(count)], []

    def read(after):
        asked.append(after)
        return [each for each in ids if each > after][:2]

    assert list(paged(read)) == ids
    assert len(asked) == (count + 1) // 2 + 1
