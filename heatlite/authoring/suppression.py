"""Comments in templates that disable rules: `# heatlite-lint: disable=HL508,HL302`.

At the end of a line the comment is for findings in this line; on a line of its own it is for the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from heatlite.authoring.findings import LintFinding
from heatlite.common.i18n import _
from heatlite.language import rules
from heatlite.language.diagnostics import did_you_mean

COMMENT: Final = re.compile(r'(?:^|\s)#\s*heatlite-lint:\s*disable=([A-Za-z0-9_, ]++)\s*$')
WORD: Final = re.compile(r'\w+')


@dataclass(frozen=True)
class Suppressions:
    """The rules that the comments of one file disable. `unknown`: (line, column, id) of ids that are no rules."""

    of_file: frozenset[str]
    of_lines: dict[int, frozenset[str]]
    unknown: tuple[tuple[int, int, str], ...]

    def hides(self, finding: LintFinding) -> bool:
        return finding.rule in self.of_file or finding.rule in self.of_lines.get(finding.line or 0, ())


def read(text: str) -> Suppressions:
    of_file: set[str] = set()
    of_lines: dict[int, frozenset[str]] = {}
    unknown: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.search(line) if 'heatlite-lint' in line else None
        if comment is None:
            continue
        words = [(match.start(), match[0]) for match in WORD.finditer(line, comment.start(1), comment.end(1))]
        ids = [word for _start, word in words]
        unknown += [(number, start + 1, word) for start, word in words if word not in rules.BY_ID]
        if line.lstrip().startswith('#'):
            of_file.update(ids)
        else:
            of_lines[number] = frozenset(ids)
    return Suppressions(frozenset(of_file), of_lines, tuple(unknown))


def apply(findings: Iterable[LintFinding], texts: dict[str, str]) -> list[LintFinding]:
    """Return the findings that no comment disables, and one for each unknown rule in a comment. `texts`: by file
    name."""
    known = {name: read(text) for name, text in texts.items() if 'heatlite-lint' in text}
    left = [finding for finding in findings if finding.file not in known or not known[finding.file].hides(finding)]
    return left + [
        LintFinding(rules.SUPPRESSION, 'Advice', _('There is no rule "%s"') % wrong, name, line, column,
                    hint=did_you_mean(wrong, rules.BY_ID))
        for name, suppressions in known.items() for line, column, wrong in suppressions.unknown]
