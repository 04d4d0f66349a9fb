"""Packs the facts of resource types (one JSON file each) into the one file the engine reads.

    tools/pack_facts.py DIRECTORY [OUTPUT]

Each line of the result is a type name, a tab, and its facts as compact JSON, so that a reader can find a line without
parsing the others. The first line holds the aliases. Keys are those of the facts; empty ones and the notes are left
out.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

LEFT_OUT = ('api', 'archetype', 'handlers', 'hooks', 'type')
CLASS_NAMES = {'OS::Heat::None': 'NoneResource'}
DEFAULT_OUTPUT = pathlib.Path(__file__).parent.parent / 'heatlite/engine/resources/facts.jsonl'


def packed(facts: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in facts.items() if key not in LEFT_OUT and value not in (None, {}, [])}
    kept['class_name'] = CLASS_NAMES.get(facts['type'], facts['type'].rsplit('::', 1)[-1])
    return _without_defaults(kept)


def _without_defaults(value: Any) -> Any:
    """False flags and plain support statuses say nothing."""
    if isinstance(value, dict):
        return {key: _without_defaults(item) for key, item in value.items()
                if not (item is False and key in ('required', 'update_allowed', 'immutable', 'hidden'))
                and not (key == 'previous' and item == [])}
    if isinstance(value, list):
        return [_without_defaults(item) for item in value]
    return value


def main(arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 2:
        print(__doc__)
        return 2
    source = pathlib.Path(arguments[0])
    aliases = json.loads((source / '_aliases.json').read_text())
    every = [json.loads(path.read_text()) for path in sorted(source.glob('*__*.json'))]
    lines = ['\t' + json.dumps(aliases, separators=(',', ':'))]
    lines += [f'{facts["type"]}\t{json.dumps(packed(facts), separators=(",", ":"))}' for facts in every]
    output = pathlib.Path(arguments[1]) if len(arguments) == 2 else DEFAULT_OUTPUT
    output.write_text('\n'.join(lines) + '\n')
    print(f'{len(every)} types, {output.stat().st_size} bytes: {output}')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
