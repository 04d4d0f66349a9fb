"""Functions for the types in barbican.yaml that a description cannot express."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.resources.rest import service
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook
from heatlite.engine.resources.rest.templating import FILTERS

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

SUFFIX = '_ref'
TEXT, BYTES = 'text/plain', 'application/octet-stream'


def _refs(given: Values) -> list[dict[str, str]]:
    """Return the references of a container: the entries of `secrets`, and each property `X_ref` under the name X."""
    refs = [{'name': entry['name'], 'secret_ref': entry['ref']} for entry in given.get('secrets') or ()]
    return refs + [{'name': name.removesuffix(SUFFIX), 'secret_ref': ref} for name, ref in given.items()
                   if name.endswith(SUFFIX) and ref]


@hook
def secret_refs(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                action: str) -> dict[str, object]:
    kept = {name: value for name, value in body.items() if name != 'secrets' and not name.endswith(SUFFIX)}
    return {**kept, 'secret_refs': _refs(given)}


@hook
def text_unless_said_otherwise(resource: DescribedResource, body: dict[str, object], given: Mapping[str, object],
                               action: str) -> dict[str, object]:
    """Barbican wants a type with a payload; its client library, which Heat uses, says this one."""
    return {'payload_content_type': TEXT, **body} if 'payload' in body else body


@hook
def payload_in_its_encoding(resource: DescribedResource) -> None:
    """The payload is a secret, so errors do not show it."""
    given = resource.properties
    if {'payload', 'payload_content_type', 'payload_content_encoding'} & given.deferred:
        return
    if given['payload_content_encoding'] and given['payload_content_type'] == TEXT:
        raise exception.ResourcePropertyValueDependency(
            prop1='payload_content_encoding', prop2='payload_content_type', value=BYTES)
    if given['payload_content_type'] != BYTES:
        return
    try:
        base64.b64decode(given['payload'])
    except ValueError:
        raise exception.StackValidationFailed(message=_(
            "Invalid payload for specified 'base64' value of 'payload_content_encoding' property.")) from None


@hook
def no_ref_twice(resource: DescribedResource) -> None:
    if resource.properties.deferred:
        return
    refs = [entry['secret_ref'] for entry in _refs(resource.properties)]
    if len(refs) != len(set(refs)):
        raise exception.StackValidationFailed(message=_('Duplicate refs are not allowed.'))


@hook
def refs_by_name(resource: DescribedResource, name: str) -> object:
    return {entry['name']: entry['secret_ref'] for entry in resource.shown().get('secret_refs') or ()}


@hook
def payload_of_the_order(resource: DescribedResource, name: str) -> object:
    """Return the payload of a secret in the container that the order has made; None while there is none."""
    reference = resource.shown().get('container_ref')
    if not reference:
        return None
    container = service.send(resource, DescribedCall('GET', f'/containers/{FILTERS["last"](reference)}'))
    for entry in container.get('secret_refs') or ():
        if entry['name'] == name:
            return service.send(resource, DescribedCall(
                'GET', f'/secrets/{FILTERS["last"](entry["secret_ref"])}/payload', headers={'Accept': '*/*'}))
    return None
