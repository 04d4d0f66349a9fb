"""Writes the packed file of the catalogue: `python -m heatlite.engine.resources.catalogue.packing`.

With `--check` it writes nothing, and fails if the packed file is not what the YAML files say.
"""

from __future__ import annotations

import argparse
import json
import sys

from heatlite.engine.resources import packed
from heatlite.engine.resources.catalogue import source

REMEDY = 'Run `make catalogue`, and commit the packed file together with the YAML files.'


def packed_text(catalogue: source.Catalogue) -> str:
    """Return one line of JSON for the names, and one for each type: the reader parses only the lines that it needs."""
    head = {packed.ALIASES: catalogue.aliases, packed.MODULES: catalogue.modules}
    return ''.join(f'{_json(line)}\n' for line in (head, *catalogue.facts.items()))


def _json(value: object) -> str:
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


def differences(catalogue: source.Catalogue, text: str) -> list[str]:
    """Names of types, and of the head's words, that `text` has other than the catalogue; empty if it is the same."""
    wanted, found = (_parts(each) for each in (packed_text(catalogue), text))
    return sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name)) or (
        [] if text == packed_text(catalogue) else ['the order of the lines'])


def _parts(text: str) -> dict[str, object]:
    head, *types = map(json.loads, text.splitlines() or ['{}'])
    return {**head, **dict(types)}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog='catalogue', description='Packs the catalogue of resource types.')
    parser.add_argument('--check', action='store_true', help='only compare the packed file with the YAML files')
    wants = parser.parse_args(arguments)
    try:
        catalogue = source.read()
    except source.CatalogueError as error:
        print(error, file=sys.stderr)
        return 1
    if wants.check:
        different = differences(catalogue, packed.FILE.read_text(encoding='utf-8'))
        if different:
            print(f'{packed.FILE.name} differs from the YAML files: {", ".join(different)}. {REMEDY}', file=sys.stderr)
        return 1 if different else 0
    packed.FILE.write_text(packed_text(catalogue), encoding='utf-8')
    print(f'{len(catalogue.facts)} types, {packed.FILE.stat().st_size} bytes: {packed.FILE}')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
