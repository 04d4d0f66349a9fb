"""Zun: containers that start at once, on real ports of the network service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cloudsim.collection import Collection
from cloudsim.messages import BadRequest, Call, Conflict, NotFound, Problem
from cloudsim.service import Route, Service
from cloudsim.store import Thing

# action -> states it may be asked for in, state it leads to
ACTIONS = {'start': (('Created', 'Stopped'), 'Running'), 'stop': (('Running',), 'Stopped'),
           'pause': (('Running',), 'Paused'), 'unpause': (('Paused',), 'Running'),
           'reboot': (('Created', 'Running', 'Stopped'), 'Running'), 'kill': (('Running',), 'Stopped')}

# Microversions: of the first list of networks, of its present form, and of `tty` apart from `interactive`.
NETWORKS_SHOWN, ADDRESSES_LISTED, TERMINALS = (1, 13), (1, 18), (1, 36)
COMMANDS_ARE_LISTS = (1, 20)


class Containers(Collection):
    def prepare(self, call: Call, thing: Thing, given: dict[str, Any]) -> None:
        data = thing.data
        thing.hidden['nets'] = given.get('nets') or []
        thing.hidden['ports'] = []
        for name in ('nets', 'mounts', 'hints', 'run', 'availability_zone', 'exposed_ports', 'entrypoint'):
            data.pop(name, None)
        if given.get('tty') is not None and call.version < TERMINALS:
            raise BadRequest("Additional properties are not allowed ('tty' was unexpected)")
        if isinstance(data['command'], str):
            if call.version >= COMMANDS_ARE_LISTS:
                raise BadRequest(f"Invalid input for field 'command': {data['command']!r} is not of type 'array'")
            data['command'] = data['command'].split()
        data['memory'] = str(data['memory'])
        data['name'] = data['name'] or f'container-{thing.id[:8]}'
        data['user_id'] = call.identity.user_id if call.identity else None

    def work(self, call: Call, thing: Thing, verb: str, **how: Any) -> None:
        ready = 'Running' if call.is_asked('run') else None

        def up() -> None:
            for each in thing.hidden.pop('nets'):
                self.attach(thing, each.get('network'), each.get('port'))

        super().work(call, thing, verb, ready=ready, then=up if verb == 'create' else None)

    def leaving(self, call: Call, thing: Thing) -> None:
        if thing['status'] == 'Running' and not call.is_asked('force', 'stop'):
            raise Conflict(f'Cannot delete container {thing.id} in Running state')

    def left(self, thing: Thing) -> None:
        for port_id in list(thing.hidden['ports']):
            self.detach(thing, port_id)

    def attach(self, thing: Thing, network: str | None, port_id: str | None = None) -> None:
        ports = self.cloud.service('network').collection('ports')
        bound = {'device_id': thing.id, 'device_owner': 'compute:zun', 'binding:host_id': 'compute-1'}
        if port_id:
            port = ports.table.get(port_id)
            if port is None:
                raise NotFound('Port', port_id)
            ports.amend(self.cloud.nobody(ports.service), port, bound)
        else:
            port = ports.system_make({'network_id': network, **bound}, thing.project_id)
        thing.hidden['ports'].append(port.id)
        thing['addresses'].setdefault(port['network_id'], []).extend(
            {'addr': each['ip_address'], 'version': 6 if ':' in each['ip_address'] else 4, 'port': port.id,
             'subnet_id': each['subnet_id'], 'preserve_on_delete': bool(port_id)} for each in port['fixed_ips'])

    def detach(self, thing: Thing, port_id: str) -> None:
        ports = self.cloud.service('network').collection('ports')
        thing.hidden['ports'].remove(port_id)
        kept = False
        for network in list(thing['addresses']):
            rows = thing['addresses'][network]
            kept = kept or any(each['port'] == port_id and each['preserve_on_delete'] for each in rows)
            thing['addresses'][network] = [each for each in rows if each['port'] != port_id]
            if not thing['addresses'][network]:
                del thing['addresses'][network]
        port = ports.table.get(port_id)
        if port is not None and not kept:
            ports.drop(port)
        elif port is not None:
            ports.amend(self.cloud.nobody(ports.service), port, {
                'device_id': '', 'device_owner': '', 'binding:host_id': ''})

    def network_attach(self, call: Call, id: str) -> Any:
        self.attach(self.get(call, id), call.asked('network'), call.asked('port'))
        return 202

    def network_detach(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        table = self.cloud.table('network.ports')
        wanted, network = call.asked('port'), call.asked('network')
        found = [each for each in thing.hidden['ports'] if each == wanted
                 or ((port := table.get(each)) is not None and port['network_id'] == network)]
        if not found:
            raise NotFound('Network attachment', str(wanted or network))
        for each in found:
            self.detach(thing, each)
        return 202

    def network_list(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        if call.version < NETWORKS_SHOWN:
            raise Problem(406, 'The requested resource is only available in newer versions of the API.')
        networks = []
        for network, rows in thing['addresses'].items():
            for each in rows:
                address = {'ip_address': each['addr'], 'subnet_id': each['subnet_id'], 'version': each['version']}
                networks.append({'net_id': network, 'port_id': each['port'],
                                 **(address if call.version < ADDRESSES_LISTED else {'fixed_ips': [address]})})
        return 200, {'networks': networks}

    def resize(self, call: Call, id: str) -> Any:
        thing = self.get(call, id)
        for name in ('cpu', 'memory'):
            if call.asked(name):
                self.table.change(thing, **{name: call.asked(name)})
        return 202


class ContainerService(Service):
    classes = {'containers': Containers}

    def own_routes(self) -> Iterable[Route]:
        containers = self.collection('containers')

        def acting(name: str) -> Any:
            states, end = ACTIONS[name]

            def act(call: Call, id: str) -> Any:
                thing = containers.get(call, id)
                if thing['status'] not in states:
                    raise Conflict(f'Cannot {name} container {thing.id} in {thing["status"]} state')
                containers.finish(call, thing, 'Error', lambda: containers.set_state(thing, end))
                return 202

            return act

        base = '/v1/containers/{id}/'
        for name in ACTIONS:
            yield 'POST', base + name, acting(name)
        yield 'POST', base + 'network_attach', containers.network_attach
        yield 'POST', base + 'network_detach', containers.network_detach
        yield 'GET', base + 'network_list', containers.network_list
        yield 'POST', base + 'resize_container', containers.resize


SERVICE = ContainerService
