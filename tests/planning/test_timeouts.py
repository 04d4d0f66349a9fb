"""How long an action may take."""

import pytest

from heatlite.planning.timeouts import LONGEST, action_seconds


@pytest.mark.parametrize('timeout_mins, seconds', [
    (None, 20), (0, 20), (1, 60), (90, 5400), (2 ** 31 - 1, LONGEST), (10 ** 11, LONGEST)])
def test_the_timeout_of_a_stack_comes_before_the_default(timeout_mins, seconds):
    assert action_seconds(timeout_mins, 20) == seconds
