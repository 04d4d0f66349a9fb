"""Diagnostics: the findings of the linter at their places in the text of an editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from heatlite.authoring import checking
from heatlite.authoring.findings import LintFinding
from heatlite.authoring.reading import FileReader
from heatlite.common import limits
from heatlite.editing import files
from heatlite.editing.outline import ENVIRONMENT, Outline
from heatlite.editing.text import Text, TextSpan
from heatlite.language import rules

MOST_DIAGNOSTICS: Final = 1000                  # diagnostics of one document
MOST_SIZE: Final = limits.USUAL.max_size        # characters of a document that is read at all


@dataclass(frozen=True)
class Elsewhere:
    """A place in another file, which has this text."""

    url: str
    text: str
    offset: int


@dataclass(frozen=True)
class EditorDiagnostic:
    """A finding at a part of the text. `elsewhere`: where it is, if that is another file, which this part names."""

    span: TextSpan
    finding: LintFinding
    elsewhere: Elsewhere | None = None


@dataclass(frozen=True)
class EditorSettings:
    """What the editor sets. `environments`: names of files that all templates are checked with; `notes`: also reports
    what only the cloud can check; `documentation`: URL of the built documentation, without `/` at its end.
    """

    environments: tuple[str, ...] = ()
    notes: bool = False
    documentation: str = ''


def is_too_large(text: str) -> bool:
    return len(text) > MOST_SIZE


def diagnose(path: Path, texts: Mapping[str, str], outline: Outline | None,
             settings: EditorSettings) -> list[EditorDiagnostic]:
    """All findings in the document at an absolute path; none if it is neither a template nor an environment.

    `texts`: those of all open documents by URL (`Path.as_uri`), this one included, which count instead of the files;
    `outline`: of this text, None if it is too large.
    """
    url, name = path.as_uri(), str(path)
    text = Text(texts[url])
    if outline is None:
        error = limits.too_large(len(text.text), MOST_SIZE)
        return [EditorDiagnostic(text.line(0), LintFinding(rules.LIMIT, type(error).__name__, str(error), name))]
    if outline.kind is None:
        return []
    reading = FileReader(texts)
    try:
        if outline.kind == ENVIRONMENT:
            found = checking.check_environment(name, reading=reading)
        else:
            found = checking.check(name, settings.environments, notes=settings.notes, reading=reading)
    except OSError as error:                        # an environment of the settings
        found = [LintFinding(rules.FILE, type(error).__name__, str(error), name)]
    return _placed(found, text, outline, url, reading)


def _placed(found: Sequence[LintFinding], text: Text, outline: Outline, url: str,
            reading: FileReader) -> list[EditorDiagnostic]:
    urls = {name: each for each, name in reading.names.items()}
    uses = files.used(outline, url)
    placed: dict[tuple[object, ...], EditorDiagnostic] = {}
    for finding in found[:MOST_DIAGNOSTICS]:
        other = urls.get(finding.file, url)
        if other == url:
            made = EditorDiagnostic(_span(finding, text, outline, uses), finding)
        else:
            span = next((use.node.span for use in uses if use.url == other), text.line(0))
            there = reading.texts.get(finding.file, '')
            offset = Text(there).found_at(finding.line or 1, finding.column or 1)
            made = EditorDiagnostic(span, finding,
                                    Elsewhere(Path(unquote(urlparse(other).path)).as_uri(), there, offset))
        placed.setdefault((made.span, finding.rule, finding.message), made)
    return list(placed.values())


def _span(finding: LintFinding, text: Text, outline: Outline, uses: Sequence[files.FileUse]) -> TextSpan:
    if finding.rule == rules.FILE:
        named = next((use.node.span for use in uses if use.path is not None and str(use.path) in finding.message), None)
        if named is not None:
            return named
    if finding.line is None:
        return text.line(0)
    start = text.found_at(finding.line, finding.column or 1)
    line = text.line(text.line_of(start))
    found = outline.tree.find(start)
    if found is not None and found.node.start == start and found.node.kind in ('scalar', 'alias'):
        return TextSpan(start, max(start, min(found.node.end, line.end)))
    return TextSpan(start, max(start, line.end))
