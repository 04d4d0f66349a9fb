"""What an author says of his types so that they can be tried: `NAME.conformance.yaml` beside the module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import yaml

if TYPE_CHECKING:
    from heatlite.engine.properties import Values

SUFFIX = '.conformance.yaml'
SIMULATED = 'simulated'
LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)         # the first is ten times as fast
FILE_WORDS = frozenset({'cloud', 'stand_in', 'types', 'named'})
TYPE_WORDS = frozenset({'properties', 'update', 'replace', 'needs', 'beside', 'environment', 'leaves', 'changes'})
CHANGE_WORDS = frozenset({'to', 'from', 'with', 'needs', 'replaces', 'untried', 'unlike', 'leaves', 'again'})


class ExamplesError(Exception):
    """The file cannot be used; the text names it and says why."""


Said = TypedDict('Said', {
    'to': object, 'from': object, 'with': dict[str, object], 'needs': dict[str, object], 'replaces': str, 'again': str,
    'untried': str, 'unlike': list[str], 'leaves': list[str]}, total=False)
"""How a property is changed alone; see `Example.changes`."""


@dataclass(frozen=True)
class Example:
    """How to make one type: properties, and changes of them (each on top of the last)."""

    properties: Mapping[str, object] = field(default_factory=dict)
    update: tuple[Mapping[str, object], ...] = ()          # in place
    replace: tuple[Mapping[str, object], ...] = ()         # by a new thing
    needs: Mapping[str, Values] = field(default_factory=dict)      # resources made before, as in a template
    beside: Mapping[str, object] = field(default_factory=dict)     # resources that refer to it, while it is changed
    environment: Mapping[str, object] = field(default_factory=dict)
    leaves: tuple[str, ...] = ()                        # kinds of things that may stay behind
    changes: Mapping[str, Said] = field(default_factory=dict)
    """Property -> how it is changed alone, where that is not made from the schema: `to` and `from`, its values; `with`,
    other properties before and after; `needs`, further resources; `replaces`, why a change replaces the resource;
    `again`, why each later update does it again; `unlike`, fields in which the changed object differs from a
    new one; `leaves`, kinds of objects that stay until it is deleted; `untried`, why the change is not tried."""


@dataclass(frozen=True)
class Examples:
    """One file. `stand_in`: (file, function), or None."""

    types: Mapping[str, Example] = field(default_factory=dict)
    cloud: str | None = None
    stand_in: tuple[Path, str] | None = None
    named: Mapping[str, Sequence[object]] = field(default_factory=dict)    # custom constraint -> values that satisfy it


def beside(path: Path) -> Path:
    """Where the examples of a module are looked for."""
    return path.with_name(f'{path.stem}{SUFFIX}')


def read(file: Path) -> Examples:
    """No file: no examples. Raises ExamplesError."""
    if not file.is_file():
        return Examples()
    try:
        said = yaml.load(file.read_text(encoding='utf-8'), Loader=LOADER) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ExamplesError(f'{file}: {error}') from None
    _known(file, 'the file', said, FILE_WORDS)
    if said.get('cloud') not in (None, SIMULATED):
        raise ExamplesError(f'{file}: cloud must be "{SIMULATED}", or not there')
    return Examples({name: _example(file, name, entry or {}) for name, entry in (said.get('types') or {}).items()},
                    said.get('cloud'), _stand_in(file, said.get('stand_in')), said.get('named') or {})


def _example(file: Path, name: str, entry: Any) -> Example:
    _known(file, name, entry, TYPE_WORDS)
    for word in ('update', 'replace'):
        if not isinstance(entry.get(word, []), list) or not all(isinstance(each, dict) for each in entry.get(word, [])):
            raise ExamplesError(f'{file}: {name}: {word} must be a list of maps')
    if not isinstance(entry.get('leaves') or [], list):
        raise ExamplesError(f'{file}: {name}: leaves must be a list of kinds')
    for changed, change in (entry.get('changes') or {}).items():
        _known(file, f'{name}: changes of {changed}', change, CHANGE_WORDS)
    # A word the file leaves empty (`needs:`) counts as left out; lists become tuples.
    words: dict[str, Any] = {word: tuple(said) if isinstance(said, list) else said
                             for word, said in entry.items() if said}
    return Example(**words)


def _known(file: Path, where: str, said: object, words: frozenset[str]) -> None:
    if not isinstance(said, dict):
        raise ExamplesError(f'{file}: {where} must be a map')
    unknown = sorted(set(said) - words)
    if unknown:
        raise ExamplesError(f'{file}: {where}: {unknown[0]} is not known; {", ".join(sorted(words))} are')


def _stand_in(file: Path, said: object) -> tuple[Path, str] | None:
    if said is None:
        return None
    name, _colon, function = str(said).partition(':')
    if not function.isidentifier() or not (file.parent / name).is_file():
        raise ExamplesError(f'{file}: stand_in must be FILE.py:FUNCTION, of a file beside it')
    return file.parent / name, function


def referred(value: object) -> Iterator[str]:
    """Names of the resources that a part of a template refers to, by get_resource or get_attr."""
    match value:
        case {'get_resource': str(name)} | {'get_attr': [str(name), *_]}:
            yield name
        case dict():
            for each in value.values():
                yield from referred(each)
        case list():
            for each in value:
                yield from referred(each)
