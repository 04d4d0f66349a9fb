"""The templates of nested stacks that balance load: with Octavia, and with a server of HAProxy. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heatlite.common.i18n import _

if TYPE_CHECKING:
    from heatlite.engine.properties import Values

VERSION = '2018-08-31'
BALANCER, SERVED, SERVER = 'balancer', 'served', 'server'      # names of resources
ADDRESS = 'address'                     # output: where clients connect
OWN = ''                                # the key of `Served` for the instances that the template names
TARGET = re.compile(r'(HTTP|TCP):([0-9]{1,5})(/.*)?')
MOST_RETRIES = 10                       # of Octavia's health monitors

Served = Mapping[str, Mapping[str, str]]
"""Group -> {id of an instance: its address}."""


@dataclass(frozen=True)
class Listener:
    port: int                           # where clients connect
    instance_port: int
    protocol: str                       # TCP or HTTP
    allowed: tuple[str, ...] | None = None      # networks that may connect to Octavia's; None: all


@dataclass(frozen=True)
class HealthCheck:
    """How instances are checked. `interval` and `timeout` in seconds; `path` for HTTP only."""

    protocol: str
    port: int
    path: str
    interval: int
    timeout: int
    healthy: int                        # good answers until an instance gets requests again
    unhealthy: int                      # failures until it gets none


def target(text: str) -> tuple[str, int, str]:
    """The protocol, port and path of a target such as HTTP:80/ping. Raises ValueError."""
    found = TARGET.fullmatch(text)
    if (found is None or not 1 <= int(found[2]) <= 65535 or (found[1] == 'HTTP') != bool(found[3])
            or any(character.isspace() for character in text)):
        raise ValueError(_('"%s" is no target of a health check: it is HTTP:port/path or TCP:port.') % text[:255])
    return found[1], int(found[2]), found[3] or ''


def addresses(served: Served) -> dict[str, str]:
    """{id of an instance: address} of all groups."""
    return {instance: address for group in served.values() for instance, address in group.items()}


def _assembled(resources: Mapping[str, object], served: Served, address: object) -> dict[str, object]:
    return {'heat_template_version': VERSION,
            'resources': {**resources, SERVED: {'type': 'OS::Heat::Value', 'properties': {
                'type': 'json', 'value': {group: dict(members) for group, members in sorted(served.items())}}}},
            'outputs': {ADDRESS: {'value': address}}}


def served_by(resources: Mapping[str, Values]) -> dict[str, dict[str, str]]:
    """Return {group: {id of an instance: address}} of a template of this module. `resources`: of the template."""
    entry = resources.get(SERVED) or {}
    found: dict[str, dict[str, str]] = dict((entry.get('properties') or {}).get('value') or {})
    return found


# --- Octavia -----------------------------------------------------------------------------------------------

def octavia(subnet: str, listeners: Sequence[Listener], health: HealthCheck | None,
            served: Served) -> dict[str, object]:
    """A load balancer of Octavia with a pool for each listener. `subnet`: of the address that clients connect to."""
    resources: dict[str, object] = {BALANCER: _resource('LoadBalancer', vip_subnet=subnet)}
    for listener in listeners:
        resources.update(_of_listener(listener, health, served))
    return _assembled(resources, served, {'get_attr': [BALANCER, 'vip_address']})


def _resource(kind: str, **properties: object) -> dict[str, object]:
    return {'type': f'OS::Octavia::{kind}',
            'properties': {name: value for name, value in properties.items() if value is not None}}


def _of_listener(listener: Listener, health: HealthCheck | None, served: Served) -> Iterator[tuple[str, object]]:
    name, pool = f'listener_{listener.port}', f'pool_{listener.port}'
    yield name, _resource('Listener', loadbalancer={'get_resource': BALANCER}, protocol=listener.protocol,
                          protocol_port=listener.port,
                          allowed_cidrs=list(listener.allowed) if listener.allowed is not None else None)
    yield pool, _resource('Pool', listener={'get_resource': name}, protocol=listener.protocol,
                          lb_algorithm='ROUND_ROBIN')
    if health is not None:
        yield f'monitor_{listener.port}', _resource(
            'HealthMonitor', pool={'get_resource': pool}, type=health.protocol, delay=health.interval,
            timeout=health.timeout, max_retries=min(max(health.healthy, 1), MOST_RETRIES),
            url_path=health.path or None)
    monitored = health.port if health is not None and health.port != listener.instance_port else None
    for instance, address in sorted(addresses(served).items()):
        yield f'member_{listener.port}_{instance}', _resource(
            'PoolMember', pool={'get_resource': pool}, address=address, protocol_port=listener.instance_port,
            monitor_port=monitored)


# --- HAProxy -----------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Machine:
    """The server of HAProxy. `subnet` None: the network that the cloud chooses."""

    image: str
    flavor: str
    subnet: str | None
    key: object                         # the name of a key pair, None or empty without one
    groups: tuple[str, ...]             # security groups


# Credentials of the server's user for the CloudFormation API, from which cfn-hup reads the configuration.
START = '''#!/bin/sh
mkdir -p /etc/cfn
umask 077
cat > /etc/cfn/cfn-credentials <<END
AWSAccessKeyId=key_id
AWSSecretKey=key_secret
END
umask 022
cat > /etc/cfn/cfn-hup.conf <<END
[main]
stack=stack_name
credential-file=/etc/cfn/cfn-credentials
interval=1
END
cat > /etc/cfn/hooks.conf <<END
[reload]
triggers=post.update
path=Resources.server.Metadata
action=cfn-init -s stack_name -r server && systemctl reload-or-restart haproxy
runas=root
END
cfn-init -s stack_name -r server
systemctl restart haproxy
cfn-hup || true
echo '* * * * * root /usr/bin/cfn-hup' > /etc/cron.d/cfn-hup
'''


def haproxy(machine: Machine, listeners: Sequence[Listener], health: HealthCheck | None,
            served: Served) -> dict[str, object]:
    """A server that runs HAProxy. A change of its configuration is a change of its metadata, which cfn-hup fetches."""
    properties = {
        'image': machine.image, 'flavor': machine.flavor, 'key_name': machine.key,
        'security_groups': list(machine.groups) or None,
        'networks': [{'subnet': machine.subnet}] if machine.subnet is not None else None,
        'user_data_format': 'HEAT_CFNTOOLS',
        'user_data': {'str_replace': {'template': START, 'params': {
            'key_id': {'get_resource': 'keys'}, 'key_secret': {'get_attr': ['keys', 'SecretAccessKey']},
            'stack_name': {'get_param': 'OS::stack_name'}}}}}
    init = {'config': {
        'packages': {'yum': {'haproxy': []}, 'apt': {'haproxy': []}},
        'services': {'systemd': {'haproxy': {'enabled': 'true', 'ensureRunning': 'true'}}},
        'files': {'/etc/haproxy/haproxy.cfg': {
            'content': configuration(listeners, health, served), 'mode': '000644', 'owner': 'root', 'group': 'root'}}}}
    return _assembled({
        'policy': {'type': 'OS::Heat::AccessPolicy', 'properties': {'AllowedResources': [SERVER]}},
        'user': {'type': 'AWS::IAM::User', 'properties': {'Policies': [{'get_resource': 'policy'}]}},
        'keys': {'type': 'AWS::IAM::AccessKey', 'properties': {'UserName': {'get_resource': 'user'}}},
        SERVER: {'type': 'OS::Nova::Server', 'metadata': {'AWS::CloudFormation::Init': init},
                 'properties': {name: value for name, value in properties.items() if value is not None}},
    }, served, {'get_attr': [SERVER, 'first_address']})


def configuration(listeners: Sequence[Listener], health: HealthCheck | None, served: Served) -> str:
    """haproxy.cfg."""
    lines = ['global', '  daemon', '  maxconn 10000', 'defaults', '  timeout connect 5s', '  timeout client 60s',
             '  timeout server 60s']
    if health is not None:
        lines.append(f'  timeout check {health.timeout}s')
    for listener in listeners:
        mode = listener.protocol.lower()
        lines += [f'frontend port_{listener.port}', f'  bind *:{listener.port}', f'  mode {mode}']
        lines += [f'  default_backend instances_{listener.port}', f'backend instances_{listener.port}',
                  f'  mode {mode}', '  balance roundrobin']
        if health is not None and health.protocol == 'HTTP':
            lines.append(f'  option httpchk GET {health.path}')
        lines += [f'  server {instance} {_host(address)}:{listener.instance_port}{_checked(health)}'
                  for instance, address in sorted(addresses(served).items())]
    return '\n'.join(lines) + '\n'


def _host(address: str) -> str:
    return f'[{address}]' if ':' in address else address


def _checked(health: HealthCheck | None) -> str:
    if health is None:
        return ''
    return f' check port {health.port} inter {health.interval}s rise {health.healthy} fall {health.unhealthy}'
