"""Described types of an operator: files `*.yaml` in the plug-in folders, properties and attributes in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import types, verify
from heatlite.engine.resources.rest.description import (
    SHAPES,
    DescriptionError,
    DescriptionFile,
    Mistake,
    TypeDescription,
    examined,
)
from heatlite.language import support
from heatlite.language.schema import Schema

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

PROPERTY_WORDS = frozenset({'type', 'required', 'default', 'update_allowed', 'immutable', 'constraints', 'schema',
                            'description'})
TYPES = frozenset(kind.lower() for kind in Schema.TYPES)

SUPPORTED: packed.StatusFacts = {'status': support.SUPPORTED}
ENDINGS = ('.yaml', '.yml')
EXAMPLES = '.conformance.yaml'              # how to try types, and no description of one (docs/authors/conformance.rst)
TEMPLATE = re.compile(r'^(heat_template_version|HeatTemplateFormatVersion|AWSTemplateFormatVersion)\b', re.MULTILINE)

LeftOut = Callable[[str, tuple[str, ...], str], None]
"""(file, names of types, why): tells of what cannot be used."""


def load(directories: Iterable[str], left_out: LeftOut,
         only: str | None = None) -> Iterator[tuple[str, type[DescribedResource]]]:
    """(name, class) of every type, files sorted by name in each directory. `only`: the one file of that name."""
    for directory in directories:
        for file in sorted(os.listdir(directory)):
            if file.endswith(ENDINGS) and not file.startswith('.') and not file.endswith(EXAMPLES) and only in (
                    None, file):
                yield from load_file(os.path.join(directory, file), left_out)


def load_file(path: str, left_out: LeftOut) -> Iterator[tuple[str, type[DescribedResource]]]:
    """A type that is wrong costs that type; text that is no YAML, or a wrong family, what hangs on it."""
    try:
        with open(path, encoding='utf-8') as source:
            text = source.read()
        if TEMPLATE.search(text):
            return                          # a template that lies beside the plug-in it is for
        document = DescriptionFile(text, path)
        entries = list(document.types())
    except (OSError, UnicodeDecodeError, DescriptionError) as error:
        left_out(path, getattr(error, 'types', ()), str(error))
        return
    for name, entry in entries:
        try:
            yield name, made(name, entry, document)
        except DescriptionError as error:
            left_out(path, (name,), str(error))


def made(name: str, entry: Mapping[str, object], document: DescriptionFile) -> type[DescribedResource]:
    """The class of one type. Raises DescriptionError, with all that is wrong.

    What follows from another mistake is no mistake of its own: after a misspelt `create` nothing is ever created.
    """
    what, mistakes = examined(name, entry, document, document.file)
    facts = facts_of(what, mistakes)
    check = verify.references if mistakes else verify.diagnostics
    try:
        mistakes += [((name, word), f'{name}, {word}: {text}') for word, text in check(what, facts)]
    except SHAPES as error:
        if not mistakes:                    # else it follows from them
            mistakes.append(((name,), f'{name}: a value has another form than is wanted: {error}'))
    if mistakes:
        raise document.error(mistakes)
    try:
        return types.class_of(what, facts)
    except Exception as error:              # schemas refuse contradictions
        raise document.error([((name, 'properties'), f'{name}: {error}')]) from None


def facts_of(what: TypeDescription, mistakes: list[Mistake]) -> packed.PackedFacts:
    """What the type looks like, in the form of the packed facts; those themselves for a type that they know.

    Adds to `mistakes` what is wrong with properties; such a property is one of any type.
    """
    if what.properties is None and what.name in packed.names():
        return packed.facts(what.name)
    attributes: dict[str, packed.AttributeFacts] = {}
    for name, how in what.attributes.items():
        said = how if isinstance(how, Mapping) else {}
        attributes[name] = {'type': said.get('type', 'string' if isinstance(how, str) else None),
                            'cache_mode': 'cache_local' if said.get('cached', True) else 'cache_none',
                            'description': said.get('description')}
    return {
        'class_name': what.name.rpartition('::')[2], 'attributes': attributes,
        'properties': {name: _property((what.name, 'properties', name), (name,), body, mistakes)
                       for name, body in (what.properties or {}).items()},
        'default_client_name': what.client or what.service_type, 'required_service_extension': what.extension,
        'support_status': {**SUPPORTED, **(what.support or SUPPORTED)},
        'reference': {'kind': 'physical_id', 'before_create': 'resource_name'},
    }


def _property(place: tuple[str, ...], path: tuple[str, ...], body: object,
              mistakes: list[Mistake]) -> dict[str, object]:
    """The facts of one property. `place`: its path in the document; `path`: its name, and that of those around it."""
    body = {'type': body} if isinstance(body, str) else body
    known = len(mistakes)
    if not isinstance(body, Mapping) or not isinstance(body.get('type'), str) or body['type'] not in TYPES:
        mistakes.append((place, f'{".".join(path)} needs a type: one of {", ".join(sorted(TYPES))}'))
    body = body if isinstance(body, Mapping) else {}
    mistakes += [((*place, word), f'{".".join(path)}: {word} is no word of properties')
                 for word in body if word not in PROPERTY_WORDS]
    found = dict(body)
    if 'schema' in body:
        inner, inside = body['schema'], ((*place, 'schema'), (*path, 'schema'))
        if body.get('type') == 'list':
            found['schema'] = {'*': _property(*inside, inner, mistakes)}
        elif isinstance(inner, Mapping):
            found['schema'] = {name: _property((*inside[0], name), (*inside[1], name), child, mistakes)
                               for name, child in inner.items()}
        else:
            mistakes.append(((*place, 'schema'), f'{".".join(path)}: the schema of a map is a map of properties'))
    limits = body.get('constraints') or ()
    if not isinstance(limits, list | tuple) or not all(isinstance(limit, Mapping) for limit in limits):
        mistakes.append(((*place, 'constraints'), f'{".".join(path)}: constraints are a list of maps'))
        limits = ()
    found['constraints'] = [{'kind': kind, 'value': value} for limit in limits for kind, value in limit.items()]
    return found if len(mistakes) == known else {'type': 'any'}
