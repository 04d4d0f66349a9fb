"""heatlite-lint: finds the errors of templates without any service, and explains types. Exit code 0, 1 with errors, 2
for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from heatlite.authoring import checking, explaining, json_schema
from heatlite.authoring.findings import WRITERS, LintFinding
from heatlite.authoring.reading import FileReader, unreadable
from heatlite.common import release
from heatlite.common.i18n import _
from heatlite.common.standard_output import ends_with_its_reader
from heatlite.language import rules

PROGRAM = 'heatlite-lint'
STDIN, STDIN_NAME = '-', '<stdin>'


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console script. Returns an exit code."""
    parser = options()
    try:
        given = parser.parse_args(arguments)
        if not (given.template or given.explain or given.schema):
            parser.error(_('expected TEMPLATE, --explain or --schema'))
        parameters = dict(_assignment(parser, each) for each in given.parameter)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    try:
        if given.schema:
            json.dump(json_schema.document(), sys.stdout, indent=1)
            print()
            return 0
        if given.explain:
            print(explaining.explain(given.explain), end='')
            return 0
        return _lint(given, parameters)
    except OSError as error:
        print(f'{PROGRAM}: {unreadable(error)}', file=sys.stderr)
        return 2
    except explaining.UnknownName as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        return 2


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_('Checks templates and all files they use.'))
    parser.add_argument('template', metavar='TEMPLATE', nargs='*',
                        help=_('a template, a folder with templates, or - for standard input'))
    parser.add_argument('-e', '--environment', metavar='FILE', action='append', default=[],
                        help=_('an environment file; may be repeated'))
    parser.add_argument('-P', '--parameter', metavar='NAME=VALUE', action='append', default=[],
                        help=_('the value of a parameter; may be repeated'))
    parser.add_argument('--notes', action='store_true', help=_('also list what only the cloud can check'))
    parser.add_argument('--format', choices=sorted(WRITERS), default='text', help=_('default: text'))
    parser.add_argument('--explain', metavar='NAME',
                        help=_('explain a type, property or attribute, such as OS::Nova::Server.networks'))
    parser.add_argument('--schema', action='store_true', help=_('print a JSON Schema of HOT with all types'))
    release.add_option(parser)
    return parser


def _assignment(parser: argparse.ArgumentParser, text: str) -> tuple[str, str]:
    name, equals, value = text.partition('=')
    if not name or not equals:
        parser.error(_('argument -P/--parameter: expected NAME=VALUE, found %s') % text)
    return name, value


def _lint(given: argparse.Namespace, parameters: dict[str, str]) -> int:
    """Check all files, print the findings; also those of the others if some cannot be read. Raises OSError for a
    folder that cannot be listed."""
    texts: dict[str, str] = {}
    unread: dict[str, None] = {}            # why; an environment file may be the same for all
    found: dict[tuple[str, int | None, int | None, str, str], LintFinding] = {}
    for name in _files(given.template):
        reading = FileReader({Path(STDIN_NAME).absolute().as_uri(): sys.stdin.read()} if name == STDIN_NAME else {})
        try:
            of_file = checking.check(name, given.environment, parameters, notes=given.notes, reading=reading)
        except OSError as error:
            unread[unreadable(error)] = None
            continue
        for finding in of_file:
            # A nested template is checked by itself as well; where it is used, only the text has another path.
            place = '' if finding.line is not None else finding.message
            found.setdefault((finding.file, finding.line, finding.column, finding.rule, place), finding)
        texts.update(reading.texts)
    findings = list(found.values())
    WRITERS[given.format](findings, texts, sys.stdout)
    for why in unread:
        print(f'{PROGRAM}: {why}', file=sys.stderr)
    if unread:
        return 2
    return 1 if any(finding.level == rules.ERROR for finding in findings) else 0


def _files(names: Sequence[str]) -> list[str]:
    """Return the names of all templates, each once; those in folders relative to the folder as it was given."""
    found: dict[str, None] = {}
    for name in names:
        if name == STDIN:
            found[STDIN_NAME] = None
        elif Path(name).is_dir():
            found.update({str(path): None for path in checking.templates_in(Path(name))})
        else:
            found[name] = None
    return list(found)


if __name__ == '__main__':
    sys.exit(main())
