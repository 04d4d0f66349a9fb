"""The readable tests of the REST API on the one combination of the production profile that no other test runs."""

import pytest

from tests.system import databases, gabbi, production

pytestmark = pytest.mark.skipif(not (production.is_possible() and databases.SERVERS['postgresql']),
                                reason=production.REASON)


@pytest.mark.service
def test_the_readable_tests(tmp_path):
    assert gabbi.run(tmp_path, database='postgresql', server='uwsgi') == 0
