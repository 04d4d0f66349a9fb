"""Drift of our own types: each property that an update can change, changed behind the engine's back."""

from __future__ import annotations

import pytest
import yaml

from heatlite.engine.types import registry
from tests.cloud.table import lives
from tests.plugins import drifting
from tests.plugins.own_types import own_types

registry.create()
NAMES = sorted(name for group in own_types().groups for name in group.types)
registry.use(None)


@pytest.mark.parametrize('name', NAMES)
def test_what_was_changed_is_found_and_nothing_else(kit, name):
    found = drifting.of(*kit, name)
    assert found is not None
    assert list(drifting.differences(name, found)) == []


def test_the_page_is_current():
    """Made anew by `python -m tests.plugins.drifting --page`."""
    assert drifting.PAGE.read_text() == '\n'.join(drifting.page())


def test_the_list_names_types_with_an_example():
    assert set(drifting.unseen()) <= set(NAMES)


def test_each_life_was_tried_in_a_cloud_or_has_a_reason():
    listed = yaml.safe_load(drifting.NOT_IN_A_CLOUD.read_text())
    assert not set(listed) & set(drifting.in_a_cloud())
    assert set(drifting.not_in_a_cloud()) | set(drifting.in_a_cloud()) >= {life.type for life in lives().values()}
