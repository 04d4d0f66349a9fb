"""The commands `openstack stack set ...`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TypedDict
from urllib.parse import quote

from heatclient.common import http, template_utils
from heatclient.common import utils as heat_utils
from osc_lib import exceptions
from osc_lib.command import command

from heatlite.osc.output import AsJson, DocumentCommand, Table, add_page, add_yes, is_wanted
from heatlite.osc.plans import Api, as_written, query

LISTED = ('id', 'name', 'status', 'status_reason')
MEMBERS = ('name', 'region_name', 'project_id', 'wave', 'state', 'stack_id', 'action', 'status_reason', 'updated_time')
OPERATIONS = ('number', 'action', 'outcome', 'author', 'creation_time')
OUTCOMES = ('name', 'action', 'status', 'status_reason', 'time')
DRIFT = ('name', 'is_drifted', 'summary', 'looked_at', 'reason')
SETTINGS = ('max_concurrent', 'failure_tolerance', 'on_removal')
DIFFERS = 2                             # exit code of a preview that would change something, and of drift
MEMBER_KEYS = {'name': 'name', 'region': 'region_name', 'project': 'project_id', 'credential': 'credential_secret_id'}


def path_of(stack_set: str, *more: str) -> str:
    return '/'.join(['/stack_sets', quote(stack_set, safe=''), *more])


def _member(text: str) -> dict[str, str]:
    """Return what a value of `--member` means to the service. Raises CommandError."""
    found = {}
    for part in text.split(','):
        key, sign, value = part.partition('=')
        if key not in MEMBER_KEYS or not sign or not value:
            raise exceptions.CommandError(f'--member {text}: name=NAME,region=REGION,project=ID,credential=SECRET is '
                                          'wanted')
        found[MEMBER_KEYS[key]] = value
    return found


def _overrides(given: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return what the values of `--override` mean to the service. Raises CommandError."""
    found: dict[str, dict[str, str]] = {}
    for text in given:
        member, colon, assignment = text.partition(':')
        key, sign, value = assignment.partition('=')
        if not (member and colon and key and sign):
            raise exceptions.CommandError(f'--override {text}: MEMBER:KEY=VALUE is wanted')
        found.setdefault(member, {})[key] = value
    return found


def _query(chosen: argparse.Namespace) -> dict[str, object] | None:
    """Return the query for members that the options say, or None."""
    found: dict[str, object] = {}
    if chosen.all_regions:
        found |= {'regions': 'all', 'except': chosen.except_region or []}
    projects = {'domain_id': chosen.project_domain, 'parent_id': chosen.project_parent, 'tags': chosen.project_tag}
    given = {name: value for name, value in projects.items() if value}
    if given or chosen.all_projects:
        found['projects'] = {**given, **({'except': chosen.except_project} if chosen.except_project else {})}
    return found or None


class _WithSet(command.Command):
    """A command about one stack set."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack_set', help='Name or id of the stack set; name of a new one')
        return parser


class _WithSettings(_WithSet):
    """A command that says what a stack set shall be."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('-t', '--template', help='Path or URL of the template of the members')
        parser.add_argument('-e', '--environment', action='append', help='Path or URL; may be repeated')
        parser.add_argument('--parameter', action='append', metavar='KEY=VALUE', help='May be repeated')
        parser.add_argument('--override', action='append', metavar='MEMBER:KEY=VALUE',
                            help='Another parameter for one member; may be repeated')
        parser.add_argument('--member', action='append', metavar='name=NAME,region=REGION,project=ID,credential=SECRET',
                            help='A member; each part may be left out. May be repeated')
        parser.add_argument('--all-regions', action='store_true', help='Members are all regions of the catalogue')
        parser.add_argument('--except-region', action='append', help='With --all-regions: but not this one')
        parser.add_argument('--all-projects', action='store_true', help='Members are all projects of the caller')
        parser.add_argument('--project-domain', metavar='ID', help='Members are those in this domain')
        parser.add_argument('--project-parent', metavar='ID', help='Members are those whose parent this is')
        parser.add_argument('--project-tag', action='append', metavar='TAG',
                            help='Members are those with this tag; may be repeated')
        parser.add_argument('--except-project', action='append', metavar='ID', help='With projects: but not this one')
        parser.add_argument('--max-concurrent', metavar='NUMBER', help='Members of one wave, or per cent as in 25%%')
        parser.add_argument('--failure-tolerance', metavar='NUMBER', help='Members that may fail, or per cent')
        parser.add_argument('--region-order', action='append', metavar='REGION', help='In this order; may be repeated')
        parser.add_argument('--on-removal', choices=('delete', 'keep'), help='What becomes of stacks of former members')
        parser.add_argument('--member-timeout', type=int, metavar='MINUTES', help='Of an action of a member')
        parser.add_argument('--timeout', type=int, metavar='MINUTES', help='Of an operation of the set')
        return parser

    def body(self, api: Api, chosen: argparse.Namespace) -> dict[str, object]:
        files, template = template_utils.process_template_path(
            chosen.template, object_request=http.authenticated_fetcher(api.heat), existing=True)
        more, environment = template_utils.process_multiple_environments_and_files(env_paths=chosen.environment)
        body = {
            'template': as_written(chosen.template, template) if chosen.template else None,
            'files': {**files, **more} or None, 'environment': environment or None,
            'parameters': heat_utils.format_all_parameters(chosen.parameter, None, chosen.template) or None,
            'overrides': _overrides(chosen.override) if chosen.override else None,
            'members': [_member(each) for each in chosen.member] if chosen.member else None,
            'member_query': _query(chosen),
            'region_order': chosen.region_order, 'member_timeout_mins': chosen.member_timeout,
            'timeout_mins': chosen.timeout, **{name: getattr(chosen, name) for name in SETTINGS}}
        return {name: value for name, value in body.items() if value is not None}


class CreateStackSetCommand(_WithSettings, command.ShowOne):
    """Create stacks of one template in many regions and projects."""

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Sequence[object]]:
        api = Api(self.app)
        made = api.post('/stack_sets', {'name': chosen.stack_set, **self.body(api, chosen)})['stack_set']
        return ('id', 'name'), (made['id'], made['name'])


class UpdateStackSetCommand(_WithSettings):
    """Update a stack set. What is not given is kept; members that have failed are tried again."""

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        api.patch(path_of(chosen.stack_set), self.body(api, chosen))


class PreviewStackSetCommand(_WithSettings, DocumentCommand):
    """Show what an update would do in each member. The exit code is 0 if nothing would change, and 2 otherwise."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--new', action='store_true', help='Preview a create')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> int:
        api = Api(self.app)
        body = self.body(api, chosen)
        found = (api.post('/stack_sets/preview', {'name': chosen.stack_set, **body}) if chosen.new
                 else api.post(path_of(chosen.stack_set, 'preview'), body))['preview']
        self.print(chosen, found, _lines(found['members']))
        return DIFFERS if set(found['summary']) - {'none'} else 0


class PreviewedMember(TypedDict):
    """`changes`: how many resources each action is about; None if they are not known."""

    name: str
    action: str
    reason: str | None
    changes: dict[str, int] | None


def _lines(members: Iterable[PreviewedMember]) -> list[str]:
    """Return a preview as text for people."""
    found = []
    for each in members:
        changes = ', '.join(f'{count} {key}' for key, count in (each['changes'] or {}).items() if count)
        detail = each['reason'] or changes
        found.append(f"{each['name']}: {each['action']}{f' ({detail})' if detail else ''}")
    return found


class ListStackSetsCommand(command.Lister):
    """List stack sets, newest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_page(parser, 'set')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        found = Api(self.app).get('/stack_sets' + query(limit=chosen.limit, marker=chosen.marker))['stack_sets']
        return LISTED, [[each[name] for name in LISTED] for each in found]


class ShowStackSetCommand(_WithSet, command.ShowOne):
    """Show a stack set."""

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Sequence[object]]:
        found = Api(self.app).get(path_of(chosen.stack_set))['stack_set']
        names = [name for name in found if name != 'links']
        return names, [AsJson(found[name]) if isinstance(found[name], dict | list) else found[name] for name in names]


class DeleteStackSetCommand(_WithSet):
    """Delete a stack set with its stacks."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--keep', action='store_true', help='Keep the stacks of the members')
        add_yes(parser)
        return parser

    def take_action(self, chosen: argparse.Namespace) -> None:
        what = 'keep its stacks' if chosen.keep else 'delete its stacks'
        if is_wanted(chosen, f'Delete the stack set {chosen.stack_set} and {what}?'):
            Api(self.app).delete(path_of(chosen.stack_set) + ('?keep=true' if chosen.keep else ''))


class StopStackSetCommand(_WithSet):
    """Start no further member of a stack set; what is in progress ends by itself."""

    def take_action(self, chosen: argparse.Namespace) -> None:
        Api(self.app).post(path_of(chosen.stack_set, 'stop'))


class ListMembersCommand(_WithSet, command.Lister):
    """List the members of a stack set with their states."""

    def take_action(self, chosen: argparse.Namespace) -> Table:
        found = Api(self.app).get(path_of(chosen.stack_set, 'members'))['members']
        return MEMBERS, [[each[name] for name in MEMBERS] for each in found]


class ListOperationsCommand(_WithSet, command.Lister):
    """List the operations of a stack set, newest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_page(parser, 'operation', by_number=True)
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        path = path_of(chosen.stack_set, 'operations') + query(limit=chosen.limit, marker=chosen.marker)
        return OPERATIONS, [[each[name] for name in OPERATIONS] for each in Api(self.app).get(path)['operations']]


class ShowOperationCommand(_WithSet, command.Lister):
    """List what an operation of a stack set has done to each member."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('operation', type=int, help='Number of the operation')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        path = path_of(chosen.stack_set, 'operations', str(chosen.operation))
        return OUTCOMES, [[each[name] for name in OUTCOMES]
                          for each in Api(self.app).get(path)['operation']['members']]


class ShowStackSetDriftCommand(_WithSet, command.Lister):
    """Compare the stacks of a stack set with their clouds.

    The exit code is 0 if no member has drifted, 2 if one has, and 1 for an error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--stored', action='store_true',
                            help='Show what the last looks have found, without asking the services of the members')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        api, path = Api(self.app), path_of(chosen.stack_set, 'drift')
        self.found = (api.get(path) if chosen.stored else api.post(path))['drift']
        return DRIFT, [[AsJson(each[name]) if name == 'summary' else each[name] for name in DRIFT]
                       for each in self.found['members']]

    def run(self, parsed_args: argparse.Namespace) -> int:
        code: int = super().run(parsed_args)
        return code or (DIFFERS if self.found['is_drifted'] else 0)
