"""cloudsim --port 5000: a cloud to play with, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any

from heatlite.common import release
from heatlite.common.standard_output import ends_with_its_reader


@ends_with_its_reader
def main(arguments: list[str] | None = None) -> int:
    from heatlite.common import runtime
    runtime.patch()                           # before anything that has a lock or a socket
    said = options(arguments)
    import cloudsim
    from cloudsim.settings import Settings
    outside = dict(each.split('=', 1) for each in said.service)
    server, url = cloudsim.serve(said.port, settings=Settings(
        latency=said.latency, boot=said.boot, work=said.work, password=said.password), outside=outside,
        regions=said.region)
    print(greeting(url, said.password), flush=True)
    over = runtime.current().flag()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    while not over.wait(1.0):
        pass
    server.stop(1.0)
    return 0


def options(arguments: list[str] | None) -> Any:
    parser = argparse.ArgumentParser(prog='cloudsim',
                                     description='A simulated OpenStack on loopback.')
    parser.add_argument('--port', type=int, default=5000, help='0: any that is free')
    parser.add_argument('--boot', type=float, default=0.2, metavar='SECONDS', help='how long a server takes to boot')
    parser.add_argument('--work', type=float, default=0.05, metavar='SECONDS', help='every other change of state')
    parser.add_argument('--latency', type=float, default=0.0, metavar='SECONDS', help='before every answer')
    parser.add_argument('--password', default='secret', help='of all users')
    parser.add_argument('--region', action='append', default=[], metavar='NAME',
                        help='one more region beside RegionOne, at /regions/NAME')
    parser.add_argument('--service', action='append', default=[], metavar='TYPE=URL',
                        help='a service of RegionOne that runs elsewhere; the URL may hold %%(project_id)s')
    release.add_option(parser)
    return parser.parse_args(arguments)


def greeting(url: str, password: str) -> str:
    return f"""A simulated cloud listens on {url}
  export OS_AUTH_URL={url}/v3 OS_USERNAME=demo OS_PASSWORD={password} OS_PROJECT_NAME=demo \\
    OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_REGION_NAME=RegionOne OS_IDENTITY_API_VERSION=3
  openstack server create --image cirros --flavor m1.tiny --network private first
Faults, clock, objects: {url}/_sim/. Everything is forgotten when it ends (Ctrl-C)."""


if __name__ == '__main__':
    sys.exit(main())
