"""The walk through plans in the documentation is what commands print."""

import pytest

from tests.system import production, walk


@pytest.mark.service
@pytest.mark.skipif(not production.is_possible(), reason=production.REASON)
def test_the_walk_in_the_page(tmp_path):
    found = '\n'.join(walk.walk(tmp_path)).strip()
    assert walk.without_variables(found) == walk.without_variables(walk.recorded()), (
        'run python -m tests.system.walk, and read what it has changed')
