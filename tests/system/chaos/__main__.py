"""`python -m tests.system.chaos [--seed N] [--minutes M] [--stacks N] [--engines N] [--nodes [--database KIND]
[--no-front]] [--only WORD ...] [--keep FOLDER]`"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from tests.system.chaos.run import NODES, run


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.system.chaos')
    parser.add_argument('--seed', type=int, default=random.randrange(10 ** 6))
    parser.add_argument('--minutes', type=float, default=4.0)
    parser.add_argument('--stacks', type=int, default=50)
    parser.add_argument('--engines', type=int, default=3)
    parser.add_argument('--nodes', action='store_true', help='several nodes of the database and of the broker')
    parser.add_argument('--database', choices=NODES, default=next(iter(NODES)),
                        help='with --nodes: three nodes of Galera, or a PostgreSQL with a stand-by')
    parser.add_argument('--no-front', action='store_true', help='with --nodes: no HAProxy, Keystone and memcached')
    parser.add_argument('--only', nargs='+', default=[], metavar='WORD', help='faults that are called so')
    parser.add_argument('--keep', type=Path, help='an empty folder for the logs and the ledger')
    chosen = parser.parse_args()
    report = run(chosen.seed, chosen.minutes, chosen.stacks, chosen.engines, chosen.keep,
                 chosen.database if chosen.nodes else None, chosen.nodes and not chosen.no_front, chosen.only)
    print(report.table())
    return 0 if report.is_good else 1


if __name__ == '__main__':
    sys.exit(main())
