"""The steps of an update of a server, in their order. Repeated checks carry them out.

`do` names a step, `called` says that its request is in. They are what the handler returns, so that a restarted engine
goes on with them; it may send a request again, which every step here stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.engine.resources.openstack.nova import begun_networks
from heatlite.engine.resources.steps import StoredStep, Table
from heatlite.engine.rsrc_defn import ResourceDefinition

if TYPE_CHECKING:
    from heatlite.engine.clients.os.collection import Entity
    from heatlite.engine.properties import PropertyDiff
    from heatlite.engine.resources.openstack.nova.server import Server
    from heatlite.engine.resources.openstack.nova.suspending import Suspending

AT_REST = ('ACTIVE', 'SHUTOFF')
MAC = 'OS-EXT-IPS-MAC:mac_addr'         # of an address that Nova shows: the port's
SHOWN_WITHIN = 30                       # polls until it is no longer waited for that Nova shows the new addresses


class ServerStep(StoredStep, total=False):
    flavor: str
    image: str
    password: str | None
    preserve_ephemeral: bool
    meta: dict[str, str]
    files: dict[str, str] | None
    user_data: str | None
    port: str | None                        # to attach: None with another field
    internal: bool                          # the port is the server's own
    network: str | None
    address: str | None
    groups: list[str] | None                # ids, for a port that Nova makes
    tag: str | None
    made: str | None                        # the port that is attached
    polls: int                              # so far


def _resize(resource: Suspending, step: ServerStep) -> bool:
    plugin = resource.client_plugin()
    server = plugin.fetch_server(resource.resource_id)
    if server is None:
        return False
    if plugin.get_status(server) in ('RESIZE', 'VERIFY_RESIZE') or _has_flavor(resource, server, step['flavor']):
        return True                                                 # asked for before
    return bool(plugin.resize(resource.resource_id, step['flavor']))


def _is_resized(resource: Suspending, step: ServerStep) -> bool:
    """Waiting for the confirmation; or confirmed before a crash, or by Nova itself."""
    plugin = resource.client_plugin()
    server = plugin.fetch_server(resource.resource_id)
    if server is not None and plugin.get_status(server) in AT_REST and _has_flavor(resource, server, step['flavor']):
        return True
    return bool(plugin.check_resize(resource.resource_id, step['flavor']))


def _has_flavor(resource: Suspending, server: Entity, flavor_id: str) -> bool:
    """Newer Novas tell a name instead of an id."""
    flavor = server.to_dict().get('flavor') or {}
    if 'id' in flavor:
        return bool(flavor['id'] == flavor_id)
    return bool(resource.client_plugin().find_flavor_by_name_or_id(flavor['original_name']) == flavor_id)


def _confirm(resource: Suspending, step: ServerStep) -> bool:
    plugin = resource.client_plugin()
    server = plugin.fetch_server(resource.resource_id)
    if server is None:
        return False
    if plugin.get_status(server) in AT_REST:                        # confirmed before, or by itself
        return True
    return bool(plugin.verify_resize(resource.resource_id))


def _rebuild(resource: Suspending, step: ServerStep) -> bool:
    return bool(resource.client_plugin().rebuild(
        resource.resource_id, step['image'], password=step.get('password'),
        preserve_ephemeral=bool(step.get('preserve_ephemeral')), meta=step.get('meta'), files=step.get('files'),
        **({'userdata': step['user_data']} if step.get('user_data') is not None else {})))


def _detach(resource: Suspending, step: ServerStep) -> bool:
    plugin = resource.client_plugin()
    try:
        plugin.interface_detach(resource.resource_id, step['port'])
    except Exception as error:
        if not plugin.is_conflict(error):
            raise
        return False
    return True


def _is_detached(resource: Suspending, step: ServerStep) -> bool:
    plugin = resource.client_plugin()
    if not plugin.check_interface_detach(resource.resource_id, step['port']):
        return False
    if step.get('internal'):
        resource._delete_internal_port(str(step['port']))
    return True


def _attach(resource: Suspending, step: ServerStep) -> bool:
    """Two requests if Nova makes the port: the second one, for its groups, may fail and is sent again alone."""
    plugin = resource.client_plugin()
    if step['port'] and plugin.check_interface_attach(resource.resource_id, step['port']):
        return True
    try:
        if not step.get('made'):
            step['made'] = plugin.attached_port(resource.resource_id, step['port'], step['network'], step['address'],
                                                step.get('tag'))
        if step['made'] and step.get('groups'):
            plugin.set_groups(step['made'], step['groups'])
        return bool(step['made'])
    except Exception as error:
        if not plugin.is_conflict(error):
            raise
        return False


def _is_shown(resource: Suspending, step: ServerStep) -> bool:
    """Nova shows addresses from a cache, which follows its ports some seconds later. The attributes of the server are
    stored at the end of the update, so it waits for the cache, but not for ever: the change itself is made."""
    step['polls'] = step.get('polls', 0) + 1
    if step['polls'] >= SHOWN_WITHIN:
        return True
    server = resource.client_plugin().fetch_server(resource.resource_id)
    if server is None:
        return False
    ports = resource.client('neutron').list_ports(device_id=resource.resource_id)['ports']
    shown = {entry.get(MAC) for entries in (server.addresses or {}).values() for entry in entries}
    return None in shown or shown == {port['mac_address'] for port in ports if port.get('fixed_ips')}


STEPS: Table[Suspending, ServerStep] = {
    'resize': (_resize, _is_resized),
    'confirm': (_confirm, lambda resource, step: resource.client_plugin().check_verify_resize(resource.resource_id)),
    'rebuild': (_rebuild, lambda resource, step: resource.client_plugin().check_rebuild(resource.resource_id)),
    'detach': (_detach, _is_detached),
    'attach': (_attach, lambda resource, step: resource.client_plugin().check_interface_attach(
        resource.resource_id, step['port'])),
    'show': (lambda resource, step: None, _is_shown),
}


def from_difference(server: Server, json_snippet: ResourceDefinition, prop_diff: PropertyDiff) -> list[ServerStep]:
    """The steps for those changes that take their time. Raises UpdateReplace."""
    after = json_snippet.properties(server.properties_schema, server.context)
    server.translate_properties(after)
    steps: list[ServerStep] = []
    if server.FLAVOR in prop_diff:
        if after[server.FLAVOR_UPDATE_POLICY] == 'REPLACE':
            raise exception.UpdateReplace(server.name)
        steps += [{'do': 'resize', 'flavor': prop_diff[server.FLAVOR]}, {'do': 'confirm'}]
    if server.IMAGE in prop_diff:
        policy = after[server.IMAGE_UPDATE_POLICY]
        if policy == 'REPLACE' or prop_diff[server.IMAGE] is None:
            raise exception.UpdateReplace(server.name)
        steps.append({'do': 'rebuild', 'image': prop_diff[server.IMAGE],
                      'preserve_ephemeral': policy == 'REBUILD_PRESERVE_EPHEMERAL',
                      'password': after[server.ADMIN_PASS] or None,
                      'meta': server.client_plugin().meta_serialize(after[server.METADATA] or {})})
    if server.USER_DATA in prop_diff:
        match after[server.USER_DATA_UPDATE]:
            case 'REPLACE':
                raise exception.UpdateReplace(server.name)
            case 'REBUILD':
                user_data = server.userdata_of(after)
                if steps and steps[-1]['do'] == 'rebuild':
                    steps[-1]['user_data'] = user_data
                else:
                    steps.append({'do': 'rebuild', 'image': after[server.IMAGE] or _image_of(server),
                                  'user_data': user_data, 'password': after[server.ADMIN_PASS] or None})
    begun = begun_networks.stored(server)
    if server.NETWORKS in prop_diff or begun:
        found = server.client_plugin().get_server(server.resource_id)
        begun_networks.note(server, after[server.NETWORKS])
        moves = begun_networks.steps(
            server, found, begun, after[server.NETWORKS], after[server.SECURITY_GROUPS]) if begun else (
            server._network_steps(found, server.properties[server.NETWORKS], after[server.NETWORKS],
                                  after[server.SECURITY_GROUPS]))
        steps += [*moves, {'do': 'show', 'called': True}] if moves or begun else []
    return steps


def _image_of(server: Server) -> str:
    """Return the id of the image that the server has now. Raises UpdateReplace if it has none to be rebuilt from."""
    image = server.client_plugin().get_server(server.resource_id).to_dict().get('image')
    if not image:
        raise exception.UpdateReplace(server.name)
    return str(image['id'])
