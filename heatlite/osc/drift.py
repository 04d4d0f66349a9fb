"""The command `openstack stack drift`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from osc_lib.command import command

from heatlite.osc.output import AsJson, Table
from heatlite.osc.plans import Api

DRIFTED = 2                             # exit code if something differs
COLUMNS = ('resource', 'type', 'finding', 'property', 'expected', 'actual', 'noticed_at')


class ShowDriftCommand(command.Lister):
    """Compare the objects of a stack with its definition, and list what differs.

    The exit code is 0 if nothing differs, 2 if something does, and 1 for an error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        parser.add_argument('--stored', action='store_true',
                            help='Show what the last look has found, without asking the services')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        api = Api(self.app)
        path = f'{api.stack(chosen.stack)}/drift'
        self.found = (api.get(path) if chosen.stored else api.post(path))['drift']
        if self.found is None:
            return COLUMNS, []
        return COLUMNS, list(rows(self.found))

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str],
                       data: Iterable[Sequence[object]]) -> int:
        """Print a sentence instead of an empty table, and beside what is printed for programs."""
        remark = _remark(self.found)
        if remark:
            print(remark, file=self.app.stdout if parsed_args.formatter == 'table' else self.app.stderr)
        if remark and parsed_args.formatter == 'table':
            return 0
        code: int = super().produce_output(parsed_args, column_names, data)
        return code

    def run(self, parsed_args: argparse.Namespace) -> int:
        code = super().run(parsed_args)
        return code or (DRIFTED if self.found is not None and self.found['is_drifted'] else 0)


class ShownDriftValue(TypedDict):
    path: list[object]
    expected: object
    actual: object
    noticed_at: str | None


class ShownResourceDrift(TypedDict):
    path: list[str]
    type: str
    finding: str
    reason: str | None
    noticed_at: str | None
    properties: list[ShownDriftValue]


class ShownDrift(TypedDict):
    """The report of a look, as the service shows it."""

    is_drifted: bool
    looked_at: str
    summary: dict[str, int]
    resources: list[ShownResourceDrift]


def _remark(found: ShownDrift | None) -> str:
    """Return what to say of a look that has nothing to list."""
    if found is None:
        return 'The stack was not compared with the cloud yet.'
    if found['resources']:
        return ''
    counted = found['summary']
    return (f"Nothing differs: {counted.get('same', 0)} resources are as applied, by the look of "
            f"{found['looked_at']}{_others(counted)}.")


def _others(counted: Mapping[str, int]) -> str:
    named = [f'{counted[name]} are {name}' for name in ('uncompared', 'ignored') if counted.get(name)]
    return f" ({', '.join(named)})" if named else ''


def rows(found: ShownDrift) -> Iterable[Sequence[object]]:
    """Yield a row for each value that differs, and for each resource that is gone or cannot be read."""
    for each in found['resources']:
        first = '/'.join(each['path']), each['type'], each['finding']
        for value in each['properties']:
            yield (*first, '.'.join(map(str, value['path'])), AsJson(value['expected']), AsJson(value['actual']),
                   value['noticed_at'])
        if not each['properties']:
            yield (*first, '', AsJson(None), each['reason'] or '', each['noticed_at'])
