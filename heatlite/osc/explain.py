"""The command `openstack stack explain`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from osc_lib.command import command

from heatlite.osc.plans import Api

SHOWN = 10                              # entries of each list


class ExplainStack(command.Command):
    """Explain what a stack waits for, or why it failed, and what to do."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        parser.add_argument('--json', action='store_true', help='Print the explanation as JSON')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        stack = api.heat.stacks.get(chosen.stack, resolve_outputs=False)
        found = api.get(f'/stacks/{quote(stack.stack_name, safe="")}/{stack.id}/explain')['explanation']
        print(json.dumps(found, indent=2) if chosen.json else '\n'.join(lines(found)), file=self.app.stdout)


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an explanation."""
    yield f"{found['stack_name']} {found['action']}_{found['status']} since {found['since']}"
    yield found['summary']
    for each in found['causes'][:SHOWN]:
        yield f"  failed: {'/'.join(each['path'])} ({each['type']}) {each['action']} at {each['time']}:"
        yield f"    {each['reason']}"
        if each['advice']:
            yield f"    {each['advice']}"
    for each in found['waiting_for'][:SHOWN]:
        yield (f"  waits for: {'/'.join(each['path'])} ({each['type']}) {each['action']} for {each['seconds']} s, "
               f"object {each['physical_resource_id'] or 'not known yet'}")
    for each in found['blocked'][:SHOWN]:
        needs = ', '.join('/'.join(path) for path in each['waits_for'])
        yield f"  not begun: {'/'.join(each['path'])}" + (f', needs {needs}' if needs else '')
    for path in found['not_started'][:SHOWN]:
        yield f"  not started because of it: {'/'.join(path)}"
    if found['gives_up_at']:
        yield f"  gives up at {found['gives_up_at']}"
    if found['critical_path']:
        yield '  slowest chain: ' + ', '.join(
            f"{'/'.join(each['path'])} {each['seconds']} s" for each in found['critical_path'][-SHOWN:])
