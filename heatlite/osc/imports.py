"""The command `openstack stack import`."""

from __future__ import annotations

import argparse

from osc_lib import exceptions

from heatlite.osc.plans import Api, Planning, ShownPlan, path_of

ALONE = frozenset({'import', 'none'})


class ImportObjectsCommand(Planning):
    """Make objects that exist resources of a new or an existing stack, and nothing else.

    Whatever else the template would change is shown and refused; `stack plan create --object` plans both.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--dry-run', action='store_true', help='Show what would be done, and do nothing')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        plan = self.planned(api, chosen)
        others = ['/'.join(change['path']) for change in plan['changes'] if change['action'] not in ALONE]
        if others or chosen.dry_run:
            self._show(chosen, plan, None)
            api.delete(path_of(plan['id']))
            if others:
                raise exceptions.CommandError(f"This is more than an import: {', '.join(others)}")
            return
        made = api.post(path_of(plan['id'], 'apply'), {'digest': plan['digest']})
        self._show(chosen, plan, made['stack']['id'])

    def _show(self, chosen: argparse.Namespace, plan: ShownPlan, stack_id: str | None) -> None:
        self.print(chosen, {'changes': plan['changes'], 'stack_id': stack_id},
                   [plan['text'], *([] if stack_id is None else ['', f'Stack {stack_id} owns them now.'])])
