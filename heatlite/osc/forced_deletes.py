"""The commands `openstack stack force delete` and `openstack stack release`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence

from osc_lib import exceptions

from heatlite.osc.output import STOPPED, QuietLister, add_yes, is_wanted
from heatlite.osc.plans import PATIENCE, Api

INTERVAL = 1.0                          # seconds between two questions
LEFT = 2                                # exit code if something was left in the cloud
COLUMNS = ('resource', 'type', 'physical_resource_id', 'reason')


class _Leaves(QuietLister):
    """A command that ends a stack, waits for that, and lists what stays in the cloud."""

    way = ''                            # the end of the path
    loses = ''                          # what the user is asked about

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        add_yes(parser)
        return parser

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Iterable[Sequence[str]]]:
        api = Api(self.app)
        path = api.stack(chosen.stack)
        if not is_wanted(chosen, f'Stack {chosen.stack} {self.loses} Are you sure you want this?'):
            raise exceptions.CommandError(STOPPED)
        api.delete(f'{path}/{self.way}')
        self.left = api.get(f'{path}/left', PATIENCE)['left']
        while self.left['state'] == 'IN_PROGRESS':
            time.sleep(INTERVAL)
            self.left = api.get(f'{path}/left', PATIENCE)['left']
        return COLUMNS, [('/'.join(each['path']), each['type'], each['physical_resource_id'], each['reason'])
                         for each in self.left['resources']]


class ReleaseStackCommand(_Leaves):
    """Delete a stack, keep its objects in the cloud, and list them."""

    way = 'release'
    loses = 'is deleted, and its objects stay in the cloud without it.'


class ForceDeleteStackCommand(_Leaves):
    """Delete a stack in any case, wait for the end, and list what was left in the cloud.

    The exit code is 0 if nothing was left, 2 if something was, and 1 for an error.
    """

    way = 'force'
    loses = 'is deleted in any case, even if objects of it stay in the cloud.'

    def run(self, parsed_args: argparse.Namespace) -> int:
        code = super().run(parsed_args)
        return code or (LEFT if self.left['resources'] else 0)
