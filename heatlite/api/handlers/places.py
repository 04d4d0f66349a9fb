"""Finds where a resource of a tree is written: the file, and in files of nested stacks the line and column.

The position in the template of the stack itself is known to those who have the text: it is stored parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlalchemy import Connection

from heatlite.db import templates
from heatlite.language.positions import Positions
from heatlite.language.versions import CFN_KEYS, HOT_KEYS, Keys
from heatlite.planning.explanation import Path, Row

Place = dict[str, object]                  # file (None: the stack's template), path (text), line, column


class TreePlaces:
    """The places of the resources of one tree. Reads the template and its files once, if a place is asked for.

    `row`: the resource at a path, or None.
    """

    def __init__(self, tx: Connection, template_id: str, row: Callable[[Path], Row | None]) -> None:
        self._tx = tx
        self._template_id = template_id
        self._row = row
        self._template: templates.StoredTemplate | None = None
        self._positions: dict[str, Positions] = {}

    def of(self, path: Path, reason: str) -> Place:
        """Return the place of the resource at `path`, or of its property that `reason` names."""
        file, name = self._written(path)
        if file is None:
            keys = CFN_KEYS if CFN_KEYS.resources in self._read().document else HOT_KEYS
            return {'file': None, 'path': '.'.join(_trail(keys, name, reason)), 'line': None, 'column': None}
        positions = self._positions_in(file)
        top = positions.find(())
        for keys in (HOT_KEYS, CFN_KEYS):
            trail = _trail(keys, name, reason)
            found = positions.find(trail)
            if found is not None and found != top:
                return {'file': file, 'path': '.'.join(trail), 'line': found[0], 'column': found[1]}
        return {'file': file, 'path': None, 'line': None, 'column': None}

    def _written(self, path: Path) -> tuple[str | None, str]:
        """Return the file in which the resource is written, and its name there.

        A member of a group is written in the definition of the group, unless its type is a file.
        """
        file, name = None, path[0]
        for length in range(1, len(path)):
            above = self._row(path[:length])
            inside = self._file(above.type) if above is not None else None
            if inside is not None:
                file, name = inside, path[length]
        return file, name

    def _file(self, type_name: str) -> str | None:
        """Return the name of the file that a type is mapped to, or is; None for other types."""
        registry = self._read().environment.get('resource_registry') or {}
        mapped = registry.get(type_name, type_name)
        return mapped if isinstance(mapped, str) and mapped in self._read().files else None

    def _positions_in(self, file: str) -> Positions:
        if file not in self._positions:
            self._positions[file] = Positions(self._read().files[file])
        return self._positions[file]

    def _read(self) -> templates.StoredTemplate:
        if self._template is None:
            self._template = templates.get(self._tx, self._template_id)
        return self._template


_PROPERTY = re.compile(r'\b[Pp]roperties\.([A-Za-z_]\w*)')


def _trail(keys: Keys, name: str, reason: str) -> tuple[str, ...]:
    """Return the path of a resource in its template, or of its property that the text of an error names."""
    found = _PROPERTY.search(reason)
    return (keys.resources, name, *(() if found is None else (keys.properties, found.group(1))))
