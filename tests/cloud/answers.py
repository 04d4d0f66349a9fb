"""Every answer of the REST API about one stack and what is nested in it, to compare two services with each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.cloud.deployment import Deployment

Answers = dict[str, Any]                    # path, without host and project -> status, or the JSON of a 200


def about(service: Deployment, stack: str) -> Answers:
    """The answers to all GETs of one root stack. `stack`: its path."""
    found: Answers = {}

    def ask(path: str) -> Any:
        answer = service._request('GET', path)
        found[path] = answer.json() if answer.status_code == 200 else answer.status_code
        return found[path] if answer.status_code == 200 else {}

    listed = ask(f'{stack}/resources?nested_depth=5').get('resources', ())
    ask(f'{stack}/events?nested_depth=5')
    ask(f'{stack}/snapshots')
    for path in (stack, *nested_in(listed, stack)):
        _of_one(ask, path)
    return found


def nested_in(listed: list[dict[str, Any]], stack: str) -> Iterator[str]:
    for each in listed:
        for link in each['links']:
            if link['rel'] == 'nested':
                path = '/stacks/' + link['href'].split('/stacks/', 1)[1]
                if path != stack:
                    yield path


def _of_one(ask: Callable[[str], Any], stack: str) -> None:
    ask(stack)
    for part in ('template', 'environment', 'files'):
        ask(f'{stack}/{part}')
    for output in ask(f'{stack}/outputs').get('outputs', ()):
        ask(f'{stack}/outputs/{output["output_key"]}')
    for resource in ask(f'{stack}/resources').get('resources', ()):
        ask(f'{stack}/resources/{resource["resource_name"]}')
        ask(f'{stack}/resources/{resource["resource_name"]}/metadata')
    for event in ask(f'{stack}/events').get('events', ()):
        ask(f'{stack}/resources/{event["resource_name"]}/events/{event["id"]}')


def differences(before: Any, after: Any, place: str = '') -> Iterator[tuple[str, Any, Any]]:
    """(place, before, after) of every value that differs. Lists of resources, outputs and links are compared as sets;
    hosts in URLs are not compared."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            if key not in before or key not in after:
                yield f'{place}.{key}', before.get(key, MISSING), after.get(key, MISSING)
            else:
                yield from differences(before[key], after[key], f'{place}.{key}')
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(_ordered(before), _ordered(after), strict=True)):
            yield from differences(one, other, f'{place}[{number}]')
    elif _plain(before) != _plain(after):
        yield place, before, after


MISSING = '<missing>'
HOST = re.compile(r'https?://[^/]+')
NAMES = ('resource_name', 'output_key', 'rel')


def _ordered(items: list[Any]) -> list[Any]:
    """Lists whose order has no meaning, in the order of names; events have one."""
    if items and all(isinstance(each, dict) and 'event_time' not in each for each in items):
        for name in NAMES:
            if all(name in each for each in items):
                return sorted(items, key=lambda each: (str(each.get('parent_resource')), str(each[name]),
                                                       str(each.get('physical_resource_id'))))
    return items if any(isinstance(each, dict | list) for each in items) else sorted(items, key=str)


def _plain(value: Any) -> Any:
    return HOST.sub('', value) if isinstance(value, str) else value
