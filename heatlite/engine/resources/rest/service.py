"""Requests of described types to their services, and what the answers mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keystoneauth1.exceptions import ClientException
from keystoneauth1.exceptions import http as http_errors

from heatlite.common import exception
from heatlite.engine.clients.os import http
from heatlite.engine.clients.os import service as services
from heatlite.engine.resources.rest.calls import DescribedCall

if TYPE_CHECKING:
    from requests import Response

    from heatlite.engine.resources.rest.described_resource import DescribedResource

reply_was_lost = http.reply_was_lost
is_not_found, status_of = services.is_not_found, services.status_of


def send(resource: DescribedResource, call: DescribedCall) -> Any:
    """The answer: parsed when it is JSON, else its text, None when there is none; of HEAD, the headers with names in
    small letters, without that of the connection.

    Raises keystoneauth1's error for the status, with the service's own words and its request id.
    """
    adapter = adapter_of(resource, call.service)
    arguments: dict[str, object] = {'raise_exc': False}
    if call.body is not None:
        arguments['json'] = call.body
    if call.headers:
        arguments['headers'] = http.sent_headers(call.headers)
    if call.query:
        arguments['params'] = dict(call.query)
    if call.microversion:
        arguments['microversion'] = call.microversion
    response = adapter.request(call.path, call.verb, **arguments)
    if response.status_code >= 400:
        if response.status_code in call.ignore:
            return None
        raise error_of(response, call)
    if call.verb == 'HEAD':
        return {name.lower(): http.received_header(value) for name, value in response.headers.items()
                if name.lower() != 'connection'}
    if not response.content:
        return None
    return response.json() if 'json' in response.headers.get('Content-Type', '') else response.text


def adapter_of(resource: DescribedResource, service: str | None = None) -> http.ServiceAdapter:
    """Return the adapter of a service. It is made once for a resource object. Raises ClientNotAvailable."""
    kept = resource.__dict__.setdefault('_adapters', {})
    if service not in kept:
        what = resource.description
        name = service or what.service or resource.default_client_name
        plugin = resource.client_plugin(name)
        if plugin is None:
            raise exception.ClientNotAvailable(client_name=name)
        kept[service] = plugin.adapter()
        kept[service].takes_pages = service is None and what.gone is not None and what.gone.takes_pages
    found: http.ServiceAdapter = kept[service]
    return found


def error_of(response: Response, call: DescribedCall) -> Exception:
    """Return keystoneauth1's error for the status of a response, with the service's message."""
    found: ClientException = http_errors.from_response(response, call.verb, call.path)
    if isinstance(found, http_errors.HttpError):
        http.say_it_in_the_services_words(found)
    return found
