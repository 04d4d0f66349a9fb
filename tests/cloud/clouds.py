"""A cloud as its administrator sees it: what is in it, and what a stack can be made of."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import yaml
from keystoneauth1 import adapter, exceptions
from openstack import config as cloud_config

from tests.system.processes import ROOT

SIMULATED = 'simulated'                     # the name of the cloud nobody has to have
VERSIONS = {                                # service -> version of its API; None: nothing tells
    'identity': 3, 'compute': 2, 'network': 2, 'block-storage': 3, 'image': 2, 'load-balancer': 2, 'dns': 2,
    'key-manager': 1, 'alarm': 2, 'message': 2, 'workflow': 2, 'object-store': None,
    'database': None, 'baremetal': 1,
}
MICROVERSIONS = {'compute': '2.90', 'block-storage': '3.60', 'baremetal': '1.58'}
HEADERS = {'message': {'Client-ID': '3381af92-2b9e-11e3-b191-71861300734c'}}     # any id, but there must be one
COLLECTIONS: dict[str, dict[str, str]] = {  # service -> path of a list -> the key of its entries, if it has one
    'network': {path: path.rsplit('/')[-1].replace('-', '_') for path in (
        '/networks', '/subnets', '/ports', '/routers', '/floatingips', '/security-groups', '/security-group-rules',
        '/qos/policies', '/trunks', '/address-scopes', '/subnetpools', '/segments', '/rbac-policies',
        '/metering/metering-labels', '/metering/metering-label-rules')},
    'compute': {'/servers?all_tenants=1': 'servers', '/os-keypairs': 'keypairs', '/flavors?is_public=None': 'flavors',
                '/os-server-groups?all_projects=1': 'server_groups', '/os-aggregates': 'aggregates'},
    'block-storage': {'/volumes?all_tenants=1': 'volumes', '/snapshots?all_tenants=1': 'snapshots',
                      '/backups?all_tenants=1': 'backups', '/types?is_public=None': 'volume_types',
                      '/qos-specs': 'qos_specs', '/attachments?all_tenants=1': 'attachments'},
    'image': {'/images': 'images'},
    'identity': {f'/{name}': name for name in (
        'projects', 'users', 'groups', 'roles', 'domains', 'regions', 'services', 'endpoints', 'role_assignments',
        'credentials')} | {'/OS-TRUST/trusts': 'trusts'},
    'load-balancer': {f'/lbaas/{name}': name for name in (
        'loadbalancers', 'listeners', 'pools', 'healthmonitors', 'l7policies')} | {
        '/lbaas/flavors': 'flavors', '/lbaas/flavorprofiles': 'flavorprofiles',
        '/lbaas/availabilityzones': 'availability_zones',
        '/lbaas/availabilityzoneprofiles': 'availability_zone_profiles'},
    'dns': {'/zones': 'zones'},
    'key-manager': {'/secrets': 'secrets', '/containers': 'containers', '/orders': 'orders'},
    'alarm': {'/alarms': ''},
    'message': {'/queues': 'queues'},
    'workflow': {'/workflows': 'workflows', '/cron_triggers': 'cron_triggers'},
    'object-store': {'?format=json': ''},
    'database': {'/instances': 'instances'},
    'baremetal': {'/ports': 'ports'},
}
PUBLIC_KEY = ('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICucb1kic3eeSD9dCZ6Ji4aucnfNKWzCcwilhsTwZcos nobody')


class Cloud:
    """`name` in `file`; its user must be an administrator."""

    def __init__(self, name: str, file: str | None) -> None:
        self.name = name
        self.environment = {'OS_CLOUD': name, **({'OS_CLIENT_CONFIG_FILE': file} if file else {})}
        found = (cloud_config.OpenStackConfig(load_envvars=False, config_files=[file]) if file else
                 cloud_config.OpenStackConfig())
        self._session = found.get_one(name).get_session()
        self._region = found.get_one(name).region_name
        self._local = urlparse(self._session.auth.auth_url).hostname in ('127.0.0.1', 'localhost')
        if self._local:
            # Its requests, of several threads, do not look for proxies in `os.environ`, which pytest changes meanwhile.
            self._session.session.trust_env = False

    @property
    def root(self) -> str:
        """Of the simulator: below it are its services, and the door behind the counter."""
        return str(self._session.auth.auth_url).removesuffix('/v3')

    def token(self) -> str:
        return str(self._session.get_token())

    # --- what it can ------------------------------------------------------------------------------------------

    @functools.cached_property
    def abilities(self) -> set[str]:
        """Services that answer, and what else a life may need."""
        found = {service for service in VERSIONS if self._answers(service)}
        domains = self.get('identity', '/domains?name=heat')['domains']
        if domains and self.get('identity', f'/users?name=heat_domain_admin&domain_id={domains[0]["id"]}')['users']:
            found.add('stack_users')
        if self._local or 'HEATLITE_TEST_PHYSICAL_NETWORK' in os.environ:
            found.add('physical_network')
        if self._local or 'HEATLITE_TEST_WEB_IMAGE' in os.environ:
            found.add('web_image')
        return found

    def _answers(self, service: str) -> bool:
        try:
            return bool(self._at(service).get_endpoint())
        except exceptions.ClientException:
            return False

    def _at(self, service: str) -> adapter.Adapter:
        return adapter.Adapter(self._session, service_type=service, interface='public', region_name=self._region,
                               version=VERSIONS[service], default_microversion=MICROVERSIONS.get(service),
                               raise_exc=False, connect_retries=2)

    # --- what is in it ----------------------------------------------------------------------------------------

    def ask(self, service: str, method: str, path: str, **more: Any) -> Any:
        """The response, whatever its status."""
        return self._at(service).request(path, method, **{'headers': HEADERS.get(service, {}), **more})

    def get(self, service: str, path: str) -> Any:
        answer = self.ask(service, 'GET', path)
        assert answer.status_code == 200, f'{service} {path}: {answer.status_code} {answer.text}'
        return answer.json()

    def listing(self) -> dict[str, set[str]]:
        """Ids of everything, by service and kind."""
        return {f'{service} {path.split("?")[0]}': self._ids(service, path, key)
                for service in COLLECTIONS if service in self.abilities
                for path, key in COLLECTIONS[service].items()}

    def _ids(self, service: str, path: str, key: str) -> set[str]:
        answer = self.ask(service, 'GET', path)
        if answer.status_code == 404:
            return set()                    # an extension the cloud does not have
        assert answer.status_code in (200, 204), f'{service} {path}: {answer.status_code} {answer.text}'
        entries = (answer.json() if answer.content else []) if not key else answer.json()[key]
        return {identity(each) for each in entries if not is_by_itself(path, each)}

    # --- what stacks are made of ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def furnished(self) -> Iterator[dict[str, Any]]:
        """Names for templates; what had to be made for them is taken away at the end."""
        images = self.get('image', '/images?status=active&sort=size:asc')['images']
        flavors = sorted((each for each in self.get('compute', '/flavors/detail')['flavors'] if each['disk'] < 2),
                         key=lambda each: (each['ram'], each['vcpus']))
        external = self.get('network', '/networks?router:external=true')['networks']
        project = self._session.get_project_id()
        others = [each['id'] for each in self.get('identity', '/projects')['projects'] if each['id'] != project]
        with self._another_image() as other, self._web_image() as url, self._machine() as machine:
            yield {'image': images[0]['name'], 'other_image': other, 'flavor': flavors[0]['name'],
                   'larger': flavors[1]['name'], 'external': external[0]['name'], 'project': project,
                   'other_project': others[0], 'public_key': PUBLIC_KEY, 'web_image': url,
                   'physical_network': os.environ.get('HEATLITE_TEST_PHYSICAL_NETWORK', 'physnet1'),
                   'balancer_provider': self._balancer_provider(), 'machine': machine}

    def clear_furniture(self, names: Mapping[str, Any]) -> None:
        """Takes away what `furnished` made for these names, if that did not end."""
        for image in self.get('image', f'/images?name={names["other_image"]}')['images']:
            self.ask('image', 'DELETE', f'/images/{image["id"]}')
        if names['machine']:
            self.ask('baremetal', 'DELETE', f'/nodes/{names["machine"]}')

    def _balancer_provider(self) -> str | None:
        if 'load-balancer' not in self.abilities:
            return None
        return str(self.get('load-balancer', '/lbaas/providers')['providers'][0]['name'])

    @contextlib.contextmanager
    def _another_image(self) -> Iterator[str]:
        name = f'heatlite-{uuid.uuid4().hex[:8]}'
        image = self.ask('image', 'POST', '/images', json={
            'name': name, 'disk_format': 'raw', 'container_format': 'bare'}).json()['id']
        self.ask('image', 'PUT', f'/images/{image}/file', data=b'nothing that boots',
                 headers={'Content-Type': 'application/octet-stream'})
        try:
            yield name
        finally:
            self.ask('image', 'DELETE', f'/images/{image}')

    @contextlib.contextmanager
    def _machine(self) -> Iterator[str]:
        """The id of one that is made for the purpose; '' where there are none."""
        if 'baremetal' not in self.abilities:
            yield ''
            return
        machine = self.ask('baremetal', 'POST', '/nodes', json={'driver': 'fake-hardware'}).json()['uuid']
        try:
            yield machine
        finally:
            self.ask('baremetal', 'DELETE', f'/nodes/{machine}')

    @contextlib.contextmanager
    def _web_image(self) -> Iterator[str]:
        """The URL of a file that the cloud can fetch."""
        if 'HEATLITE_TEST_WEB_IMAGE' in os.environ or not self._local:
            yield os.environ.get('HEATLITE_TEST_WEB_IMAGE', '')
            return
        with ThreadingHTTPServer(('127.0.0.1', 0), Image) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f'http://127.0.0.1:{server.server_address[1]}/disk.raw'
            server.shutdown()


class Image(BaseHTTPRequestHandler):
    """Whatever the path: the same few bytes."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header('Content-Length', '4')
        self.end_headers()
        self.wfile.write(b'disk')

    def log_message(self, *_: Any) -> None:
        pass


def identity(entry: dict[str, Any]) -> str:
    """What tells an entry of a list from its neighbours."""
    for name in ('id', 'uuid', 'alarm_id', 'secret_ref', 'container_ref', 'order_ref', 'name'):
        if name in entry:
            return str(entry[name])
    return str(entry.get('keypair', {}).get('name') or sorted(entry.items(), key=str))      # a role assignment


def is_by_itself(path: str, entry: dict[str, Any]) -> bool:
    """What services make for themselves: the default security group of a project with its rules, when the network
    service is first asked, and trusts of the message service. Those end some day; trusts of stacks do not."""
    return ((path == '/security-groups' and entry['name'] == 'default') or bool(entry.get('belongs_to_default_sg'))
            or (path == '/OS-TRUST/trusts' and entry['expires_at'] is not None))


def own_names(names: dict[str, Any]) -> dict[str, Any]:
    """The names for one life: those of the cloud, and some nobody else has."""
    vlan = random.randrange(200, 1900, 2)
    return {**names, 'unique': f'heatlite-{uuid.uuid4().hex[:8]}', 'vlan': str(vlan), 'other_vlan': str(vlan + 1)}


@contextlib.contextmanager
def of(name: str, folder: Path) -> Iterator[Cloud]:
    """The cloud of that name; a simulated one is started for the purpose, its clouds.yaml written to `folder`."""
    if name != SIMULATED:
        yield Cloud(name, os.environ.get('OS_CLIENT_CONFIG_FILE'))
        return
    command = [sys.executable, '-W', 'ignore', '-m', 'cloudsim', '--port', '0', '--boot', '0.05',
               '--work', '0.02', '--service', 'cloudformation=http://127.0.0.1:8000/v1']
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            url = re.search(r'http://\S+', running.stdout.readline()).group()       # type: ignore[union-attr]
            file = folder / 'clouds.yaml'
            file.write_text(yaml.safe_dump({'clouds': {SIMULATED: {'region_name': 'RegionOne', 'auth': {
                'auth_url': f'{url}/v3', 'username': 'admin', 'password': 'secret', 'project_name': 'admin',
                'user_domain_id': 'default', 'project_domain_id': 'default'}}}}))
            yield Cloud(SIMULATED, str(file))
        finally:
            running.terminate()
