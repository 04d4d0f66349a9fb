"""The client of a service without a client plug-in of its own: only its entry in the catalogue is known."""

from __future__ import annotations

from heatlite.common.context import RequestContext
from heatlite.engine.clients.os import collection, service


def plugin(context: RequestContext, service_type: str) -> service.ServicePlugin[collection.Client]:
    """Return a client plug-in for `service_type`, made once for a context."""
    kept = context.__dict__.setdefault('_generic_clients', {})
    if service_type not in kept:
        kind = type('GenericClientPlugin', (service.ServicePlugin,), {
            'service_types': [service_type], 'client_class': collection.Client,
            'option_group': service_type.replace('-', '_'), '__doc__': __doc__})
        kept[service_type] = kind(context)
    found: service.ServicePlugin[collection.Client] = kept[service_type]
    return found
