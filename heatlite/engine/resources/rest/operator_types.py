"""Described types of an operator: files `*.yaml` in the plug-in folders, properties and attributes in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from heatlite.engine.resources import packed
from heatlite.engine.resources.rest import operator_properties, types, verify
from heatlite.engine.resources.rest.description import (
    SHAPES,
    DescriptionError,
    DescriptionFile,
    Mistake,
    TypeDescription,
    examined,
)
from heatlite.language import support

if TYPE_CHECKING:
    from heatlite.engine.resources.rest.described_resource import DescribedResource

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
    except (OSError, UnicodeDecodeError) as error:
        left_out(path, (), str(error))
        return
    except DescriptionError as error:
        left_out(path, error.types, error.mistakes)
        return
    families = list(document.wrong_families())
    if families:
        left_out(path, (), document.error(families).mistakes)
    for name, entry in document.types():
        try:
            yield name, made(name, entry, document)
        except DescriptionError as error:
            left_out(path, (name,), error.mistakes)


def made(name: str, entry: object, document: DescriptionFile) -> type[DescribedResource]:
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
        'properties': {name: operator_properties.facts((what.name, 'properties', name), (name,), body, mistakes)
                       for name, body in (what.properties or {}).items()},
        'default_client_name': what.client or what.service_type, 'required_service_extension': what.extension,
        'support_status': {**SUPPORTED, **(what.support or SUPPORTED)},
        'reference': {'kind': 'physical_id', 'before_create': 'resource_name'},
    }
