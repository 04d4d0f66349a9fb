"""The steps of an update of a volume, in their order: steps of `engine.resources.steps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.openstack.cinder import taken_out
from heatlite.engine.resources.steps import StoredStep, Table
from heatlite.engine.resources.volume_base import UNDER_WAY

if TYPE_CHECKING:
    from heatlite.engine.resource import Resource

NEEDS_DETACHED = frozenset({'restore', 'extend', 'retype'})


class VolumeStep(StoredStep, total=False):
    server: str
    volume: str | None
    device: str | None
    attachment: str
    backup: str
    type: str
    size: int                               # GiB
    flag: bool


def around_attachment(resource: Resource, steps: list[VolumeStep]) -> list[VolumeStep]:
    """Return `steps`, with the volume taken out of its servers before and put back after where one of them needs it.

    A volume that a former update has taken out and not put back is put back, too."""
    former = taken_out.places(resource)
    is_taken_out = any(step['do'] in NEEDS_DETACHED for step in steps)
    if not is_taken_out and not former:
        return steps
    volume = resource.client().volumes.get(resource.resource_id)
    attachments = volume.attachments if volume.status == 'in-use' else []
    present: list[taken_out.FormerPlace] = [
        {'server': each['server_id'], 'device': each.get('device')} for each in attachments]
    if present and not getattr(volume, 'multiattach', False):
        former = []                             # it is back, or others have attached it since
    servers = {place['server'] for place in present}
    former = [place for place in former if place['server'] not in servers and _is_there(resource, place['server'])]
    back = [*former, *(present if is_taken_out else [])]
    taken_out.note(resource, back)
    settle: list[VolumeStep] = [{'do': 'settle', 'server': place['server'], 'called': True} for place in former]
    detach: list[VolumeStep] = [
        {'do': 'detach', 'attachment': _attachment_id(resource, each), 'server': each['server_id'],
         'volume': resource.resource_id, 'device': each.get('device')}
        for each in (attachments if is_taken_out else [])]
    attach: list[VolumeStep] = [{'do': 'attach', 'server': place['server'], 'volume': resource.resource_id,
                                 'device': place['device'], 'always': True} for place in back]
    return [*settle, *detach, *steps, *attach]


def _attachment_id(resource: Resource, attachment: dict[str, object]) -> str:
    for found in resource.client('nova').volumes.get_server_volumes(attachment['server_id']):
        if found.volumeId == resource.resource_id:
            return str(found.id)
    return str(attachment.get('id') or resource.resource_id)


def _status(resource: Resource) -> str:
    return str(resource.client().volumes.get(resource.resource_id).status)


def _wait(busy: tuple[str, ...], what: str, expected: tuple[str, ...] = ('available', 'in-use')) -> Callable[..., bool]:
    def check(resource: Resource, step: VolumeStep) -> bool:
        status = _status(resource)
        if status in busy:
            return False
        if status not in expected:
            raise exception.ResourceUnknownStatus(resource_status=status, result=what)
        return True
    return check


def _restore(resource: Resource, step: VolumeStep) -> None:
    if _status(resource) != 'restoring-backup':         # asked for before a restart
        resource.client().restores.restore(step['backup'], resource.resource_id)


def _extend(resource: Resource, step: VolumeStep) -> None:
    volume = resource.client().volumes.get(resource.resource_id)
    if volume.size >= step['size'] or volume.status == 'extending':
        return
    try:
        resource.client().volumes.extend(resource.resource_id, step['size'])
    except Exception as error:
        if resource.client_plugin().is_client_exception(error):
            raise exception.Error(_('Failed to extend volume %(vol)s - %(err)s')
                                  % {'vol': resource.resource_id, 'err': error}) from error
        raise


def _is_extended(resource: Resource, step: VolumeStep) -> bool:
    volume = resource.client().volumes.get(resource.resource_id)
    if volume.status == 'extending':
        return False
    if volume.status not in ('available', 'in-use'):
        raise exception.ResourceUnknownStatus(resource_status=volume.status, result=_('Volume resize failed'))
    if volume.size < step['size']:                      # the service has given up, and restored the former status
        raise exception.ResourceUnknownStatus(
            resource_status=volume.status, result=_('Volume resize failed'),
            status_reason=_('the size is %(size)s GiB') % {'size': volume.size})
    return True


def _retype(resource: Resource, step: VolumeStep) -> None:
    volume = resource.client().volumes.get(resource.resource_id)
    if volume.status == 'retyping' or is_of_type(resource, volume.volume_type, step['type']):
        return
    resource.client().volumes.retype(resource.resource_id, step['type'], 'on-demand')


def is_of_type(resource: Resource, present: object, wanted: object) -> bool:
    """Whether two names or ids mean one type of volumes. `present`: as the service shows it, by name."""
    if not present or not wanted or present == wanted:
        return present == wanted
    find = resource.client_plugin().get_volume_type
    try:
        return bool(find(present) == find(wanted))
    except exception.EntityNotFound:
        return False


def _is_retyped(resource: Resource, step: VolumeStep) -> bool:
    volume = resource.client().volumes.get(resource.resource_id)
    if volume.status == 'retyping' or getattr(volume, 'migration_status', None) in ('migrating', 'starting'):
        return False
    if volume.status not in ('available', 'in-use'):
        raise exception.ResourceUnknownStatus(resource_status=volume.status, result=_('Volume retype failed'))
    if not is_of_type(resource, volume.volume_type, step['type']):      # as of a size
        raise exception.ResourceUnknownStatus(
            resource_status=volume.status, result=_('Volume retype failed'),
            status_reason=_('the type is %(type)s') % {'type': volume.volume_type})
    return True


def _set_read_only(resource: Resource, step: VolumeStep) -> None:
    resource.client().volumes.update_readonly_flag(resource.resource_id, step['flag'])


def _detach(resource: Resource, step: VolumeStep) -> bool:
    return bool(resource.client_plugin('nova').detach_volume(step['server'], step['attachment']))


def _is_detached(resource: Resource, step: VolumeStep) -> bool:
    return bool(resource.client_plugin().check_detach_volume_complete(resource.resource_id, step['server'])
                and resource.client_plugin('nova').check_detach_volume_complete(step['server'], step['attachment']))


def _is_settled(resource: Resource, step: VolumeStep) -> bool:
    """Return whether what an interrupted update has asked for has ended, also where the server shows it."""
    status = _status(resource)
    return status not in UNDER_WAY and (status != 'available' or not _is_in(resource, step['server']))


def _is_in(resource: Resource, server: str) -> bool:
    return any(each.volumeId == resource.resource_id
               for each in resource.client('nova').volumes.get_server_volumes(server))


def _is_there(resource: Resource, server: str) -> bool:
    return not resource.client_plugin('nova').not_found_in_call(resource.client('nova').servers.get, server)


def _attach(resource: Resource, step: VolumeStep) -> bool:
    if _is_in(resource, step['server']):
        return True
    return bool(resource.client_plugin('nova').attach_volume(step['server'], str(resource.resource_id), step['device']))


def _is_attached(resource: Resource, step: VolumeStep) -> bool:
    if not resource.client_plugin().check_attach_volume_complete(resource.resource_id):
        return False
    taken_out.forget(resource, step['server'])
    return True


STEPS: Table[Resource, VolumeStep] = {
    'settle': (lambda resource, step: None, _is_settled),
    'restore': (_restore, _wait(('restoring-backup',), _('Volume restore failed'), ('available',))),
    'extend': (_extend, _is_extended),
    'retype': (_retype, _is_retyped),
    'read_only': (_set_read_only, lambda resource, step: True),
    'detach': (_detach, _is_detached),
    'attach': (_attach, _is_attached),
}
