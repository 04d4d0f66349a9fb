"""What the commands share: values that people and programs read differently, output of documents, questions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence

from cliff.columns import FormattableColumn
from osc_lib.command import command

STOPPED = 'Nothing was done.'

Table = tuple[Sequence[str], Iterable[Sequence[object]]]
"""What `take_action` of a list returns: the names of the columns, and the rows."""


class AsJson(FormattableColumn[object]):
    """Any value: programs get it as it is, people its JSON text, nothing for None."""

    def human_readable(self) -> str:
        return '' if self._value is None else json.dumps(self._value)


class Joined(FormattableColumn[Iterable[str]]):
    """A list of words: programs get the list, people the words with commas."""

    def human_readable(self) -> str:
        return ', '.join(self._value)


class QuietLister(command.Lister):
    """A command that does something and lists what remains: no rows print no line for people."""

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str],
                       data: Iterable[Sequence[object]]) -> int:
        rows = list(data)
        if not rows and parsed_args.formatter == 'table':
            return 0
        return int(super().produce_output(parsed_args, column_names, rows) or 0)


class DocumentCommand(command.Command):
    """A command that prints one document: as lines for people, or as JSON."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('-f', '--format', dest='formatter', choices=('text', 'json'), default='text',
                            help='Print it as text, or as JSON')
        parser.add_argument('--json', dest='formatter', action='store_const', const='json', help='The same as -f json')
        return parser

    def print(self, chosen: argparse.Namespace, found: Mapping[str, object], lines: Iterable[str]) -> None:
        print(json.dumps(found, indent=2) if chosen.formatter == 'json' else '\n'.join(lines), file=self.app.stdout)


def add_page(parser: argparse.ArgumentParser, what: str, *, by_number: bool = False) -> None:
    """Add the options of a page of `what`, which the marker names by id or by number."""
    key, kind = ('Number', int) if by_number else ('Id', str)
    parser.add_argument('--limit', type=int, help=f'The most {what}s to show')
    parser.add_argument('--marker', type=kind, help=f'{key} of the {what} before the first')


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('-y', '--yes', action='store_true', help='Do not ask')


def is_wanted(chosen: argparse.Namespace, question: str) -> bool:
    """Ask at a terminal, unless the answer was given with the command. As `openstack stack delete`, programs are not
    asked."""
    if chosen.yes or not sys.stdin.isatty():
        return True
    sys.stderr.write(f'{question} [y/N] ')
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ('y', 'yes')
