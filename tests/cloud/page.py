"""docs/developers/resource-types.rst, from the tables: `python -m tests.cloud.page` writes it anew."""

from __future__ import annotations

import sys
from collections import Counter

from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import placeholders, types
from heatlite.engine.resources.template_resource import TemplateResource
from heatlite.engine.types import registry
from tests.cloud.table import lived, lives
from tests.system.processes import ROOT

FILE = ROOT / 'docs' / 'developers' / 'resource-types.rst'
DESCRIPTION, CLASS, TEMPLATE, PLACEHOLDER = 'description', 'class', 'template', 'placeholder'
REAL, SIMULATED, NOT_LIVED = 'real cloud', 'simulator', ''
HEAD = '''Resource types
==============
Written by ``python -m tests.cloud.page``; a test compares it with the tables it is made from.

*made by*: a description under ``heatlite/engine/resources/rest``, a class, a template; a placeholder accepts everything
and does nothing, because its service is gone. *schema*: properties, attributes and status are those of its entry in the
`catalogue <catalogue.rst>`_ (``tests/plugins/rest/test_parity.py``). *tested in*: where all its life cycles of
``tests/cloud/lives.yaml`` went well, from the creation to a deletion outside of the stack; what went well in a real
cloud did so in the simulator, too.

'''


def made_by(name: str) -> str:
    if packed.facts(name).get('family') == placeholders.FAMILY:
        return PLACEHOLDER
    kind = registry.current().resolve(name, 'r')
    if issubclass(kind, TemplateResource):
        return TEMPLATE
    return DESCRIPTION if name in types.files() else CLASS


def lived_in(name: str) -> str:
    entries = [life for life in lives().values() if life.type == name]
    if not entries:
        return NOT_LIVED
    known = lived()
    return REAL if all(known.get(life.name) == life.digest for life in entries) else SIMULATED


def text() -> str:
    rows = [(name, made_by(name), 'by its template' if made_by(name) == TEMPLATE else 'catalogue', lived_in(name))
            for name in packed.names()]
    summary = [('made by', Counter(row[1] for row in rows)),
               ('tested in', Counter(row[3] or 'neither' for row in rows))]
    said = [f'{len(rows)} types.'] + [
        f'{what.capitalize()}: ' + ', '.join(f'{kind} {number}' for kind, number in count.most_common()) + '.'
        for what, count in summary]
    return HEAD + '\n'.join(said) + '\n\n' + table([('type', 'made by', 'schema', 'tested in'), *rows])


def table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rule = ' '.join('=' * width for width in widths)
    lines = [' '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return '\n'.join([rule, lines[0], rule, *lines[1:], rule, ''])


def main() -> int:
    registry.create()
    FILE.write_text(text())
    return 0


if __name__ == '__main__':
    sys.exit(main())
