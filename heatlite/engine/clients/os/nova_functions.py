"""`heat.engine.resources.nova_utils`: the functions about servers that plug-ins of 2013 and 2014 call.

The first argument of most functions is the client that `resource.nova()` returned. Source: docs/spec/plugins.rst,
"Former names".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from heatlite.engine import clients
from heatlite.engine.clients.os import nova

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Entity
    from heatlite.engine.clients.os.nova_collections import ComputeClient, NovaServer
    from heatlite.engine.resource import Resource

deferred_server_statuses = nova.DEFERRED_STATUSES


def _plugin(nova_client: ComputeClient) -> nova.NovaClientPlugin:
    found: nova.NovaClientPlugin = clients.of(nova_client.context).client_plugin('nova')
    return found


def get_image_id(nova_client: ComputeClient, image_identifier: str) -> str:
    """Return the id of the image with that name or id. Raises EntityNotFound, PhysicalResourceNameAmbiguity."""
    return str(clients.of(nova_client.context).client_plugin('glance').find_image_by_name_or_id(image_identifier))


def get_flavor_id(nova_client: ComputeClient, flavor: str) -> str:
    """Return the id of the flavor with that name or id. Raises EntityNotFound."""
    return _plugin(nova_client).find_flavor_by_name_or_id(flavor)


def get_keypair(nova_client: ComputeClient, key_name: str) -> Entity:
    """Return a key pair. Raises EntityNotFound."""
    return _plugin(nova_client).get_keypair(key_name)


def refresh_server(server: NovaServer) -> None:
    """Read the server again. It keeps its fields while the service cannot answer."""
    _plugin(server.manager.client).refresh_server(server)


def get_ip(server: NovaServer, net_type: str, net_version: int) -> str | None:
    """Return the first address of the network named `net_type`, of IP version 4 or 6."""
    return _plugin(server.manager.client).get_ip(server, net_type, net_version)


def server_to_ipaddress(client: ComputeClient, server: str) -> str | None:
    """Return the first address of any network; None if the server is not found."""
    return _plugin(client).server_to_ipaddress(server)


def build_userdata(resource: Resource, userdata: str | None = None, instance_user: str | None = None) -> str:
    """Return the user data that cloud-init and heat-cfntools read, with the metadata of `resource`."""
    return str(resource.client_plugin('nova').build_userdata(resource.metadata_get(), userdata, instance_user))


def delete_server(server: NovaServer) -> Iterator[None]:
    """Yield a task: delete the server, then yield until it is gone. Raises ResourceInError if the deletion failed."""
    plugin = _plugin(server.manager.client)
    try:
        server.delete()
    except Exception as error:
        plugin.ignore_not_found(error)
        return
    while not plugin.check_delete_server_complete(server.id):
        yield


def meta_serialize(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return the metadata as texts: what is not a text is written as JSON."""
    return nova.NovaClientPlugin.meta_serialize(metadata)


def meta_update(client: ComputeClient, server: NovaServer, metadata: Mapping[str, object]) -> None:
    """Make `metadata` the metadata of the server, and delete other keys."""
    _plugin(client).meta_update(server, metadata)


def absolute_limits(nova_client: ComputeClient) -> Entity:
    """Return the limits of the project, as attributes."""
    return _plugin(nova_client).absolute_limits()
