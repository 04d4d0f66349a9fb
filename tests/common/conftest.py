"""A clock that stands still until a test moves it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def clock_of(monkeypatch):
    """`clock_of(module)`: the module's `time`; its `seconds` are moved by the test."""
    def stop(module):
        found = SimpleNamespace(seconds=100.0)
        monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: found.seconds))
        return found
    return stop
