"""Reservations (Blazar)."""

from __future__ import annotations

from functools import cached_property

from heatlite.common import exception
from heatlite.engine import constraints
from heatlite.engine.clients.os import collection, service

CLIENT_NAME = 'blazar'


class ReservationClient(collection.Client):
    host = cached_property(collection.plain('/os-hosts', 'host', 'hosts'))
    lease = cached_property(collection.plain('/leases', 'lease', 'leases'))


class BlazarClientPlugin(service.ServicePlugin[ReservationClient]):
    option_group = CLIENT_NAME
    service_types = [RESERVATION] = ['reservation']
    client_class = ReservationClient

    def has_host(self) -> bool:
        return bool(self._listed('/os-hosts', 'hosts'))

    def create_lease(self, **fields: object) -> collection.Entity:
        return self.client().lease.create(**fields)

    def get_lease(self, lease_id: str) -> collection.Entity:
        return self.client().lease.get(lease_id)

    def create_host(self, **fields: object) -> collection.Entity:
        return self.client().host.create(**fields)

    def get_host(self, host_id: str) -> collection.Entity:
        return self.client().host.get(host_id)

    def get_reservation(self, value: str) -> dict[str, object]:
        """Return a reservation of any lease. Raises EntityNotFound."""
        for lease in self._listed('/leases', 'leases'):
            for reservation in lease.get('reservations', ()):
                if reservation['id'] == value:
                    return dict(reservation)
        raise exception.EntityNotFound(entity='Reservation', name=value)


class ReservationConstraint(constraints.BaseCustomConstraint):
    resource_client_name = CLIENT_NAME
    resource_getter_name = 'get_reservation'
