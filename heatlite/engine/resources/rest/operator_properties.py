"""Properties in described types of an operator: read in the form of the packed facts, each mistake with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from heatlite.common import exception
from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import spelling
from heatlite.engine.resources.rest.description import SHAPES, Mistake

WORDS = frozenset({'type', 'required', 'default', 'update_allowed', 'immutable', 'constraints', 'schema',
                   'description'})
TYPES = frozenset(packed.DATA_TYPES)
BOUNDS = {'range': ('min', 'max'), 'length': ('min', 'max'), 'modulo': ('step', 'offset')}     # words of constraints

Place = tuple[object, ...]


def facts(place: Place, path: tuple[str, ...], body: object, mistakes: list[Mistake]) -> dict[str, object]:
    """The facts of one property. `place`: its path in the document; `path`: its name, and that of those around it.

    Adds to `mistakes` what is wrong with it; then it is one of any type.
    """
    body = {'type': body} if isinstance(body, str) else body
    name = '.'.join(path)
    known = len(mistakes)
    if not isinstance(body, Mapping) or not isinstance(body.get('type'), str) or body['type'] not in TYPES:
        mistakes.append((place, f'{name} needs a type: one of {", ".join(sorted(TYPES))}'))
    body = body if isinstance(body, Mapping) else {}
    mistakes += [((*place, word), f'{name}: {word} is no word of properties{spelling.hint(word, WORDS)}')
                 for word in body if word not in WORDS]
    found = dict(body)
    if 'schema' in body:
        inner, inside = body['schema'], ((*place, 'schema'), (*path, 'schema'))
        if body.get('type') == 'list':
            found['schema'] = {'*': facts(*inside, inner, mistakes)}
        elif isinstance(inner, Mapping):
            found['schema'] = {child: facts((*inside[0], child), (*inside[1], child), its, mistakes)
                               for child, its in inner.items()}
        else:
            mistakes.append(((*place, 'schema'), f'{name}: the schema of a map is a map of properties'))
    found['constraints'] = _constraints((*place, 'constraints'), name, body.get('constraints') or (), mistakes)
    if len(mistakes) == known:
        mistakes += [((*place, *word), f'{name}: {text}') for word, text in _contradictions(found)]
    return found if len(mistakes) == known else {'type': 'any'}


def _constraints(place: Place, name: str, written: object, mistakes: list[Mistake]) -> list[packed.ConstraintFacts]:
    if not isinstance(written, list | tuple) or not all(isinstance(each, Mapping) for each in written):
        mistakes.append((place, f'{name}: constraints are a list of maps'))
        return []
    found: list[packed.ConstraintFacts] = []
    for number, entry in enumerate(written):
        for kind, value in entry.items():
            mistakes += [((*place, number, kind), f'{name}: {text}') for text in _of_constraint(kind, value)]
            found.append({'kind': kind, 'value': value})
    return found


def _of_constraint(kind: str, value: object) -> Iterator[str]:
    if kind not in packed.CONSTRAINTS:
        yield (f'{kind} is no constraint; there are {", ".join(packed.CONSTRAINTS)}'
               f'{spelling.hint(kind, packed.CONSTRAINTS)}')
        return
    if kind in BOUNDS:
        if not isinstance(value, Mapping):
            yield f'{kind} is a map of {", ".join(BOUNDS[kind])}, not {value!r}'
            return
        unknown = spelling.unknown(value, BOUNDS[kind], f'not known in {kind}')
        if unknown:
            yield from unknown
            return
    try:
        packed.constraint({'kind': kind, 'value': value})
    except (exception.InvalidSchemaError, *SHAPES) as error:
        yield f'{kind}: {error}'


def _contradictions(found: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """(word, or nothing, what is wrong) of a property whose words are right one by one."""
    default = found.get('default')
    try:
        schema = packed.schema({**found, 'default': None})
    except exception.InvalidSchemaError as error:
        yield (), str(error)
        return
    if default is not None:
        try:
            schema.validate_constraints(schema.coerce(default))
        except (ValueError, TypeError) as error:
            yield ('default',), f'the default {default!r} does not fit: {error}'
