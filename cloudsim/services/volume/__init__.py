"""Cinder: volumes without a byte in them, and everything that is kept about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim import quota_sets
from cloudsim.messages import Call
from cloudsim.service import Route, Service
from cloudsim.services.volume import attachments, copies, metadata, types, volume_actions, volumes

EXTENSIONS = {'backups': 'Backups', 'encryption': 'VolumeTypeEncryption', 'os-quota-sets': 'Quotas',
              'os-types-manage': 'TypesManage', 'qos-specs': 'Qos_specs_manage'}


class VolumeService(Service):
    classes = {'volumes': volumes.Volumes, 'snapshots': copies.VolumeSnapshots, 'backups': copies.Backups,
               'types': types.VolumeTypes, 'qos-specs': types.QosSpecs, 'attachments': attachments.Attachments}

    def own_routes(self) -> Iterable[Route]:
        for part in (volumes, copies, types, volume_actions, attachments, metadata):
            yield from part.routes(self)
        yield from quota_sets.routes(self, '/v3/os-quota-sets', QUOTAS, self.usage)
        yield 'GET', '/v3/limits', self.show_limits
        yield 'GET', '/v3/extensions', lambda call: (200, {'extensions': [
            {'alias': alias, 'name': name, 'description': '', 'updated': '2026-01-01T00:00:00+00:00', 'links': []}
            for alias, name in EXTENSIONS.items()]})
        yield 'GET', '/v3/os-availability-zone', lambda call: (200, {'availabilityZoneInfo': [
            {'zoneName': 'nova', 'zoneState': {'available': True}}]})
        yield 'GET', '/v3/os-services', lambda call: (200, {'services': [
            {'binary': 'cinder-volume', 'host': 'compute-1@files', 'zone': 'nova', 'status': 'enabled', 'state': 'up',
             'updated_at': self.cloud.clock.stamp(), 'disabled_reason': None}]})
        yield 'GET', '/v3/scheduler-stats/get_pools', lambda call: (200, {'pools': [
            {'name': 'compute-1@files#files', 'capabilities': {}}]})

    def usage(self, project: str | None) -> dict[str, int]:
        own = {name: self.collection(name).table.find('project_id', project)
               for name in ('volumes', 'snapshots', 'backups')}
        return {**{name: len(things) for name, things in own.items()},
                'gigabytes': sum(each['size'] for name in ('volumes', 'snapshots') for each in own[name]),
                'backup_gigabytes': sum(each['size'] for each in own['backups'])}

    def show_limits(self, call: Call) -> Any:
        used, project = self.usage(call.project_id), call.project_id
        return 200, {'limits': {'rate': [], 'absolute': {
            'maxTotalVolumes': self.limit(project, 'volumes'), 'maxTotalSnapshots': self.limit(project, 'snapshots'),
            'maxTotalVolumeGigabytes': self.limit(project, 'gigabytes'),
            'maxTotalBackups': self.limit(project, 'backups'),
            'maxTotalBackupGigabytes': self.limit(project, 'backup_gigabytes'),
            'totalVolumesUsed': used['volumes'], 'totalSnapshotsUsed': used['snapshots'],
            'totalGigabytesUsed': used['gigabytes'], 'totalBackupsUsed': used['backups'],
            'totalBackupGigabytesUsed': used['backup_gigabytes']}}}

    def seed(self, call: Call) -> None:
        for name, specs in (('files', {'volume_backend_name': 'files'}), ('__DEFAULT__', {})):
            self.collection('types').make(call, {'name': name, 'extra_specs': specs, 'description': None},
                                          id=call.cloud.seed_id('types/' + name, dashes=True))


QUOTAS = ('volumes', 'snapshots', 'gigabytes', 'backups', 'backup_gigabytes', 'per_volume_gigabytes', 'groups')
SERVICE = VolumeService
