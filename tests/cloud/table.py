"""tests/cloud/lives.yaml as values."""

from __future__ import annotations

import functools
import hashlib
import string
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from heatlite.testing.examples import LOADER

FILE = Path(__file__).with_name('lives.yaml')
LIVED = Path(__file__).with_name('lived.yaml')
MOST_USED = 24                              # types
IT = 'it'                                   # name of the resource under test in its stack


@dataclass(frozen=True)
class Drift:
    """What is sent to the object behind the engine's back."""

    send: dict[str, Any]
    how: str = 'PUT'


@dataclass(frozen=True)
class Life:
    """One entry; the comments of the file say what each field is."""

    name: str
    properties: dict[str, Any] = field(default_factory=dict)
    around: dict[str, Any] = field(default_factory=dict)
    after: str | None = None
    shows: dict[str, Any] = field(default_factory=dict)
    update: dict[str, Any] | None = None
    replace: dict[str, Any] | None = None
    at: str | None = None
    drift: Drift | None = None
    gone: bool | str = True
    passes_on: bool = False
    snapshot: bool = False
    signal: dict[str, Any] | None = None
    needs: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    refused: str | None = None

    @property
    def type(self) -> str:
        return self.name.split()[0]

    @property
    def wants(self) -> set[str]:
        """Services and abilities without which it cannot be lived."""
        return {*self.needs, *([self.at.split()[0]] if self.at else [])}

    @property
    def digest(self) -> str:
        """Another one for every change of the entry."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    def template(self, *changes: dict[str, Any] | None) -> dict[str, Any]:
        """The stack with some properties changed; those that become None are not given."""
        given = dict(self.properties)
        for change in changes:
            given.update(change or {})
        entry = {'type': self.type, 'properties': {name: value for name, value in given.items() if value is not None}}
        if self.after:
            entry['depends_on'] = self.after
        return {'heat_template_version': '2018-08-31', 'resources': {**self.around, IT: entry}}


def lived() -> dict[str, str]:
    """Lives that went well in a real cloud, with the digests that they had then; written by `python -m tests.cloud`."""
    found: dict[str, str] = yaml.safe_load(LIVED.read_text()) or {}
    return found


@functools.cache
def lives() -> dict[str, Life]:
    """All entries by name, in the order of the file."""
    found = {}
    for name, entry in yaml.load(FILE.read_text(), Loader=LOADER).items():
        if not name.startswith('.'):
            drift = entry.pop('drift', None)
            found[name] = Life(name, **{**entry, 'needs': tuple(entry.get('needs', ())),
                                        'leaves': tuple(entry.get('leaves', ())),
                                        'drift': drift and Drift(**drift)})
    return found


def most_used() -> list[str]:
    """One life of each of the types that make up most templates: those at the top of the file."""
    return list(dict.fromkeys(life.type for life in lives().values()))[:MOST_USED]


def filled(value: Any, names: dict[str, Any]) -> Any:
    """With every `$name` replaced; a text that is nothing else becomes the value itself, whatever it is."""
    match value:
        case dict():
            return {key: filled(inner, names) for key, inner in value.items()}
        case list():
            return [filled(inner, names) for inner in value]
        case str() if value.startswith('$') and value[1:] in names:
            return names[value[1:]]
        case str():
            return string.Template(value).substitute(names)
    return value
