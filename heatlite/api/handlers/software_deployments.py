"""Software deployments: which config runs on which server, and its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from sqlalchemy import Connection

from heatlite.api import access, deployment_logins, finding
from heatlite.api.json_text import JsonText, write
from heatlite.api.query import LONGEST_ID, Query, text
from heatlite.api.rendering import PIECE_TEXT
from heatlite.api.results import StreamedList
from heatlite.api.wsgi import Request
from heatlite.common import exception, limits
from heatlite.common.i18n import _
from heatlite.db import software_configs, software_deployments
from heatlite.db.software_deployments import Deployment
from heatlite.rpc import messages
from heatlite.rpc.software import place_of_result, shown_config, shown_deployment

View = dict[str, object]

LONGEST_PROJECT_ID, LONGEST_WORD = 64, 32       # characters
BLOCK = 100         # deployments that are in memory at once while a list is sent, fewer where they are large


def index(req: Request) -> StreamedList:
    """Each deployment may have inputs and outputs of a megabyte: a block of them is read when another is sent."""
    project_id, server_id, database = finding.listed_project(req), Query(req.query).text('server_id'), req.db

    def block(last: Deployment | None) -> tuple[list[Deployment], bool]:
        with database.reader() as tx:
            return software_deployments.page(tx, project_id, server_id, last, BLOCK, limits.MOST_PAGE)

    def shown(found: list[Deployment], goes_on: bool) -> Iterator[JsonText]:
        while found:
            for each in found:
                yield JsonText(write(shown_deployment(each)))
            found, goes_on = req.handled(partial(block, found[-1])) if goes_on else ([], False)

    first, goes_on = block(None)
    return StreamedList('software_deployments', shown(first, goes_on), len(first), is_large=True)


def metadata(req: Request, server_id: str) -> StreamedList:
    """Configs deployed on a server, in the order of their names.

    Agents in servers poll it, so it never calls an engine. Callers who are none and may not see access get no logins.
    """
    project_id = finding.listed_project(req)
    with req.db.reader() as tx:
        found = software_deployments.configs_of_server(tx, project_id, server_id)
    size = sum(len(text) for each in found if isinstance(text := each.config.get('config'), str))
    role, sees_access = req.conf.heat_stack_user_role, access.may_see(req)

    def shown(each: software_configs.Config) -> Mapping[str, object]:
        config = shown_config(each)
        sees_logins = sees_access or access.is_agent(req.context, each.project_id, role)
        return config if sees_logins else deployment_logins.without_logins(config)

    return StreamedList('metadata', (JsonText(write(shown(each))) for each in found), len(found),
                        is_large=size > PIECE_TEXT)


def show(req: Request, deployment_id: str) -> View:
    """One deployment. While it waits for a result that the service has to fetch, an engine looks for it first; without
    an engine, what is stored is shown."""
    with req.db.reader() as tx:
        found = _deployment(req, tx, deployment_id)
        is_awaited = (found.status == 'IN_PROGRESS' and found.project_id == req.context.project_id
                      and _is_fetched(software_configs.show(tx, found.config_id)))
    if is_awaited:
        finding.read_now(req, messages.CollectDeployment(found.id))
        with req.db.reader() as tx:
            found = _deployment(req, tx, deployment_id)
    return {'software_deployment': shown_deployment(found)}


def _is_fetched(config: software_configs.Config | None) -> bool:
    return config is not None and place_of_result(config.config) is not None


def create(req: Request) -> View:
    body = req.require_json()
    with req.db.reader() as tx:
        _check_config(req, tx, body.get('config_id'))
    server_id = text(body, 'server_id', LONGEST_ID)
    if not server_id:
        raise exception.InvalidField('server_id', _('the id of a server'), server_id)
    made = req.call(messages.CreateSoftwareDeployment(
        config_id=body['config_id'], server_id=server_id, input_values=_map(body, 'input_values') or {},
        **_state(body), stack_user_project_id=text(body, 'stack_user_project_id', LONGEST_PROJECT_ID) or None))
    return {'software_deployment': made}


def update(req: Request, deployment_id: str) -> View:
    """Update a deployment. Null, empty and missing values leave the stored ones unchanged."""
    body = req.require_json()
    with req.db.reader() as tx:
        found = _deployment(req, tx, deployment_id)
        if body.get('config_id'):
            _check_config(req, tx, body['config_id'])
    made = req.call(messages.UpdateSoftwareDeployment(
        deployment_id=found.id, config_id=body.get('config_id') or None,
        input_values=_map(body, 'input_values'), output_values=_map(body, 'output_values'),
        **_state(body)))
    return {'software_deployment': made}


def delete(req: Request, deployment_id: str) -> None:
    with req.db.reader() as tx:
        found = _deployment(req, tx, deployment_id)
    req.call(messages.DeleteSoftwareDeployment(found.id))


def _deployment(req: Request, tx: Connection, deployment_id: str) -> software_deployments.Deployment:
    found = software_deployments.show(tx, deployment_id)
    if found is None or not req.context.may_see(found.project_id, found.stack_user_project_id):
        raise exception.NotFound(_('Deployment with id %(id)s not found'), id=deployment_id)
    return found


def _check_config(req: Request, tx: Connection, config_id: object) -> None:
    found = software_configs.show(tx, config_id) if isinstance(config_id, str) else None
    if found is None or not req.context.may_see(found.project_id):
        raise exception.NotFound(_('Software config with id %(id)s not found'), id=config_id)


def _map(body: View, key: str) -> View | None:
    value = body.get(key) or None
    if value is not None and not isinstance(value, dict):
        raise exception.InvalidField(key, _('a map'), value)
    return value


def _state(body: View) -> dict[str, str | None]:
    return {'action': text(body, 'action', LONGEST_WORD) or None, 'status': text(body, 'status', LONGEST_WORD) or None,
            'status_reason': text(body, 'status_reason') or None}
