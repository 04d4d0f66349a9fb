"""The command `openstack stack drift`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from osc_lib.command import command

from heatlite.osc.plans import Api

DRIFTED = 2                             # exit code if something differs
COLUMNS = ('resource', 'type', 'finding', 'property', 'expected', 'actual', 'noticed_at')


class ShowDrift(command.Lister):
    """Compare the objects of a stack with its definition, and list what differs.

    The exit code is 0 if nothing differs, 2 if something does, and 1 for an error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        parser.add_argument('--stored', action='store_true',
                            help='Show what the last look has found, without asking the services')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        api = Api(self.app)
        path = f'{api.stack(chosen.stack)}/drift'
        self.found = (api.get(path) if chosen.stored else api.post(path))['drift']
        if self.found is None:
            self.app.stderr.write('The stack was not compared with the cloud yet.\n')
            return COLUMNS, []
        return COLUMNS, list(rows(self.found))

    def run(self, parsed_args: argparse.Namespace) -> int:
        code = super().run(parsed_args)
        return code or (DRIFTED if self.found is not None and self.found['is_drifted'] else 0)


def rows(found: Mapping[str, Any]) -> Iterable[Sequence[Any]]:
    """A row for each value that differs, and for each resource that is gone or cannot be read."""
    for each in found['resources']:
        first = '/'.join(each['path']), each['type'], each['finding']
        for value in each['properties']:
            yield (*first, '.'.join(map(str, value['path'])), json.dumps(value['expected']),
                   json.dumps(value['actual']), value['noticed_at'])
        if not each['properties']:
            yield (*first, '', '', each['reason'] or '', each['noticed_at'])
