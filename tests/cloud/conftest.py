from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from heatlite.engine.types import registry
from tests.cloud import clouds, session

CLOUD = os.environ.get('HEATLITE_TEST_CLOUD', clouds.SIMULATED)
AT_ONCE = int(os.environ.get('HEATLITE_TEST_CLOUD_AT_ONCE', '4'))       # lives, and types


def _wanted(request: pytest.FixtureRequest) -> list[str]:
    """What the tests that were asked for are about, of those that use the fixture."""
    return [item.callspec.params['name'] for item in request.session.items
            if isinstance(item, pytest.Function) and request.fixturename in item.fixturenames]


@pytest.fixture(scope='session')
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[session.Session]:
    with session.opened(CLOUD, tmp_path_factory.mktemp('cloud')) as found:
        yield found


@pytest.fixture(scope='session')
def diaries(request: pytest.FixtureRequest, opened: session.Session) -> Iterator[session.Diaries]:
    """Several are lived at once."""
    with session.lived(opened, _wanted(request), AT_ONCE) as found:
        yield found


@pytest.fixture(scope='session')
def outcomes(request: pytest.FixtureRequest, opened: session.Session) -> Iterator[session.Outcomes]:
    """Several types are tried at once."""
    registry.create()
    try:
        with session.planned(opened, _wanted(request), AT_ONCE) as found:
            yield found
    finally:
        registry.use(None)
