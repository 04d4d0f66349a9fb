"""Checks the descriptions of resource types against the facts.

    tools/check_descriptions.py [DIRECTORY]

With the DIRECTORY of the original facts (one JSON file each) paths, keys, verbs and waits are compared too. Prints what
disagrees, and fails if anything does.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import agreement, types
from heatlite.engine.resources.rest.description import Description

# Handlers of the base that every type has, or that only say in another way what a description says.
ORDINARY = {'handle_create', 'handle_update', 'handle_delete', 'check_create_complete', 'check_update_complete',
            'check_delete_complete'}


def of_the_service(what: Description, facts: Mapping[str, Any]) -> Iterator[str]:
    """What the original facts say of the API, compared."""
    api = facts.get('api', {})
    if what.path is not None and 'path' in api and _shape(what.path) != _shape(api['path']):
        yield f'path {what.path}, the facts say {api["path"]}'
    if what.path is not None and 'key' in api and what.key != api['key']:
        yield f'key {what.key}, the facts say {api["key"]}'
    if api.get('update') in ('PUT', 'PATCH') and what.update and what.update[0].verb != api['update']:
        yield f'update {what.update[0].verb}, the facts say {api["update"]}'
    wait, ours = api.get('wait'), what.waits.get('create')
    if (wait is None) != (ours is None) or (wait is not None and ours is not None and isinstance(wait['ready'], list)
          and (set(wait['ready']) != set(ours.ready) or not set(wait['error']) <= set(ours.error))):
        yield f'waits {ours}, the facts say {wait}'
    missing = set(facts['handlers']) - ORDINARY - agreement.handlers(what)
    more = agreement.handlers(what) - set(facts['handlers'])
    if missing or more:
        yield f'handlers: {sorted(missing)} missing, {sorted(more)} too many'


def _shape(path: str) -> list[str]:
    return ['{}' if part.startswith('{') else part for part in path.split('/')]


def main(arguments: list[str]) -> int:
    source = pathlib.Path(arguments[0]) if arguments else None
    wrong = 0
    for name in types.files():
        what = types.description_of(name)
        found = [f'{word}: {text}' for word, text in agreement.diagnostics(what, packed.facts(name))]
        if source is not None:
            found += of_the_service(what, json.loads((source / f'{name.replace("::", "__")}.json').read_text()))
        for diagnostic in found:
            print(f'{what.file}: {name}: {diagnostic}')
        wrong += len(found)
    print(f'{len(types.files())} descriptions, {wrong} complaints')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
