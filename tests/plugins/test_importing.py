"""Imports of our own types: an object of each, made by one stack, imported into another, updated and deleted."""

from __future__ import annotations

import pytest

from heatlite.engine.types import registry
from tests.plugins import importing
from tests.plugins.own_types import own_types

registry.create()
NAMES = sorted(name for group in own_types().groups for name in group.types)
registry.use(None)


@pytest.mark.parametrize('name', NAMES)
def test_an_object_is_imported_updated_and_deleted(kit, name):
    found = importing.of(*kit, name)
    assert found is not None
    assert list(importing.differences(name, found)) == []


def test_the_page_is_current():
    """Made anew by `python -m tests.plugins.importing --page`."""
    assert importing.PAGE.read_text() == '\n'.join(importing.page())


def test_the_list_names_types_with_an_example():
    assert set(importing.not_imported()) <= set(NAMES)
