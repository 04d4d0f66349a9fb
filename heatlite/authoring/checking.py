"""Checks a template and all files it uses without any service: errors, warnings, and what only the cloud can tell.

The facts are those of all built-in resource types; these validate themselves as far as that needs no service.
Parameters without a value are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from heatlite.authoring import suppression
from heatlite.authoring.findings import LintFinding
from heatlite.authoring.reading import FAILURES, LIMITS, FileReader
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.common.template_files import Files
from heatlite.common.template_format import VERSION_KEYS
from heatlite.engine.requests import offline_types
from heatlite.engine.resources import packed_types
from heatlite.language import advice as advising
from heatlite.language import definition as definitions
from heatlite.language import environment as environments
from heatlite.language import lint, rules, versions
from heatlite.language.definition import StackDefinition
from heatlite.language.template import Template

OPERATOR: Final = packed_types.operator_registry()
EMPTY_TEMPLATE: Final = Template({versions.HOT_KEY: versions.HOT_DATES[-1]})
ENDINGS: Final = frozenset({'.yaml', '.yml', '.template', '.json'})


def templates_in(folder: Path) -> list[Path]:
    """All templates in a folder and below, sorted: files with the usual endings that have the key of a version."""
    found = [path for path in folder.rglob('*') if path.suffix in ENDINGS and path.is_file()
             and not any(part.startswith('.') for part in path.relative_to(folder).parts)]
    return sorted(path for path in found if any(key in path.read_text(encoding='utf-8', errors='replace')
                                                for key in VERSION_KEYS))


def check(template_file: str, environment_files: Sequence[str] = (), parameters: Mapping[str, str] | None = None, *,
          notes: bool = False, reading: FileReader | None = None) -> list[LintFinding]:
    """Return findings, in order. Raises OSError when the template or an environment file cannot be read.

    `notes`: includes what only the cloud can check. `reading`: has the texts of the files afterwards.
    """
    reading = reading or FileReader()
    found = _checked(template_file, environment_files, parameters or {}, notes, reading)
    return suppression.apply([*reading.problems, *found], reading.texts)


def check_environment(environment_file: str, *, reading: FileReader | None = None) -> list[LintFinding]:
    """Return findings in an environment file by itself, and in the templates of its registry. Raises OSError."""
    reading = reading or FileReader()
    try:
        sections = reading.environment([environment_file], EMPTY_TEMPLATE)
        environment = environments.Environment(sections, OPERATOR)
    except FAILURES as error:
        return suppression.apply([*reading.problems, reading.failed(error)], reading.texts)
    found = [LintFinding(rules.ENVIRONMENT, type(error).__name__, str(error), environment_file)
             for error in environment.diagnostics(offline_types.OfflineTypes.sink_error)]
    return suppression.apply([*reading.problems, *found], reading.texts)


def _checked(template_file: str, environment_files: Sequence[str], parameters: Mapping[str, str], notes: bool,
             reading: FileReader) -> list[LintFinding]:
    try:
        template = reading.template(Path(template_file).absolute().as_uri(), template_file)
    except FAILURES as error:
        return [reading.failed(error, rules.SYNTAX)]
    try:
        sections = reading.environment(environment_files, template, parameters)
        environment = environments.Environment(sections, OPERATOR)
    except FAILURES as error:
        return [reading.failed(error)]

    def built() -> StackDefinition:
        files = Files(reading.files)
        files.unknown = frozenset(reading.unread | reading.remote)
        return definitions.build(template, environment, files, definitions.StackIdentity(
            Path(template_file).stem, None, 'project'), limits=LIMITS, assume_unknown=True)

    definition = built()
    try:
        diagnostics = lint.check(definition, offline_types.OfflineTypes(unread=reading.unread), known=reading.templates)
    except FAILURES as error:
        reading.last = template_file
        return [reading.failed(error, rules.SECTION)]
    found = [_of_complaint(diagnostic, reading) for diagnostic in diagnostics]
    found += [LintFinding(advice.rule, 'Advice', advice.text, template_file, advice.line, advice.column, advice.path,
                          advice.hint) for advice in advising.advise(definition)]
    return [*found, *_notes(built(), definition, reading, template_file)] if notes else found


def _notes(fresh: StackDefinition, checked: StackDefinition, reading: FileReader, name: str) -> Iterator[LintFinding]:
    key = checked.edition.sections['parameters']
    for parameter in checked.parameters.declared:
        if checked.parameters.raw(parameter) is None:
            line, column = checked.template.position((key, parameter)) or (None, None)
            yield LintFinding(rules.NO_VALUE, 'Advice', _('The parameter "%s" needs a value') % parameter, name, line,
                              column, (key, parameter))
    types = offline_types.OfflineTypes(ask=True, unread=reading.unread)
    for diagnostic in lint.check(fresh, types, known=reading.templates):
        if offline_types.needs_cloud(diagnostic.error):
            yield _of_complaint(diagnostic, reading, rules.CLOUD)


def _of_complaint(diagnostic: lint.Diagnostic, reading: FileReader, rule: str | None = None) -> LintFinding:
    error = diagnostic.error
    text = error.first_line if isinstance(error, exception.StackValidationFailed) else str(error)
    return LintFinding(rule or diagnostic.rule, type(error).__name__, text,
                       reading.names.get(diagnostic.file, diagnostic.file), diagnostic.line, diagnostic.column,
                       tuple(diagnostic.path), diagnostic.hint, diagnostic.found, tuple(diagnostic.expected))
