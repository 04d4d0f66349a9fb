"""The matrix: every route x query key x value x way of naming a thing x caller x project, as requests.

Made from the route table and the table of query keys, so that a new route or key cannot be forgotten. Each request that
names a thing of the victim has a twin that names nothing: both must be answered alike.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import quote, unquote, urlencode

from heatlite.api import openapi, routes
from heatlite.api.cfn import application
from heatlite.api.query_keys import QUERY_KEYS, Reach
from heatlite.api.wsgi import Body, Route

WORD = 'cnry'                                   # a part of everything the victim has that is text
NOTHING = 'ffffffff-0000-4000-8000-00000000dead'
# Keys that no route has, or another one: they must not reach further either.
COMMON_KEYS = ('global_tenant', 'all_tenants', 'all_projects', 'tenant', 'project_id', 'show_nested', 'show_deleted',
               'show_hidden', 'nested_depth', 'marker', 'id', 'owner_id', 'with_detail', 'server_id', 'limit')


WIDENING = ('global_tenant', 'all_tenants', 'tenant')
ASKING = 'member'                               # the caller who passes most policies
REFUSED = ('nobody', 'no role', 'service', 'no project')       # callers who pass none: keys change nothing


@dataclass(frozen=True)
class Things:
    """Names and ids of what one project has. A project has one of each; the twin of the victim's has none."""

    project_id: str
    stack_name: str
    stack_id: str
    nested_name: str
    nested_id: str
    deleted_name: str
    deleted_id: str
    resource_name: str
    handle_name: str                            # a resource that takes signals
    physical_id: str
    event_id: str
    snapshot_id: str
    plan_id: str
    output_key: str
    config_id: str
    deployment_id: str
    server_id: str
    user_project_id: str
    tag: str
    username: str

    def all(self) -> dict[str, str]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def nothing_like(victim: Things) -> Things:
    """Names and ids of the same kind that nobody has."""
    made = {}
    for number, (name, value) in enumerate(victim.all().items()):
        if re.fullmatch(r'[0-9a-f]{32}', value):
            made[name] = f'{number:04x}' + 'd' * 28
        elif name.endswith('_id') and '-' in value and len(value) == 36:
            made[name] = f'{NOTHING[:-4]}{number:04x}'
        else:
            made[name] = f'none-{number}' + 'x' * max(0, len(value) - 8)
    return Things(**made)


@dataclass(frozen=True)
class Request:
    """`path` begins at /v1. `named`: what of the victim it names, to be taken out of the answer."""

    caller: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    named: tuple[str, ...] = ()
    at_home: bool = True                        # the URL names the caller's own project
    route: Route | None = field(default=None, compare=False)

    @property
    def url(self) -> str:
        return f'{self.path}?{urlencode(self.query)}' if self.query else self.path

    def sent(self) -> list[str]:
        """Every text of the request, for an answer may repeat it; the longest first."""
        pieces = [*unquote(self.path).split('/'), unquote(self.path), *(value for _key, value in self.query),
                  *_texts(self.body), *self.named]
        return sorted({piece for piece in pieces if len(piece) > 2}, key=len, reverse=True)

    def __str__(self) -> str:
        return f'{self.caller}: {self.method} {self.url} {json.dumps(self.body) if self.body is not None else ""}'


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, each in value.items():
                yield name
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)


@dataclass(frozen=True)
class Pair:
    """A request that names something of the victim, and its twin that names nothing."""

    real: Request
    twin: Request


# --- how a stack and what is in it can be named --------------------------------------------------------------

def _stacks(of: Things, own: Things) -> Iterator[tuple[str, str]]:
    """(name, id) of a URL: right ones, halves of two projects, nested and deleted ones."""
    yield of.stack_name, of.stack_id
    yield own.stack_name, of.stack_id
    yield of.stack_name, own.stack_id
    yield of.nested_name, of.nested_id
    yield of.stack_name, of.nested_id
    yield of.deleted_name, of.deleted_id
    yield of.stack_id, of.stack_id
    yield own.stack_name, own.stack_id          # the own stack, with what else the path names of the other


def _lookups(of: Things) -> Iterator[str]:
    """What may stand for a stack where a name does."""
    yield of.stack_name
    yield of.stack_id
    yield of.stack_id.upper()
    yield of.nested_id
    yield of.nested_name
    yield of.deleted_id
    yield of.physical_id
    yield of.user_project_id


def _parts(of: Things) -> dict[str, tuple[str, ...]]:
    """The other fields of paths."""
    return {'resource_name': (of.resource_name, of.handle_name, of.physical_id), 'event_id': (of.event_id,),
            'snapshot_id': (of.snapshot_id,), 'plan_id': (of.plan_id,), 'number': ('1',),
            'output_key': (of.output_key,), 'config_id': (of.config_id,),
            'deployment_id': (of.deployment_id,), 'server_id': (of.server_id, of.physical_id, of.stack_id),
            'stack_set': (of.stack_name, of.stack_id, of.nested_id),
            'constraint': ('nova.flavor', of.resource_name),
            'type_name': ('OS::Heat::None', of.resource_name), 'version': ('heat_template_version.rocky',)}


_FIELD = re.compile(r'{(\w+)(?::([^}]*))?}')


def _paths(route: Route, of: Things, own: Things, project: str) -> Iterator[str]:
    names = [found[1] for found in _FIELD.finditer(route.path)]
    parts = _parts(of)
    choices: list[list[dict[str, str]]] = [[{'tenant_id': project}]]
    if route.path == routes.ARN:
        choices.append([{'stack_name': f'arn:openstack:heat::{tenant}:stacks/{of.stack_name}/{of.stack_id}'}
                        for tenant in (of.project_id, own.project_id)])
    elif 'stack_id' in names:
        choices.append([{'stack_name': name, 'stack_id': stack_id} for name, stack_id in _stacks(of, own)])
    elif 'stack_name' in names:
        choices.append([{'stack_name': each} for each in _lookups(of)])
    for name in names:
        if name == 'path':
            pattern = next(found[2] for found in _FIELD.finditer(route.path) if found[1] == 'path')
            choices.append([{'path': each} for each in pattern.split('|')])
        elif name in parts:
            choices.append([{name: each} for each in parts[name]])
    for combination in itertools.product(*choices):
        values = {name: value for each in combination for name, value in each.items()}
        yield '/v1' + _FIELD.sub(lambda found: quote(values[found[1]], safe=':'), route.path)    # noqa: B023


# --- queries and bodies -------------------------------------------------------------------------------------

def _values(of: Things) -> tuple[str, ...]:
    return ('true', '1', '9', of.project_id, of.stack_id, of.nested_id, of.stack_name, of.event_id, of.config_id,
            of.server_id, of.user_project_id, of.tag, of.username, of.physical_id, of.resource_name)


def _queries(route: Route, of: Things, everything: bool) -> Iterator[tuple[tuple[str, str], ...]]:
    yield ()
    declared = QUERY_KEYS.get(openapi.name_of(route), {})
    keys = [*declared, *(key for key in COMMON_KEYS if everything and key not in declared)]
    for key in keys:
        for value in _values(of):
            yield ((key, value),)
    wider = tuple((key, 'true') for key, each in declared.items() if each.reach is Reach.OWN and 'depth' not in key)
    if wider:
        for value in _values(of)[3:]:
            for key in ('tenant', 'id', 'owner_id', 'marker', 'tags', 'stack_user_project_id', 'resource_name'):
                if key in declared:
                    yield (*wider, (key, value))
        yield (*wider, ('global_tenant', 'true'))


TEMPLATE = {'heat_template_version': '2018-08-31'}
SET = json.dumps({**TEMPLATE, 'resources': {'r': {'type': 'OS::Heat::None'}}})     # of the members


def _bodies(route: Route, of: Things, own: Things) -> Iterator[Any]:
    """Bodies that the route takes and that name things of the other project where they can."""
    if route.body is Body.NONE:
        yield None
        return
    match openapi.name_of(route):
        case 'software_deployments.create':
            for config_id, project in itertools.product((of.config_id, own.config_id), (
                    of.project_id, of.user_project_id, None)):
                if (config_id, project) != (own.config_id, None):
                    yield {'config_id': config_id, 'server_id': of.server_id, 'stack_user_project_id': project,
                           'action': 'CREATE', 'status': 'IN_PROGRESS'}
        case 'software_deployments.update':
            yield {'config_id': of.config_id, 'output_values': {'deploy_stdout': 'x'}, 'status': 'COMPLETE'}
            yield {'status': 'FAILED'}
        case 'software_configs.create':
            yield {'name': of.stack_name, 'group': 1}                  # refused: nothing is made
        case 'stacks.create' | 'stacks.preview':
            yield {'stack_name': of.stack_name, 'template': {'resources': of.stack_id}}       # not a template
        case 'validate.validate':
            yield {'template': {'heat_template_version': of.stack_id}}
        case 'actions.action':
            yield from ({name: None} for name in ('check', 'suspend', 'resume', 'cancel_update',
                                                  'cancel_without_rollback'))
        case 'resources.mark_unhealthy':
            yield {'mark_unhealthy': True, 'resource_status_reason': 'because'}
        case 'resources.signal':
            yield {'status': 'FAILURE', 'data': 'x', 'id': '1'}
            yield {'unset_hook': 'pre-create'}
        case 'guards.set_protections':
            yield {'protections': [{'path': of.resource_name, 'deny': ['delete'], 'reason': of.username}]}
        case 'guards.change_protections':
            yield {'protections': [{'path': of.resource_name, 'deny': ['delete'], 'reason': of.username}]}
            yield {'remove': [of.resource_name, '']}
        case 'guards.set_lock':
            yield {'reason': of.username}
        case 'snapshots.create':
            yield {'name': 'mine'}
        case 'stack_sets.create':                                       # refused: the query finds no project
            for query in _project_queries(of):
                yield {'name': of.stack_name, 'template': SET, 'member_query': {'projects': query}}
        case 'stack_sets.preview_new' | 'stack_sets.preview' | 'stack_sets.update':
            name = {'name': of.stack_name} if openapi.name_of(route) == 'stack_sets.preview_new' else {}
            yield {**name, 'template': SET, 'members': [{'name': 'm', 'project_id': of.project_id}]}
            for query in _project_queries(of):
                yield {**name, 'template': SET, 'member_query': {'projects': query, 'regions': 'all'}}
        case _:
            yield {'template': TEMPLATE}


def _project_queries(of: Things) -> Iterator[dict[str, Any]]:
    """Queries for members of stack sets that find none but projects of the other one."""
    yield {'parent_id': of.project_id}
    yield {'domain_id': of.project_id}
    yield {'tags': [of.project_id]}
    yield {'parent_id': of.user_project_id, 'except': [of.stack_id]}


# --- all of it ----------------------------------------------------------------------------------------------

def requests(victim: Things, own: Things, callers: Mapping[str, str], everything: bool = True) -> Iterator[Pair]:
    """The matrix. `callers`: name -> its project. `everything`: keys of other routes as well."""
    twin_of = nothing_like(victim)
    for route in routes.TABLE:
        for caller, home in callers.items():
            for project in dict.fromkeys((home, victim.project_id)):
                yield from _of_route(route, caller, home, project, victim, twin_of, own, everything)


def _of_route(route: Route, caller: str, home: str, project: str, victim: Things, nobody: Things, own: Things,
              everything: bool) -> Iterator[Pair]:
    def made(of: Things) -> Iterator[Request]:
        for number, path in enumerate(_paths(route, of, own, project)):
            for another, body in enumerate(_bodies(route, of, own)):
                # Every key with the first way of naming; the other ways without a query.
                all_keys = number == another == 0 and caller not in REFUSED
                for query in _queries(route, of, everything and caller == ASKING) if all_keys else ((),):
                    yield Request(caller, route.method, path, query, body, tuple(of.all().values()), project == home,
                                  route)

    for real, twin in zip(made(victim), made(nobody), strict=True):
        yield Pair(real, twin)


def sample(pairs: Iterable[Pair], wanted: int, seed: int) -> list[Pair]:
    """At most `wanted` of them. Up to half of them: each route with each key that is its own, or widens another's, sent
    by ASKING in the own project, with `true` and with another value. The others are chosen at random."""
    everyone = list(pairs)
    random.Random(seed).shuffle(everyone)
    first: dict[Any, Pair] = {}
    for pair in everyone:
        real = pair.real
        keys = tuple(key for key, _value in real.query)
        if real.caller == ASKING and real.at_home and real.route is not None and (
                set(keys) <= {*QUERY_KEYS.get(openapi.name_of(real.route), {}), *WIDENING}):
            first.setdefault((real.route.method, real.route.path, keys, 'true' in dict(real.query).values()), pair)
    # Those that could widen a scope come before those that could not.
    chosen = sorted(first.values(), key=lambda pair: not {key for key, _value in pair.real.query} & set(WIDENING))
    chosen = chosen[:wanted // 2]
    return chosen + everyone[:wanted - len(chosen)]


# --- the CFN API --------------------------------------------------------------------------------------------

def _parameters(action: str, of: Things, own: Things) -> Iterator[dict[str, str]]:
    """Ways to name a stack, and what else an action takes."""
    names = [of.stack_name, of.stack_id, of.nested_name, of.nested_id, of.deleted_id, of.project_id, *(
        f'arn:openstack:heat::{tenant}:stacks/{name}/{stack_id}'
        for tenant in (of.project_id, own.project_id)
        for name, stack_id in ((of.stack_name, of.stack_id), (own.stack_name, of.stack_id),
                               (of.nested_name, of.nested_id)))]
    more: dict[str, list[dict[str, str]]] = {
        'DescribeStackResource': [{'LogicalResourceId': of.resource_name}, {'LogicalResourceId': of.handle_name}],
        'DescribeStackResources': [{}, {'LogicalResourceId': of.resource_name}],
        'UpdateStack': [{'TemplateBody': '{"heat_template_version": "2018-08-31"}'}],
        'CreateStack': [{'TemplateBody': '{"heat_template_version": "nonsense"}'}]}
    for name, rest in itertools.product(names, more.get(action, [{}])):
        yield {'StackName': name, **rest}
    if action == 'DescribeStackResources':
        for physical_id in (of.physical_id, of.nested_id, of.server_id):
            yield {'PhysicalResourceId': physical_id}
    if action.startswith(('List', 'Describe')):
        for key in ('global_tenant', 'NextToken', 'tenant'):
            yield {key: of.project_id, **({} if action in ('ListStacks', 'DescribeStacks', 'DescribeStackEvents')
                                          else {'StackName': of.stack_name})}


def actions(victim: Things, own: Things, callers: Iterable[str]) -> Iterator[Pair]:
    """The matrix of the CFN API. The path of a request is the action, its body the parameters."""
    nobody = nothing_like(victim)
    for caller, action in itertools.product(callers, application.ACTIONS):
        for real, twin in zip(_parameters(action, victim, own), _parameters(action, nobody, own), strict=True):
            yield Pair(*(Request(caller, 'CFN', f'/{action}', body=parameters, named=tuple(of.all().values()))
                         for parameters, of in ((real, victim), (twin, nobody))))
    for caller, (method, kind) in itertools.product(callers, application.SIGNALS):
        for real, twin in zip(_signalled(victim, own), _signalled(nobody, own), strict=True):
            yield Pair(*(Request(caller, method, f'/v1/{kind}/{quote(arn, safe="")}', body={'Status': 'SUCCESS'},
                                 named=tuple(of.all().values())) for arn, of in ((real, victim), (twin, nobody))))


def _signalled(of: Things, own: Things) -> Iterator[str]:
    """ARNs of resources."""
    for tenant, name, resource in itertools.product(
            (of.project_id, own.project_id), (of.stack_name, own.stack_name), (of.handle_name, of.resource_name)):
        yield f'arn:openstack:heat::{tenant}:stacks/{name}/{of.stack_id}/resources/{resource}'


# --- judging answers ----------------------------------------------------------------------------------------

SHORTEST = 6                                    # characters of an id that tells something


def without(text: str, pieces: Iterable[str]) -> str:
    """`text` without what the request said itself, however it was quoted."""
    for piece in pieces:
        for shape in dict.fromkeys((piece, quote(piece, safe=''), quote(piece), json.dumps(piece)[1:-1])):
            text = text.replace(shape, '*')
    return text


def told(answer: str, request: Request, victim: Things) -> list[str]:
    """What an answer tells of the victim beyond what the request said: canaries and ids."""
    rest = without(answer, request.sent())
    secrets = [value for value in victim.all().values() if len(value) >= SHORTEST]
    return [word for word in (WORD, *secrets) if word in rest]


VOLATILE = re.compile(r'req-[0-9a-f-]{36}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?')


def alike(text: str, request: Request) -> str:
    """An answer as far as it may depend on what was asked: for the comparison with the twin's."""
    return VOLATILE.sub('~', without(text, request.sent()))
