"""What the document alone says: checks 2 to 8 of the template specification, 2.3. No type is asked.

May not come in: the order of checks (`lint`), types.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heatlite.common import exception, turns
from heatlite.common.template_format import ROOT, VERSION_KEYS
from heatlite.language import parameters as parameter_definitions
from heatlite.language import template as templates
from heatlite.language import versions
from heatlite.language.complaints import Complaint, did_you_mean
from heatlite.language.constraints import CustomLookup
from heatlite.language.definition import StackDefinition
from heatlite.language.document import DocumentError
from heatlite.language.facts import TypeCatalog, TypeFacts
from heatlite.language.registry import Found
from heatlite.language.template import Template

STEPS = 10                      # of `turns`, for looking at one definition
CLIENT_ERRORS = (exception.HeatException,)


@dataclass
class Memory:
    """What one check of a whole tree shares."""

    templates: dict[str, Template] = field(default_factory=dict)                # that are not among the files
    facts: dict[tuple[str, str], TypeFacts] = field(default_factory=dict)       # of templates
    seen: set[tuple[Any, ...]] = field(default_factory=set)                     # nested stacks that were looked into
    inside: int = 0                                                             # resources in them


class DocumentChecks:
    """The part of one check of one definition that needs no types; `lint.Checker` has the rest and the order."""

    def __init__(self, definition: StackDefinition, types: TypeCatalog, *, values: bool = True,
                 look_inside: bool = True, updating: bool = False, depth: int = 0,
                 memory: Memory | None = None) -> None:
        self.definition = definition
        self.types = types
        self.values = values
        self.look_inside = look_inside
        self.updating = updating
        self.depth = depth
        self.memory = memory or Memory()
        self.keys = definition.keys
        self.facts: dict[str, TypeFacts] = {}
        self.found: dict[str, Found] = {}
        self.broken: set[str] = set()               # resources that are not looked at further
        self.bad_references: set[str] = set()       # resources that name what is not there, which has been said
        self.order: list[str] = []

    @property
    def lookup(self) -> CustomLookup | None:
        """Services are asked about the values of the root stack only; nested ones ask when their time comes."""
        return self.types.lookup if self.values and self.depth == 0 else None

    @staticmethod
    def _until_error(part: Iterator[Complaint]) -> Generator[Complaint, None, bool]:
        """Passes complaints on; the answer is whether there were any that make the rest pointless."""
        any_found = False
        for complaint in part:
            any_found = True
            yield complaint
        return any_found

    def placed(self, complaint: Complaint) -> Complaint:
        """The complaint with its place in the text, and without the values of hidden parameters."""
        complaint = self._masked(complaint)
        if complaint.line is not None or complaint.file != ROOT:
            return complaint
        path = complaint.path
        if isinstance(complaint.error, exception.StackValidationFailed):
            if complaint.error.elsewhere:
                return complaint
            path = path or tuple(complaint.error.path)
        template = self.definition.template
        position = template.position(path)
        if position is None:
            return replace(complaint, path=path, file=template.source)
        return replace(complaint, path=path, file=template.source, line=position[0], column=position[1])

    def _masked(self, complaint: Complaint) -> Complaint:
        error = complaint.error
        text = error.error_message if isinstance(error, exception.StackValidationFailed) else error.message
        shown = self.definition.masked(text)
        if shown == text:
            return complaint
        if isinstance(error, exception.StackValidationFailed):
            return replace(complaint, error=exception.StackValidationFailed(
                error=error.error, path=error.path, message=shown, details=error.details, elsewhere=error.elsewhere))
        error.message, error.args = shown, (shown,)
        return complaint

    def _section_errors(self) -> Generator[Complaint, None, bool]:
        """Check 4; the answer is whether the resources cannot be looked at."""
        yield from self._shapes()
        try:
            self.definition.snippets                                        # noqa: B018
        except CLIENT_ERRORS:
            return True
        return False

    # --- 2, 3 -------------------------------------------------------------------------------------------------

    def _files(self) -> Iterator[Complaint]:
        files = self.definition.files
        if files.id is not None:                # they were accepted when they were stored
            return
        for name, text in files.items():
            if name in self.memory.templates or not isinstance(text, str):
                continue
            if not any(key in text for key in VERSION_KEYS):
                continue
            try:
                document = templates.parse(text, name, self.definition.limits)
            except (DocumentError, exception.RequestLimitExceeded):
                continue
            try:
                template = files.templates[name] = Template(document, source=name, text=text)
                parameter_definitions.schemata(template.section('parameters'), template.edition)
            except CLIENT_ERRORS as error:
                yield Complaint(error, file=name)

    def _definitions(self) -> Iterator[Complaint]:
        section = self.definition.template.section('parameters')
        key = self.definition.edition.sections['parameters']
        if isinstance(section, Mapping):
            for name, definition in section.items():
                turns.spend(STEPS)
                try:
                    parameter_definitions.schema_of(name, definition, self.definition.edition)
                except CLIENT_ERRORS as error:
                    yield Complaint(error, (key, name), **_near_key(error, definition, self.definition.edition))
        else:
            try:
                parameter_definitions.schemata(section, self.definition.edition)
            except CLIENT_ERRORS as error:
                yield Complaint(error, (key,))

    # --- 4 ----------------------------------------------------------------------------------------------------

    def _shapes(self) -> Iterator[Complaint]:
        definition = self.definition
        unknown = definition.template.unknown_section()
        if unknown is not None:
            error = exception.InvalidTemplateSection(section=unknown)
            known = sorted(definition.edition.section_keys - {versions.IGNORED_SECTION})
            plain = self.depth == 0 and not self.updating
            yield Complaint(exception.StackValidationFailed(message=str(error)) if plain else error,
                            (unknown,), found=unknown, expected=tuple(known), hint=did_you_mean(unknown, known))
        try:
            snippets = definition.snippets
        except CLIENT_ERRORS as error:
            yield Complaint(error, (self.keys.resources,))
            return
        wrong = set()
        for name, snippet in snippets.items():
            turns.spend(1)
            try:
                definition.check_shape(name, snippet)
            except CLIENT_ERRORS as error:
                key = next((key for key in snippet if key not in self.keys.of_resources), None) \
                    if isinstance(snippet, Mapping) else None
                wrong.add(name)
                yield Complaint(error, (self.keys.resources, name) + ((key,) if key else ()), found=key,
                                hint=did_you_mean(key, self.keys.of_resources) if key else None)
        if wrong:
            definition.leave_out(frozenset(wrong))
        limit = definition.limits.max_resources
        if 0 <= limit < len(snippets):
            yield Complaint(exception.StackResourceLimitExceeded(), (self.keys.resources,))

    # --- 5 ----------------------------------------------------------------------------------------------------

    def _expressions(self) -> Iterator[Complaint]:
        definition = self.definition
        wrong: set[str] = set()
        unconditional: set[str] = set()
        for name, resource in definition.all_resources.items():
            try:
                resource.parsed                                             # noqa: B018
            except CLIENT_ERRORS as error:
                wrong.add(name)
                yield Complaint(error, self._path_of(error, (self.keys.resources, name)))
                continue
            try:
                definition.is_enabled(name, resource.snippet)
            except CLIENT_ERRORS as error:
                unconditional.add(name)
                yield Complaint(error, self._path_of(error, (self.keys.resources, name)))
        if unconditional:                           # their other errors are reported at the same time
            definition.forget_conditions(frozenset(unconditional))
        if wrong:
            definition.leave_out(frozenset(wrong))
        try:
            names = list(definition.conditions.definitions)
        except CLIENT_ERRORS as error:
            yield Complaint(error, (definition.conditions.key,))
            return
        for name in names:
            try:
                definition.conditions.parsed(name)
            except CLIENT_ERRORS as error:
                yield Complaint(error, self._path_of(error, (definition.conditions.key, name)))

    @staticmethod
    def _path_of(error: exception.HeatException, otherwise: tuple[Any, ...]) -> tuple[Any, ...]:
        path = tuple(error.path) if isinstance(error, exception.StackValidationFailed) else ()
        return path or otherwise

    # --- 6, 7, 8 ----------------------------------------------------------------------------------------------

    def _parameters(self) -> Iterator[Complaint]:
        parameters = self.definition.parameters
        key = self.definition.edition.sections['parameters']
        for name, error in parameters.complaints(self.lookup, values=self.values):
            hint = None
            if isinstance(error, exception.UnknownUserParameter) and name is not None:
                hint = did_you_mean(name, parameters.declared)
            yield Complaint(error, (key, name) if name in parameters.declared else (key,), hint=hint)

    def _groups(self) -> Iterator[Complaint]:
        groups = self.definition.template.section('parameter_groups')
        known = frozenset(self.definition.parameters.declared)
        for error in parameter_definitions.group_complaints(groups, known):
            yield Complaint(error, ('parameter_groups',))

    def _conditions(self) -> Iterator[Complaint]:
        conditions = self.definition.conditions
        try:
            for name, error in conditions.complaints():
                yield Complaint(error, self._path_of(error, (conditions.key, name)))
        except CLIENT_ERRORS:
            return                              # the section is no map, which has been said


def _near_key(error: exception.HeatException, definition: Any, edition: versions.Edition) -> dict[str, Any]:
    if not isinstance(definition, Mapping):
        return {}
    known = parameter_definitions.HOT_DEFINITION if edition.is_hot else parameter_definitions.CFN_DEFINITION
    wrong = next((key for key in definition if key not in known), None)
    if wrong is not None:
        return {'found': wrong, 'hint': did_you_mean(wrong, known)}
    word = definition.get('type' if edition.is_hot else 'Type')
    kinds = parameter_definitions.HOT_KINDS if edition.is_hot else parameter_definitions.CFN_KINDS
    if not isinstance(word, str) or word not in kinds:
        return {'found': word, 'expected': tuple(kinds), 'hint': did_you_mean(word, kinds)}
    return {}
