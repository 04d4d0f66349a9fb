"""An update does what its preview said on the production profile, too; longer by `python -m tests.system.foretold`."""

import time

import pytest

from tests.system import foretold, planned, production

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)


@pytest.mark.service
def test_an_update_does_what_its_preview_says(tmp_path):
    with production.Production(tmp_path) as cloud:
        lives, entries, unknown, failures = foretold.run(cloud, 0, time.monotonic() + 600, 12, 4)
    assert not failures
    assert lives == 12 and entries > 10 * unknown


@pytest.mark.service
def test_what_is_applied_is_what_was_planned(tmp_path):
    with production.Production(tmp_path) as cloud:
        assert sum(planned.live(cloud, cloud.people['alpha'], seed) for seed in range(6)) > 30
