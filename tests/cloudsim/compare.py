"""Says where the simulator answers differently from real services: the same requests to both, statuses and shapes held
side by side.

    python -m tests.cloudsim.compare http://127.0.0.1:5000/v3 http://127.0.0.1:5055/v3

The first is the real cloud, the second the simulator; both must have the users admin and demo (password secret), the
image cirros, the flavor m1.tiny and the networks public and private. Not a test: it needs real services.
"""

import re
import sys
import time

from keystoneauth1 import session
from keystoneauth1.identity import v3

PAUSE = 0.5                     # seconds between two looks
PATIENCE = 60                   # looks

# name, service type, method, path, body, ids to remember {name: path in the answer}, state to wait for (field, value)
SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHjGFkTAHm0O3ZZrvyd9AO2CjqEs9T1sMeDVcP1KNH4b x'

STEPS = [
    ('image', 'image', 'GET', '/v2/images?name=cirros', None, {'image': 'images.0.id'}, None),
    ('image show', 'image', 'GET', '/v2/images/{image}', None, {}, None),
    ('image none', 'image', 'GET', '/v2/images/nowhere', None, {}, None),
    ('image create', 'image', 'POST', '/v2/images', {'name': 'c', 'disk_format': 'raw', 'container_format': 'bare'},
     {'new_image': 'id'}, None),
    ('image patch', 'image', 'PATCH', '/v2/images/{new_image}', [{'op': 'replace', 'path': '/name', 'value': 'd'}], {},
     None),
    ('image delete', 'image', 'DELETE', '/v2/images/{new_image}', None, {}, None),
    ('flavors', 'compute', 'GET', '/flavors/detail', None, {}, None),
    ('flavor', 'compute', 'GET', '/flavors', None, {'flavor': 'flavors[m1.tiny].id', 'small': 'flavors[m1.small].id'},
     None),
    ('flavor show', 'compute', 'GET', '/flavors/{flavor}', None, {}, None),
    ('flavor none', 'compute', 'GET', '/flavors/nowhere', None, {}, None),
    ('key create', 'compute', 'POST', '/os-keypairs', {'keypair': {
        'name': 'compare', 'public_key': SSH_KEY}},
     {}, None),
    ('key list', 'compute', 'GET', '/os-keypairs', None, {}, None),
    ('key show', 'compute', 'GET', '/os-keypairs/compare', None, {}, None),
    ('key again', 'compute', 'POST', '/os-keypairs', {'keypair': {
        'name': 'compare', 'public_key': SSH_KEY}},
     {}, None),
    ('key delete', 'compute', 'DELETE', '/os-keypairs/compare', None, {}, None),
    ('group create', 'compute', 'POST', '/os-server-groups', {'server_group': {'name': 'g', 'policy': 'affinity'}},
     {'group': 'server_group.id'}, None),
    ('group list', 'compute', 'GET', '/os-server-groups', None, {}, None),
    ('group delete', 'compute', 'DELETE', '/os-server-groups/{group}', None, {}, None),
    ('zones', 'compute', 'GET', '/os-availability-zone', None, {}, None),
    ('limits', 'compute', 'GET', '/limits', None, {}, None),
    ('quota', 'compute', 'GET', '/os-quota-sets/{project}', None, {}, None),
    ('extensions', 'network', 'GET', '/v2.0/extensions', None, {}, None),
    ('public', 'network', 'GET', '/v2.0/networks?name=public', None, {'public': 'networks.0.id'}, None),
    ('network create', 'network', 'POST', '/v2.0/networks', {'network': {'name': 'c'}}, {'net': 'network.id'}, None),
    ('network show', 'network', 'GET', '/v2.0/networks/{net}', None, {}, ('network.status', 'ACTIVE')),
    ('network none', 'network', 'GET', '/v2.0/networks/nowhere', None, {}, None),
    ('network wrong', 'network', 'POST', '/v2.0/networks', {'network': {'nome': 'c'}}, {}, None),
    ('subnet create', 'network', 'POST', '/v2.0/subnets', {'subnet': {
        'network_id': '{net}', 'ip_version': 4, 'cidr': '10.99.0.0/24'}}, {'subnet': 'subnet.id'}, None),
    ('subnet overlap', 'network', 'POST', '/v2.0/subnets', {'subnet': {
        'network_id': '{net}', 'ip_version': 4, 'cidr': '10.99.0.0/25'}}, {}, None),
    ('subnet no network', 'network', 'POST', '/v2.0/subnets', {'subnet': {
        'network_id': '7b3c4d8e-0000-4000-8000-000000000000', 'ip_version': 4, 'cidr': '10.99.0.0/25'}}, {}, None),
    ('subnet show', 'network', 'GET', '/v2.0/subnets/{subnet}', None, {}, None),
    ('subnet update', 'network', 'PUT', '/v2.0/subnets/{subnet}', {'subnet': {'name': 's'}}, {}, None),
    ('security group create', 'network', 'POST', '/v2.0/security-groups', {'security_group': {'name': 'sg'}},
     {'sg': 'security_group.id'}, None),
    ('security group default', 'network', 'POST', '/v2.0/security-groups', {'security_group': {'name': 'default'}}, {},
     None),
    ('rule create', 'network', 'POST', '/v2.0/security-group-rules', {'security_group_rule': {
        'security_group_id': '{sg}', 'direction': 'ingress', 'protocol': 'tcp', 'port_range_min': 80,
        'port_range_max': 80}}, {'rule': 'security_group_rule.id'}, None),
    ('rule again', 'network', 'POST', '/v2.0/security-group-rules', {'security_group_rule': {
        'security_group_id': '{sg}', 'direction': 'ingress', 'protocol': 'tcp', 'port_range_min': 80,
        'port_range_max': 80}}, {}, None),
    ('security group show', 'network', 'GET', '/v2.0/security-groups/{sg}', None, {}, None),
    ('rule delete', 'network', 'DELETE', '/v2.0/security-group-rules/{rule}', None, {}, None),
    ('port create', 'network', 'POST', '/v2.0/ports', {'port': {
        'network_id': '{net}', 'name': 'p', 'security_groups': ['{sg}']}}, {'port': 'port.id'}, None),
    ('port show', 'network', 'GET', '/v2.0/ports/{port}', None, {}, None),
    ('port bad address', 'network', 'POST', '/v2.0/ports', {'port': {
        'network_id': '{net}', 'fixed_ips': [{'ip_address': '10.1.1.1'}]}}, {}, None),
    ('port bad subnet', 'network', 'POST', '/v2.0/ports', {'port': {'network_id': '{net}', 'fixed_ips': [
        {'subnet_id': '7b3c4d8e-0000-4000-8000-000000000000'}]}}, {}, None),
    ('port tags', 'network', 'PUT', '/v2.0/ports/{port}/tags', {'tags': ['a']}, {}, None),
    ('group in use', 'network', 'DELETE', '/v2.0/security-groups/{sg}', None, {}, None),
    ('subnet in use', 'network', 'DELETE', '/v2.0/subnets/{subnet}', None, {}, None),
    ('network in use', 'network', 'DELETE', '/v2.0/networks/{net}', None, {}, None),
    ('router create', 'network', 'POST', '/v2.0/routers', {'router': {
        'name': 'r', 'external_gateway_info': {'network_id': '{public}'}}}, {'router': 'router.id'}, None),
    ('router bad gateway', 'network', 'POST', '/v2.0/routers', {'router': {
        'name': 'r', 'external_gateway_info': {'network_id': '{net}'}}}, {}, None),
    ('floating unreachable', 'network', 'POST', '/v2.0/floatingips', {'floatingip': {
        'floating_network_id': '{public}', 'port_id': '{port}'}}, {}, None),
    ('floating not external', 'network', 'POST', '/v2.0/floatingips', {'floatingip': {'floating_network_id': '{net}'}},
     {}, None),
    ('router add', 'network', 'PUT', '/v2.0/routers/{router}/add_router_interface', {'subnet_id': '{subnet}'},
     {'interface': 'port_id'}, None),
    ('router add again', 'network', 'PUT', '/v2.0/routers/{router}/add_router_interface', {'subnet_id': '{subnet}'}, {},
     None),
    ('router show', 'network', 'GET', '/v2.0/routers/{router}', None, {}, None),
    ('router in use', 'network', 'DELETE', '/v2.0/routers/{router}', None, {}, None),
    ('interface port delete', 'network', 'DELETE', '/v2.0/ports/{interface}', None, {}, None),
    ('floating create', 'network', 'POST', '/v2.0/floatingips', {'floatingip': {
        'floating_network_id': '{public}', 'port_id': '{port}'}}, {'fip': 'floatingip.id'}, None),
    ('floating again', 'network', 'POST', '/v2.0/floatingips', {'floatingip': {
        'floating_network_id': '{public}', 'port_id': '{port}'}}, {}, None),
    ('router remove while floating', 'network', 'PUT', '/v2.0/routers/{router}/remove_router_interface',
     {'subnet_id': '{subnet}'}, {}, None),
    ('gateway clear while floating', 'network', 'PUT', '/v2.0/routers/{router}',
     {'router': {'external_gateway_info': {}}}, {}, None),
    ('server create', 'compute', 'POST', '/servers', {'server': {
        'name': 's', 'imageRef': '{image}', 'flavorRef': '{flavor}', 'networks': [{'port': '{port}'}],
        'metadata': {'a': 'b'}}}, {'server': 'server.id'}, None),
    ('server stop while building', 'compute', 'POST', '/servers/{server}/action', {'suspend': None}, {}, None),
    ('server show', 'compute', 'GET', '/servers/{server}', None, {}, ('server.status', 'ACTIVE')),
    ('server list', 'compute', 'GET', '/servers/detail', None, {}, None),
    ('server none', 'compute', 'GET', '/servers/7b3c4d8e-0000-4000-8000-000000000000', None, {}, None),
    ('server port in use', 'compute', 'POST', '/servers', {'server': {
        'name': 's', 'imageRef': '{image}', 'flavorRef': '{flavor}', 'networks': [{'port': '{port}'}]}}, {}, None),
    ('server bad flavor', 'compute', 'POST', '/servers', {'server': {
        'name': 's', 'imageRef': '{image}', 'flavorRef': 'nowhere', 'networks': 'none'}}, {}, None),
    ('server bad image', 'compute', 'POST', '/servers', {'server': {
        'name': 's', 'imageRef': '7b3c4d8e-0000-4000-8000-000000000000', 'flavorRef': '{flavor}', 'networks': 'none'}},
     {}, None),
    ('server bad network', 'compute', 'POST', '/servers', {'server': {
        'name': 's', 'imageRef': '{image}', 'flavorRef': '{flavor}',
        'networks': [{'uuid': '7b3c4d8e-0000-4000-8000-000000000000'}]}}, {}, None),
    ('server bad key', 'compute', 'POST', '/servers', {'server': {
        'name': 's', 'imageRef': '{image}', 'flavorRef': '{flavor}', 'networks': 'none', 'key_name': 'nowhere'}},
     {}, None),
    ('server interfaces', 'compute', 'GET', '/servers/{server}/os-interface', None, {}, None),
    ('server metadata', 'compute', 'GET', '/servers/{server}/metadata', None, {}, None),
    ('server rename', 'compute', 'PUT', '/servers/{server}', {'server': {'name': 't'}}, {}, None),
    ('server console', 'compute', 'POST', '/servers/{server}/action', {'os-getConsoleOutput': {'length': 5}}, {}, None),
    ('server same flavor', 'compute', 'POST', '/servers/{server}/action', {'resize': {'flavorRef': '{flavor}'}}, {},
     None),
    ('server stop', 'compute', 'POST', '/servers/{server}/action', {'os-stop': None}, {}, None),
    ('server stopped', 'compute', 'GET', '/servers/{server}', None, {}, ('server.status', 'SHUTOFF')),
    ('server start', 'compute', 'POST', '/servers/{server}/action', {'os-start': None}, {}, None),
    ('server started', 'compute', 'GET', '/servers/{server}', None, {}, ('server.status', 'ACTIVE')),
    ('volume types', 'block-storage', 'GET', '/types', None, {}, None),
    ('volume create', 'block-storage', 'POST', '/volumes', {'volume': {'size': 1, 'name': 'v'}},
     {'volume': 'volume.id'}, None),
    ('volume show', 'block-storage', 'GET', '/volumes/{volume}', None, {}, ('volume.status', 'available')),
    ('volume list', 'block-storage', 'GET', '/volumes', None, {}, None),
    ('volume none', 'block-storage', 'GET', '/volumes/7b3c4d8e-0000-4000-8000-000000000000', None, {}, None),
    ('volume bad size', 'block-storage', 'POST', '/volumes', {'volume': {'size': 0}}, {}, None),
    ('volume bad type', 'block-storage', 'POST', '/volumes', {'volume': {'size': 1, 'volume_type': 'nowhere'}}, {},
     None),
    ('volume bad snapshot', 'block-storage', 'POST', '/volumes', {'volume': {
        'size': 1, 'snapshot_id': '7b3c4d8e-0000-4000-8000-000000000000'}}, {}, None),
    ('attach', 'compute', 'POST', '/servers/{server}/os-volume_attachments', {'volumeAttachment': {
        'volumeId': '{volume}'}}, {}, None),
    ('volume attached', 'block-storage', 'GET', '/volumes/{volume}', None, {}, ('volume.status', 'in-use')),
    ('attachments', 'compute', 'GET', '/servers/{server}/os-volume_attachments', None, {}, None),
    ('attach again', 'compute', 'POST', '/servers/{server}/os-volume_attachments', {'volumeAttachment': {
        'volumeId': '{volume}'}}, {}, None),
    ('volume delete in use', 'block-storage', 'DELETE', '/volumes/{volume}', None, {}, None),
    ('detach', 'compute', 'DELETE', '/servers/{server}/os-volume_attachments/{volume}', None, {}, None),
    ('volume detached', 'block-storage', 'GET', '/volumes/{volume}', None, {}, ('volume.status', 'available')),
    ('detached', 'compute', 'GET', '/servers/{server}/os-volume_attachments/{volume}', None, {}, None),
    ('shrink', 'block-storage', 'POST', '/volumes/{volume}/action', {'os-extend': {'new_size': 1}}, {}, None),
    ('extend', 'block-storage', 'POST', '/volumes/{volume}/action', {'os-extend': {'new_size': 2}}, {}, None),
    ('extended', 'block-storage', 'GET', '/volumes/{volume}', None, {}, ('volume.status', 'available')),
    ('snapshot create', 'block-storage', 'POST', '/snapshots', {'snapshot': {'volume_id': '{volume}'}},
     {'snapshot': 'snapshot.id'}, None),
    ('snapshot show', 'block-storage', 'GET', '/snapshots/{snapshot}', None, {}, ('snapshot.status', 'available')),
    ('volume delete with snapshot', 'block-storage', 'DELETE', '/volumes/{volume}', None, {}, None),
    ('snapshot delete', 'block-storage', 'DELETE', '/snapshots/{snapshot}', None, {}, None),
    ('snapshot gone', 'block-storage', 'GET', '/snapshots/{snapshot}', None, {}, ('', '404')),
    ('backup create', 'block-storage', 'POST', '/backups', {'backup': {'volume_id': '{volume}', 'name': 'b'}},
     {'backup': 'backup.id'}, None),
    ('backup show', 'block-storage', 'GET', '/backups/{backup}', None, {}, ('backup.status', 'available')),
    ('backup delete', 'block-storage', 'DELETE', '/backups/{backup}', None, {}, None),
    ('backup gone', 'block-storage', 'GET', '/backups/{backup}', None, {}, ('', '404')),
    ('volume delete', 'block-storage', 'DELETE', '/volumes/{volume}', None, {}, None),
    ('volume gone', 'block-storage', 'GET', '/volumes/{volume}', None, {}, ('', '404')),
    ('server delete', 'compute', 'DELETE', '/servers/{server}', None, {}, None),
    ('server gone', 'compute', 'GET', '/servers/{server}', None, {}, ('', '404')),
    ('port after server', 'network', 'GET', '/v2.0/ports/{port}', None, {}, None),
    ('floating update', 'network', 'PUT', '/v2.0/floatingips/{fip}', {'floatingip': {'port_id': None}}, {}, None),
    ('floating delete', 'network', 'DELETE', '/v2.0/floatingips/{fip}', None, {}, None),
    ('router remove', 'network', 'PUT', '/v2.0/routers/{router}/remove_router_interface', {'subnet_id': '{subnet}'}, {},
     None),
    ('router remove again', 'network', 'PUT', '/v2.0/routers/{router}/remove_router_interface',
     {'subnet_id': '{subnet}'}, {}, None),
    ('router delete', 'network', 'DELETE', '/v2.0/routers/{router}', None, {}, None),
    ('port delete', 'network', 'DELETE', '/v2.0/ports/{port}', None, {}, None),
    ('network delete', 'network', 'DELETE', '/v2.0/networks/{net}', None, {}, None),
    ('security group delete', 'network', 'DELETE', '/v2.0/security-groups/{sg}', None, {}, None),
    ('private', 'network', 'GET', '/v2.0/subnets?name=private-subnet', None, {'private': 'subnets.0.id'}, None),
    ('balancer create', 'load-balancer', 'POST', '/v2/lbaas/loadbalancers', {'loadbalancer': {
        'name': 'lb', 'vip_subnet_id': '{private}'}}, {'lb': 'loadbalancer.id'}, None),
    ('balancer show', 'load-balancer', 'GET', '/v2/lbaas/loadbalancers/{lb}', None, {},
     ('loadbalancer.provisioning_status', 'ACTIVE')),
    ('listener create', 'load-balancer', 'POST', '/v2/lbaas/listeners', {'listener': {
        'loadbalancer_id': '{lb}', 'protocol': 'HTTP', 'protocol_port': 80}}, {'listener': 'listener.id'}, None),
    ('listener show', 'load-balancer', 'GET', '/v2/lbaas/listeners/{listener}', None, {},
     ('listener.provisioning_status', 'ACTIVE')),
    ('pool create', 'load-balancer', 'POST', '/v2/lbaas/pools', {'pool': {
        'listener_id': '{listener}', 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}}, {'pool': 'pool.id'}, None),
    ('pool show', 'load-balancer', 'GET', '/v2/lbaas/pools/{pool}', None, {}, ('pool.provisioning_status', 'ACTIVE')),
    ('member create', 'load-balancer', 'POST', '/v2/lbaas/pools/{pool}/members', {'member': {
        'address': '10.0.0.77', 'protocol_port': 80}}, {'member': 'member.id'}, None),
    ('member show', 'load-balancer', 'GET', '/v2/lbaas/pools/{pool}/members/{member}', None, {},
     ('member.provisioning_status', 'ACTIVE')),
    ('monitor create', 'load-balancer', 'POST', '/v2/lbaas/healthmonitors', {'healthmonitor': {
        'pool_id': '{pool}', 'type': 'HTTP', 'delay': 5, 'timeout': 3, 'max_retries': 2}}, {'hm': 'healthmonitor.id'},
     None),
    ('monitor show', 'load-balancer', 'GET', '/v2/lbaas/healthmonitors/{hm}', None, {},
     ('healthmonitor.provisioning_status', 'ACTIVE')),
    ('balancer none', 'load-balancer', 'GET', '/v2/lbaas/loadbalancers/7b3c4d8e-0000-4000-8000-000000000000', None, {},
     None),
    ('balancer with children', 'load-balancer', 'DELETE', '/v2/lbaas/loadbalancers/{lb}', None, {}, None),
    ('balancer delete', 'load-balancer', 'DELETE', '/v2/lbaas/loadbalancers/{lb}?cascade=true', None, {}, None),
    ('balancer gone', 'load-balancer', 'GET', '/v2/lbaas/loadbalancers/{lb}', None, {}, ('', '404')),
    ('zone create', 'dns', 'POST', '/v2/zones', {'name': 'compare.org.', 'email': 'a@compare.org'}, {'zone': 'id'},
     None),
    ('zone show', 'dns', 'GET', '/v2/zones/{zone}', None, {}, ('status', 'ACTIVE')),
    ('zone again', 'dns', 'POST', '/v2/zones', {'name': 'compare.org.', 'email': 'a@compare.org'}, {}, None),
    ('zone bad', 'dns', 'POST', '/v2/zones', {'name': 'compare.org', 'email': 'a@compare.org'}, {}, None),
    ('record create', 'dns', 'POST', '/v2/zones/{zone}/recordsets', {
        'name': 'www.compare.org.', 'type': 'A', 'records': ['192.0.2.1']}, {'record': 'id'}, None),
    ('record show', 'dns', 'GET', '/v2/zones/{zone}/recordsets/{record}', None, {}, ('status', 'ACTIVE')),
    ('record list', 'dns', 'GET', '/v2/zones/{zone}/recordsets', None, {}, None),
    ('zone delete', 'dns', 'DELETE', '/v2/zones/{zone}', None, {}, None),
    ('zone gone', 'dns', 'GET', '/v2/zones/{zone}', None, {}, ('', '404')),
    ('secret create', 'key-manager', 'POST', '/v1/secrets', {
        'name': 's', 'payload': 'x', 'payload_content_type': 'text/plain'}, {'secret': 'secret_ref'}, None),
    ('secret show', 'key-manager', 'GET', '{secret}', None, {}, None),
    ('secret list', 'key-manager', 'GET', '/v1/secrets', None, {}, None),
    ('container create', 'key-manager', 'POST', '/v1/containers', {'type': 'generic', 'name': 'c', 'secret_refs': [
        {'name': 'x', 'secret_ref': '{secret}'}]}, {'container': 'container_ref'}, None),
    ('container show', 'key-manager', 'GET', '{container}', None, {}, None),
    ('order create', 'key-manager', 'POST', '/v1/orders', {'type': 'key', 'meta': {
        'name': 'k', 'algorithm': 'aes', 'bit_length': 256, 'mode': 'cbc', 'payload_content_type':
        'application/octet-stream'}}, {'order': 'order_ref'}, None),
    ('order show', 'key-manager', 'GET', '{order}', None, {}, ('status', 'ACTIVE')),
    ('container delete', 'key-manager', 'DELETE', '{container}', None, {}, None),
    ('secret delete', 'key-manager', 'DELETE', '{secret}', None, {}, None),
    ('secret none', 'key-manager', 'GET', '{secret}', None, {}, None),
    ('alarm create', 'alarming', 'POST', '/v2/alarms', {'name': 'a', 'type': 'event', 'event_rule': {
        'event_type': 'x', 'query': []}}, {'alarm': 'alarm_id'}, None),
    ('alarm show', 'alarming', 'GET', '/v2/alarms/{alarm}', None, {}, None),
    ('alarm list', 'alarming', 'GET', '/v2/alarms', None, {}, None),
    ('alarm delete', 'alarming', 'DELETE', '/v2/alarms/{alarm}', None, {}, None),
    ('alarm none', 'alarming', 'GET', '/v2/alarms/{alarm}', None, {}, None),
]
HEADERS = {'compute': {'OpenStack-API-Version': 'compute 2.96'},
           'block-storage': {'OpenStack-API-Version': 'volume 3.66'},
           'image': {'Content-Type': 'application/openstack-images-v2.1-json-patch'}}


class Cloud:
    def __init__(self, url):
        self.session = session.Session(v3.Password(
            url, username='demo', password='secret', project_name='demo', user_domain_id='default',
            project_domain_id='default'))
        self.known = {'project': self.session.get_project_id()}

    def run(self, step):
        """Status and body of the last answer, after waiting for what the step waits for; None: no such service."""
        _, kind, method, path, body, remember, until = step
        try:
            filled = fill(body, self.known)
            path = path.format(**self.known)
        except KeyError as missing:
            print(f'{step[0]}: {missing} is not known')
            return 0, None
        if self.session.get_endpoint(service_type=kind) is None:
            return None
        headers = {**HEADERS.get(kind, {})} if kind != 'image' or method == 'PATCH' else {}
        for _ in range(PATIENCE):
            answer = self.session.request(path, method, json=filled, raise_exc=False, headers=headers,
                                          endpoint_filter={'service_type': kind, 'interface': 'public'})
            found = parsed(answer)
            if until is None or (until[0] == '' and str(answer.status_code) == until[1]) \
                    or (until[0] and dig(found, until[0]) == until[1]):
                break
            time.sleep(PAUSE)
        else:
            print(f'{step[0]}: never became {until[1]}')
        for name, place in remember.items():
            value = dig(found, place)
            if value is not None:
                self.known[name] = value
        return answer.status_code, found


def parsed(answer):
    try:
        return answer.json() if answer.content else None
    except ValueError:
        return answer.headers.get('Content-Type')


def fill(body, known):
    match body:
        case dict():
            return {name: fill(value, known) for name, value in body.items()}
        case list():
            return [fill(each, known) for each in body]
        case str():
            return body.format(**known)
    return body


def dig(value, path):
    """`a.0.b`, and `a[name]`: the one of a list that has the name."""
    for part in re.findall(r'(?:[^.\[]|\[[^\]]*\])+', path):
        named = re.fullmatch(r'(\w+)\[(.+)\]', part)
        if named:
            part = named.group(1)
        if isinstance(value, list):
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
        if named:
            value = next((each for each in value or () if each['name'] == named.group(2)), None)
    return value


def shape(value, at=''):
    """Every path in an answer and the kind of what is there; lists by their first member."""
    match value:
        case dict():
            found = {at: 'map'}
            for name, inner in value.items():
                found.update(shape(inner, f'{at}.{name}'))
            return found
        case list():
            return {at: 'list', **(shape(value[0], f'{at}[]') if value else {})}
        case bool():
            return {at: 'bool'}
        case int() | float():
            return {at: 'number'}
        case None:
            return {at: 'null'}
    return {at: 'text'}


def differences(real, simulated):
    if real[0] != simulated[0]:
        return [f'status {real[0]} {real[1] if real[0] >= 400 else ""} | {simulated[0]} '
                f'{simulated[1] if simulated[0] >= 400 else ""}']
    if real[0] >= 400:
        kinds = [dig(each[1], 'NeutronError.type') for each in (real, simulated)]
        return [f'error {kinds[0]} | {kinds[1]}'] if kinds[0] != kinds[1] else []
    left, right = shape(real[1]), shape(simulated[1])
    found = []
    for place in sorted(left.keys() | right.keys()):
        one, other = left.get(place, '-'), right.get(place, '-')
        above = place.rpartition('.')[0].removesuffix('[]')
        missing = above and (above not in left or above not in right)
        if one != other and not missing and 'null' not in (one, other):
            found.append(f'{place}: {one} | {other}')
    return found


def main(urls):
    real, simulated = (Cloud(each) for each in urls)
    wrong = 0
    for step in STEPS:
        answers = real.run(step), simulated.run(step)
        if None in answers:
            continue
        found = differences(*answers)
        wrong += len(found)
        for each in found:
            print(f'{step[0]}: {each}')
    print(f'{len(STEPS)} requests, {wrong} differences (real | simulated)')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
