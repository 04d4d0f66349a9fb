"""The template of a stack as plug-ins read it in `stack.t`: Heat's names, for reading only."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from heatlite.language import versions
from heatlite.language.definition import StackDefinition
from heatlite.language.environment import Environment
from heatlite.language.template import Template

# Keys of resources and outputs in Heat's sections, which have those of the CFN format whatever the template's is.
CFN_WORDS = {old: new for old, new in vars(versions.CFN_KEYS).items() if isinstance(new, str)}
ABSENT = object()
UNREADABLE = frozenset({'parameters'})          # Heat has methods for them; `stack.parameters` has the values


class HasDefinition(Protocol):
    """The part of a resource that has its ResourceDefinition."""

    @property
    def t(self) -> object: ...


def _name(word: str) -> property:
    """Return a property with the name of a section in the format of the template."""
    def name(template: Template) -> str:
        return template.edition.sections.get(word, versions.IGNORED_SECTION)
    return property(name)


class StackTemplate(Template):
    """The template of a definition, and its sections as a mapping: `t[t.RESOURCES]` has the resources."""

    def __init__(self, definition: StackDefinition) -> None:
        vars(self).update(vars(definition.template))        # it is the same template, and nothing is read again
        self._definition = definition

    @property
    def t(self) -> dict[str, object]:
        """A copy of the document as it was given."""
        return copy.deepcopy(self.document)

    @property
    def files(self) -> Mapping[str, str]:
        return self._definition.files

    @property
    def env(self) -> Environment:
        return self._definition.environment

    @property
    def SECTIONS(self) -> Sequence[str]:
        return (self.VERSION, *self.edition.sections.values())

    DESCRIPTION, PARAMETERS, PARAMETER_GROUPS = _name('description'), _name('parameters'), _name('parameter_groups')
    RESOURCES, OUTPUTS, MAPPINGS = _name('resources'), _name('outputs'), _name('mappings')
    CONDITIONS = _name('conditions')

    def __getitem__(self, section: str) -> object:
        """A copy of a section, by its name in this format or in CFN's; {} if it is absent. Resources and outputs have
        the keys of the CFN format. Raises KeyError for other sections, the version and parameters."""
        hot = next((hot for hot, own in self.edition.sections.items()
                    if section in (own, versions.CFN_SECTIONS.get(hot))), None)
        if hot is None and section in (self.MAPPINGS, versions.CFN_SECTIONS.get('mappings')):
            return {}                                       # a section that this format does not have
        if hot is None or hot in UNREADABLE:
            raise KeyError(section)
        if hot == 'description':
            return self.description
        found = copy.deepcopy(self.section(hot) or {})
        if not self.edition.is_hot or hot not in ('resources', 'outputs'):
            return found
        words = _words(self.keys, hot)
        return {name: {words.get(key, key): part for key, part in body.items()} if isinstance(body, Mapping) else body
                for name, body in found.items()}

    def get(self, section: str, default: object = None) -> object:
        try:
            return self[section]
        except KeyError:
            return default

    def __contains__(self, section: object) -> bool:
        """Whether a section can be read by this name; the document need not have it."""
        return isinstance(section, str) and self.get(section, ABSENT) is not ABSENT

    def __iter__(self) -> Iterator[str]:
        """The names of the sections that can be read."""
        return (own for hot, own in self.edition.sections.items() if hot not in UNREADABLE)

    def __len__(self) -> int:
        return sum(1 for _section in self)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        """Whether both are the template of one definition: each access of `stack.t` makes an object."""
        return isinstance(other, StackTemplate) and other._definition is self._definition

    def __hash__(self) -> int:
        return id(self._definition)

    @staticmethod
    def resource_definitions(stack: Mapping[str, HasDefinition]) -> dict[str, object]:
        """Return name -> ResourceDefinition of each resource of the stack."""
        return {name: resource.t for name, resource in stack.items()}


def _words(keys: versions.Keys, section: str) -> dict[str, str]:
    """Return {key of this format: key of the CFN format} for the entries of a section."""
    if section == 'outputs':
        return {keys.output_value: CFN_WORDS['output_value'], keys.description: CFN_WORDS['description']}
    return {getattr(keys, name): CFN_WORDS[name] for name in (
        'type', 'properties', 'metadata', 'depends_on', 'deletion_policy', 'update_policy', 'resource_description',
        'condition')}
