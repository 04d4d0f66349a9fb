"""How long N servers take in one stack, and how long the cloud itself takes for as many, asked directly.

    python -m tests.cloud.crowd CLOUD [--servers N] [--at-once M] [--ports] [--boot SECONDS]

CLOUD is a name in clouds.yaml, or `simulated`, where a server boots for `--boot` seconds. Directly, M requests are
under way at a time; heatlite is allowed as many ([clients] max_requests). With `--ports` each server has a
port of its own, made first. Prints a table: seconds until the last one is ACTIVE, until the last one is gone, and
seconds of CPU that whoever asked has used for both.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

from tests.cloud import clouds, deployment, side_by_side

PATIENCE = 3600.0
NET: dict[str, Any] = {
    'net': {'type': 'OS::Neutron::Net'},
    'subnet': {'type': 'OS::Neutron::Subnet', 'properties': {'network': {'get_resource': 'net'},
                                                             'cidr': '10.190.0.0/16'}}}


def template(said: argparse.Namespace, names: dict[str, Any]) -> dict[str, Any]:
    resources = dict(NET)
    for number in range(said.servers):
        network: dict[str, Any] = {'network': {'get_resource': 'net'}}
        if said.ports:
            resources[f'port{number}'] = {'type': 'OS::Neutron::Port', 'depends_on': 'subnet', 'properties': {
                'network': {'get_resource': 'net'}}}
            network = {'port': {'get_resource': f'port{number}'}}
        resources[f'server{number}'] = {'type': 'OS::Nova::Server', 'depends_on': 'subnet', 'properties': {
            'image': names['image'], 'flavor': names['flavor'], 'networks': [network]}}
    return {'heat_template_version': '2018-08-31', 'resources': resources}


Times = tuple[float, float, float]          # creation, deletion, CPU


def in_a_stack(said: argparse.Namespace, cloud: clouds.Cloud, names: dict[str, Any]) -> Times:
    with tempfile.TemporaryDirectory() as folder, deployment.running(cloud, Path(folder), said.at_once) as heatlite:
        process = Path(f'/proc/{heatlite.process}')
        used, began = side_by_side.spent(process), time.monotonic()
        stack = heatlite.create('crowd', template(said, names))
        state = heatlite.settled(stack, PATIENCE)
        created = time.monotonic() - began
        assert state == 'CREATE_COMPLETE', heatlite.why(stack)
        began = time.monotonic()
        assert heatlite.delete(stack, PATIENCE) == deployment.GONE
        return created, time.monotonic() - began, side_by_side.spent(process) - used


def directly(said: argparse.Namespace, cloud: clouds.Cloud, names: dict[str, Any]) -> Times:
    def asked(service: str, method: str, path: str, body: Any = None) -> Any:
        answer = cloud.ask(service, method, path, json=body)
        assert answer.status_code < 300 or answer.status_code == 404, f'{path}: {answer.status_code} {answer.text}'
        return answer.json() if answer.content and answer.status_code != 404 else None

    image = cloud.get('image', f'/images?name={names["image"]}')['images'][0]['id']
    flavor = next(each['id'] for each in cloud.get('compute', '/flavors')['flavors'] if each['name'] == names['flavor'])
    used, began = time.process_time(), time.monotonic()
    net = asked('network', 'POST', '/networks', {'network': {'name': 'crowd'}})['network']['id']
    asked('network', 'POST', '/subnets', {'subnet': {'network_id': net, 'cidr': '10.190.0.0/16', 'ip_version': 4}})

    def boot(number: int) -> str:
        where = {'uuid': net}
        if said.ports:
            where = {'port': asked('network', 'POST', '/ports', {'port': {'network_id': net}})['port']['id']}
        return str(asked('compute', 'POST', '/servers', {'server': {
            'name': f'crowd-{number}', 'imageRef': image, 'flavorRef': flavor, 'networks': [where]}})['server']['id'])

    def all_are(pool: ThreadPoolExecutor, is_done: Callable[[str], bool], left: list[str]) -> None:
        while left:
            left = [each for each, done in zip(left, pool.map(is_done, left), strict=True) if not done]
            time.sleep(1 if left else 0)

    def is_active(server: str) -> bool:
        status = cloud.get('compute', f'/servers/{server}')['server']['status']
        assert status != 'ERROR', server
        return bool(status == 'ACTIVE')

    with ThreadPoolExecutor(said.at_once) as pool:
        servers = list(pool.map(boot, range(said.servers)))
        all_are(pool, is_active, servers)
        created = time.monotonic() - began
        began = time.monotonic()
        list(pool.map(lambda server: asked('compute', 'DELETE', f'/servers/{server}'), servers))
        all_are(pool, lambda server: cloud.ask('compute', 'GET', f'/servers/{server}').status_code == 404, servers)
        ports = cloud.get('network', f'/ports?network_id={net}')['ports']
        list(pool.map(lambda port: asked('network', 'DELETE', f'/ports/{port["id"]}'), ports))
    asked('network', 'DELETE', f'/networks/{net}')
    return created, time.monotonic() - began, time.process_time() - used


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.cloud.crowd', description='Many servers.')
    parser.add_argument('cloud', nargs='?', default=clouds.SIMULATED)
    parser.add_argument('--servers', type=int, default=50)
    parser.add_argument('--at-once', type=int, default=64)
    parser.add_argument('--ports', action='store_true')
    parser.add_argument('--boot', type=float, default=1.0, metavar='SECONDS')
    said = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, clouds.of(said.cloud, Path(folder)) as cloud, \
            cloud.furnished() as names:
        if said.cloud == clouds.SIMULATED:
            requests.put(f'{cloud.root}/_sim/settings', json={'boot': said.boot}, timeout=30).raise_for_status()
        print(f'{said.servers} servers{" with ports" if said.ports else ""} in {said.cloud}: created, deleted, '
              f'CPU (seconds; load {os.getloadavg()[0]:.1f})', flush=True)
        for what, way in (('one stack', in_a_stack), ('directly', directly)):
            created, deleted, used = way(said, cloud, names)
            print(f'{what:<12}{created:>8.1f}{deleted:>8.1f}{used:>8.1f}', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
