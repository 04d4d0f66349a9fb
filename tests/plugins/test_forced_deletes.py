"""Forced deletes of each of our own types under a fault: they end in time, and no object stays without being listed.

Each type meets one of the faults here; `HEATLITE_TEST_ALL_FAULTS=1` lets each meet all of them.
"""

from __future__ import annotations

import os

import pytest

from heatlite.engine.types import registry
from tests.plugins import forcing
from tests.plugins.own_types import own_types

registry.create()
NAMES = sorted(name for group in own_types().groups for name in group.types)
registry.use(None)
CELLS = [(name, fault) for number, name in enumerate(NAMES) for which, fault in enumerate(forcing.FAULTS)
         if number % len(forcing.FAULTS) == which or os.environ.get('HEATLITE_TEST_ALL_FAULTS')]


@pytest.mark.parametrize('name, fault', CELLS)
def test_it_ends_and_lists_what_is_left(kit, name, fault):
    found = {fault: forcing.under(*kit, name, fault)}
    assert list(forcing.differences(name, found)) == []


def test_the_page_is_current():
    """Made anew by `python -m tests.plugins.forcing --page`."""
    assert forcing.PAGE.read_text() == '\n'.join(forcing.page())


def test_all_types_are_recorded():
    assert {entry['types'] for entry in forcing.recorded().values()} == {len(NAMES)}
