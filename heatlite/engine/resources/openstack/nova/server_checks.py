"""Checks the properties of a server, beyond their schemas.

The check runs before the stack is stored, when values that refer to other resources are not known (see
`unknown_values`), and again before the server is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.unknown_values import entries, has_unknown_entries, is_set, may_be_set, value_of
from heatlite.language.unknown import UNKNOWN, is_known

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resources.openstack.nova.server import Server

PERSONALITY_ENDS = '2.57'                   # microversion from which Nova takes no files


def check(server: Server) -> None:
    """Raise StackValidationFailed, ResourcePropertyConflict."""
    props = server.properties
    _check_metadata_key(server)
    _check_devices(server, props)
    _check_networks(server, props)
    _check_image(server, props)             # this and the next ask services; heatlite-lint ends here
    _check_limits(server, props)


def _refuse(text: str) -> exception.StackValidationFailed:
    return exception.StackValidationFailed(message=text)


def _check_metadata_key(server: Server) -> None:
    if server.properties[server.USER_DATA_FORMAT] == server.SOFTWARE_CONFIG and 'deployments' in server.t.metadata():
        raise _refuse(_('deployments key not allowed in resource metadata with user_data_format of SOFTWARE_CONFIG'))


# --- disks ------------------------------------------------------------------------------------------------

def _check_devices(server: Server, props: Properties) -> None:
    """Check that there is exactly one source to boot from, and one source of each disk."""
    lists = server.BLOCK_DEVICE_MAPPING, server.BLOCK_DEVICE_MAPPING_V2
    old, new = (entries(props, name) for name in lists)
    if old and new:
        raise exception.ResourcePropertyConflict(*lists)
    image = value_of(props, server.IMAGE)
    known = [image] if image and is_set(image) else []
    may_start = bool(image) or any(has_unknown_entries(props, name) for name in lists)
    for mapping in old:
        _check_old_device(server, mapping)
        may_start = may_start or mapping.get(server.BLOCK_DEVICE_MAPPING_DEVICE_NAME) in ('vda', UNKNOWN)
    sources = (server.BLOCK_DEVICE_MAPPING_VOLUME_ID, server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID,
               server.BLOCK_DEVICE_MAPPING_IMAGE)
    for mapping in new:
        _check_device(server, mapping)
        if mapping.get(server.BLOCK_DEVICE_MAPPING_BOOT_INDEX) in (None, 0, UNKNOWN):
            may_start = may_start or any(may_be_set(mapping.get(name)) for name in sources)
            if mapping.get(server.BLOCK_DEVICE_MAPPING_BOOT_INDEX) is not UNKNOWN:
                known += [mapping[name] for name in sources if is_set(mapping.get(name))]
    if not may_start:
        raise _refuse(_('Neither image nor bootable volume is specified for instance %s') % server.name)
    if new and len(known) > 1:
        raise _refuse(_('Multiple bootable sources for instance %s.') % server.name)


def _check_old_device(server: Server, mapping: Mapping[str, object]) -> None:
    given = [mapping.get(name) for name in (server.BLOCK_DEVICE_MAPPING_VOLUME_ID,
                                            server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID)]
    if all(map(is_set, given)):
        raise exception.ResourcePropertyConflict(server.BLOCK_DEVICE_MAPPING_VOLUME_ID,
                                                 server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID)
    if not any(map(may_be_set, given)):
        raise _refuse(_('Either volume_id or snapshot_id must be specified for device mapping %s')
                      % mapping.get(server.BLOCK_DEVICE_MAPPING_DEVICE_NAME))


def _check_device(server: Server, mapping: Mapping[str, object]) -> None:
    blank = (server.BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE, server.BLOCK_DEVICE_MAPPING_EPHEMERAL_FORMAT)
    single = (server.BLOCK_DEVICE_MAPPING_VOLUME_ID, server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID,
              server.BLOCK_DEVICE_MAPPING_IMAGE, server.BLOCK_DEVICE_MAPPING_SWAP_SIZE)
    certain = sum(is_set(mapping.get(name)) for name in single) + any(is_set(mapping.get(name)) for name in blank)
    if certain > 1:
        raise exception.ResourcePropertyConflict(*single, *blank)
    if not any(may_be_set(mapping.get(name)) for name in (*single, *blank)):
        raise _refuse(_('Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must '
                        'be specified.'))


def _check_image(server: Server, props: Properties) -> None:
    """The image can be used, and the flavor is large enough for it."""
    if {server.IMAGE, server.FLAVOR} & props.deferred:
        return
    image, flavor = props[server.IMAGE], props[server.FLAVOR]
    if not image or not is_known([image, flavor]):
        return
    try:
        memory, disk = server.client_plugin('glance').needs_of_active_image(image)
        if not memory and not disk:
            return
        memory_of_flavor, disk_of_flavor = server.client_plugin().flavor_capacity(flavor)
    except exception.EntityNotFound:        # that an image or a flavor exists is what constraints check
        return
    if memory_of_flavor < memory:
        raise _refuse(_('Image %(image)s requires %(imram)s minimum ram. Flavor %(flavor)s has only %(flram)s.') % {
            'image': image, 'imram': memory, 'flavor': flavor, 'flram': memory_of_flavor})
    if 0 < disk_of_flavor < disk:           # for Nova, 0 is as large as the image needs
        raise _refuse(_('Image %(image)s requires %(imsz)s GB minimum disk space. Flavor %(flavor)s has only '
                        '%(flsz)s GB.') % {'image': image, 'imsz': disk, 'flavor': flavor, 'flsz': disk_of_flavor})


# --- networks ---------------------------------------------------------------------------------------------

def _check_networks(server: Server, props: Properties) -> None:
    known = entries(props, server.NETWORKS)
    for network in known:
        server._validate_network(network)
    if isinstance(props[server.NETWORKS], list) and len(props[server.NETWORKS]) > 1 and server._str_network(known):
        raise _refuse(_('Property "%s" can not be specified if multiple network interfaces set for server.')
                      % server.ALLOCATE_NETWORK)
    groups = props[server.SECURITY_GROUPS]
    if groups and is_set(groups) and any(is_set(network.get(server.NETWORK_PORT)) for network in known):
        raise exception.ResourcePropertyConflict(
            server.SECURITY_GROUPS, '/'.join([server.NETWORKS, server.NETWORK_PORT]))


# --- limits of the service --------------------------------------------------------------------------------

def _check_limits(server: Server, props: Properties) -> None:
    """How much metadata and how many files the service takes; asked only when there are any."""
    metadata, files = (value if isinstance(value, Mapping) else {}
                       for value in (props[server.METADATA], props[server.PERSONALITY]))
    if not metadata and not files:
        return
    if files and server.client_plugin().is_version_supported(PERSONALITY_ENDS):
        raise _refuse(_('Cannot use the personality parameter as nova no longer supports it. Use user_data instead.'))
    most, most_files, largest = server.client_plugin().server_limits()
    if most != -1 and len(metadata) > most:
        raise _refuse(_('Instance metadata must not contain greater than %s entries. This is the maximum number '
                        'allowed by your service provider') % most)
    if files:
        _check_files(files, most_files, largest)


def _check_files(files: Mapping[str, object], most: int, largest: int) -> None:
    if most != -1 and len(files) > most:
        raise _refuse(_('The personality property may not contain greater than %s entries.') % most)
    for path, contents in files.items():
        if largest != -1 and isinstance(contents, str) and len(contents.encode('utf-8')) > largest:
            raise _refuse(_('The contents of personality file "%(path)s" is larger than the maximum allowed '
                            'personality file size (%(max_size)s bytes).') % {'path': path, 'max_size': largest})
