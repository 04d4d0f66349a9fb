"""The one hypervisor of the cloud, its zone, its services, and the limits of a project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim.messages import Call, Forbidden, NotFound
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

HOST = 'compute-1'
ZONES = ('nova',)
# Limits that are not shown any more from this microversion on.
LIMITS_UNTIL = {'maxImageMeta': (2, 39), 'maxPersonality': (2, 57), 'maxPersonalitySize': (2, 57),
                **dict.fromkeys(('maxSecurityGroupRules', 'maxSecurityGroups', 'maxTotalFloatingIps',
                                 'totalFloatingIpsUsed', 'totalSecurityGroupsUsed'), (2, 36))}


def routes(service: ComputeService) -> Iterable[Route]:
    cloud = service.cloud
    host_id = cloud.seed_id('hypervisors/' + HOST, dashes=True)

    def hypervisor(call: Call, full: bool = True) -> dict[str, Any]:
        id: Any = host_id if call.version >= (2, 53) else 1
        brief = {'id': id, 'hypervisor_hostname': HOST, 'state': 'up', 'status': 'enabled'}
        running = len(service.collection('servers').table)
        return brief if not full else {
            **brief, 'hypervisor_type': 'fake', 'hypervisor_version': 1000, 'host_ip': '127.0.0.1',
            'running_vms': running, 'vcpus': 100000, 'vcpus_used': running, 'memory_mb': 10 ** 9,
            'memory_mb_used': 0, 'local_gb': 10 ** 9, 'local_gb_used': 0, 'free_ram_mb': 10 ** 9,
            'free_disk_gb': 10 ** 9, 'current_workload': 0, 'disk_available_least': 0, 'cpu_info': {},
            'service': {'host': HOST, 'id': id, 'disabled_reason': None}}

    def hypervisors(call: Call, full: bool = False) -> Any:
        if not call.is_admin:
            raise Forbidden
        wanted = call.asked('hypervisor_hostname_pattern')
        if wanted is not None and wanted not in HOST:
            raise NotFound("Hypervisor matching", wanted)
        return 200, {'hypervisors': [hypervisor(call, full)]}

    def one_hypervisor(call: Call, id: str) -> Any:
        if not call.is_admin:
            raise Forbidden
        if id not in (host_id, '1'):
            raise NotFound('Hypervisor', id)
        return 200, {'hypervisor': hypervisor(call)}

    def search(call: Call, text: str) -> Any:
        if text not in HOST:
            raise NotFound('No hypervisor matching', text)
        return 200, {'hypervisors': [hypervisor(call, False)]}

    def zones(call: Call) -> Any:
        known = service.collection('servers').zones() - {'', None}
        return 200, {'availabilityZoneInfo': [
            {'zoneName': each, 'zoneState': {'available': True}, 'hosts': None} for each in sorted(known)]}

    def services(call: Call) -> Any:
        if not call.is_admin:
            raise Forbidden
        return 200, {'services': [{'id': host_id, 'binary': 'nova-compute', 'host': HOST, 'zone': ZONES[0],
                                   'status': 'enabled', 'state': 'up', 'disabled_reason': None,
                                   'forced_down': False, 'updated_at': cloud.clock.stamp()}]}

    def limits(call: Call) -> Any:
        project = call.asked('tenant_id') if call.is_admin and call.asked('tenant_id') else call.project_id
        own = service.collection('servers').table.find('project_id', project)
        absolute = {
            'maxTotalInstances': service.limit(project, 'instances'), 'maxTotalCores': service.limit(project, 'cores'),
            'maxTotalRAMSize': service.limit(project, 'ram'), 'maxServerMeta': 128, 'maxImageMeta': 128,
            'maxPersonality': 5, 'maxPersonalitySize': 10240, 'maxTotalKeypairs': service.limit(project, 'key_pairs'),
            'maxServerGroups': service.limit(project, 'server_groups'), 'maxServerGroupMembers': -1,
            'maxSecurityGroups': -1, 'maxSecurityGroupRules': -1, 'maxTotalFloatingIps': -1,
            'totalInstancesUsed': len(own), 'totalCoresUsed': sum(each['flavor']['vcpus'] for each in own),
            'totalRAMUsed': sum(each['flavor']['ram'] for each in own), 'totalServerGroupsUsed': 0,
            'totalSecurityGroupsUsed': 0, 'totalFloatingIpsUsed': 0}
        return 200, {'limits': {'rate': [], 'absolute': {
            name: value for name, value in absolute.items() if call.version < LIMITS_UNTIL.get(name, (999, 0))}}}

    yield 'GET', '/v2.1/os-hypervisors', hypervisors
    yield 'GET', '/v2.1/os-hypervisors/detail', lambda call: hypervisors(call, True)
    yield 'GET', '/v2.1/os-hypervisors/{id}', one_hypervisor
    yield 'GET', '/v2.1/os-hypervisors/{text}/search', search
    yield 'GET', '/v2.1/os-availability-zone', zones
    yield 'GET', '/v2.1/os-availability-zone/detail', zones
    yield 'GET', '/v2.1/os-services', services
    yield 'GET', '/v2.1/limits', limits
    yield 'GET', '/v2.1/extensions', lambda call: (200, {'extensions': []})
    yield 'GET', '/v2.1/os-hosts', lambda call: (200, {'hosts': [
        {'host_name': HOST, 'service': 'compute', 'zone': ZONES[0]}]})
