"""The matrix behind a real Keystone: a sample; all of it by `python -m tests.isolation --production`."""

import os

import pytest

from tests.isolation import there
from tests.system import production

pytestmark = pytest.mark.skipif(not production.is_possible(), reason=production.REASON)

SEED = int(os.environ.get('HEATLITE_TEST_ISOLATION_SEED', '1'))
SAMPLE = int(os.environ.get('HEATLITE_TEST_ISOLATION_PRODUCTION_SAMPLE', '250'))


@pytest.mark.service
def test_no_request_tells_or_changes_anything_of_another_project(tmp_path):
    with production.Production(tmp_path, **there.ABANDON) as cloud:
        report = there.run(cloud, SAMPLE, SAMPLE // 12, SEED)
    print(report)
    assert not report.leaks, report
    assert report.requests > SAMPLE
