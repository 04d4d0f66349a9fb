"""The commands `openstack stack revision ...`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NotRequired, TypedDict

import yaml
from osc_lib.command import command

from heatlite.osc.output import DocumentCommand, Table, add_page
from heatlite.osc.plans import Api, query

LISTED = ('number', 'action', 'outcome', 'author', 'creation_time', 'plan_id')
SHOWN = ('number', 'action', 'outcome', 'author', 'author_id', 'creation_time', 'plan_id', 'digest', 'parameters',
         'files', 'environment', 'template')
DOCUMENTS = ('parameters', 'files', 'environment', 'template')
FOR_PROGRAMS = ('json', 'yaml')         # formats that print objects as they are
Compared = Literal['resources', 'parameters', 'outputs', 'conditions', 'parameter_definitions', 'template',
                   'environment', 'files']
# List of a comparison -> what its entries are.
COMPARED: Final[Mapping[Compared, str]] = {
            'resources': 'resource', 'parameters': 'parameter', 'outputs': 'output', 'conditions': 'condition',
            'parameter_definitions': 'definition of parameter', 'template': 'template', 'environment': 'environment',
            'files': 'file'}
MARKS = {'added': '+', 'removed': '-', 'changed': '~'}


class ListRevisionsCommand(command.Lister):
    """List the definitions that were accepted for a stack, newest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        add_page(parser, 'revision', by_number=True)
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        api = Api(self.app)
        found = api.get(f'{api.stack(chosen.stack)}/revisions{query(limit=chosen.limit, marker=chosen.marker)}')
        return LISTED, [[revision[name] for name in LISTED] for revision in found['revisions']]


class _OfRevision(command.Command):
    """A command about one revision."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        parser.add_argument('revision', type=int, help='Number of the revision')
        return parser


class ShowRevisionCommand(_OfRevision, command.ShowOne):
    """Show a revision with its template, its environment, its parameters and the names of its files."""

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Sequence[object]]:
        api = Api(self.app)
        found = api.get(f'{api.stack(chosen.stack)}/revisions/{chosen.revision}')['revision']
        if chosen.formatter not in FOR_PROGRAMS:
            found.update({name: yaml.safe_dump(found[name], sort_keys=False).rstrip() for name in DOCUMENTS})
        return SHOWN, [found[name] for name in SHOWN]


class DiffRevisionsCommand(_OfRevision, DocumentCommand):
    """Show what a revision changed, compared with the one before it or with another one."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--with', dest='other', type=int, metavar='NUMBER',
                            help='Revision to compare with; by default the one before')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        found = api.get(f'{api.stack(chosen.stack)}/revisions/{chosen.revision}/diff'
                        f'{query(**{"with": chosen.other})}')['diff']
        self.print(chosen, found, lines(found))


class ShownRevisionValue(TypedDict):
    """A value that differs. `hidden`: so does its hidden part."""

    path: list[object]
    before: object
    after: object
    hidden: NotRequired[bool]


class ShownDifferingPart(TypedDict):
    """A part of a stack that differs. `values`: of all but files, which have `diff` and `truncated`."""

    name: str
    change: str
    type: NotRequired[str | None]
    hidden: NotRequired[bool]
    values: list[ShownRevisionValue]
    diff: NotRequired[str | None]
    truncated: NotRequired[bool]


class ShownComparison(TypedDict):
    """What differs between two revisions. `truncated`: there is more."""

    is_empty: bool
    truncated: bool
    resources: list[ShownDifferingPart]
    parameters: list[ShownDifferingPart]
    outputs: list[ShownDifferingPart]
    conditions: list[ShownDifferingPart]
    parameter_definitions: list[ShownDifferingPart]
    template: list[ShownDifferingPart]
    environment: list[ShownDifferingPart]
    files: list[ShownDifferingPart]


def lines(found: ShownComparison) -> Iterator[str]:
    """Yield the lines of a comparison."""
    if found['is_empty']:
        yield 'No differences'
    for name, kind in COMPARED.items():
        for entry in found[name]:
            of_type = f" ({entry['type']})" if entry.get('type') else ''
            yield f"{MARKS[entry['change']]:>3} {kind} {entry['name']}{of_type}{_note(entry)}"
            yield from (f'      {line}' for line in (_file(entry) if name == 'files' else _values(entry)))
    if found['truncated']:
        yield 'There are more differences.'


def _values(entry: ShownDifferingPart) -> Iterator[str]:
    """Yield the lines of the values of one entry; the type of a resource is in its heading."""
    for value in entry['values']:
        path = '.'.join(map(str, value['path']))
        if path not in ('type', 'Type') or entry['change'] == 'changed':
            shown = {'added': json.dumps(value['after']), 'removed': json.dumps(value['before'])}.get(
                entry['change'], f"{json.dumps(value['before'])} -> {json.dumps(value['after'])}")
            yield f"{path or 'value'}: {shown}{_note(value)}"


def _file(entry: ShownDifferingPart) -> Iterator[str]:
    yield from (entry['diff'] or '').splitlines()
    if entry['truncated']:
        yield '(more lines differ)'


def _note(of: Mapping[str, object]) -> str:
    return '  # the hidden part differs' if of.get('hidden') else ''
