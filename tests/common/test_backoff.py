"""Pauses before further attempts: they double, and are bounded however many attempts there were."""

from __future__ import annotations

import pytest

from heatlite.common.backoff import backoff
from heatlite.planning import retry


@pytest.mark.parametrize('attempt, seconds', [(1, 1.0), (2, 2.0), (6, 32.0), (7, 60.0), (1025, 60.0), (10 ** 9, 60.0)])
def test_pauses_double_up_to_the_longest(attempt, seconds):
    assert backoff(attempt, 60.0) == seconds


@pytest.mark.parametrize('attempt, seconds', [(1, 2.0), (5, 32.0), (9, 300.0), (5000, 300.0)])
def test_retries_of_resources(attempt, seconds):
    assert retry.pause(attempt, lambda: 0.0) == seconds
    assert retry.pause(attempt, lambda: 0.5) == seconds + 1.0
