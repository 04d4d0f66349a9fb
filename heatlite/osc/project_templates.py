"""The command `openstack stack template generate`."""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml
from osc_lib.command import command

from heatlite.osc.output import Table
from heatlite.osc.plans import Api

COLUMNS = ('type', 'resources')


class GenerateTemplateCommand(command.Lister):
    """Write a template of the objects of the project, and an environment with the imports to it; list what is in it.

    Without options all objects are taken that are in no stack.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('template', help='File for the template')
        parser.add_argument('environment', help='File for the environment')
        parser.add_argument('--type', action='append', dest='types', help='Only objects of this resource type')
        parser.add_argument('--tag', action='append', dest='tags', help='Only objects with this tag')
        parser.add_argument('--name', help='Only objects whose name fits this pattern, such as web-*')
        parser.add_argument('--network', action='append', dest='networks',
                            help='Only objects in this network (name or id), and the network itself')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        selection = {name: getattr(chosen, name) for name in ('types', 'tags', 'name', 'networks')}
        found = Api(self.app).post('/templates/generate', {
            name: value for name, value in selection.items() if value})
        Path(chosen.template).write_text(found['template'], encoding='utf-8')
        Path(chosen.environment).write_text(yaml.safe_dump({'resource_registry': {'resources': {
            name: {'import': wanted} for name, wanted in found['imports'].items()}}}), encoding='utf-8')
        if found['in_stacks']:
            self.app.stderr.write(f"Left out, as stacks have them: {found['in_stacks']} objects\n")
        for each in found['unread']:
            self.app.stderr.write(f"Not read: {each['what']}: {each['reason']}\n")
        return COLUMNS, sorted(found['summary'].items())
