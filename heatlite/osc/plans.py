"""The commands `openstack stack plan ...`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import quote, urlencode

from heatclient import exc
from heatclient.common import http, template_format, template_utils
from heatclient.common import utils as heat_utils
from keystoneauth1 import exceptions as keystone_exceptions
from osc_lib import exceptions
from osc_lib.command import command

from heatlite.osc.output import DocumentCommand, Table, add_page

if TYPE_CHECKING:
    from requests import Response

PATIENCE = 60.0                         # seconds for which a command that waits bears that the service does not answer
PAUSE = 1.0                             # seconds between two tries
PASSING = frozenset({429, 502, 503, 504})
OUTAGES = (exc.HTTPException, exc.CommunicationError, keystone_exceptions.HttpError,
           keystone_exceptions.RetriableConnectionFailure)
CHANGES = 2                             # exit code of `create` for a plan that changes something
LISTED = ('id', 'stack_name', 'action', 'state', 'author', 'creation_time', 'expiry_time')


class ShownChange(TypedDict):
    """A change of a plan, as far as it is read here. `path`: names from the root stack down."""

    path: list[str]
    action: str


class ShownPlan(TypedDict):
    """A plan as the service shows it, with its text."""

    id: str
    state: str
    expiry_time: str
    digest: str
    is_empty: bool
    changes: list[ShownChange]
    text: str


def is_outage(error: Exception) -> bool:
    """Whether a request may succeed if it is repeated: the service, or what is before it, cannot serve it now."""
    return getattr(error, 'code', getattr(error, 'http_status', None)) in (None, *PASSING)


class Api:
    """Requests to the orchestration service. Errors are those of python-heatclient."""

    def __init__(self, app: Any) -> None:
        self.heat = app.client_manager.orchestration
        self._http = self.heat.http_client

    def get(self, path: str, patience: float = 0.0) -> dict[str, Any]:
        """Return the answer to a GET. `patience`: seconds from the first failure on during which it is sent again while
        the service is unavailable; 0: it is not. Raises the last error."""
        last: float | None = None
        while True:
            try:
                found: dict[str, object] = self._http.get(path).json()
                return found
            except OUTAGES as error:
                last = time.monotonic() + patience if last is None else last
                if not is_outage(error) or time.monotonic() >= last:
                    raise
            time.sleep(PAUSE)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        return _content(self._http.post(path, **({} if body is None else {'data': body})))

    def put(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        found: dict[str, object] = self._http.put(path, data=body).json()
        return found

    def patch(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        return _content(self._http.patch(path, data=body))

    def delete(self, path: str) -> None:
        self._http.delete(path)

    def stack(self, name_or_id: str) -> str:
        """Return the path of a stack."""
        found = self.heat.stacks.get(name_or_id, resolve_outputs=False)
        return f'/stacks/{quote(found.stack_name, safe="")}/{found.id}'


def _content(answer: Response) -> dict[str, object]:
    """Return the JSON of an answer; {} if it is empty."""
    return dict(answer.json()) if answer.content else {}


def query(**values: object) -> str:
    """Return the query of a URL; what is None is left out."""
    return '?' + urlencode({name: value for name, value in values.items() if value is not None})


def path_of(plan_id: str, *more: str) -> str:
    return '/'.join(['/plans', quote(plan_id, safe=''), *more])


class _PrintsPlan(DocumentCommand):
    """A command that prints a plan: its text with how to apply it, or JSON without the text."""

    def show(self, chosen: argparse.Namespace, plan: ShownPlan) -> None:
        self.print(chosen, {name: value for name, value in plan.items() if name != 'text'}, (
            plan['text'],
            f"\nPlan {plan['id']} ({plan['state']}, until {plan['expiry_time']}, digest {plan['digest'][:12]})"))


class Planning(_PrintsPlan):
    """A command that plans a create or an update of a stack."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('stack', help='Name of a new stack; name or id of an existing one')
        parser.add_argument('-t', '--template', help='Path or URL of the template')
        parser.add_argument('-e', '--environment', action='append', help='Path or URL; may be repeated')
        parser.add_argument('--parameter', action='append', metavar='KEY=VALUE', help='May be repeated')
        parser.add_argument('--parameter-file', action='append', metavar='KEY=FILE', help='May be repeated')
        parser.add_argument('--existing', action='store_true',
                            help='Keep what is not given: template, environment, parameters')
        parser.add_argument('--clear-parameter', action='append', help='With --existing: use the default again')
        parser.add_argument(
            '--object', action='append', metavar='RESOURCE=ID',
            help='Import the object with this id into a resource; or RESOURCE=name:NAME, RESOURCE=tag:TAG, or both '
                 'with a comma between. The path of a resource in a nested stack has slashes. May be repeated')
        parser.set_defaults(revision=None, delete=False, rollback=None, refresh=False)
        return parser

    def planned(self, api: Api, chosen: argparse.Namespace) -> ShownPlan:
        """Return the new plan, with its text."""
        stack = self._stack(api, chosen)
        if chosen.delete:
            path, body = f'{stack}/plans', {'action': 'delete', **({'refresh': True} if chosen.refresh else {})}
        elif stack is not None:
            path, body = f'{stack}/plans', self._body(api, chosen)
        else:
            path, body = '/plans', {'stack_name': chosen.stack, **self._body(api, chosen)}
        plan_id = api.post(path, body)['plan']['id']
        found: ShownPlan = api.get(path_of(plan_id) + '?format=text')['plan']
        return found

    def _stack(self, api: Api, chosen: argparse.Namespace) -> str | None:
        """Return the path of the stack; None if it does not exist and can be created."""
        try:
            return api.stack(chosen.stack)
        except exc.HTTPNotFound:
            if chosen.delete or chosen.existing or chosen.revision is not None:
                raise
            return None

    def _body(self, api: Api, chosen: argparse.Namespace) -> dict[str, object]:
        files, template = template_utils.process_template_path(
            chosen.template, object_request=http.authenticated_fetcher(api.heat),
            existing=chosen.existing or chosen.revision is not None)
        names: list[str] = []
        more, environment = template_utils.process_multiple_environments_and_files(
            env_paths=chosen.environment, env_list_tracker=names)
        body = {'template': as_written(chosen.template, template), 'files': {**files, **more},
                'environment': environment, 'environment_files': names or None, 'existing': chosen.existing or None,
                'imports': imports(chosen.object) or None, 'parameters': heat_utils.format_all_parameters(
                    chosen.parameter, chosen.parameter_file, chosen.template),
                'clear_parameters': chosen.clear_parameter, 'refresh': chosen.refresh or None,
                'disable_rollback': None if chosen.rollback is None else chosen.rollback == 'disabled'}
        if chosen.revision is not None:             # what was not asked for would be a source beside the revision
            body = {'revision': chosen.revision, **{name: value for name, value in body.items() if value != {}}}
        return {name: value for name, value in body.items() if value is not None}


class CreatePlanCommand(Planning):
    """Show what a create, an update or a delete of a stack would do, and store it as a plan.

    The exit code is 0 if nothing would change, 2 if something would, and 1 for an error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--revision', type=int, metavar='NUMBER',
                            help='Plan to go back to the definition of this revision, instead of giving one')
        parser.add_argument('--delete', action='store_true', help='Plan to delete the stack')
        parser.add_argument('--rollback', choices=['enabled', 'disabled'], help='What a failure leads to')
        parser.add_argument('--refresh', '--converge', dest='refresh', action='store_true',
                            help='Compare an update with what the cloud really has, now and when it is applied')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> int:
        plan = self.planned(Api(self.app), chosen)
        self.show(chosen, plan)
        return 0 if plan['is_empty'] else CHANGES


def imports(given: Sequence[str] | None) -> dict[str, dict[str, str]]:
    """Return what values of `--object` mean to the service. Raises CommandError."""
    found = {}
    for text in given or ():
        resource, sign, wanted = text.partition('=')
        if not (resource and sign and wanted):
            raise exceptions.CommandError(f'--object {text}: RESOURCE=ID is wanted')
        parts = [part.partition(':') for part in wanted.split(',')]
        is_query = all(key in ('name', 'tag') for key, _colon, _value in parts)
        found[resource] = {key: value for key, _colon, value in parts} if is_query else {'id': wanted}
    return found


def as_written(path: str | None, parsed: object) -> object:
    """Return the text of a template in a file, so that the service can name lines; what was parsed of it if names of
    files in it had to be changed for sending, and of templates from elsewhere."""
    try:
        text = Path(path or '').read_text(encoding='utf-8')
        return text if template_format.parse(text) == parsed else parsed
    except (OSError, ValueError):
        return parsed


class _OfPlan(command.Command):
    """A command about one plan."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', help='Id of the plan')
        return parser


class ShowPlanCommand(_OfPlan, _PrintsPlan):
    """Show a plan."""

    def take_action(self, chosen: argparse.Namespace) -> None:
        self.show(chosen, Api(self.app).get(path_of(chosen.plan) + '?format=text')['plan'])


class ListPlansCommand(command.Lister):
    """List plans, newest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_page(parser, 'plan')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> Table:
        found = Api(self.app).get('/plans' + query(limit=chosen.limit, marker=chosen.marker))['plans']
        return LISTED, [[plan[name] for name in LISTED] for plan in found]


class ApprovePlanCommand(_OfPlan):
    """Approve a plan."""

    def take_action(self, chosen: argparse.Namespace) -> None:
        Api(self.app).post(path_of(chosen.plan, 'approve'))


class ApplyPlanCommand(_OfPlan, command.ShowOne):
    """Do what a plan says, or nothing; print the id of the stack."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--digest', help='Refuse a plan with another digest than this one')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> tuple[Sequence[str], Sequence[str]]:
        made = Api(self.app).post(path_of(chosen.plan, 'apply'), {'digest': chosen.digest})
        return ('id',), (made['stack']['id'],)


class DeletePlanCommand(command.Command):
    """Delete plans that were not applied."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', nargs='+', help='Ids of the plans')
        return parser

    def take_action(self, chosen: argparse.Namespace) -> None:
        api = Api(self.app)
        for plan_id in chosen.plan:
            api.delete(path_of(plan_id))
