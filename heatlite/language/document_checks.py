"""Checks of a definition that need no resource types: files, sections, calls, parameters, conditions.

Must not know the order of checks (`lint`) or types.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict, TypeGuard

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.template_format import VERSION_KEYS
from heatlite.common.yaml_reading import ROOT
from heatlite.language import parameters as parameter_definitions
from heatlite.language import rules, undeclared, versions, wrong_parameters
from heatlite.language import template as templates
from heatlite.language.constraints import CustomLookup
from heatlite.language.definition import StackDefinition
from heatlite.language.diagnostics import LONGEST_NAME, Diagnostic, did_you_mean, ruled
from heatlite.language.document import DocumentError
from heatlite.language.facts import TypeCatalog, TypeFacts
from heatlite.language.registry import FoundType
from heatlite.language.resource_definition import wrong_parts
from heatlite.language.template import Template

STEPS_PER_DEFINITION = 10       # of `turns`, for checking one definition
CLIENT_ERRORS = (exception.HeatException,)


@dataclass
class Memory:
    """State shared by the checks of all stacks of a tree."""

    templates: dict[str, Template] = field(default_factory=dict)                # those that are not among the files
    facts: dict[tuple[str, str], TypeFacts] = field(default_factory=dict)       # of templates
    seen: set[tuple[object, ...]] = field(default_factory=set)                     # nested stacks that were checked
    inside: int = 0                                                             # number of their resources


class DocumentChecks:
    """The part of the check of one definition that needs no types; `lint.Checker` has the rest and the order."""

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
        self.found: dict[str, FoundType] = {}
        self.broken: set[str] = set()               # resources that are not checked further
        self.type_errors: set[str] = set()          # why: the texts, which types repeat that look at such a resource
        self.bad_references: set[str] = set()       # resources with a reference to a missing one, which was reported
        self.order: list[str] = []
        self.right: frozenset[str] = frozenset()    # resources without an error, which are not checked

    @property
    def lookup(self) -> CustomLookup | None:
        """Custom constraints. Services are called for values of the root stack only; nested stacks do so when
        created."""
        return self.types.lookup if self.values and self.depth == 0 else None

    @staticmethod
    def _until_error(part: Iterator[Diagnostic]) -> Generator[Diagnostic, None, bool]:
        """Yield diagnostics; return whether there were any, so that the rest cannot be checked."""
        any_found = False
        for diagnostic in part:
            any_found = True
            yield diagnostic
        return any_found

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return the diagnostic with its place in the text, and without the values of hidden parameters."""
        diagnostic = self._masked(self._hinted(diagnostic))
        if diagnostic.line is not None or diagnostic.file != ROOT:
            return diagnostic
        path = diagnostic.path
        if isinstance(diagnostic.error, exception.StackValidationFailed):
            if diagnostic.error.elsewhere:
                return diagnostic
            path = path or tuple(diagnostic.error.path)
        template = self.definition.template
        position = template.position(path)
        if position is None:
            return replace(diagnostic, path=path, file=template.source)
        return replace(diagnostic, path=path, file=template.source, line=position[0], column=position[1])

    def _hinted(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return the diagnostic with a hint if it is about a name that is not declared, or a type that does not
        exist."""
        if diagnostic.hint is not None or diagnostic.file != ROOT:
            return diagnostic
        if isinstance(diagnostic.error, exception.InvalidSchemaError) and diagnostic.error.hint is not None:
            return replace(diagnostic, hint=diagnostic.error.hint)
        return replace(diagnostic, hint=undeclared.hint_of(diagnostic.error, diagnostic.path, self.definition))

    def _masked(self, diagnostic: Diagnostic) -> Diagnostic:
        error = diagnostic.error
        text = error.error_message if isinstance(error, exception.StackValidationFailed) else error.message
        shown = self.definition.masked(text)
        if shown == text:
            return diagnostic
        if isinstance(error, exception.StackValidationFailed):
            return replace(diagnostic, error=exception.StackValidationFailed(
                error=error.error, path=error.path, message=shown, details=error.details, elsewhere=error.elsewhere))
        error.message, error.args = shown, (shown,)
        return diagnostic

    def _section_errors(self) -> Generator[Diagnostic, None, bool]:
        """Check the sections; return whether the resources cannot be checked."""
        yield from ruled(rules.SECTION, self._shapes())
        try:
            self.definition.snippets                                        # noqa: B018
        except CLIENT_ERRORS:
            return True
        return False

    # --- files, definitions of parameters ---------------------------------------------------------------------

    def _files(self) -> Iterator[Diagnostic]:
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
                yield Diagnostic(error, file=name)

    def _definitions(self) -> Iterator[Diagnostic]:
        section = self.definition.template.section('parameters')
        key = self.definition.edition.sections['parameters']
        if isinstance(section, Mapping):
            for name, definition in section.items():
                turns.spend(STEPS_PER_DEFINITION)
                for wrong in wrong_parameters.errors_of(name, definition, self.definition.edition):
                    yield Diagnostic(wrong.error, (key, name, *wrong.path), **(
                        {} if wrong.path else _near_key(wrong.part, self.definition.edition)))
        else:
            try:
                parameter_definitions.schemata(section, self.definition.edition)
            except CLIENT_ERRORS as error:
                yield Diagnostic(error, (key,))

    # --- shapes of sections -----------------------------------------------------------------------------------

    def _shapes(self) -> Iterator[Diagnostic]:
        definition = self.definition
        section = definition.template.unknown_section()
        if section is not None:
            error = exception.InvalidTemplateSection(section=section)
            known = sorted(definition.edition.section_keys - {versions.IGNORED_SECTION})
            plain = self.depth == 0 and not self.updating
            yield Diagnostic(exception.StackValidationFailed(message=str(error)) if plain else error,
                             (section,), found=section, expected=tuple(known), hint=did_you_mean(section, known))
        try:
            snippets = definition.snippets
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, (self.keys.resources,))
            return
        wrong = set()
        for name, snippet in snippets.items():
            if name in self.right:
                continue
            turns.spend(1)
            try:
                definition.check_shape(snippet)
            except CLIENT_ERRORS as error:
                unknown = [key for key in snippet if key not in self.keys.of_resources] \
                    if isinstance(snippet, Mapping) else []
                wrong.add(name)
                if self._is_part(name, snippet):            # what is in it is not of a resource
                    yield replace(self._wrong_shape(error, name, unknown[0] if unknown else None), hint=_(
                        'was "%s" meant to be indented one level deeper, inside a resource?') % name)
                    continue
                shape = self._wrong_shape(error, name, unknown[0] if unknown else None)
                yield replace(shape, hint=_('write "%(name)s: {%(key)s: %(type)s}"') % {
                    'name': name, 'key': self.keys.type, 'type': snippet}) if _is_type(snippet) else shape
                for key in unknown[1:] if self.definition.edition.is_hot else ():
                    try:
                        definition.check_shape({key: snippet[key]})
                    except CLIENT_ERRORS as further:
                        yield self._wrong_shape(further, name, key)
        if wrong:
            definition.leave_out(frozenset(wrong))
        limit = definition.limits.max_resources
        if 0 <= limit < len(snippets):
            yield Diagnostic(exception.StackResourceLimitExceeded(), (self.keys.resources,), rule=rules.LIMIT)

    def _is_part(self, name: str, snippet: object) -> bool:
        """Whether a wrong resource looks like a part of one: by its name, and because it has no type, not even a
        misspelt one."""
        return name in self.keys.of_resources and not (isinstance(snippet, Mapping) and any(
            key == self.keys.type or did_you_mean(key, [self.keys.type]) for key in snippet))

    def _wrong_shape(self, error: exception.HeatException, name: str, key: str | None) -> Diagnostic:
        """`key`: the unknown one that the error is about."""
        return Diagnostic(error, (self.keys.resources, name) + ((key,) if key else ()), found=key,
                          hint=did_you_mean(key, self.keys.of_resources) if key else None, rule=rules.SHAPE)

    # --- calls of functions -----------------------------------------------------------------------------------

    def _expressions(self) -> Iterator[Diagnostic]:
        definition = self.definition
        wrong: set[str] = set()
        parts: dict[str, frozenset[str]] = {}       # wrong ones of resources whose other parts can be checked
        for name in turns.paced(definition.all_resources, STEPS_PER_DEFINITION):
            if name in self.right:
                continue
            resource = definition.all_resources[name]
            try:
                resource.parsed                                             # noqa: B018
            except exception.StackValidationFailed:
                keys = set()
                for part in wrong_parts(resource):
                    keys.add(part.key)
                    path = (self.keys.resources, name, part.key)
                    yield Diagnostic(part.error, self._path_of(part.error, path), rule=rules.FUNCTION)
                if keys & {self.keys.type, self.keys.properties, self.keys.external_id}:
                    wrong.add(name)
                else:
                    parts[name] = frozenset(keys)
            except CLIENT_ERRORS as error:
                wrong.add(name)
                yield Diagnostic(error, self._path_of(error, (self.keys.resources, name)), rule=rules.FUNCTION)
                continue
            try:
                definition.is_enabled(name, resource.snippet)
            except CLIENT_ERRORS as error:
                parts[name] = parts.get(name, frozenset()) | {self.keys.condition}
                yield Diagnostic(error, self._path_of(error, (self.keys.resources, name)), rule=rules.CONDITION)
        if parts:                                   # their other errors are reported at the same time
            definition.forget_parts(parts)
        if wrong:
            definition.leave_out(frozenset(wrong))
        try:
            names = list(definition.conditions.definitions)
        except CLIENT_ERRORS as error:
            yield Diagnostic(error, (definition.conditions.key,), rule=rules.CONDITION)
            return
        for name in names:
            try:
                definition.conditions.parsed(name)
            except CLIENT_ERRORS as error:
                yield Diagnostic(error, self._path_of(error, (definition.conditions.key, name)), rule=rules.CONDITION)

    @staticmethod
    def _path_of(error: exception.HeatException, otherwise: tuple[object, ...]) -> tuple[object, ...]:
        path = tuple(error.path) if isinstance(error, exception.StackValidationFailed) else ()
        return path or otherwise

    # --- parameters, their groups, conditions -----------------------------------------------------------------

    def _parameters(self) -> Iterator[Diagnostic]:
        parameters = self.definition.parameters
        key = self.definition.edition.sections['parameters']
        for name, error in parameters.diagnostics(self.lookup, values=self.values):
            hint = None
            if isinstance(error, exception.UnknownUserParameter) and name is not None:
                hint = did_you_mean(name, parameters.declared)
            yield Diagnostic(error, (key, name) if name in parameters.declared else (key,), hint=hint)

    def _groups(self) -> Iterator[Diagnostic]:
        groups = self.definition.template.section('parameter_groups')
        known = frozenset(self.definition.parameters.declared)
        for error in parameter_definitions.group_complaints(groups, known):
            yield Diagnostic(error, ('parameter_groups',))

    def _conditions(self) -> Iterator[Diagnostic]:
        conditions = self.definition.conditions
        try:
            for name, error in conditions.diagnostics():
                yield Diagnostic(error, self._path_of(error, (conditions.key, name)))
        except CLIENT_ERRORS:
            return                              # the section is not a map, which was reported


def _is_type(snippet: object) -> TypeGuard[str]:
    """Whether the type of a resource stands where a map with it should."""
    return isinstance(snippet, str) and '::' in snippet and len(snippet) <= LONGEST_NAME


class _Near(TypedDict, total=False):
    """The parts of a diagnostic about a word: what was found, what is known, and which known word is similar."""

    found: object
    expected: tuple[str, ...]
    hint: str | None


def _near_key(definition: object, edition: versions.Edition) -> _Near:
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
