"""Diagnostics: the error as clients expect it, its place, and a hint."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.common.yaml_reading import ROOT
from heatlite.language import rules

MOST_COMPLAINTS = 100
MOST_COMPARED = 200                 # names that are compared for a hint
LONGEST_NAME = 100                  # characters of a name that is compared or searched for: more cost too much
STEPS_PER_HINT = 1000               # of `turns`, for one hint
MOST_TEXT = 100_000                 # characters of all diagnostics of one response


@dataclass(frozen=True)
class Diagnostic:
    """One problem of a template. `path` is its path in the document of `file`; `line`, `column` count from 1."""

    error: exception.HeatException
    path: tuple[object, ...] = ()
    file: str = ROOT
    line: int | None = None
    column: int | None = None
    found: object = None
    expected: tuple[str, ...] = ()
    hint: str | None = None
    rule: str = ''                      # the id of its row in `rules.TABLE`

    @property
    def identity(self) -> tuple[str, tuple[object, ...]]:
        """What is wrong, and where: several checks may find one error; the same text at another place is another."""
        return str(self.error), self.path

    def __str__(self) -> str:
        return f'{self.place}: {self.error}' + (f' ({self.hint})' if self.hint else '')

    @property
    def place(self) -> str:
        """The place as all lines of an error show it: `root stack:12:9`, with `, resources.a` where that is needed."""
        place = self.file if self.line is None else f'{self.file}:{self.line}:{self.column}'
        if (self.line is None and self.path) or self.names_path:        # sent as an object, there are no lines
            place += f', {exception.path_text(self.path)}'
        return place

    @property
    def names_path(self) -> bool:
        """Whether the error does not say which parameter, resource or output of the template it is about."""
        if len(self.path) < 2 or getattr(self.error, 'elsewhere', False):
            return False
        if self.rule == rules.SHAPE:            # it names a key, which may be the name of a resource as well
            return True
        name, text = str(self.path[1]), str(self.error)
        if len(name) > LONGEST_NAME:            # a pattern of it would take seconds to make; messages shorten it
            return name[:LONGEST_NAME] not in text
        name = re.escape(name)
        return not re.search(rf"""[("'.]{name}\b|\b{name}[)"'.]""", text)


@dataclass(frozen=True)
class Advice:
    """One hint; `path` leads to it, `line` and `column` count from 1. `rule`: an id of `rules.TABLE`."""

    rule: str
    text: str
    path: tuple[object, ...]
    line: int | None = None
    column: int | None = None
    hint: str | None = None


def ruled(rule: str, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the same diagnostics, under a rule unless they have one."""
    for each in diagnostics:
        found = each.rule or (rules.LIMIT if isinstance(each.error, exception.RequestLimitExceeded) else rule)
        yield replace(each, rule=found)


def raise_first(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise the first error, with the text that clients expect as its first line and the others as further lines."""
    every = list(diagnostics)
    if not every:
        return
    first = every[0].error
    details = []
    size = 0
    for detail in [_first_detail(every[0]), *(str(other) for other in every[1:])]:
        size += len(detail)
        if detail and size <= MOST_TEXT:
            details.append(detail)
    if isinstance(first, exception.StackValidationFailed):
        raise exception.StackValidationFailed(
            error=first.error, path=first.path, message=first.error_message, details=details)
    if details:
        first.message = '\n'.join([first.message, *details])
        first.args = (first.message,)
    raise first


def _first_detail(diagnostic: Diagnostic) -> str:
    """Return the line that follows the text of the first error, which is Heat's as a whole. Empty if that names its
    place, the template has no lines and there is no hint."""
    place = diagnostic.place if diagnostic.line is not None or diagnostic.names_path else ''
    return ': '.join(part for part in (place, diagnostic.hint) if part)


def did_you_mean(found: object, known: Iterable[str]) -> str | None:
    """Return a hint when a known name is similar to `found`."""
    text = str(found)
    if len(text) > LONGEST_NAME:
        return None
    turns.spend(STEPS_PER_HINT)
    slack = max(2, len(text) // 4)
    names = [name for name in known if isinstance(name, str) and abs(len(name) - len(text)) <= slack][:MOST_COMPARED]
    if text in names:
        return None
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.7)
    return _('did you mean "%s"?') % near[0] if near else None
