"""What a release may change while the one before it still runs, as pure functions of two states.

Each returns the reasons why programs of the former release would fail, or do something wrong, beside the newer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

State = Mapping[str, Any]
# Types of which the later ones hold all values of the first.
WIDER: Mapping[str, tuple[str, ...]] = {
    'SmallInteger': ('Integer', 'BigInteger'), 'Integer': ('BigInteger',), 'String': ('Text',)}


def schema(former: State, now: State, used: Mapping[str, list[str]]) -> Iterator[str]:
    """`used`: the columns that statements of the former release name, by table. Others may go."""
    for name, before in former['tables'].items():
        after = now['tables'].get(name)
        if after is None:
            if used.get(name):
                yield f'table {name}: it is dropped'
            continue
        yield from _columns(name, before, after, set(used.get(name, ())))
        if after['key'] != before['key']:
            yield f'table {name}: it has another primary key'
        for columns in after['uniques']:
            if columns not in before['uniques']:
                yield f'table {name}: {", ".join(columns)} must be unique'
        for index, found in after['indexes'].items():
            if found['unique'] and not before['indexes'].get(index, {}).get('unique'):
                yield f'table {name}: {", ".join(found["columns"])} must be unique'
        for index, found in before['indexes'].items():
            if not _is_served(found['columns'], after):
                yield f'table {name}: index {index} is dropped'
    for name, sealed in now['sealed'].items():
        if name in former['sealed'] and not set(sealed) <= set(former['sealed'][name]):
            new = set(sealed) - set(former['sealed'][name])
            if new & former['tables'][name]['columns'].keys():
                yield f'table {name}: {", ".join(sorted(new))} is sealed, which the former release does not open'


def _columns(table: str, before: State, after: State, used: set[str]) -> Iterator[str]:
    for name, old in before['columns'].items():
        new = after['columns'].get(name)
        if new is None:
            if name in used:
                yield f'column {table}.{name}: it is dropped or renamed'
            continue
        if new['type'] != old['type'] and new['type'] not in WIDER.get(old['type'], ()):
            yield f'column {table}.{name}: {old["type"]} becomes {new["type"]}'
        elif new['length'] is not None and (old['length'] is None or new['length'] < old['length']):
            yield f'column {table}.{name}: it is shortened to {new["length"]}'
        if old['nullable'] and not new['nullable']:
            yield f'column {table}.{name}: it becomes NOT NULL'
        if old['default'] is not None and new['default'] is None and not new['nullable']:
            yield f'column {table}.{name}: it loses its default'
    for name in after['columns'].keys() - before['columns'].keys():
        if not after['columns'][name]['nullable'] and after['columns'][name]['default'] is None:
            yield f'column {table}.{name}: it is new, NOT NULL and has no default'


def _is_served(columns: list[str], table: State) -> bool:
    """Whether another index, or the key, begins with these columns."""
    served = [found['columns'] for found in table['indexes'].values()] + [table['key'], *table['uniques']]
    return any(each[:len(columns)] == columns for each in served)


def messages(former: State, now: State) -> Iterator[str]:
    for method, before in former['calls'].items():
        after = now['calls'].get(method)
        if after is None:
            yield f'message {method}: it is gone'
            continue
        if after['answer'] != before['answer']:
            yield f'message {method}: its answer is another one'
        if before['reads'] and not after['reads']:
            yield f'message {method}: it ended with its caller, or was sent twice, and now changes something'
        for name, old in before['fields'].items():
            new = after['fields'].get(name)
            if new is None:
                yield f'message {method}: field {name} is gone'
            elif new['type'] != old['type']:
                yield f'message {method}: field {name} was {old["type"]} and is {new["type"]}'
            elif new['required'] and not old['required']:
                yield f'message {method}: field {name} is required'
            elif new['default'] != old['default']:
                yield f'message {method}: field {name} has another default, which is not sent'
            elif old['required'] and not new['required']:
                yield f'message {method}: field {name} is not sent any more'
        for name in after['fields'].keys() - before['fields'].keys():
            if after['fields'][name]['required']:
                yield f'message {method}: field {name} is new and required'
    for name, error in now['errors'].items():
        known = former['errors'].get(name)
        if known is None and _answers_new_fields(error, former):
            continue
        if known is None:
            nearest = next((former['errors'][base] for base in error['bases'] if base in former['errors']), None)
            if nearest is None:
                yield f'error {name}: the former release knows none of its base classes'
            elif nearest['code'] != error['code']:
                yield f'error {name}: the former release answers {nearest["code"]}, not {error["code"]}'
        elif known['code'] != error['code']:
            yield f'error {name}: its code changes from {known["code"]} to {error["code"]}'
    for name in former['errors'].keys() - now['errors'].keys():
        yield f'error {name}: it is gone'


def _answers_new_fields(error: State, former: State) -> bool:
    """Whether an error answers only requests with fields that the former release does not send."""
    fields = [each.partition('.') for each in error.get('only_for', ())]
    return bool(fields) and not any(field in former['calls'].get(method, {}).get('fields', ())
                                    for method, _dot, field in fields)


def documents(former: State, now: State) -> Iterator[str]:
    for name, before in former['documents'].items():
        if name not in now['documents']:
            yield f'document {name}: it is gone'
        else:
            yield from _shape(name, before, now['documents'][name])
    for kind, words in former['words'].items():
        found = now['words'].get(kind, [])
        for word in sorted(set(words) - set(found)):
            yield f'{kind}: {word} is gone, but stored'
        for word in sorted(set(found) - set(words)):
            yield f'{kind}: {word} is new, and the former release fails on it'
    for key in sorted(set(former['keys']) - set(now['keys'])):
        yield f'resource_data: {key} is gone, but stored'


def _shape(place: str, before: Any, after: Any) -> Iterator[str]:
    """The former release reads what it knows of a document, and nothing else: only additions are allowed."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f'document {place}: {key} is gone'
            else:
                yield from _shape(f'{place}, {key}', value, after[key])
    elif isinstance(before, list) and isinstance(after, list) and before and after:
        yield from _shape(place, before[0], after[0])
    elif type(before) is not type(after):
        yield f'document {place}: {type(before).__name__} becomes {type(after).__name__}'
