"""Changes of single properties as they can be tried in a real cloud: those that the simulator is tried with
(tests/plugins/own_types.py), where tests/cloud/changes.yaml says nothing else."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from heatlite.testing import changes
from heatlite.testing.changes import ChangedProperty, Untried
from heatlite.testing.examples import LOADER, Example
from tests.cloud.table import IT, lives
from tests.plugins.own_types import own_types

FILE = Path(__file__).with_name('changes.yaml')
NO_EXAMPLE = 'nothing says how it is made'


@dataclass(frozen=True)
class Said:
    """One entry of the file; its comments say what each field is."""

    untried: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """A type, how it is made, and its changes. `at`: service and path of its object, as in tests/cloud/lives.yaml, or
    None. `untried`: why none of them can be tried."""

    type: str
    needs: Mapping[str, Any]
    changes: tuple[ChangedProperty | Untried, ...]
    wants: frozenset[str]
    at: str | None
    said: Said
    untried: str | None

    def template(self, properties: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        """The stack with these properties of the resource. It depends on what it needs without naming it, too."""
        entry = {'type': self.type, 'properties': dict(properties), 'depends_on': [*self.needs, *extra]}
        return {'heat_template_version': '2021-04-16', 'resources': {**self.needs, **extra, IT: entry}}


@functools.cache
def _entries() -> Mapping[str, Said]:
    return {name: Said(**entry) for name, entry in yaml.load(FILE.read_text(), Loader=LOADER).items()}


def said(name: str) -> Said:
    """The entry of the type, or that of the first pattern it is like."""
    return _entries().get(name) or next(
        (entry for pattern, entry in _entries().items() if fnmatch.fnmatchcase(name, pattern)), Said())


@functools.cache
def subjects() -> Mapping[str, Subject]:
    """All types that have properties, by name; the registry of types must have been created."""
    own = own_types()
    return {name: _subject(name, kind, own.example(name)) for name, kind in sorted(own.types.items())
            if kind.properties_schema}


def _subject(name: str, kind: Any, found: Any) -> Subject:
    ours = said(name)
    life = next((each for each in lives().values() if each.type == name), None)
    at = life.at if life is not None and life.gone is True else None
    wants = frozenset().union(*(each.wants for each in lives().values() if each.type == name))
    if found is None and not ours.properties:
        return Subject(name, {}, (), wants, at, ours, ours.untried or NO_EXAMPLE)
    group, example = found if found is not None else (None, Example())
    example = merged(example, ours)
    named = group.named if group is not None else {}
    return Subject(name, example.needs, tuple(changes.of(kind, example, named, fixed=True)), wants, at, ours,
                   ours.untried)


def merged(example: Example, ours: Said) -> Example:
    """The example with what the file says; a property or need that is null there is left out."""
    return replace(example, properties=_given({**example.properties, **ours.properties}),
                   needs=_given({**example.needs, **ours.needs}),
                   changes={name: {**example.changes.get(name, {}), **ours.changes.get(name, {})}
                            for name in {**example.changes, **ours.changes}})


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Types whose stacks may not be there at the same time, as their objects have the same names: those of a service,
    but for the network's, which may all be called the same."""
    found: dict[str, list[str]] = {}
    for name in names:
        key = name if name.startswith(('OS::Neutron::', 'OS::Octavia::')) else '::'.join(name.split('::')[:2])
        found.setdefault(key, []).append(name)
    return found
