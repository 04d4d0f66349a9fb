"""The commands in docs/users/autoscaling.rst and cloudwatch.rst, with a part of aws-cli (`aws_command`)."""

import shlex
import sys

from tests.system import tutorial


def test_the_commands_of_the_pages(tmp_path):
    tutorial.check(*tutorial.execute(tmp_path, f'{shlex.quote(sys.executable)} -W ignore -m tests.system.aws_command'))
