"""What is wrong with the properties of a server, beyond what their schemas say. Values not known yet are let pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from heatlite.engine.properties import Properties
    from heatlite.engine.resources.openstack.nova.server import Server


def check(server: Server) -> None:
    """Raises StackValidationFailed, ResourcePropertyConflict, PropertyUnspecifiedError."""
    props, deferred = server.properties, server.t.deferred
    if server.BLOCK_DEVICE_MAPPING not in deferred and server.BLOCK_DEVICE_MAPPING_V2 not in deferred:
        bootable = _check_devices(server, props)
        if not bootable and not props[server.IMAGE] and server.IMAGE not in deferred:
            raise exception.StackValidationFailed(message=_(
                'Neither image nor bootable volume is specified for instance %s') % server.name)
    if server.NETWORKS not in deferred:
        _check_networks(server, props)
    if server.METADATA not in deferred and server.PERSONALITY not in deferred:
        _check_limits(server, props)


def _check_devices(server: Server, props: Properties) -> bool:
    """Whether there is one to start from."""
    old, new = props[server.BLOCK_DEVICE_MAPPING] or (), props[server.BLOCK_DEVICE_MAPPING_V2] or ()
    if old and new:
        raise exception.ResourcePropertyConflict(server.BLOCK_DEVICE_MAPPING, server.BLOCK_DEVICE_MAPPING_V2)
    bootable = False
    for mapping in old:
        device = mapping.get(server.BLOCK_DEVICE_MAPPING_DEVICE_NAME)
        volume, snapshot = (mapping.get(server.BLOCK_DEVICE_MAPPING_VOLUME_ID),
                            mapping.get(server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID))
        bootable = bootable or device == 'vda'
        if volume is not None and snapshot is not None:
            raise exception.ResourcePropertyConflict(server.BLOCK_DEVICE_MAPPING_VOLUME_ID,
                                                     server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID)
        if volume is None and snapshot is None:
            raise exception.StackValidationFailed(message=_(
                'Either volume_id or snapshot_id must be specified for device mapping %s') % device)
    sources = (server.BLOCK_DEVICE_MAPPING_VOLUME_ID, server.BLOCK_DEVICE_MAPPING_SNAPSHOT_ID,
               server.BLOCK_DEVICE_MAPPING_IMAGE)
    for mapping in new:
        given = [name for name in sources if mapping.get(name)]
        if mapping.get(server.BLOCK_DEVICE_MAPPING_SWAP_SIZE):
            given.append(server.BLOCK_DEVICE_MAPPING_SWAP_SIZE)
        blank = mapping.get(server.BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE) or mapping.get(
            server.BLOCK_DEVICE_MAPPING_EPHEMERAL_FORMAT)
        if len(given) + bool(blank) > 1:
            raise exception.ResourcePropertyConflict(*given, *([server.BLOCK_DEVICE_MAPPING_EPHEMERAL_SIZE]
                                                               if blank else []))
        if not given and not blank:
            raise exception.StackValidationFailed(message=_(
                'Either volume_id, snapshot_id, image_id, swap_size, ephemeral_size or ephemeral_format must be '
                'specified.'))
        bootable = bootable or any(name in sources for name in given)
    return bootable


def _check_networks(server: Server, props: Properties) -> None:
    networks = props[server.NETWORKS] or ()
    for network in networks:
        server._validate_network(network)
    if len(networks) > 1 and server._str_network(networks):
        raise exception.StackValidationFailed(message=_(
            'Can not use "%s" with multiple networks.') % server.ALLOCATE_NETWORK)
    if props[server.SECURITY_GROUPS] and server.SECURITY_GROUPS not in server.t.deferred \
            and any(network.get(server.NETWORK_PORT) for network in networks):
        raise exception.ResourcePropertyConflict(
            server.SECURITY_GROUPS, '/'.join([server.NETWORKS, server.NETWORK_PORT]))


def _check_limits(server: Server, props: Properties) -> None:
    """How much metadata and how many files the service takes; asked only when there are any."""
    metadata, files = props[server.METADATA] or {}, props[server.PERSONALITY] or {}
    if not metadata and not files:
        return
    limits = server.client_plugin().absolute_limits()
    if metadata:
        most = getattr(limits, 'maxServerMeta', -1)
        if most != -1 and len(metadata) > most:
            raise exception.StackValidationFailed(message=_(
                'Instance metadata must not contain greater than %s entries. This is the maximum number allowed by '
                'your service provider') % most)
    if files:
        _check_files(files, limits)


def _check_files(files: Mapping[str, str], limits: object) -> None:
    most, largest = getattr(limits, 'maxPersonality', -1), getattr(limits, 'maxPersonalitySize', -1)
    if most != -1 and len(files) > most:
        raise exception.StackValidationFailed(message=_(
            'The personality property may not contain greater than %s entries.') % most)
    for path, contents in files.items():
        if largest != -1 and len(bytes(contents.encode('utf-8'))) > largest:
            raise exception.StackValidationFailed(message=_(
                'The contents of personality file "%(path)s" is larger than the maximum allowed personality file '
                'size (%(max_size)s bytes).') % {'path': path, 'max_size': largest})
