"""The matrix against the REST API in this process."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from urllib.parse import urlencode

import sqlalchemy as sa

from heatlite.api import openapi, query
from heatlite.api.cfn import deploy
from heatlite.api.query_keys import QUERY_KEYS
from heatlite.common import exception
from heatlite.db import stack_sets, tables
from heatlite.db.connection import Database
from heatlite.planning import drift
from heatlite.planning.drift import DriftFinding, PropertyDrift, ResourceDrift
from heatlite.rpc import messages
from tests.api import in_process, rows
from tests.isolation import matrix
from tests.isolation.matrix import WORD, Pair, Request, Things
from tests.isolation.report import Report

VICTIM, ATTACKER, SERVICE = 'f' * 32, 'e' * 32, '5' * 32
OWN_USERS = 'c' * 32
ROLES = {                                       # caller -> (project, roles)
    'nobody': (None, ''), 'no role': (ATTACKER, ''), 'reader': (ATTACKER, 'reader'),
    'member': (ATTACKER, 'member,reader'), 'stack user': (OWN_USERS, 'heat_stack_user'),
    'service': (SERVICE, 'service'), 'no project': ('', 'member,reader'),
    'stack user of a project': (ATTACKER, 'heat_stack_user')}


def things(project: str, first: int, word: str, users: str) -> Things:
    """Numbers from `first` on are the project's."""
    return Things(
        project_id=project, stack_name=f'{word}-stack', stack_id=rows.number(1, first), nested_name=f'{word}-nested',
        nested_id=rows.number(1, first + 1), deleted_name=f'{word}-deleted', deleted_id=rows.number(1, first + 2),
        resource_name=f'{word}-resource', handle_name=f'{word}-handle', physical_id=f'{word}-physical',
        event_id=rows.number(2, first), snapshot_id=rows.number(3, first), plan_id=rows.number(11, first),
        output_key=f'{word}-output',
        config_id=rows.number(4, first), deployment_id=rows.number(5, first), server_id=rows.number(6, first),
        user_project_id=users, tag=f'{word}-tag', username=f'{word}-user')


VICTIMS = things(VICTIM, 11, f'{WORD}-a', 'd' * 32)
OWN = things(ATTACKER, 31, 'mine-b', OWN_USERS)


def plant(tx: Any, of: Things, first: int) -> None:
    """One of everything. Each text holds the word of its owner."""
    word = of.stack_name.removesuffix('-stack')

    def text(name: str) -> str:
        return f'{word}-{name}'

    def as_json(name: str) -> str:
        return json.dumps({text('key'): text(name)})

    template_id = rows.number(7, first)
    common = {'project_id': of.project_id, 'username': of.username, 'template_id': template_id,
              'reason': text('reason'), 'description': text('description'),
              'parameters': json.dumps({'OS::stack_id': of.stack_id, text('parameter'): text('value')}),
              'outputs': json.dumps([{'output_key': of.output_key, 'description': text('about'),
                                      'output_value': text('result')}]), 'user_project_id': of.user_project_id}
    put = tx.execute
    put(sa.insert(tables.files).values(id=rows.number(9, first), content=as_json('file')))
    put(sa.insert(tables.template).values(
        id=template_id, document=json.dumps({**rows.TEMPLATE, 'description': text('template')}),
        environment=json.dumps({'parameters': {
            text('parameter'): text('value'), 'template': json.dumps(rows.TEMPLATE),
            'members': [{'name': text('member'), 'region_name': text('region')}]}}), files_id=rows.number(9, first),
        created_at=rows.START, stack_id=of.stack_id))
    for row in (rows.stack(of.stack_id, of.stack_name, first, tags=json.dumps([of.tag]), **common),
                rows.stack(of.nested_id, of.nested_name, first + 1, owner_id=of.stack_id, root_id=of.stack_id,
                           parent_resource=of.resource_name, depth=1, **common),
                rows.stack(of.deleted_id, of.deleted_name, first + 2, live=None, deleted_at=rows.minutes(90),
                           **common)):
        put(sa.insert(tables.stack).values(row))
        put(sa.insert(tables.lease).values(stack_id=row['id'], epoch=1, wanted=False))
    put(sa.insert(tables.stack_tag).values(stack_id=of.stack_id, tag=of.tag))
    heavy = {name: as_json(name) for name in ('properties', 'definition', 'metadata', 'attributes')}
    for stack_id in (of.stack_id, of.nested_id):
        for number, name, kind, physical in (
                (1, of.resource_name, text('type'), of.nested_id),
                (2, of.handle_name, 'OS::Heat::WaitConditionHandle', None),
                (3, text('server'), 'OS::Nova::Server', of.server_id),
                (4, text('thing'), text('kind'), of.physical_id)):
            put(sa.insert(tables.resource).values(rows.resource(
                stack_id, number, name, kind, physical_id=physical, reason=text('because'), template_id=template_id)
                | heavy | {'uuid': rows.number(8, 100 * first + number)}))
        put(sa.insert(tables.resource_data).values(stack_id=stack_id, resource_id=2, key='user_id', value=text('guest'),
                                                   method=None))
    put(sa.insert(tables.resource).values(rows.resource(
        of.stack_id, 90, stack_sets.RESOURCE, stack_sets.TYPE, physical_id=of.nested_id)))
    for stack_id, number in ((of.stack_id, first), (of.nested_id, first + 1)):
        put(sa.insert(tables.event).values(rows.event(
            number, stack_id, of.resource_name, text('type'), 'CREATE', 'COMPLETE', reason=text('event'),
            physical_id=of.physical_id, properties=as_json('before'))))
    put(sa.insert(tables.snapshot).values(rows.snapshot(
        first, of.stack_id, project_id=of.project_id, name=text('snapshot'), reason=text('kept'),
        data=json.dumps({**rows.EXPORT, 'name': of.stack_name}))))
    put(sa.insert(tables.revision).values(rows.revision(
        of.stack_id, 1, author=of.username, author_id=text('author'), template_id=template_id, parameters=json.dumps(
            {'OS::stack_id': of.stack_id, text('parameter'): text('value')}))))
    put(sa.insert(tables.plan).values(rows.plan(
        first, of.stack_id, project_id=of.project_id, stack_name=of.stack_name, author=of.username,
        document=json.dumps({**rows.PLANNED, 'fails': text('fails')}), request=as_json('request'))))
    put(sa.insert(tables.guard).values(
        stack_id=of.stack_id, protections=json.dumps([{'path': of.resource_name, 'deny': ['delete'],
                                                       'reason': text('protection')}]),
        lock=json.dumps({'reason': text('lock'), 'owner_id': 'u', 'owner': of.username,
                         'locked_at': '2026-01-01T00:00:00Z'})))
    put(sa.insert(tables.drift).values(stack_id=of.stack_id, report=json.dumps(drift.to_json(drift.report(
        '2026-01-01T00:00:00Z', 'request', [ResourceDrift(
            (of.resource_name,), text('type'), DriftFinding.CHANGED, physical_id=of.physical_id,
            properties=(PropertyDrift((text('property'),), text('expected'), text('actual')),))])))))
    put(sa.insert(tables.software_config).values(rows.config(
        first, of.project_id, name=text('config'), group=text('group'), config=json.dumps(
            {'config': text('script'), 'inputs': [], 'outputs': [], 'options': {text('option'): text('choice')}}))))
    put(sa.insert(tables.software_deployment).values(rows.deployment(
        first, of.project_id, status_reason=text('told'), input_values=as_json('input'),
        output_values=as_json('output'), stack_user_project_id=of.user_project_id)))


class Recorder:
    """In the place of the engine's client: keeps what would have been sent, and is never there."""

    def __init__(self) -> None:
        self.sent: list[messages.Message] = []

    def call(self, context: Any, message: messages.Message) -> Any:
        self.sent.append(message)
        raise exception.MessagingTimeout(seconds=60)

    def wake(self, stack_id: str, engine_id: str | None = None) -> None:
        raise AssertionError('the API wakes nobody')


class Place:
    """The API over planted rows."""

    def __init__(self, folder: Any) -> None:
        self.database = Database(f'sqlite:///{folder}/db.sqlite')
        tables.metadata.create_all(self.database.engine)
        with self.database.engine.begin() as tx:
            plant(tx, VICTIMS, 11)
            plant(tx, OWN, 31)
        self.engine = Recorder()
        conf = in_process.options(hidden_stack_tags=[], enable_stack_abandon=True, enable_stack_adopt=True)
        self.app = in_process.build(conf, self.database, self.engine)
        self.cfn = deploy.build(conf, self.database, self.engine, identity=in_process.Verified)
        self.statements: list[str] = []
        for engine in (self.database.engine, self.database._reading):      # they have pools of their own
            sa.event.listen(engine, 'before_cursor_execute', self._note)

    def _note(self, _connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        self.statements.append(statement)

    def close(self) -> None:
        self.database.close()

    def ask(self, request: Request, project: str | None = None) -> tuple[int, str, list[str], list[messages.Message]]:
        """(status, headers and body, statements, messages)."""
        home, roles = ROLES[request.caller]
        self.statements.clear()
        self.engine.sent.clear()
        answer = in_process.ask(self.app, request.method, request.url, request.body, project=project or home,
                                roles=roles)
        headers = '\n'.join(f'{name}: {value}' for name, value in answer.headerlist
                            if name.lower() not in ('x-openstack-request-id', 'date', 'content-length'))
        return answer.status_code, f'{headers}\n\n{answer.text}', list(self.statements), list(self.engine.sent)

    def ask_cfn(self, request: Request) -> tuple[int, str, list[str], list[messages.Message]]:
        """The same of an action of the CFN API."""
        project, roles = ROLES[request.caller]
        self.statements.clear()
        self.engine.sent.clear()
        if request.method == 'CFN':
            query = urlencode({'Action': request.path[1:], **request.body})
            answer = in_process.ask(self.cfn, 'GET', f'/v1/?{query}', project=project, roles=roles)
        else:
            answer = in_process.ask(self.cfn, request.method, request.path, request.body, project=project, roles=roles)
        text = re.sub(r'<RequestId>.*?</RequestId>', '', answer.text)
        return answer.status_code, text, list(self.statements), list(self.engine.sent)

    def dump(self) -> dict[str, list[Any]]:
        """All rows there are."""
        with self.database.engine.connect() as connection:
            return {table.name: list(connection.execute(table.select())) for table in tables.metadata.sorted_tables}


@contextmanager
def place(folder: Any) -> Iterator[Place]:
    made = Place(folder)
    try:
        yield made
    finally:
        made.close()


def run(folder: Any, wanted: int | None, seed: int) -> Report:
    """`wanted` pairs of requests, None: all."""
    began = time.monotonic()
    report = Report()
    callers = {name: project or ATTACKER for name, (project, _roles) in ROLES.items()}
    pairs: Any = matrix.requests(VICTIMS, OWN, callers)
    if wanted is not None:
        pairs = matrix.sample(pairs, wanted, seed)
    with place(folder) as here:
        before = here.dump()
        for pair in pairs:
            judge(here, pair, here.ask, report)
        for pair in matrix.actions(VICTIMS, OWN, ROLES):
            judge(here, pair, here.ask_cfn, report)
        if here.dump() != before:
            report.leak('rows have changed', 'somewhere')
    report.seconds = time.monotonic() - began
    return report


FOREIGN = {value for value in VICTIMS.all().values() if len(value) >= matrix.SHORTEST}
NAMING = ('stack_id', 'config_id', 'deployment_id', 'snapshot_id')


def judge(here: Place, pair: Pair, ask: Callable[[Request], Any], report: Report) -> None:
    real, twin = ask(pair.real), ask(pair.twin)
    report.requests += 2
    report.statuses[pair.real.caller + (' (CFN)' if pair.real.method == 'CFN' else ''), real[0]] += 1
    if found := matrix.told(real[1], pair.real, VICTIMS):
        report.leak(f'tells {found}', pair.real, real[1])
    if real[0] >= 500 and not real[3]:
        report.leak(f'answered with {real[0]}', pair.real, real[1])
    if (real[0], matrix.alike(real[1], pair.real)) != (twin[0], matrix.alike(twin[1], pair.twin)):
        report.leak('answered unlike its twin', pair.real, real[0], matrix.alike(real[1], pair.real), pair.twin,
                    twin[0], matrix.alike(twin[1], pair.twin))
    if len(real[2]) != len(twin[2]):
        report.leak('takes another way through the database than its twin', pair.real, real[2], twin[2])
    for message in real[3]:
        given = {name: getattr(message, name) for name in NAMING if name in {each.name for each in fields(message)}}
        if FOREIGN & {value for value in given.values() if value}:
            report.leak('reaches an engine', pair.real, message)
    if pair.real.caller in matrix.REFUSED and (real[0] not in (401, 403) or real[2]):
        report.leak('is served without a role', pair.real, *real)


def run_confined(folder: Any) -> Report:
    """A user inside a stack, against the very project whose stack it is: a resource that is not the user's own tells
    nothing, and takes no signal. (Lookups answer with the stack's URL, as in Heat.)"""
    report = Report()
    with place(folder) as here:
        before = here.dump()
        for pair in matrix.requests(VICTIMS, OWN, {'stack user': VICTIMS.user_project_id}, everything=False):
            assert pair.real.route is not None
            if openapi.name_of(pair.real.route) in (openapi.LOOKUP, 'software_deployments.metadata'):
                continue
            status, text, _statements, messages_sent = here.ask(pair.real, project=VICTIMS.user_project_id)
            report.requests += 1
            report.statuses['stack user', status] += 1
            if found := matrix.told(text, pair.real, VICTIMS):
                report.leak(f'tells {found}', pair.real, text)
            if messages_sent or status not in (403, 404):
                report.leak('is served', pair.real, status, messages_sent)
        if here.dump() != before:
            report.leak('rows have changed', 'somewhere')
    return report


def undeclared_keys(folder: Any) -> dict[str, set[str]]:
    """Handler -> keys that it reads and that the table does not have."""
    read: set[str] = set()

    class Noting(dict[str, list[str]]):
        """A query in which every key is there, and which notes the keys that are looked at."""

        def get(self, key: str, default: Any = None) -> Any:
            read.add(key)
            return super().get(key, default)

        def __contains__(self, key: object) -> bool:
            read.add(str(key))
            return super().__contains__(key)

    plain = query.Query.__init__

    def noting(self: query.Query, values: Any) -> None:
        plain(self, Noting(values))

    found: dict[str, set[str]] = {}
    query.Query.__init__ = noting       # type: ignore[method-assign]
    try:
        with place(folder) as here:
            callers = {'member': ATTACKER}
            for pair in matrix.requests(OWN, VICTIMS, callers, everything=False):
                if pair.real.query or pair.real.route is None:
                    continue
                read.clear()
                here.ask(pair.real)
                name = openapi.name_of(pair.real.route)
                if extra := read - set(QUERY_KEYS.get(name, {})):
                    found.setdefault(name, set()).update(extra)
    finally:
        query.Query.__init__ = plain    # type: ignore[method-assign]
    return found
