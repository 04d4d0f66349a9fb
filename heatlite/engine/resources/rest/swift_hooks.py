"""Functions for the types in swift.yaml that a description cannot express."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest import service, waits
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

REMOVED = 'x'                               # any value, in a header that removes
AT_A_TIME = 100                             # objects deleted between two questions of the engine


@hook
def names_of_metadata(resource: DescribedResource) -> None:
    for name in ('X-Container-Meta', 'X-Account-Meta'):
        refuse_names(name, resource.properties[name] or {})


def refuse_names(prop: str, names: Iterable[object]) -> None:
    """Raise StackValidationFailed for a name of metadata that no header can have. Values are sent as UTF-8."""
    for name in names:
        if not str(name).isascii():
            raise exception.StackValidationFailed(message=_(
                '%(prop)s: "%(name)s" is part of the name of a header, which can have characters of ASCII only.') % {
                    'prop': prop, 'name': name})


@hook
def container_headers(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    """Set the headers for access rights and metadata of the container. Sends the metadata of the account at once."""
    given = resource.properties
    headers = {name: given[name] for name in ('X-Container-Read', 'X-Container-Write') if given[name] is not None}
    headers.update({f'X-Container-Meta-{key}': str(value) for key, value in given['X-Container-Meta'].items()})
    account = {f'X-Account-Meta-{key}': str(value) for key, value in given['X-Account-Meta'].items()}
    if account:
        resource.client().post_account(account)
    return replace(call, body=None, headers=headers)


@hook
def changed_headers(resource: DescribedResource, calls: list[DescribedCall], changed: Values) -> list[DescribedCall]:
    """Only what changed, in place: a container that is replaced by one of its name loses its objects."""
    before = resource.before()
    access = {name: changed[name] for name in ('X-Container-Read', 'X-Container-Write') if name in changed}
    headers = {(name if value else name.replace('X-', 'X-Remove-', 1)): value or REMOVED
               for name, value in access.items()}
    headers.update(_metadata('Container', before, changed))
    account = _metadata('Account', before, changed)
    if account:
        resource.client().post_account(account)
    return [replace(call, body=None, headers=headers) for call in calls if headers]


def _metadata(kind: str, before: Values, changed: Values) -> dict[str, str]:
    """Return the headers that change the metadata of the account or of the container."""
    name = f'X-{kind}-Meta'
    if name not in changed:
        return {}
    old, new = before[name] or {}, changed[name] or {}
    return {**{f'X-Remove-{kind}-Meta-{key}': REMOVED for key in old if key not in new},
            **{f'{name}-{key}': str(value) for key, value in new.items() if old.get(key) != value}}


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
