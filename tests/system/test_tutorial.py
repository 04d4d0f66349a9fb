"""The tutorial in docs/users/autoscaling.rst, with a part of aws-cli (`aws_command`) in the place of aws-cli."""

import shlex
import sys

from tests.system import tutorial


def test_the_commands_of_the_tutorial(tmp_path):
    tutorial.check(tutorial.execute(tmp_path, f'{shlex.quote(sys.executable)} -W ignore -m tests.system.aws_command'))
