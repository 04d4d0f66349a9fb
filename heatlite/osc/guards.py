"""The commands `openstack stack protect`, `unprotect`, `protection show`, `lock` and `unlock`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TypedDict

from osc_lib.command import command

from heatlite.osc.output import Joined, QuietLister, Table
from heatlite.osc.plans import Api

DENIALS = ('update', 'replace', 'delete')
THE_STACK = ''                          # the path of a protection of the whole stack


class _OfStack(command.Command):
    """A command about one stack."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name or id of the stack')
        return parser

    def path(self, api: Api, chosen: argparse.Namespace, of: str) -> str:
        return f'{api.stack(chosen.stack)}/{of}'


class _OfProtections(_OfStack, QuietLister):
    """A command that prints the protections of a stack."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--resource', action='append', metavar='PATH',
                            help='Names of resources from the stack down, separated by slashes; * stands for any '
                                 'text. May be repeated. Default: the stack with everything in it')
        return parser

    def change(self, chosen: argparse.Namespace, **body: list[object]) -> Table:
        api = Api(self.app)
        return table(api.patch(self.path(api, chosen, 'protections'), body)['protections'])


class ShownProtection(TypedDict):
    """A protection as the service shows it. `path`: '' for the stack; `deny`: what is refused."""

    path: str
    deny: list[str]
    reason: str | None


def table(protections: Iterable[ShownProtection]) -> Table:
    return (('path', 'deny', 'reason'), [
        (each['path'] or '(stack)', Joined(each['deny']), each['reason']) for each in protections])


class ProtectStackCommand(_OfProtections):
    """Protect a stack, or resources of it: updates, replacements or deletes of them are refused."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--deny', action='append', choices=DENIALS, help='May be repeated. Default: all')
        parser.add_argument('--reason', default='', help='Shown to users whose changes are refused')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        return self.change(chosen, protections=[
            {'path': path, 'deny': chosen.deny or list(DENIALS), 'reason': chosen.reason}
            for path in dict.fromkeys(chosen.resource or [THE_STACK])])


class UnprotectStackCommand(_OfProtections):
    """Remove protections: that of the stack, or those of the named paths."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--all', action='store_true', help='Remove all protections')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        if chosen.all:
            api = Api(self.app)
            api.delete(self.path(api, chosen, 'protections'))
            return table([])
        return self.change(chosen, remove=chosen.resource or [THE_STACK])


class ShowProtectionsCommand(_OfStack, command.Lister):
    """Show what must not be done to a stack and its resources."""

    def take_action(self, chosen: argparse.Namespace) -> Table:
        api = Api(self.app)
        return table(api.get(self.path(api, chosen, 'protections'))['protections'])


class LockStackCommand(_OfStack, command.ShowOne):
    """Lock a stack for maintenance: changes of it are refused, also those by signals and autoscaling."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--reason', required=True, help='Shown to users whose changes are refused')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Sequence[str]]:
        api = Api(self.app)
        made = api.put(self.path(api, chosen, 'lock'), {'reason': chosen.reason})['lock']
        return tuple(made), tuple(made.values())


class UnlockStackCommand(_OfStack):
    """Remove the lock of a stack."""

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        api.delete(self.path(api, chosen, 'lock'))
