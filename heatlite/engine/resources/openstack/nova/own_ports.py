"""Ports that a type of servers makes for its servers and deletes with them. They are no objects of resources."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from heatlite.common import short_id

if TYPE_CHECKING:
    from heatlite.engine.clients.os.neutron.client import NetworkClient

# A type names the port after the resource: its physical name ends with a short id.
NAME = re.compile(rf'-[{short_id.ALPHABET}]{{12}}-port(-[0-9]+)?$')


def of_server(neutron: NetworkClient, server_id: str | None, given: Collection[str] = ()) -> list[str]:
    """Return the ids of the ports, plugged into the server, that were made for it, also by another stack: their names
    tell. What the template names, `given`, and what was plugged in by others is not among them."""
    return [str(port['id']) for port in neutron.list_ports(device_id=server_id)['ports']
            if port['id'] not in given and NAME.search(port['name'])]
