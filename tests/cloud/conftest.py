from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cloud import clouds, session

CLOUD = os.environ.get('HEATLITE_TEST_CLOUD', clouds.SIMULATED)
AT_ONCE = int(os.environ.get('HEATLITE_TEST_CLOUD_AT_ONCE', '4'))       # lives


@pytest.fixture(scope='session')
def diaries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[session.Diaries]:
    """Several are lived at once: those of the tests that were asked for."""
    wanted = [item.callspec.params['name'] for item in request.session.items
              if isinstance(item, pytest.Function) and 'diaries' in item.fixturenames]
    with session.lived(CLOUD, wanted, tmp_path_factory.mktemp('cloud'), AT_ONCE) as found:
        yield found
