"""The commands in docs/users/autoscaling.rst and cloudwatch.rst, with aws-cli."""

import shlex

from tests.system import tutorial


def test_the_commands_of_the_pages(venvs, tmp_path):
    tutorial.check(*tutorial.execute(tmp_path, shlex.quote(str(venvs / 'aws/bin/aws'))))
