"""Functions for the types in zaqar.yaml that a description cannot express."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.engine.clients.os.collection import path_of
from heatlite.engine.resources.rest import service
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.engine.resources.rest.hooks import hook

if TYPE_CHECKING:
    from heatlite.engine.properties import Values
    from heatlite.engine.resources.rest.described_resource import DescribedResource

SCHEMES = ('http', 'https', 'mailto', 'trust+http', 'trust+https')
TRUSTED, TRUST_ID = 'trust+', 'trust_id'
PATCH = 'application/openstack-messaging-v2.0-json-patch'
MESSAGE = '$zaqar_message$'                 # the service puts the message there


@hook
def address_of_the_queue(resource: DescribedResource, name: str) -> str:
    return f'{resource.client().api_url.rstrip("/")}{path_of("queues", resource.resource_id)}'


@hook
def metadata_patch(resource: DescribedResource, calls: list[DescribedCall], changed: Values) -> list[DescribedCall]:
    before, after = resource.before()['metadata'] or {}, changed.get('metadata') or {}
    changes = [{'op': 'remove', 'path': f'/metadata/{key}'} for key in sorted(before) if key not in after]
    changes += [{'op': 'replace' if key in before else 'add', 'path': f'/metadata/{key}', 'value': value}
                for key, value in after.items() if before.get(key) != value]
    return [DescribedCall('PATCH', f'/queues/{resource.resource_id}', changes,
                          {'Content-Type': PATCH})] if changes else []


@hook
def known_scheme(resource: DescribedResource) -> None:
    given = resource.properties
    if 'subscriber' not in given.deferred and urlsplit(given['subscriber']).scheme not in SCHEMES:
        raise exception.StackValidationFailed(
            message=_('The subscriber type of must be one of: %s.') % ', '.join(SCHEMES))


@hook
def subscribed_workflow(resource: DescribedResource, body: dict[str, object], given: Values,
                        action: str) -> dict[str, object]:
    """The workflow service learns of each message by a request that starts the workflow."""
    params = dict(given['params'] or {})
    params['env'] = {**(params.get('env') or {}), 'notification': MESSAGE}
    data = {'workflow_id': given['workflow_id'], 'params': params, 'input': given['input'] or {}}
    endpoint = service.adapter_of(resource, 'mistral').get_endpoint()
    assert endpoint is not None
    return with_trust(resource, {**body, 'subscriber': f"trust+{endpoint.rstrip('/')}/executions",
                                 'options': {'post_data': json.dumps(data)}}, given, action)


@hook
def with_trust(resource: DescribedResource, body: dict[str, object], given: Values, action: str) -> dict[str, object]:
    """An update has the id of the trust that the service made with the subscription: it stores the options as they are
    sent, and starts nothing without that id."""
    if action != 'update' or not str(body.get('subscriber')).startswith(TRUSTED):
        return body
    options = resource.shown(fresh=True).get('options') or {}
    trust = {TRUST_ID: options[TRUST_ID]} if TRUST_ID in options else {}
    return {**body, 'options': {**dict(given_options(body)), **trust}}


def given_options(body: Mapping[str, object]) -> Mapping[str, object]:
    found = body.get('options')
    return found if isinstance(found, Mapping) else {}


@hook
def needs_a_trust(resource: DescribedResource, changed: Values, after: Values, before: Values) -> bool:
    """Return whether the subscriber changes to one that needs a trust: only a create makes a trust."""
    subscriber = after['subscriber']
    return subscriber != before['subscriber'] and str(subscriber).startswith(TRUSTED)


@hook
def share_of_a_queue(resource: DescribedResource, call: DescribedCall) -> DescribedCall:
    given = resource.properties
    body = {name: given[name] for name in ('paths', 'methods') if given[name] is not None}
    if given['ttl'] is not None:
        until = resource.runtime.now() + timedelta(seconds=given['ttl'])
        body['expires'] = until.strftime('%Y-%m-%dT%H:%M:%S')
    return replace(call, body=body)


@hook
def signed_query(resource: DescribedResource, name: str) -> object:
    kept = resource.data()
    if 'signature' not in kept:
        return None
    lists = {key: json.loads(kept[key]) for key in ('paths', 'methods') if key in kept}
    if name in lists:
        return lists[name]
    query: dict[str, str] = {'signature': kept['signature'], 'expires': kept['expires'],
                             **{key: ','.join(found) for key, found in lists.items()},
                             'project_id': kept['project'], 'queue_name': resource.properties['queue']}
    return urlencode(query)
