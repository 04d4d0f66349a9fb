"""Each updatable property of our own types, changed alone: the second half of the types (see `test_changes`)."""

from __future__ import annotations

import pytest

from tests.plugins.test_changes import NAMES, check


@pytest.mark.parametrize('name', NAMES[1::2])
def test_each_property_changes(kit, name):
    check(kit, name)
