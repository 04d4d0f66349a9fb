"""python -m tests.foreign.cluster FOLDER: the production profile in a simulated cloud with all its services.

For suites that need more than Keystone. Prints a line when it is up and ends at SIGTERM, with all that it made.
"""

from __future__ import annotations

import argparse
import signal
import sys
from functools import partial
from pathlib import Path

from tests.system import databases, gabbi, identities, production, servers

parser = argparse.ArgumentParser(prog='python -m tests.foreign.cluster')
parser.add_argument('folder', type=Path)
parser.add_argument('--cloud-port', type=int, default=0)
parser.add_argument('--port', type=int, default=0, help='of the REST API')
parser.add_argument('--cfn-port', type=int, default=0)
parser.add_argument('--database', choices=list(databases.SERVERS))
parser.add_argument('--server', choices=servers.NAMES, default='heatlite')
said = parser.parse_args()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: sys.exit(0))
with production.Production(said.folder, database=said.database, server=said.server, port=said.port,
                           cfn_port=said.cfn_port, identity=partial(identities.Simulated, port=said.cloud_port),
                           **gabbi.OPTIONS) as cloud:
    print(f'{cloud.url} {cloud.cfn_url}', flush=True)
    signal.pause()
