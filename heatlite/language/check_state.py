"""What the check of one definition knows so far. The functions of the modules `*_checks` read and fill it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from heatlite.common import exception
from heatlite.common.yaml_reading import ROOT
from heatlite.language import undeclared
from heatlite.language.constraints import CustomLookup
from heatlite.language.definition import StackDefinition
from heatlite.language.diagnostics import Diagnostic
from heatlite.language.facts import TypeCatalog, TypeFacts
from heatlite.language.registry import FoundType
from heatlite.language.template import Template

CLIENT_ERRORS = (exception.HeatException,)
STEPS_PER_ITEM = 10             # of `turns`, for checking one resource, output or definition


@dataclass
class Memory:
    """State shared by the checks of all stacks of a tree."""

    templates: dict[str, Template] = field(default_factory=dict)                # those that are not among the files
    facts: dict[tuple[str, str], TypeFacts] = field(default_factory=dict)       # of templates
    seen: set[tuple[object, ...]] = field(default_factory=set)                  # nested stacks that were checked
    inside: int = 0                                                             # number of their resources


class CheckState:
    """The definition, how it is checked, and what was found out about its resources.

    `depth`: 0 for the root stack. `values`, `look_inside`, `updating`: see `lint.check`.
    """

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


def until_error(part: Iterator[Diagnostic]) -> Generator[Diagnostic, None, bool]:
    """Yield diagnostics; return whether there were any, so that the rest cannot be checked."""
    any_found = False
    for diagnostic in part:
        any_found = True
        yield diagnostic
    return any_found


def path_of(error: exception.HeatException, otherwise: tuple[object, ...]) -> tuple[object, ...]:
    """Return the path that the error names, or else `otherwise`."""
    path = tuple(error.path) if isinstance(error, exception.StackValidationFailed) else ()
    return path or otherwise
