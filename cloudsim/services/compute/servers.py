"""Servers: what a request must say, what boots from it, and how a server is shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cloudsim import listing
from cloudsim.detailed_collection import DetailedCollection
from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, Problem, Reply
from cloudsim.service import Route
from cloudsim.services.compute import block_devices, interfaces
from cloudsim.services.compute.hosts import HOST, ZONES
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

# Said in a request, kept by us, shown under another name or not at all.
NOT_EMPTY = ('key_name', 'availability_zone', 'return_reservation_id')
SAID_ONLY = ('imageRef', 'flavorRef', 'networks', 'security_groups', 'block_device_mapping_v2', 'block_device_mapping',
             'min_count', 'max_count', 'user_data', 'personality', 'adminPass', 'availability_zone', 'hostname', 'host',
             'return_reservation_id', 'hypervisor_hostname')
# Shown from this microversion on.
SINCE = {'description': (2, 19), 'tags': (2, 26), 'host_status': (2, 16), 'locked': (2, 9), 'locked_reason': (2, 73),
         'trusted_image_certificates': (2, 63), 'server_groups': (2, 71), 'OS-EXT-SRV-ATTR:hostname': (2, 3),
         'OS-EXT-SRV-ATTR:user_data': (2, 3), 'OS-EXT-SRV-ATTR:reservation_id': (2, 3)}
PROGRESSING = ('ACTIVE', 'BUILD', 'REBUILD', 'RESIZE', 'VERIFY_RESIZE', 'MIGRATING', 'PASSWORD')
ADMIN_ONLY = ('OS-EXT-SRV-ATTR:', 'host_status')


class Servers(DetailedCollection):
    service: ComputeService

    def do_create(self, call: Call, *parents: str) -> Any:
        said = call.entity('server')
        if isinstance(call.json.get('os:scheduler_hints'), dict):
            said = {**said, 'hints': call.json['os:scheduler_hints']}
        count = int(said.get('max_count') or said.get('min_count') or 1)
        made = []
        for at in range(count):
            each = {**said, 'name': f'{said.get("name")}-{at + 1}'} if count > 1 else dict(said)
            made.append(self.make(call, each))
        server = made[0]
        answer = {'id': server.id, 'links': self.links(server), 'OS-DCF:diskConfig': server['OS-DCF:diskConfig'],
                  'adminPass': server.hidden['password'],
                  'security_groups': [{'name': each} for each in server.hidden['groups']]}
        return Reply(202, {'server': answer}, {'Location': self.links(server)[0]['href']})

    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        if not isinstance(given.get('name'), str) or not 0 < len(given['name']) <= 255:
            raise BadRequest(f"Invalid input for field/attribute name. Value: {given.get('name')}.")
        for name in NOT_EMPTY:
            if given.get(name) == '':
                raise BadRequest(f"Invalid input for field/attribute {name}. Value: . '' should be non-empty")
        for name in (*SAID_ONLY, 'hints'):
            data.pop(name, None)
        if call.version >= (2, 37) and 'networks' not in given:
            raise BadRequest("Invalid input for field/attribute server. 'networks' is a required property")
        flavor = self.flavor(given.get('flavorRef'))
        thing.hidden['flavor'] = flavor.id
        data['flavor'] = embedded(flavor)
        image = self.image(given)
        data['image'] = {'id': image.id} if image is not None else ''
        if image is not None and (image.get('min_disk') or 0) > flavor['disk'] > 0:
            raise BadRequest("Flavor's disk is too small for requested image.")
        if given.get('key_name') and self.service.collection('os-keypairs').find(call, given['key_name']) is None:
            raise BadRequest('Invalid key_name provided.')
        zone = (given.get('availability_zone') or '').partition(':')[0]
        if zone and zone not in self.zones():
            raise BadRequest('The requested availability zone is not available')
        user_data = given.get('user_data')
        if user_data is not None and len(user_data) > 65535:
            raise BadRequest('Invalid input for field/attribute user_data. Value is too long.')
        thing.hidden['groups'] = [each.get('name') for each in given.get('security_groups') or [{'name': 'default'}]]
        thing.hidden['password'] = given.get('adminPass') or call.cloud.uuid()[:12].replace('-', '')
        thing.hidden['hints'] = given.get('hints') or {}
        self.check_limits(call, thing, flavor)
        block_devices.check(self, call, given, image)
        interfaces.check(self, call, given)
        data.update({
            'tenant_id': thing.project_id, 'user_id': call.identity.user_id if call.identity else '',
            'hostId': hashlib.sha224(f'{thing.project_id}{HOST}'.encode()).hexdigest(),
            'config_drive': 'True' if given.get('config_drive') in (True, 'True', 'true', '1') else '',
            'key_name': given.get('key_name'), 'metadata': dict(given.get('metadata') or {}),
            'OS-DCF:diskConfig': given.get('OS-DCF:diskConfig', 'MANUAL'),
            'OS-EXT-AZ:availability_zone': zone, 'OS-EXT-SRV-ATTR:user_data': user_data,
            'OS-EXT-SRV-ATTR:hostname': given.get('hostname') or host_name(data['name']),
            'OS-EXT-SRV-ATTR:instance_name': f'instance-{self.table.made + 1:08x}',
            'OS-EXT-SRV-ATTR:reservation_id': 'r-' + thing.id[:8]})
        data.pop('project_id', None)
        thing.hidden['given'] = given
        self.join_group(call, thing)

    def check_limits(self, call: Call, thing: Thing, flavor: Thing) -> None:
        service, project = self.service, thing.project_id
        for name, field in (('cores', 'vcpus'), ('ram', 'ram')):
            if service.limit(project, name) >= 0:
                used = sum(each['flavor'][field] for each in self.table.find('project_id', project))
                service.charge(project, name, used, flavor[field])

    def join_group(self, call: Call, thing: Thing) -> None:
        group_id = thing.hidden['hints'].get('group')
        if not group_id:
            return
        group = self.service.collection('os-server-groups').table.get(group_id)
        if group is None:
            raise BadRequest(f'Instance group {group_id} could not be found.')
        group.data['members'].append(thing.id)
        thing.data['server_groups'] = [group.id]

    def work(self, call: Call, thing: Thing, verb: str, **how: Any) -> None:
        if verb != 'create':
            return
        self.set_state(thing, 'BUILD')
        given = thing.hidden.pop('given')
        # The API answers first; ports and volumes come while it builds, as with the real one.
        self.cloud.clock.after(0.0, lambda: self.plug(call, thing, given))
        seconds = thing['metadata'].get('cloud_spawn_seconds')
        self.finish(call, thing, 'ERROR', lambda: self.boot(thing), float(seconds) if seconds else None)

    def plug(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        if not thing.alive:
            return
        try:
            interfaces.plug(self, call, thing, given)
            block_devices.attach(self, call, thing, given)
        except Problem as problem:
            thing.task += 1
            self.fail(thing, 'ERROR', problem.message)

    def boot(self, thing: Thing) -> None:
        clock = self.cloud.clock
        self.set_state(thing, 'ACTIVE')
        self.table.change(thing, **{
            'OS-SRV-USG:launched_at': clock.stamp('%Y-%m-%dT%H:%M:%S.%f'), 'OS-EXT-SRV-ATTR:host': HOST,
            'OS-EXT-SRV-ATTR:hypervisor_hostname': HOST, 'updated': clock.stamp(),
            'OS-EXT-AZ:availability_zone': thing['OS-EXT-AZ:availability_zone'] or ZONES[0]})

    def own_fault(self, thing: Thing) -> str | None:
        asked = thing['metadata'].get('cloud_fault')
        if (asked == 'spawn' and thing['status'] == 'BUILD') or (asked == 'resize' and thing['status'] == 'RESIZE'):
            return 'No valid host was found. There are not enough hosts available.'
        return None

    def fail(self, thing: Thing, state: str, text: str) -> None:
        super().fail(thing, state, text)
        thing.data['fault'] = {'code': 500, 'created': self.cloud.clock.stamp(), 'message': text, 'details': text}

    def image(self, given: dict[str, Any]) -> Thing | None:
        wanted = given.get('imageRef')
        if not wanted:
            if not any(str(each.get('boot_index')) == '0' for each in given.get('block_device_mapping_v2') or ()) \
                    and not given.get('block_device_mapping'):
                raise BadRequest('Block Device Mapping is Invalid: Boot sequence for the instance and image/block '
                                 'device mapping combination is not valid.')
            return None
        image = self.cloud.thing('image.images', str(wanted).rsplit('/', 1)[-1])
        if image is None:
            raise BadRequest(f"Can not find requested image {wanted}")
        if image['status'] != 'active':
            raise BadRequest(f'Image {image.id} is not active.')
        return image

    def flavor(self, wanted: Any) -> Thing:
        flavor: Thing | None = self.service.collection('flavors').table.get(str(wanted).rsplit('/', 1)[-1])
        if flavor is None:
            raise BadRequest(f'Flavor {wanted} could not be found.')
        return flavor

    def zones(self) -> set[str]:
        aggregates = self.service.collection('os-aggregates').table
        return {*ZONES, *(each['metadata'].get('availability_zone') for each in aggregates), ''}

    def need_state(self, thing: Thing, what: str, states: tuple[str, ...]) -> None:
        """Raises Conflict when a server is not in one of these, or is busy."""
        busy = thing['OS-EXT-STS:task_state']
        if thing['status'] not in states or busy is not None:
            by = f'task_state {busy}' if busy is not None else f'vm_state {thing["OS-EXT-STS:vm_state"]}'
            raise Conflict(f"Cannot '{what}' instance {thing.id} while it is in {by}")

    # Change, end, show.

    def do_update(self, call: Call, *ids: str) -> Any:
        thing = self.get(call, ids[-1])
        said = call.entity('server')
        for name in ('name', 'description', 'accessIPv4', 'accessIPv6', 'OS-DCF:diskConfig'):
            if name in said:
                self.table.change(thing, **{name: said[name]})
        if 'hostname' in said:
            self.table.change(thing, **{'OS-EXT-SRV-ATTR:hostname': said['hostname']})
        self.table.change(thing, updated=self.cloud.clock.stamp())
        return 200, {'server': self.view(call, thing)}

    def discard(self, call: Call, thing: Thing) -> None:
        if thing['locked'] and not call.is_admin:
            raise Conflict(f'Instance {thing.id} is locked')
        if thing['OS-EXT-STS:task_state'] == 'deleting':
            return                                  # asked twice is as good as once
        self.table.change(thing, **{'OS-EXT-STS:task_state': 'deleting'})
        self.finish(call, thing, 'ERROR', lambda: self.drop(thing), self.cloud.settings.work)

    def left(self, thing: Thing) -> None:
        interfaces.unplug_all(self, thing)
        block_devices.detach_all(self, thing)
        for group in self.service.collection('os-server-groups').table:
            if thing.id in group['members']:
                group['members'].remove(thing.id)

    def links(self, thing: Thing) -> list[dict[str, str]]:
        base = f'{self.cloud.url}/compute'
        return [{'rel': 'self', 'href': f'{base}/v2.1/servers/{thing.id}'},
                {'rel': 'bookmark', 'href': f'{base}/servers/{thing.id}'}]

    def view(self, call: Call, thing: Thing) -> dict[str, Any]:
        shown = {name: value for name, value in thing.data.items()
                 if (name not in SINCE or call.version >= SINCE[name])
                 and (call.is_admin or not name.startswith(ADMIN_ONLY) or (name == 'OS-EXT-SRV-ATTR:hostname'
                      and call.version >= (2, 90)))}
        shown['addresses'] = interfaces.addresses(self, thing)
        shown['security_groups'] = interfaces.shown_groups(self, thing)
        shown['links'] = self.links(thing)
        if thing['image']:
            shown['image'] = {**thing['image'], 'links': [
                {'rel': 'bookmark', 'href': f'{self.cloud.url}/compute/images/{thing["image"]["id"]}'}]}
        if call.version < (2, 47):
            flavor = thing.hidden['flavor']
            shown['flavor'] = {'id': flavor, 'links': [
                {'rel': 'bookmark', 'href': f'{self.cloud.url}/compute/flavors/{flavor}'}]}
        if thing['status'] not in ('ERROR', 'DELETED'):
            shown.pop('fault', None)
        if thing['status'] not in PROGRESSING:
            shown.pop('progress', None)
        shown['os-extended-volumes:volumes_attached'] = block_devices.attached(self, call, thing)
        return shown

    def brief(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {'id': thing.id, 'name': thing['name'], 'links': self.links(thing)}

    def summary(self, call: Call, thing: Thing) -> dict[str, Any]:
        return {name: value for name, value in self.view(call, thing).items() if name != 'server_groups'}

    def filterable(self, thing: Thing, name: str) -> Any:
        match name:
            case 'flavor':
                return thing.hidden['flavor']
            case 'image':
                return thing['image']['id'] if thing['image'] else ''
            case 'ip':
                return listing.MISSING
            case 'deleted':
                return False
            case 'host':
                return thing['OS-EXT-SRV-ATTR:host']
        return super().filterable(thing, name)

    def candidates(self, call: Call, parent: str | None) -> list[Thing]:
        said = call.asked('name')
        if said is None:
            return super().candidates(call, parent)
        # A name in a query is a pattern here, unlike elsewhere.
        try:
            pattern = re.compile(said)
        except re.error:
            raise BadRequest('Invalid filter: name') from None
        names = call.query.pop('name')
        try:
            return [each for each in super().candidates(call, parent) if pattern.search(each['name'])]
        finally:
            call.query.pop('name', names)


def embedded(flavor: Thing) -> dict[str, Any]:
    """A flavor as servers show it since 2.47: a copy, the flavor may go."""
    return {'original_name': flavor['name'], 'ram': flavor['ram'], 'disk': flavor['disk'], 'vcpus': flavor['vcpus'],
            'ephemeral': flavor['OS-FLV-EXT-DATA:ephemeral'], 'swap': flavor['swap'] or 0,
            'extra_specs': dict(flavor.hidden.get('specs', {}))}


def host_name(name: str) -> str:
    kept = ''.join(each if each.isalnum() or each in '-.' else '-' for each in name.lower())
    return kept.strip('-.')[:63] or 'server'


def routes(service: ComputeService) -> Iterable[Route]:
    servers = service.collection('servers')

    def diagnostics(call: Call, id: str) -> Any:
        servers.get(call, id)
        if not call.is_admin:
            raise Forbidden
        return 200, {'state': 'running', 'driver': 'libvirt', 'uptime': 1}

    def ips(call: Call, id: str) -> Any:
        return 200, {'addresses': interfaces.addresses(servers, servers.get(call, id))}

    def security_groups(call: Call, id: str) -> Any:
        return 200, {'security_groups': [
            {'id': each.id, 'name': each['name'], 'description': each['description'], 'tenant_id': each.project_id,
             'rules': []} for each in interfaces.groups_of(servers, servers.get(call, id))]}

    def consoles(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        said = call.entity('remote_console')
        return 200, {'remote_console': {'protocol': said['protocol'], 'type': said['type'], 'url':
                                        f'http://127.0.0.1:6080/vnc_lite.html?token={server.id}'}}

    def events(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        return 200, {'instanceActions': [{**each, 'instance_uuid': id} for each in server.hidden.get('actions', [])]}

    yield 'GET', '/v2.1/servers/{id}/diagnostics', diagnostics
    yield 'GET', '/v2.1/servers/{id}/ips', ips
    yield 'GET', '/v2.1/servers/{id}/os-security-groups', security_groups
    yield 'POST', '/v2.1/servers/{id}/remote-consoles', consoles
    yield 'GET', '/v2.1/servers/{id}/os-instance-actions', events
