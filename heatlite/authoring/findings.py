"""A finding of the linter, and the formats in which findings are printed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from heatlite.language import rules

SARIF_SCHEMA: Final = 'https://json.schemastore.org/sarif-2.1.0.json'
LONGEST_LINE: Final = 160                # characters of a source line that are shown


@dataclass(frozen=True)
class LintFinding:
    """One finding. `line` and `column` count from 1, None if there is no place; `type`: the class of the error."""

    rule: str
    type: str
    message: str
    file: str
    line: int | None = None
    column: int | None = None
    path: tuple[object, ...] = ()
    hint: str | None = None
    found: object = None
    expected: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        return rules.BY_ID[self.rule].level

    @property
    def text(self) -> str:
        """The message with the hint."""
        return self.message + (f' ({self.hint})' if self.hint else '')

    @property
    def place(self) -> str:
        return self.file if self.line is None else f'{self.file}:{self.line}:{self.column}'


Texts = Mapping[str, str]               # of the files, by the names in findings
Writer = Callable[[Sequence[LintFinding], Texts, TextIO], None]


def write_text(findings: Sequence[LintFinding], texts: Texts, stream: TextIO) -> None:
    """Write each finding with its source line."""
    for finding in findings:
        write_short([finding], texts, stream)
        stream.writelines(f'{line}\n' for line in excerpt(finding, texts.get(finding.file, '')))


def excerpt(finding: LintFinding, text: str) -> list[str]:
    """Return the source line of a finding and a caret below its column; empty if the message quotes the source
    itself."""
    if finding.line is None or finding.column is None or '\n' in finding.message:
        return []
    lines = text.split('\n')
    if finding.line > len(lines):
        return []
    source = lines[finding.line - 1].rstrip('\r')
    start = max(0, finding.column - 1 - LONGEST_LINE // 2) if len(source) > LONGEST_LINE else 0
    shown = source[start:start + LONGEST_LINE]
    indent = ''.join('\t' if character == '\t' else ' ' for character in shown[:finding.column - 1 - start])
    return [f'    {shown}', f'    {indent}^']


def write_short(findings: Sequence[LintFinding], _texts: Texts, stream: TextIO) -> None:
    """Write one line for each finding, as compilers do."""
    for finding in findings:
        print(f'{finding.place}: {finding.level}: {finding.text} [{finding.rule}]', file=stream)


def write_json(findings: Sequence[LintFinding], _texts: Texts, stream: TextIO) -> None:
    json.dump([{'level': finding.level, **dataclasses.asdict(finding)} for finding in findings], stream, indent=2,
              default=str)
    stream.write('\n')


def write_sarif(findings: Sequence[LintFinding], _texts: Texts, stream: TextIO) -> None:
    """Write SARIF 2.1.0, for code hosts and editors."""
    results = [{
        'ruleId': finding.rule, 'level': finding.level, 'message': {'text': finding.text},
        'locations': [{'physicalLocation': {
            'artifactLocation': {'uri': Path(finding.file).as_posix()},
            **({'region': {'startLine': finding.line, 'startColumn': finding.column}}
               if finding.line is not None else {})}}],
    } for finding in findings]
    described = [{'id': rule.id, 'shortDescription': {'text': rule.title},
                  'defaultConfiguration': {'level': rule.level}} for rule in rules.TABLE]
    json.dump({'$schema': SARIF_SCHEMA, 'version': '2.1.0', 'runs': [
        {'tool': {'driver': {'name': 'heatlite-lint', 'rules': described}}, 'results': results}]}, stream, indent=2)
    stream.write('\n')


WRITERS: Final[Mapping[str, Writer]] = {
    'text': write_text, 'short': write_short, 'json': write_json, 'sarif': write_sarif}
