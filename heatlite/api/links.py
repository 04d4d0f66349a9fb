"""Makes absolute URLs. `base` is scheme, host and prefix as the client used them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from urllib.parse import quote, urlencode

Link = dict[str, str]
REMEMBERED = 5_000              # names and ids whose form in a URL is kept: a list has the same ones again and again


@functools.lru_cache(REMEMBERED)
def quoted(text: str) -> str:
    """Return a name or id as a part of a path."""
    return quote(text, '')


def stack_url(base: str, project_id: str, name: str, stack_id: str) -> str:
    return f'{base}/{quoted(project_id)}/stacks/{quoted(name)}/{quoted(stack_id)}'


def resource_url(stack: str, resource_name: str) -> str:
    """Return the URL of a resource. `stack`: the stack's URL."""
    return f'{stack}/resources/{quoted(resource_name)}'


def event_url(resource: str, event_id: str) -> str:
    """Return the URL of an event. `resource`: the resource's URL; the id is a UUID."""
    return f'{resource}/events/{event_id}'


def link(href: str, rel: str = 'self') -> Link:
    return {'href': href, 'rel': rel}


def next_page(path_url: str, query: Mapping[str, list[str]], marker: str) -> Link:
    """Return the link to the next page: the same request, continued after `marker`."""
    pairs = [(key, value) for key, values in query.items() if key != 'marker' for value in values]
    return link(f'{path_url}?{urlencode([*pairs, ("marker", marker)])}', 'next')
