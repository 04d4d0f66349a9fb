"""python -m tests.isolation [--production] [--pairs N] [--signed N] [--seed N]: the matrix, whole unless limited.

Without --production in this process; with it on a cluster with a real Keystone. Prints what was asked and every leak;
the exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from pathlib import Path

from tests.isolation import here, there
from tests.system import production

parser = argparse.ArgumentParser(prog='python -m tests.isolation', description=__doc__)
parser.add_argument('--production', action='store_true')
parser.add_argument('--pairs', type=int, help='pairs of requests to the REST API')
parser.add_argument('--signed', type=int, help='pairs of signed requests to the CFN API')
parser.add_argument('--seed', type=int, default=1)
options = parser.parse_args()
logging.disable(logging.CRITICAL)
with tempfile.TemporaryDirectory() as folder:
    if options.production:
        if not production.is_possible():
            sys.exit(production.REASON)
        with production.Production(Path(folder), **there.ABANDON) as cloud:
            report = there.run(cloud, options.pairs, options.signed, options.seed)
    else:
        report = here.run(folder, options.pairs, options.seed)
print(report)
sys.exit(1 if report.leaks else 0)
