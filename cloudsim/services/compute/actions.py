"""POST /servers/{id}/action: a table of what may be asked for, when, and where it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloudsim.messages import BadRequest, Call, Conflict, Forbidden, Reply
from cloudsim.service import Route
from cloudsim.services.compute import interfaces
from cloudsim.services.compute.servers import Servers, embedded
from cloudsim.store import Thing

if TYPE_CHECKING:
    from cloudsim.services.compute import ComputeService

ANY: tuple[str, ...] = ('ACTIVE', 'SHUTOFF', 'SUSPENDED', 'PAUSED', 'ERROR', 'RESCUE', 'BUILD', 'VERIFY_RESIZE',
                        'SHELVED_OFFLOADED', 'RESIZE', 'REBUILD', 'REBOOT')


@dataclass(frozen=True)
class Simple:
    """An action that is a change of state and no more."""

    states: tuple[str, ...]         # from which
    task: str                       # task_state on the way
    end: str                        # status it leads to
    admin: bool = False


SIMPLE = {
    'os-start': Simple(('SHUTOFF',), 'powering-on', 'ACTIVE'),
    'os-stop': Simple(('ACTIVE', 'ERROR'), 'powering-off', 'SHUTOFF'),
    'suspend': Simple(('ACTIVE',), 'suspending', 'SUSPENDED'),
    'resume': Simple(('SUSPENDED',), 'resuming', 'ACTIVE'),
    'pause': Simple(('ACTIVE',), 'pausing', 'PAUSED'),
    'unpause': Simple(('PAUSED',), 'unpausing', 'ACTIVE'),
    'shelve': Simple(('ACTIVE', 'SHUTOFF', 'PAUSED', 'SUSPENDED'), 'shelving', 'SHELVED_OFFLOADED'),
    'shelveOffload': Simple(('SHELVED_OFFLOADED',), 'shelving_offloading', 'SHELVED_OFFLOADED'),
    'unshelve': Simple(('SHELVED_OFFLOADED',), 'unshelving', 'ACTIVE'),
    'rescue': Simple(('ACTIVE', 'SHUTOFF', 'ERROR'), 'rescuing', 'RESCUE'),
    'unrescue': Simple(('RESCUE',), 'unrescuing', 'ACTIVE'),
    'migrate': Simple(('ACTIVE', 'SHUTOFF'), 'resize_prep', 'VERIFY_RESIZE', admin=True),
    'os-migrateLive': Simple(('ACTIVE', 'PAUSED'), 'migrating', 'ACTIVE', admin=True),
    'evacuate': Simple(('ACTIVE', 'SHUTOFF', 'ERROR'), 'rebuilding', 'ACTIVE', admin=True),
}


def simple(servers: Servers, call: Call, server: Thing, name: str) -> Any:
    rule = SIMPLE[name]
    if rule.admin and not call.is_admin:
        raise Forbidden
    servers.need_state(server, name.removeprefix('os-'), rule.states)
    servers.table.change(server, **{'OS-EXT-STS:task_state': rule.task})
    end = rule.end
    if name == 'os-stop' and server['metadata'].get('cloud_fault') == 'stop':
        end = server['status']
    later(servers, call, server, lambda: servers.set_state(server, end))
    return 202


def later(servers: Servers, call: Call, server: Thing, done: Callable[[], None]) -> None:
    def end() -> None:
        done()
        servers.table.change(server, **{'OS-EXT-STS:task_state': None, 'updated': servers.cloud.clock.stamp()})

    servers.finish(call, server, 'ERROR', end, servers.cloud.settings.work)


def reboot(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    kind = str((said or {}).get('type', '')).upper()
    if kind not in ('SOFT', 'HARD'):
        raise BadRequest("Invalid input for field/attribute type: one of ['HARD', 'SOFT']")
    servers.need_state(server, 'reboot', ('ACTIVE', 'SHUTOFF', 'SUSPENDED', 'PAUSED', 'ERROR') if kind == 'HARD'
                       else ('ACTIVE',))
    servers.set_state(server, 'REBOOT')
    later(servers, call, server, lambda: servers.set_state(server, 'ACTIVE'))
    return 202


def resize(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.need_state(server, 'resize', ('ACTIVE', 'SHUTOFF'))
    flavor = servers.flavor(said.get('flavorRef'))
    if flavor.id == server.hidden['flavor']:
        raise BadRequest('When resizing, instances must change flavor!')
    if flavor['disk'] < server['flavor']['disk'] and flavor['disk'] == 0:
        raise BadRequest('Resize to zero disk flavor is not allowed.')
    server.hidden['before'] = (server['status'], server.hidden['flavor'], server['flavor'])
    servers.set_state(server, 'RESIZE')

    def done() -> None:
        server.hidden['flavor'] = flavor.id
        servers.table.change(server, flavor=embedded(flavor))
        servers.set_state(server, 'VERIFY_RESIZE')

    later(servers, call, server, done)
    return 202


def confirm_resize(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.need_state(server, 'confirmResize', ('VERIFY_RESIZE',))
    before = server.hidden.pop('before', ('ACTIVE', None, None))
    servers.set_state(server, before[0])
    return 204


def revert_resize(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.need_state(server, 'revertResize', ('VERIFY_RESIZE',))
    status, flavor, shown = server.hidden.pop('before', (server['status'], server.hidden['flavor'], server['flavor']))
    servers.table.change(server, **{'status': 'REVERT_RESIZE', 'OS-EXT-STS:task_state': 'resize_reverting'})

    def done() -> None:
        server.hidden['flavor'] = flavor
        servers.table.change(server, flavor=shown)
        servers.set_state(server, 'ACTIVE' if status == 'VERIFY_RESIZE' else status)

    later(servers, call, server, done)
    return 202


def rebuild(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.need_state(server, 'rebuild', ('ACTIVE', 'SHUTOFF', 'ERROR'))
    image = servers.image({'imageRef': said.get('imageRef')})
    end = server['status'] if server['status'] == 'SHUTOFF' else 'ACTIVE'
    changes: dict[str, Any] = {name: said[name] for name in ('name', 'metadata', 'description', 'key_name')
                               if name in said}
    if 'user_data' in said:
        changes['OS-EXT-SRV-ATTR:user_data'] = said['user_data']
    if image is not None:
        changes['image'] = {'id': image.id}
    servers.set_state(server, 'REBUILD')
    servers.table.change(server, **changes)
    later(servers, call, server, lambda: servers.set_state(server, end))
    shown = servers.view(call, server)
    return 202, {'server': {**shown, 'adminPass': said.get('adminPass') or server.hidden['password']}}


def create_image(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.need_state(server, 'createImage', ('ACTIVE', 'SHUTOFF', 'SUSPENDED', 'PAUSED'))
    images = servers.cloud.service('image').collection('images')
    image = images.of_server(call, server, said['name'], said.get('metadata') or {})
    href = f'{servers.cloud.url}/image/v2/images/{image.id}'
    if call.version >= (2, 45):
        return 202, {'image_id': image.id}
    return Reply(202, None, {'Location': href})


def console_output(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.need_state(server, 'get_console_output', ('ACTIVE', 'PAUSED', 'RESCUE', 'SHUTOFF'))
    lines = [f'{server["name"]} boots', 'No guest runs here.', f'{server["OS-EXT-SRV-ATTR:hostname"]} login:']
    length = said.get('length') if isinstance(said, dict) else None
    return 200, {'output': '\n'.join(lines[-int(length):] if length else lines)}


def console(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    kind = said.get('type', 'novnc')
    return 200, {'console': {'type': kind, 'url': f'http://127.0.0.1:6080/vnc_lite.html?token={server.id}'}}


def lock(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    reason = said.get('locked_reason') if isinstance(said, dict) else None
    servers.table.change(server, locked=True, locked_reason=reason)
    return 202


def unlock(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.table.change(server, locked=False, locked_reason=None)
    return 202


def reset_state(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    if not call.is_admin:
        raise Forbidden
    servers.set_state(server, {'active': 'ACTIVE', 'error': 'ERROR'}[said['state']])
    return 202


def add_security_group(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    if said['name'] not in server.hidden['groups']:
        server.hidden['groups'].append(said['name'])
        regroup(servers, server)
    return 202


def remove_security_group(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    if said['name'] not in server.hidden['groups']:
        raise Conflict(f'Security group {said["name"]} not associated with the instance {server.id}')
    server.hidden['groups'].remove(said['name'])
    regroup(servers, server)
    return 202


def regroup(servers: Servers, server: Thing) -> None:
    """Gives all its ports the groups it now has."""
    ports = servers.cloud.table('network.ports')
    for port in interfaces.ports_of(servers, server):
        ports.change(port, security_groups=interfaces.group_ids(servers, server))


def change_password(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    server.hidden['password'] = said.get('adminPass')
    return 202


def force_delete(servers: Servers, call: Call, server: Thing, said: Any) -> Any:
    servers.discard(call, server)
    return 202


ACTIONS: dict[str, Callable[[Servers, Call, Thing, Any], Any]] = {
    'reboot': reboot, 'resize': resize, 'confirmResize': confirm_resize, 'revertResize': revert_resize,
    'rebuild': rebuild, 'createImage': create_image, 'os-getConsoleOutput': console_output,
    'os-getVNCConsole': console, 'os-getSPICEConsole': console, 'os-getSerialConsole': console,
    'os-getRDPConsole': console, 'lock': lock, 'unlock': unlock, 'os-resetState': reset_state,
    'addSecurityGroup': add_security_group, 'removeSecurityGroup': remove_security_group,
    'changePassword': change_password, 'forceDelete': force_delete,
}
WHEN_LOCKED = ('unlock', 'lock', 'os-getConsoleOutput', 'os-resetState')


def routes(service: ComputeService) -> Iterable[Route]:
    servers = service.collection('servers')

    def act(call: Call, id: str) -> Any:
        server = servers.get(call, id)
        if not isinstance(call.json, dict) or len(call.json) != 1:
            raise BadRequest('There is no such action. One action is needed.')
        (name, said), = call.json.items()
        if name not in SIMPLE and name not in ACTIONS:
            raise BadRequest(f'There is no such action: {name}')
        if server['locked'] and not call.is_admin and name not in WHEN_LOCKED:
            raise Conflict(f'Instance {id} is locked')
        server.hidden.setdefault('actions', []).append({
            'action': name, 'start_time': service.cloud.clock.stamp('%Y-%m-%dT%H:%M:%S.%f'), 'message': None,
            'request_id': call.request_id, 'user_id': call.identity.user_id if call.identity else None,
            'project_id': server.project_id})
        if name in SIMPLE:
            return simple(servers, call, server, name)
        return ACTIONS[name](servers, call, server, said or {})

    yield 'POST', '/v2.1/servers/{id}/action', act
