"""The face of every resource type, as a digest: `python -m tests.plugins.faces` writes `faces.txt` anew.

The face is what templates depend on: properties, attributes, update policy, support status, and the service and its
extensions that must be there. Texts and the order of properties are no part of it. A change of the catalogue that was
not meant for a type shows as a changed line; a change that was meant needs a new line, which a reviewer sees.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from heatlite.engine import attributes, properties
from heatlite.engine.resources import packed
from heatlite.engine.types import registry

FILE = Path(__file__).with_name('faces.txt')


def status_face(status: Any) -> list[list[Any]]:
    """The status and those before it, the newest first."""
    found = []
    while status is not None:
        found.append([status.status, status.version])
        status = status.previous_status
    return found


def property_face(schema: Any) -> dict[str, Any]:
    inner = schema.schema
    limits = [{key: value for key, value in dict(limit).items() if key != 'description'}
              for limit in schema.constraints]
    return {
        'type': schema.kind, 'required': schema.required, 'default': schema.default,
        'update_allowed': schema.update_allowed, 'immutable': schema.immutable, 'implemented': schema.implemented,
        'status': status_face(schema.support_status), 'constraints': limits,
        'schema': property_face(inner) if isinstance(inner, properties.Schema) else
        {str(name): property_face(child) for name, child in inner.items()} if inner is not None else None}


def face(kind: Any) -> dict[str, Any]:
    """The face of the class `kind`."""
    return {
        'properties': {str(name): property_face(schema)
                       for name, schema in properties.schemata(kind.properties_schema).items()},
        'update_policy': {str(name): property_face(schema)
                          for name, schema in properties.schemata(kind.update_policy_schema).items()},
        'attributes': {str(name): [schema.type, schema.cache_mode, status_face(schema.support_status)]
                       for name, schema in attributes.all_schemata(kind).items()},
        'status': status_face(kind.support_status), 'client': kind.default_client_name,
        'extension': kind.required_service_extension or None}


def digest(kind: Any) -> str:
    return hashlib.sha256(json.dumps(face(kind), sort_keys=True).encode()).hexdigest()[:16]


def stored() -> dict[str, str]:
    return dict(line.split() for line in FILE.read_text().splitlines())


if __name__ == '__main__':
    known = registry.create()
    FILE.write_text(''.join(f'{name} {digest(known.resolve(name, "r"))}\n' for name in packed.names()))
