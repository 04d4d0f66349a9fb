"""`python -m tests.upgrade [--minutes M] [--stacks N] [--seed N] [--database mariadb|postgresql] [--from COMMIT]`"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.system import databases
from tests.upgrade import commits
from tests.upgrade.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.upgrade')
    parser.add_argument('--seed', type=int, default=random.randrange(10 ** 6))
    parser.add_argument('--minutes', type=float, default=4.0)
    parser.add_argument('--stacks', type=int, default=12)
    parser.add_argument('--database', choices=sorted(databases.SERVERS), default=databases.FIRST)
    parser.add_argument('--from', dest='former', default=commits.FORMER, help='the commit of the former release')
    parser.add_argument('--keep', type=Path, help='an empty folder for the logs and the ledger')
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = run(chosen.seed, chosen.minutes, chosen.stacks, databases.SERVERS[chosen.database],
                     os.environ['HEATLITE_TEST_RABBIT_URL'], chosen.keep or Path(folder), chosen.former)
    print(report.table())
    return 0 if report.is_good else 1


if __name__ == '__main__':
    sys.exit(main())
