"""Software configs: immutable texts with inputs and outputs for software on servers."""

from __future__ import annotations

from sqlalchemy import Connection

from heatlite.api import access, deployment_logins, finding, schemas, views
from heatlite.api.query import LONGEST_NAME, Query, boolean, text
from heatlite.api.wsgi import Request
from heatlite.common import exception
from heatlite.common.i18n import _
from heatlite.db import software_configs
from heatlite.rpc import messages
from heatlite.rpc.software import shown_config

View = dict[str, object]

TYPES = ('String', 'Number', 'CommaDelimitedList', 'Json', 'Boolean')
_INPUT_KEYS = ('name', 'type', 'default', 'description', 'replace_on_change', 'value')
_OUTPUT_KEYS = ('name', 'type', 'description', 'error_output')


def index(req: Request) -> View:
    wanted = schemas.ListConfigs.parse(Query(req.query))
    project_id = finding.listed_project(req, wanted.global_tenant, 'software_configs:global_index')
    with req.db.reader() as tx:
        found = software_configs.page(tx, project_id, wanted.limit, wanted.marker)
    with_project = bool(req.context.is_admin) or wanted.global_tenant
    return {'software_configs': [views.config_summary(each, with_project) for each in found]}


def show(req: Request, config_id: str) -> View:
    """Return a config. Callers who may not see access get no logins of the deployment that it may be derived for."""
    with req.db.reader() as tx:
        found = shown_config(_config(req, tx, config_id))
    return {'software_config': found if access.may_see(req) else deployment_logins.without_logins(found)}


def create(req: Request) -> View:
    body = req.require_json()
    options = body.get('options') or {}
    if not isinstance(options, dict):
        raise exception.InvalidField('options', _('a map'), options)
    made = req.call(messages.CreateSoftwareConfig(
        name=text(body, 'name', LONGEST_NAME), group=text(body, 'group', LONGEST_NAME), config=body.get('config'),
        inputs=tuple(_items(body, 'inputs', _INPUT_KEYS)), outputs=tuple(_items(body, 'outputs', _OUTPUT_KEYS)),
        options=options))
    return {'software_config': made}


def delete(req: Request, config_id: str) -> None:
    with req.db.reader() as tx:
        found = _config(req, tx, config_id)
    req.call(messages.DeleteSoftwareConfig(found.id))


def _config(req: Request, tx: Connection, config_id: str) -> software_configs.Config:
    found = software_configs.show(tx, config_id)
    if found is None or not req.context.may_see(found.project_id):
        raise exception.NotFound(_('Software config with id %(id)s not found'), id=config_id)
    return found


def _items(body: View, key: str, known: tuple[str, ...]) -> list[View]:
    """Return inputs or outputs with their defaults. Raises HTTPBadRequest for invalid ones."""
    found = body.get(key) or []
    if not isinstance(found, list):
        raise exception.InvalidField(key, _('a list of maps'), found)
    return [_item(key, each, known) for each in found]


def _item(key: str, value: object, known: tuple[str, ...]) -> View:
    if not isinstance(value, dict):
        raise exception.InvalidField(key, _('a list of maps'), value)
    unknown = [name for name in value if name not in known]
    if unknown:
        raise exception.InvalidField(key, _('items with some of the keys %s') % ', '.join(known), unknown)
    if not isinstance(value.get('name'), str):
        raise exception.InvalidField(key, _('items with a name'), value)
    completed = {'type': 'String', **{name: each for name, each in value.items() if each is not None}}
    if 'value' in value:
        completed['value'] = value['value']
    if completed['type'] not in TYPES:
        raise exception.InvalidField(key, _('a type of %s') % ', '.join(TYPES), completed['type'])
    if 'description' in value:
        completed['description'] = _description(key, value['description'])
    if key == 'outputs':
        completed['error_output'] = boolean('error_output', completed.get('error_output', False))
    elif boolean('replace_on_change', completed.pop('replace_on_change', False)):
        completed['replace_on_change'] = True
    return completed


def _description(key: str, value: object) -> str:
    if value is not None and not isinstance(value, str | int):
        raise exception.InvalidField(key, _('a text as description'), value)
    return '' if value is None else str(value)
