"""A plugin of pytest that records which statements a release sends: `-p tests.upgrade.recording`, with a folder
in HEATLITE_RECORDING. It looks at SQLite alone, where the statements name the same tables and columns."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import sqlalchemy as sa

from heatlite.db.tables import metadata

INSERT = re.compile(r'INSERT INTO "?(\w+)"? \(([^)]*)\)')
UPDATE = re.compile(r'UPDATE "?(\w+)"? SET (.*?)(?: WHERE .*)?$', re.DOTALL)
ASSIGNED = re.compile(r'(?:^|,)\s*"?(\w+)"?\s*=')
WORD = re.compile(r'\w+')

_texts: set[str] = set()


@sa.event.listens_for(sa.Engine, 'before_cursor_execute')
def _seen(connection, _cursor, text, _values, _context, _many):
    if connection.dialect.name == 'sqlite':
        _texts.add(text)


def recorded(texts):
    """{inserts: {table: [[column]]}, updates: {table: [[column]]}, used: {table: [column]}} of statements."""
    inserts, updates, used = {}, {}, {}
    for text in texts:
        words = set(WORD.findall(text))
        for name in words & metadata.tables.keys():
            used.setdefault(name, set()).update(words & set(metadata.tables[name].c.keys()))
        if (found := INSERT.match(text)) and found[1] in metadata.tables:
            inserts.setdefault(found[1], set()).add(tuple(sorted(WORD.findall(found[2]))))
        elif (found := UPDATE.match(text)) and found[1] in metadata.tables:
            columns = {name for name in ASSIGNED.findall(found[2]) if name in metadata.tables[found[1]].c}
            updates.setdefault(found[1], set()).add(tuple(sorted(columns)))
    return {'inserts': {name: sorted(map(list, found)) for name, found in sorted(inserts.items())},
            'updates': {name: sorted(map(list, found)) for name, found in sorted(updates.items())},
            'used': {name: sorted(found) for name, found in sorted(used.items())}}


def pytest_sessionfinish():
    folder = os.environ.get('HEATLITE_RECORDING')
    if folder:                                  # also imported for `recorded` alone
        Path(folder, os.environ.get('PYTEST_XDIST_WORKER', 'all')).write_text(json.dumps(sorted(_texts)))
