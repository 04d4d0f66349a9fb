"""Finds all errors of the definition of one parameter: `schema_of` raises the first one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from heatlite.common import exception, turns
from heatlite.language.diagnostics import MOST_COMPLAINTS
from heatlite.language.parameter_schema import CFN_DEFINITION, HOT_DEFINITION, schema_of
from heatlite.language.versions import Edition

CONSTRAINTS: Final = 'constraints'
STEPS_PER_PART: Final = 5           # of `turns`, for one part of a definition


@dataclass(frozen=True)
class ParameterMistake:
    """One error. `path`: below the parameter; `part`: the part of its definition that is wrong."""

    error: exception.HeatException
    path: tuple[object, ...]
    part: object


def errors_of(name: str, definition: object, edition: Edition) -> list[ParameterMistake]:
    """Return the errors in order, first the one that `schema_of` raises; empty if the definition is right. At most
    MOST_COMPLAINTS and the first one."""
    first = _error(name, definition, edition)
    if first is None:
        return []
    found: dict[tuple[str, tuple[object, ...]], ParameterMistake] = {}
    of_keys: set[str] = set()                           # errors of keys and of the type, which other parts repeat
    for path, part in _parts(definition, edition) if isinstance(definition, Mapping) else ():
        turns.spend(STEPS_PER_PART)
        error = _error(name, part, edition)
        if error is None or (path and str(error) in of_keys):
            continue
        if not path:
            of_keys.add(str(error))
        found.setdefault((str(error), path), ParameterMistake(error, path, part))
        if len(found) == MOST_COMPLAINTS:
            break
    of_first = [each for each in found.values() if str(each.error) == str(first)]
    others = [each for each in found.values() if str(each.error) != str(first)]
    return [*(of_first or [ParameterMistake(first, (), definition)]), *others]


def _error(name: str, definition: object, edition: Edition) -> exception.HeatException | None:
    try:
        schema_of(name, definition, edition)
    except exception.HeatException as error:
        return error
    return None


def _parts(definition: Mapping[str, object], edition: Edition) -> Iterator[tuple[tuple[object, ...], object]]:
    """Yield (path, definition with this part only). Without a type nothing but its keys can be checked."""
    key = 'type' if edition.is_hot else 'Type'
    known = HOT_DEFINITION | {'tags'} if edition.is_hot else CFN_DEFINITION
    kind = {key: definition[key]} if key in definition else {}
    for part, value in definition.items():
        if part not in known:
            yield (), {**kind, part: value}
    if not kind:
        return
    yield (), kind
    for part, value in definition.items():
        if part == CONSTRAINTS and isinstance(value, list):
            for place, item in enumerate(value):
                yield (CONSTRAINTS, place), {**kind, CONSTRAINTS: [item]}
        elif part in known and part != key:
            yield (part,), {**kind, part: value}
