"""The page about resource types says what the tables say."""

from __future__ import annotations

from heatlite.engine.types import registry
from tests.cloud import page
from tests.cloud.table import lived, lives


def test_the_page_is_current():
    registry.create()
    try:
        assert page.FILE.read_text() == page.text(), 'python -m tests.cloud.page writes it anew'
    finally:
        registry.use(None)


def test_what_was_lived_is_a_life():
    assert set(lived()) <= set(lives())
