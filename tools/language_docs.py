"""Keeps the generated parts of docs/users/language.rst, errors.rst and lint.rst true.

    tools/language_docs.py [--check]

A part begins with the comment `.. generated: NAME` and ends with `.. end`. Versions and functions come from the tables
of heatlite/language/versions.py, what is said of each function from docs/users/functions.yaml; its example is run, and
the result shown is what came out. The errors are what heatlite-lint prints for the files in docs/users/broken, the
rules those of heatlite/language/rules.py with the examples of docs/users/lint-rules.yaml.
With --check nothing is written; the exit code is 1 when a page is not current.
"""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import yaml

from heatlite.cmd import lint as lint_command
from heatlite.engine.resources import packed_types
from heatlite.language import definition as definitions
from heatlite.language import rules, versions
from heatlite.language import template as templates
from heatlite.language.definition import StackIdentity
from heatlite.language.environment import Environment
from tests.language import dry_run

ROOT = pathlib.Path(__file__).resolve().parents[1]
USERS = ROOT / 'docs' / 'users'
BROKEN = USERS / 'broken'
SHOWN_DIRECTORY = 'file:///home/you'         # for the directory of the templates, which is another one everywhere
FUNCTIONS = USERS / 'functions.yaml'
RULES = USERS / 'lint-rules.yaml'
PAGES = (USERS / 'language.rst', USERS / 'errors.rst', USERS / 'lint.rst')

# What a version changed beside its functions.
BESIDE_FUNCTIONS = {
    versions.NEWTON: 'section ``conditions``; keys ``condition`` and ``external_id`` of resources, ``condition`` of '
                     'outputs; deletion policies in lower case',
    versions.OCATA: 'parameter constraint ``modulo``',
    versions.QUEENS: 'parameter key ``tags``',
}


# --- what the tables say --------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Known:
    """Where one function is known: all rows of its name, those for conditions apart."""

    name: str
    rows: tuple[versions.FunctionVersions, ...]
    condition_rows: tuple[versions.FunctionVersions, ...]

    @property
    def hot(self) -> list[versions.FunctionVersions]:
        """Its forms in HOT, oldest first; those for conditions only when it has no other."""
        return ([row for row in self.rows if row.since is not None]
                or [row for row in self.condition_rows if row.since is not None])

    @property
    def changes(self) -> list[str]:
        """HOT versions that brought another form."""
        return [str(row.since) for row in self.hot[1:]]

    @property
    def editions(self) -> list[versions.Edition]:
        """Versions that have it, oldest first, HOT last."""
        return [edition for edition in versions.EDITIONS
                if self.name in {row['functions'] for row in versions.listed_functions(edition.name, True)}]

    @property
    def newest(self) -> versions.Edition:
        """The version its example is shown in: the CFN version with conditions for what is CFN's."""
        return self.editions[0] if self.name.startswith('Fn::') or self.name == 'Ref' else self.editions[-1]

    def where(self) -> str:
        """In words, since when and until when it is known."""
        said = []
        if self.hot:
            first, last = self.hot[0], self.hot[-1]
            said.append(f'HOT since {first.since}' if last.until is None
                        else f'HOT before {last.until} (refused by name since)')
        cfn = sorted({date for row in (*self.rows, *self.condition_rows) for date in row.cfn})
        if cfn:
            said.append(f'CFN {" and ".join(cfn)}')
        if not self.rows:
            said.append('in conditions only')
        elif self.condition_rows:
            since = [row.since or ' and '.join(row.cfn) for row in self.condition_rows]
            said.append(f'also in conditions ({", ".join(since)})')
        return '; '.join(said)


def known() -> dict[str, Known]:
    """Every function of the tables by name."""
    every = (*versions.FUNCTIONS, *versions.CONDITION_FUNCTIONS)
    return {name: Known(name, tuple(row for row in versions.FUNCTIONS if row.name == name),
                        tuple(row for row in versions.CONDITION_FUNCTIONS if row.name == name))
            for name in dict.fromkeys(row.name for row in every)}


def told() -> dict[str, dict[str, Any]]:
    """What is said of each function. Raises ValueError where that does not fit the tables."""
    said: dict[str, dict[str, Any]] = yaml.safe_load(FUNCTIONS.read_text())
    table = known()
    if said.keys() != table.keys():
        raise ValueError(f'{FUNCTIONS.name} and the table of functions differ in: '
                         f'{sorted(said.keys() ^ table.keys())}')
    for name, entry in said.items():
        changes = [str(date) for date in entry.get('changes') or ()]
        if changes != table[name].changes:
            raise ValueError(f'{name}: the table has changes in {table[name].changes}, {FUNCTIONS.name} in {changes}')
    return said


# --- examples are run -------------------------------------------------------------------------------------------------

def example(entry: Mapping[str, Any], edition: versions.Edition) -> str:
    """The template of an example, as text."""
    outputs, value = ('outputs', 'value') if edition.is_hot else ('Outputs', 'Value')
    call = ''.join(f'      {line}\n' for line in entry['write'].rstrip().split('\n'))
    return (f"{edition.key}: '{edition.date}'\n{entry.get('given') or ''}"
            f'{outputs}:\n  result:\n    {value}:\n{call}')


def result(entry: Mapping[str, Any], edition: versions.Edition) -> tuple[Any, str | None]:
    """Value and error of an example, with all its resources created in memory."""
    identity = StackIdentity('shop', str(uuid.UUID(int=1)), 'shop-project')
    definition = definitions.build(templates.load(example(entry, edition)),
                                   Environment(None, packed_types.operator_registry()), entry.get('files') or {},
                                   identity)
    return definition.outputs['result'].evaluated(dry_run.Stack(definition))


# --- the parts --------------------------------------------------------------------------------------------------------

def versions_table() -> Iterator[str]:
    rows = [('version', 'new functions', 'and')]
    before: set[str] = set()
    for edition in versions.EDITIONS:
        alias = [alias for alias, date in versions.ALIASES.items() if edition.is_hot and date == edition.date]
        name = f'``{edition.key}: {edition.date}``' + (f' or ``{alias[0]}``' if alias else '')
        if edition.is_hot:
            new = [name for name, function in known().items() if edition in function.editions and name not in before]
            rows.append((name, named(new), '; '.join(_beside(edition))))
            before |= set(new)
        else:
            rows.append((name, 'those of CFN', f'{"with" if edition.has_conditions else "without"} conditions'))
    yield from listed(rows)


def _beside(edition: versions.Edition) -> Iterator[str]:
    newer = [name for name, function in known().items() if edition.date in function.changes]
    refused = [row.name for row in versions.FUNCTIONS if row.refused_since == edition.date]
    if newer:
        yield f'more for {named(newer)}'
    if refused:
        yield f'{named(refused)} refused'
    if edition.date in BESIDE_FUNCTIONS:
        yield BESIDE_FUNCTIONS[edition.date]


def named(names: Iterable[str]) -> str:
    return ', '.join(f'``{name}``' for name in names)


def functions_table() -> Iterator[str]:
    yield from listed([('function', 'known in'),
                       *((f'``{name}``', known()[name].where()) for name in told())])


def function_reference() -> Iterator[str]:
    for name, entry in told().items():
        function = known()[name]
        edition = function.newest
        yield from (name, '~' * len(name), entry['says'], '')
        yield from (f'*{function.where()}*', '')
        for date, change in (entry.get('changes') or {}).items():
            yield f'- since {date}: {change}'
        if entry.get('changes'):
            yield ''
        if entry.get('note'):
            yield from (entry['note'], '')
        for file, text in (entry.get('files') or {}).items():
            yield from code(text, f'``{file}``')
        yield from code((entry.get('given') or '') + entry['write'])
        value, error = result(entry, edition)
        yield from (f'fails: ``{error}``' if error else f'gives ``{json.dumps(value)}``', '')


def broken_templates() -> Iterator[str]:
    for path in sorted(BROKEN.glob('*.yaml')):
        title, text = path.read_text().split('\n', 1)
        title = title.removeprefix('# ')
        yield from (title, '~' * len(title))
        yield from code(path.read_text(), f'``{path.name}``')
        for part in sorted((BROKEN / 'parts').glob('*.yaml')):
            if f'parts/{part.name}' in text:
                yield from code(part.read_text(), f'``parts/{part.name}``')
        printed, exit_code = linted(path)
        yield from code(f'$ heatlite-lint {path.name}\n{printed}', f'exit code {exit_code}:', 'text')


def rule_entries() -> dict[str, dict[str, Any]]:
    """What is said of each rule. Raises ValueError where that does not fit the table."""
    said: dict[str, dict[str, Any]] = yaml.safe_load(RULES.read_text())
    if list(said) != [rule.id for rule in rules.TABLE]:
        raise ValueError(f'{RULES.name} and the table of rules differ: {sorted(said.keys() ^ rules.BY_ID.keys())}')
    return said


def rule_template(text: str) -> str:
    """The template of an example, with a version."""
    return text if 'heat_template_version' in text else f"heat_template_version: {versions.HOT_DATES[-1]}\n{text}"


def rules_table() -> Iterator[str]:
    yield from listed([('rule', 'level', 'finding'),
                       *((f'`{rule.id}`_', rule.level, rule.title) for rule in rules.TABLE)])


def rules_reference() -> Iterator[str]:
    for name, entry in rule_entries().items():
        rule = rules.BY_ID[name]
        yield from (name, '~' * len(name), f'*{rule.title}* ({rule.level}). {entry["says"]}', '')
        for file, text in (entry.get('files') or {}).items():
            yield from code(text, f'``{file}``')
        for side in ('wrong', 'right'):
            yield from code(entry[side], f'{side}:')
            if 'environment' in entry:
                yield from code(entry['environment'][side], 'with the environment')


def linted(path: pathlib.Path) -> tuple[str, int]:
    """What heatlite-lint prints, and its exit code."""
    printed = io.StringIO()
    with contextlib.chdir(path.parent), contextlib.redirect_stdout(printed):
        exit_code = lint_command.main([path.name])
    return printed.getvalue().replace(path.parent.as_uri(), SHOWN_DIRECTORY), exit_code


def code(text: str, title: str = '', language: str = 'yaml') -> Iterator[str]:
    if title:
        yield from (title, '')
    yield from (f'.. code-block:: {language}', '')
    yield from (f'   {line}'.rstrip() for line in text.rstrip().split('\n'))
    yield ''


def listed(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ('.. list-table::', '   :header-rows: 1', '')
    for row in rows:
        for place, cell in enumerate(row):
            yield f'   {"*" if place == 0 else " "} - {cell}'.rstrip()
    yield ''


PARTS: Mapping[str, Callable[[], Iterable[str]]] = {
    'versions': versions_table, 'functions': functions_table, 'reference': function_reference,
    'broken templates': broken_templates, 'rules': rules_table, 'rule reference': rules_reference}
PART = re.compile(r'(?<=^\.\. generated: )(?P<name>[^\n]+)\n.*?(?=^\.\. end$)', re.MULTILINE | re.DOTALL)


def current(text: str) -> str:
    """A page with its generated parts made anew. Raises KeyError for a part of another name."""
    def anew(match: re.Match[str]) -> str:
        name = match['name']
        return '\n'.join([name, '', *PARTS[name]()]).rstrip() + '\n\n'
    return PART.sub(anew, text)


def main(arguments: Sequence[str]) -> int:
    stale = [page for page in PAGES if current(page.read_text()) != page.read_text()]
    for page in stale:
        if '--check' not in arguments:
            page.write_text(current(page.read_text()))
        print(f'{page.relative_to(ROOT)}: {"not current" if "--check" in arguments else "written"}')
    return 1 if stale and '--check' in arguments else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
