"""Makes absolute URLs. `base` is scheme, host and prefix as the client used them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

Link = dict[str, str]


def stack_url(base: str, project_id: str, name: str, stack_id: str) -> str:
    return f'{base}/{quote(project_id, "")}/stacks/{quote(name, "")}/{quote(stack_id, "")}'


def resource_url(stack: str, resource_name: str) -> str:
    """The URL of a resource. `stack`: the stack's URL."""
    return f'{stack}/resources/{quote(resource_name, "")}'


def event_url(resource: str, event_id: str) -> str:
    """The URL of an event. `resource`: the resource's URL; the id is a UUID."""
    return f'{resource}/events/{event_id}'


def link(href: str, rel: str = 'self') -> Link:
    return {'href': href, 'rel': rel}


def next_page(path_url: str, query: Mapping[str, list[str]], marker: str) -> Link:
    """The link to the next page: the same request, continued after `marker`."""
    pairs = [(key, value) for key, values in query.items() if key != 'marker' for value in values]
    return link(f'{path_url}?{urlencode([*pairs, ("marker", marker)])}', 'next')
