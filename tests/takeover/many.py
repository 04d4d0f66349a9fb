"""Copies the stacks of a Heat until there are many, and measures how long it takes to take them over.

    python -m tests.takeover.many HEAT_URL TREES

HEAT_URL: database of a Heat with some stacks, such as those of `tests.cloud.take_over`; it is only read. TREES: root
stacks in the copy. Both databases of the measurement are made on HEATLITE_TEST_MYSQL_URL, and removed at the end.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from heatlite.takeover import schema
from tests.system import databases, options
from tests.system.processes import ROOT

KEY = '0123456789abcdef0123456789abcdef'        # of the Heat of a small cloud
STEP = 10_000_000                               # between the numbers of two copies
BATCH = 2000                                    # rows in one INSERT
UUID = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
COPIED = [table for table in schema.metadata.sorted_tables if table is not schema.service]
NUMBERS = frozenset({'id', 'files_id', 'raw_template_id', 'prev_raw_template_id', 'user_creds_id', 'rsrc_prop_data_id',
                     'attr_data_id', 'replaces', 'replaced_by', 'current_template_id', 'resource_id'})

Row = Mapping[str, Any]


def copied(row: Row, number: int, known: frozenset[str]) -> dict[str, Any]:
    """A row of copy `number`. `known`: ids of the Heat that others refer to."""
    def again(found: re.Match[str]) -> str:
        return f'{found[0][:28]}{number:08x}' if found[0] in known else found[0]

    made: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, int) and name in NUMBERS:
            value += number * STEP
        elif name == 'requires' and value:
            value = json.dumps([each + number * STEP for each in json.loads(value)])
        elif isinstance(value, str):
            value = UUID.sub(again, value)
        made[name] = value
    return made


def fill(source: sa.Engine, target: sa.Engine, trees: int) -> dict[str, int]:
    """Rows by table."""
    with source.connect() as tx:
        rows = {table: [dict(row) for row in tx.execute(sa.select(table)).mappings()] for table in COPIED}
    known = frozenset(row[name] for table in COPIED for row in rows[table] for name in ('id', 'uuid')
                      if isinstance(row.get(name), str))
    roots = sum(row['owner_id'] is None and row['deleted_at'] is None for row in rows[schema.stack])
    schema.metadata.create_all(target)
    counts = {}
    for table in COPIED:
        counts[table.name] = 0
        for batch in batches(copied(row, number, known) | ({'name': f'{row["name"]}-{number}'} if table is schema.stack
                                                           else {})
                             for number in range(-(-trees // roots)) for row in rows[table]):
            with target.begin() as tx:
                tx.execute(table.insert(), batch)
            counts[table.name] += len(batch)
    return counts


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def measure(folder: Path, heat_url: str, url: str) -> None:
    heat, own = folder / 'heat.conf', folder / 'heatlite.conf'
    options.write(heat, options.database(heat_url), {'DEFAULT': {'auth_encryption_key': KEY}})
    options.write(own, options.database(url), {'DEFAULT': {
        'auth_encryption_key': KEY, 'encrypt_parameters_and_properties': 'true'}})

    def manage(*arguments: Any) -> float:
        began = time.monotonic()
        subprocess.run([sys.executable, '-W', 'ignore', '-m', 'heatlite.cmd.manage', '--config-file', str(own),
                        *map(str, arguments)], cwd=ROOT, check=True)
        return time.monotonic() - began

    manage('db_sync')
    for run in ('first run', 'later run'):
        print(f'{run}: {manage("import-heat", "--heat-config", heat, "--switch"):.0f} s', flush=True)


def main(heat_url: str, trees: str) -> int:
    server, name = str(databases.SERVERS['mariadb']), uuid.uuid4().hex[:8]
    heat, own = f'heat_many_{name}', f'heatlite_many_{name}'
    try:
        url = databases.create(server, heat)
        began = time.monotonic()
        counts = fill(sa.create_engine(heat_url), sa.create_engine(url), int(trees))
        print(f'{counts}, made in {time.monotonic() - began:.0f} s', flush=True)
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), url, databases.create(server, own))
    finally:
        for each in (heat, own):
            databases.drop(server, each)
    return 0


if __name__ == '__main__':
    sys.stdout.flush()
    sys.exit(main(*sys.argv[1:]))
