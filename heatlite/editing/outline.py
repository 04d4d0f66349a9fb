"""What a document declares, and where it names what it declares: parameters, resources, conditions, mappings.

Works on wrong documents, too, as far as they can be read. A name that is computed is not found.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from heatlite.common import exception
from heatlite.common.template_format import VERSION_KEYS
from heatlite.editing.tree import MAP, SCALAR, DocumentNode, DocumentTree, Path
from heatlite.language import environment, versions
from heatlite.language.renaming import BY_FIRST, BY_NAME
from heatlite.language.usage import CONDITION_CALLS, PARAMETER_CALLS
from heatlite.language.versions import Edition

TEMPLATE, ENVIRONMENT = 'template', 'environment'
PARAMETER, RESOURCE, CONDITION, MAPPING, OUTPUT = 'parameter', 'resource', 'condition', 'mapping', 'output'
SECTIONS: Final[Mapping[str, str]] = {          # HOT name of a section -> kind of what it declares
    'parameters': PARAMETER, 'resources': RESOURCE, 'conditions': CONDITION, 'mappings': MAPPING, 'outputs': OUTPUT}
MAPPING_CALLS: Final = ('Fn::FindInMap',)
NESTED_CONDITIONS: Final = ('and', 'or', 'not', 'Fn::And', 'Fn::Or', 'Fn::Not')    # their arguments are conditions
FILE_CALLS: Final = ('get_file',)
ROLES: Final[Mapping[str, tuple[str, ...]]] = {         # function -> kinds of what its (first) argument names
    name: tuple(kind for kind, calls in (
        (RESOURCE, BY_NAME | BY_FIRST), (PARAMETER, PARAMETER_CALLS), (CONDITION, CONDITION_CALLS),
        (MAPPING, MAPPING_CALLS)) if name in calls)
    for name in (*BY_NAME, *BY_FIRST, *PARAMETER_CALLS, *CONDITION_CALLS, *MAPPING_CALLS)}
LOOKS_LIKE_A_TEMPLATE: Final = re.compile(rf'^[{{ \t]*["\']?({"|".join(VERSION_KEYS)})["\']?\s*:', re.MULTILINE)
MOST_WRONG_KEYS: Final = 1              # of an environment that has no section but `parameters`
NEWEST: Final = versions.named(f'{versions.HOT_KEY}.{versions.HOT_DATES[-1]}')


@dataclass(frozen=True)
class Use:
    """A name in a text, where it is declared or referred to. `node`: the scalar."""

    kind: str
    name: str
    node: DocumentNode
    is_declaration: bool = False


class Outline:
    """The outline of one document."""

    def __init__(self, text: str, tree: DocumentTree | None = None) -> None:
        self.text = text
        self.tree = tree or DocumentTree(text)
        self.edition = _edition(self.tree)
        self._declared: dict[str, dict[str, DocumentNode]] = {}

    @functools.cached_property
    def kind(self) -> str | None:
        """Whether this is a template or an environment; None for anything else."""
        if LOOKS_LIKE_A_TEMPLATE.search(self.text):
            return TEMPLATE
        keys = _keys(self.tree.root)
        for key in ('resources', 'Resources'):
            node = self.tree.at((key,))
            if node is not None and any(self.tree.entry(body, word) for _key, body in node.entries
                                        for word in ('type', 'Type')):
                return TEMPLATE
        if keys & {environment.REGISTRY, environment.DEFAULTS}:
            return ENVIRONMENT
        values = self.tree.at((environment.PARAMETERS,))
        unknown = keys - set(environment.SECTIONS)
        is_environment = values is not None and values.kind == MAP and len(unknown) <= MOST_WRONG_KEYS and not (
            unknown & {*versions.HOT_SECTIONS.values(), *versions.CFN_SECTIONS.values()})
        return ENVIRONMENT if is_environment else None

    def section(self, name: str) -> DocumentNode | None:
        """Return the body of a section by its HOT name."""
        key = self.edition.sections.get(name)
        return self.tree.at((key,)) if key is not None else None

    def section_of(self, key: object) -> str | None:
        """Return the HOT name of the section with a key."""
        return next((name for name, each in self.edition.sections.items() if each == key), None)

    def declared(self, kind: str) -> dict[str, DocumentNode]:
        """Name -> body of everything of a kind, in the order of the text."""
        if kind not in self._declared:
            node = self.section(next(name for name, each in SECTIONS.items() if each == kind))
            self._declared[kind] = {key.value: self.tree.real(value) for key, value in node.entries
                                    if key.kind == SCALAR} if node is not None else {}
        return self._declared[kind]

    def path(self, kind: str, name: str, *more: str) -> Path:
        section = next(section for section, each in SECTIONS.items() if each == kind)
        return (self.edition.sections[section], name, *more)

    @functools.cached_property
    def functions(self) -> frozenset[str]:
        """The functions that the version has, those of conditions included."""
        return frozenset({*self.edition.usable, *self.edition.condition_functions})

    def type_of(self, resource: str) -> str | None:
        """Return the type of a resource as the template names it."""
        found = self.tree.child(self.declared(RESOURCE).get(resource), self.edition.keys.type)
        return found.name if found is not None else None

    # --- names in the text ----------------------------------------------------------------------------------------

    @functools.cached_property
    def uses(self) -> list[Use]:
        """All declarations and references, in the order of the text."""
        found = [*self._declarations(), *self._references()]
        return sorted(found, key=lambda use: use.node.start)

    def uses_of(self, kind: str, name: str) -> list[Use]:
        return [use for use in self.uses if (use.kind, use.name) == (kind, name)]

    def use_at(self, offset: int) -> Use | None:
        return next((use for use in self.uses if use.node.span.holds(offset)), None)

    def _declarations(self) -> Iterator[Use]:
        for section, kind in SECTIONS.items():
            node = self.section(section)
            for key, _value in node.entries if node is not None else ():
                if key.kind == SCALAR:
                    yield Use(kind, key.value, key, True)

    def _references(self) -> Iterator[Use]:
        keys = self.edition.keys
        for section, is_condition in (('conditions', True), ('resources', False), ('outputs', False)):
            node = self.section(section)
            for _key, body in node.entries if node is not None else ():
                yield from self._within(body, is_condition)
                if section == 'conditions':
                    continue
                for key, value in body.entries:
                    if key.name == keys.condition and self.edition.has_conditions:
                        yield from self._names(value, CONDITION)
                        yield from self._within(value, True)
                    elif key.name == keys.depends_on and section == 'resources':
                        for each in (value, *value.items):
                            yield from self._names(each, RESOURCE)
        groups = self.section('parameter_groups')
        for group in groups.items if groups is not None else ():
            for each in getattr(self.tree.child(group, 'parameters'), 'items', ()):
                yield from self._names(each, PARAMETER)

    def _within(self, start: DocumentNode, is_condition: bool) -> Iterator[Use]:
        """Yield the references of all functions inside a value. `is_condition`: the value is a condition."""
        waiting = [(start, is_condition)]
        while waiting:
            node, is_condition = waiting.pop()
            inside = is_condition
            if node.kind == MAP and len(node.entries) == 1:
                [(key, value)] = node.entries
                name = key.name or ''
                if name in self.functions:
                    yield from self._arguments(name, value, is_condition)
                    if name in CONDITION_CALLS and value.items:
                        waiting.append((value.items[0], True))
                        waiting += [(each, False) for each in value.items[1:]]
                        continue
                    inside = is_condition and name in NESTED_CONDITIONS
            waiting += [(value, inside) for _key, value in node.entries]
            waiting += [(each, inside) for each in node.items]

    def _arguments(self, function: str, value: DocumentNode, is_condition: bool) -> Iterator[Use]:
        if is_condition and function in NESTED_CONDITIONS:
            for each in (value, *value.items):
                yield from self._names(each, CONDITION)
            return
        first = value.items[0] if value.items else value
        is_first = value is not first
        if function in ROLES and (is_first or function not in {*BY_FIRST, *CONDITION_CALLS, *MAPPING_CALLS}):
            if is_first and function in BY_NAME:
                return
            kinds = ROLES[function]
            kind = next((kind for kind in kinds if first.name in self.declared(kind)), kinds[-1])
            yield from self._names(first, kind)

    @staticmethod
    def _names(node: DocumentNode, kind: str) -> Iterator[Use]:
        if node.kind == SCALAR and node.value and not (kind == CONDITION and node.value in ('true', 'false')):
            yield Use(kind, node.value, node)


def _keys(node: DocumentNode | None) -> set[str]:
    return {key.value for key, _value in node.entries if key.kind == SCALAR} if node is not None else set()


def _edition(tree: DocumentTree) -> Edition:
    """Return the version of the document; the newest of its format if it is wrong or missing."""
    given = {key: value for key in VERSION_KEYS if (value := tree.text_at(key)) is not None}
    try:
        return versions.of(given)
    except exception.HeatException:
        for key, date in ((versions.AWS_KEY, versions.AWS_DATE), (versions.CFN_KEY, versions.CFN_DATE)):
            if key in given:
                return versions.named(f'{key}.{date}')
    return NEWEST
