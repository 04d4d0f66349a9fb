"""What data cannot say of the types in swift.yaml."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest import service, waits
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

AT_A_TIME = 100                             # objects deleted between two questions of the engine


@hook
def container_headers(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    """Who may read and write, and the metadata of the container; those of the account go there at once."""
    given = resource.properties
    headers = {name: given[name] for name in ('X-Container-Read', 'X-Container-Write') if given[name] is not None}
    headers.update({f'X-Container-Meta-{key}': str(value) for key, value in given['X-Container-Meta'].items()})
    account = {f'X-Account-Meta-{key}': str(value) for key, value in given['X-Account-Meta'].items()}
    if account:
        resource.client().post_account(account)
    return replace(call, body=None, headers=headers)


@hook
def empty_container(resource: DescribedResource, calls: list[DescribedCall]) -> list[DescribedCall]:
    """A container with objects goes only when that was asked for, and object after object."""
    assert resource.resource_id is not None
    path = f'/{quote(resource.resource_id, safe="")}'
    objects = service.send(resource, DescribedCall('GET', path, query={'format': 'json', 'limit': AT_A_TIME})) or []
    if not objects:
        return calls
    if not resource.last_known()['PurgeOnDelete']:
        raise exception.ResourceActionNotSupported(
            action=_('Deleting non-empty container (%(id)s) when PurgeOnDelete is False')
            % {'id': resource.resource_id})
    for entry in objects:
        service.send(resource, DescribedCall('DELETE', f'{path}/{quote(entry["name"])}', ignore=(404,)))
    raise waits.ObjectNotDeletable


@hook
def container_facts(resource: DescribedResource, name: str) -> object:
    account = urlsplit(resource.client().url)
    match name:
        case 'DomainName':
            return account.hostname
        case 'RootURL':
            return account.geturl()
        case 'WebsiteURL':
            return f'{account.geturl()}/{resource.resource_id}'
    headers = resource.shown()
    match name:
        case 'ObjectCount':
            return int(headers['x-container-object-count'])
        case 'BytesUsed':
            return int(headers['x-container-bytes-used'])
    return headers
