"""Finds objects without a stack that may come from stacks or requests which a restored database does not know."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from keystoneauth1 import exceptions as services

from heatlite.common import exception
from heatlite.engine.clients import OpenStackClients
from heatlite.engine.observe import project
from heatlite.engine.observe.project import LISTS, Listing
from heatlite.engine.resources.existing import CLOCKS_APART, made_at
from heatlite.planning.project_template import FoundObject

OWN_NAME = re.compile('(?P<rest>.[^-\n]*-.+)-[a-z2-7]{12}')           # engine.resource_state.physical_name
BORROWERS = frozenset({             # types whose physical id is the id of an object that they do not own
    'OS::Cinder::VolumeAttachment', 'AWS::EC2::VolumeAttachment', 'OS::Neutron::ExtraRouteSet'})

Owners = Callable[[Collection[str]], Mapping[str, Collection[str]]]
"""Physical ids -> types of the resources of live stacks that have them."""


@dataclass(frozen=True)
class Orphan:
    """An object without a stack. `made_at`: UTC; None: its service does not say. `made_for`: the names of stack and
    resource, joined by a dash, if the object has the name of a resource; else ''."""

    type: str
    id: str
    name: str
    made_at: datetime | None
    made_for: str


def read(clients: OpenStackClients, project_id: str | None) -> tuple[Listing, dict[str, str]]:
    """Return the lists of the project of `clients`, and why some could not be read: list -> reason."""
    lists, unread = {}, {}
    for name in LISTS:
        try:
            lists[name] = project.read(clients, name, project_id)
        except (services.EndpointNotFound, services.CatalogException):
            continue                                # the cloud has no such service
        except (services.ClientException, exception.HeatException) as error:
            unread[name] = str(error)
    return Listing(lists), unread


def find(listing: Listing, owners: Owners, since: datetime | None) -> list[Orphan]:
    """Return objects without a stack that were made after `since`, and those whose names are of resources if their
    services do not say when they were made. `since` None: all that have such names."""
    made = {entry['id']: made_at(entry) for entries in listing.lists.values() for entry in entries if 'id' in entry}
    found = []
    for each in free(listing.objects(), listing, owners):
        at, name = made.get(each.id), OWN_NAME.fullmatch(each.name or '')
        if at is not None and since is not None:
            is_wanted = at >= since - CLOCKS_APART
        else:
            is_wanted = name is not None
        if is_wanted:
            found.append(Orphan(each.type, each.id, each.name, at, name['rest'] if name is not None else ''))
    return sorted(found, key=lambda each: (each.type, each.name, each.id))


def free(objects: Iterable[FoundObject], listing: Listing, owners: Owners) -> Iterator[FoundObject]:
    """Yield the objects that no stack has. Ports of a server that a stack has belong to the server."""
    every = list(objects)
    devices = {port['id']: port.get('device_id') or '' for port in listing.of('ports')}
    owned = owners({each.id for each in every} | set(devices.values()) - {''})
    for each in every:
        if not (_is_owned(each, owned.get(each.id, ()))
                or (each.kind == 'port' and owned.get(devices.get(each.id, '')))):
            yield each


def _is_owned(found_object: FoundObject, types: Collection[str]) -> bool:
    """Whether a resource of one of these types, with the object's id, is the object's."""
    return found_object.type in types or (found_object.type not in BORROWERS and bool(set(types) - BORROWERS))
