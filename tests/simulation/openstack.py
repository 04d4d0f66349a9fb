"""Engines whose resource types act on the simulated OpenStack, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heatlite.db import plans
from heatlite.db.plans import StoredPlan
from heatlite.engine import clients
from heatlite.engine.clients.os import generic_client
from heatlite.rpc import messages
from heatlite.testing.clouds import Simulated
from heatlite.testing.examples import Example
from heatlite.testing.scenario import ResourceScenario
from tests.simulation.cluster import done

Resources = dict[str, Any]


class Stack:
    """One stack, and the cloud that it is in."""

    def __init__(self, cloud: Simulated, scenario: ResourceScenario) -> None:
        self.cloud, self.cluster, self._calls = cloud, scenario.cluster, scenario.calls
        self.id = ''

    def create(self, resources: Resources) -> None:
        self.id = self.cluster.create('s', template(resources))
        done(self.cluster, self.id, 'CREATE')

    def plan(self, resources: Resources | None = None, **fields: Any) -> StoredPlan:
        """Plan a create or an update; without resources, a delete."""
        if resources is not None:
            fields |= {'template': template(resources)} | (
                {'action': 'update', 'stack_id': self.id} if self.id else {'stack_name': 's'})
        else:
            fields |= {'action': 'delete', 'stack_id': self.id}
        return self.planned(**fields)

    def planned(self, **fields: Any) -> StoredPlan:
        """A plan of this message."""
        made = self.cluster.ask(messages.CreatePlan(**fields))
        with self.cluster.database.reader() as tx:
            found = plans.show(tx, made['id'], str(self.cluster.context.project_id))
        assert found is not None
        return found

    def apply(self, plan: StoredPlan, allowed: tuple[type[Exception], ...] = ()) -> Any:
        return self.cluster.ask(messages.ApplyPlan(plan.id), allowed)

    # --- behind the engine's back -------------------------------------------------------------------------

    def request(self, service: str, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """What a service (nova, cinder, neutron, glance) answers."""
        with self._calls.unwatched():
            answer = clients.of(self.cluster.context).client(service).http.request(path, method, json=body, **more)
            return answer.json() if answer.content else None

    def rating(self, method: str, path: str, body: Any = None) -> Any:
        """What the rating service answers."""
        with self._calls.unwatched():
            plugin = generic_client.plugin(self.cluster.context, 'rating')
            return plugin.client().http.request(f'/v1/rating{path}', method, json=body).json()

    def listed(self, service: str, plural: str, name: str) -> Any:
        """The entry with that name."""
        return next(each for each in self.request(service, 'GET', f'/{plural}')[plural] if each['name'] == name)

    def server(self) -> str:
        """The id of a new server."""
        made = self.request('nova', 'POST', '/servers', {'server': {
            'name': 'foreign', 'imageRef': self.listed('glance', 'images', 'cirros')['id'],
            'flavorRef': self.listed('nova', 'flavors', 'm1.tiny')['id'],
            'networks': [{'uuid': self.listed('neutron', 'networks', 'private')['id']}]}})
        self.cloud.advance(100)
        return str(made['server']['id'])

    def quota(self, service: str, **limits: int) -> None:
        path, key = (('/quotas/', 'quota') if service == 'neutron' else ('/os-quota-sets/', 'quota_set'))
        self.request(service, 'PUT', path + self.cloud.project_id, {key: limits})

    def fault(self, **rule: Any) -> None:
        self.cloud._ask('POST', '/_sim/faults', rule)

    def requests(self) -> list[str]:
        """METHOD service/path of the last requests, at most 1000, oldest first."""
        found = self.cloud._ask('GET', '/_sim/requests?limit=1000')['last']
        return [f'{method} {service}{path}' for service, method, path, *_rest in found]

    def count_requests(self) -> int:
        """How many there were so far."""
        return int(self.cloud._ask('GET', '/_sim/requests?limit=1')['total'])

    def physical_id(self, name: str) -> str:
        return str(self.cluster.states(self.id)[name][0][2])


def template(resources: Resources) -> dict[str, Any]:
    return {'heat_template_version': '2021-04-16', 'resources': {
        name: {'type': kind, 'properties': properties} for name, (kind, properties) in resources.items()}}


@contextmanager
def stack(cloud: Simulated, **options: Any) -> Iterator[Stack]:
    """An empty cloud with engines; `options`: as those of `Cluster`."""
    cloud.reset()
    with ResourceScenario('OS::Heat::None', Example(), cloud, lambda registry: None, **options) as scenario:
        yield Stack(cloud, scenario)
