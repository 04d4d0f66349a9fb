"""Lives of tests/cloud/lives.yaml: all of them in the cloud HEATLITE_TEST_CLOUD names, which may be `simulated`; when
it names none, those of the most used types in the simulator."""

from __future__ import annotations

import os

import pytest

from tests.cloud.table import lives, most_used

NAMES = [pytest.param(name, marks=pytest.mark.most_used if name in most_used() else ())
         for name in (lives() if 'HEATLITE_TEST_CLOUD' in os.environ else most_used())]


@pytest.mark.parametrize('name', NAMES)
def test_life(diaries, name):
    found = diaries[name]
    if isinstance(found, str):
        pytest.skip(found)
    assert found.result().failure is None
