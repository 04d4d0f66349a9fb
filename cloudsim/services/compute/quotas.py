"""Quotas of the compute service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cloudsim import quota_sets
from cloudsim.service import Route

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

NAMES = ('instances', 'cores', 'ram', 'metadata_items', 'key_pairs', 'server_groups', 'server_group_members',
         'injected_files', 'injected_file_content_bytes', 'injected_file_path_bytes', 'fixed_ips', 'floating_ips',
         'security_groups', 'security_group_rules')
UNTIL = {**dict.fromkeys(('fixed_ips', 'floating_ips', 'security_groups', 'security_group_rules'), (2, 36)),
         **dict.fromkeys(('injected_files', 'injected_file_content_bytes', 'injected_file_path_bytes'), (2, 57))}


def routes(service: ComputeService) -> Iterable[Route]:
    def usage(project: str | None) -> dict[str, int]:
        own = service.collection('servers').table.find('project_id', project)
        return {'instances': len(own), 'cores': sum(each['flavor']['vcpus'] for each in own),
                'ram': sum(each['flavor']['ram'] for each in own)}

    return quota_sets.routes(service, '/v2.1/os-quota-sets', NAMES, usage, UNTIL)
