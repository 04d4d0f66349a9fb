"""The matrix in the production profile: real tokens and signatures over sockets, two engines, sealing on."""

from __future__ import annotations

import json
import random
import time
from typing import Any
from urllib.parse import unquote, urlencode

from heatlite.api import openapi
from tests.isolation import matrix
from tests.isolation.matrix import WORD, Pair, Request, Things
from tests.isolation.report import Report
from tests.system import aws
from tests.system.processes import eventually
from tests.system.production import HOST, Answer, Person, Production

ABANDON = {'enable_stack_abandon': 'true', 'enable_stack_adopt': 'true'}
# Tables and how the rows of a project are found in them.
OF_STACK = '(SELECT id FROM stack WHERE project_id = {0})'
ROWS = {'stack': 'project_id = {0}', 'snapshot': 'project_id = {0}', 'plan': 'project_id = {0}',
        'software_config': 'project_id = {0}', 'software_deployment': 'project_id = {0}',
        'credentials': 'project_id = {0}',
        **dict.fromkeys(('resource', 'resource_data', 'event', '`signal`', 'template', 'stack_tag', 'revision',
                         'guard'), f'stack_id IN {OF_STACK}')}


def template(word: str) -> dict[str, Any]:
    return {'heat_template_version': '2018-08-31', 'description': f'{word}-description', 'parameters': {
        f'{word}-parameter': {'type': 'string', 'default': f'{word}-default'}}, 'resources': {
        f'{word}-resource': {'type': f'{word}-inner.yaml', 'metadata': {f'{word}-key': f'{word}-metadata'}},
        f'{word}-thing': {'type': 'OS::Heat::RandomString', 'properties': {'salt': f'{word}-salt'}},
        f'{word}-handle': {'type': 'OS::Heat::WaitConditionHandle', 'properties': {'signal_transport': 'HEAT_SIGNAL'}}},
        'outputs': {f'{word}-output': {'value': f'{word}-result', 'description': f'{word}-about'}}}


def files(word: str) -> dict[str, str]:
    inner = {'heat_template_version': '2018-08-31', 'description': f'{word}-inner', 'resources': {
        f'{word}-deep': {'type': 'OS::Heat::Value', 'properties': {'value': f'{word}-value'}}}}
    return {f'{word}-inner.yaml': json.dumps(inner)}


def plant(cloud: Production, person: Person, word: str) -> tuple[Things, Person]:
    """One of everything, made by `person`; and the user inside the stack."""
    def get(path: str) -> Any:
        answer = cloud.ask(person, 'GET', path)
        assert answer.status == 200, answer.text
        return answer.json

    gone = cloud.create(person, f'{word}-deleted', {'heat_template_version': '2018-08-31'})
    assert cloud.finished(person, gone) == 'CREATE_COMPLETE'
    cloud.ask(person, 'DELETE', gone)
    path = cloud.create(person, f'{word}-stack', template(word), files=files(word), tags=f'{word}-tag')
    assert cloud.finished(person, path) == 'CREATE_COMPLETE', get(path)
    cloud.finished(person, gone)
    snapshot = cloud.ask(person, 'POST', f'{path}/snapshots', {'name': f'{word}-snapshot'}).json
    assert cloud.finished(person, path) == 'SNAPSHOT_COMPLETE'
    plan = cloud.ask(person, 'POST', f'{path}/plans', {'action': 'delete'}).json['plan']
    protected = {'path': f'{word}-resource', 'deny': ['replace'], 'reason': f'{word}-protection'}
    assert cloud.ask(person, 'PUT', f'{path}/protections', {'protections': [protected]}).status == 200
    stack = get(path)['stack']
    config = cloud.ask(person, 'POST', '/software_configs', {
        'name': f'{word}-config', 'group': f'{word}-group', 'config': f'{word}-script'}).json['software_config']
    server_id = f'{word}-server'
    deployment = cloud.ask(person, 'POST', '/software_deployments', {
        'config_id': config['id'], 'server_id': server_id, 'input_values': {f'{word}-input': f'{word}-value'},
        'stack_user_project_id': stack['stack_user_project_id'], 'action': 'CREATE',
        'status': 'IN_PROGRESS'}).json['software_deployment']
    found = {each['resource_name']: each for each in get(f'{path}/resources')['resources']}
    event = get(f'{path}/events')['events'][0]
    nested_id = found[f'{word}-resource']['physical_resource_id']
    nested_name = next(each['stack_name'] for each in get('/stacks?show_nested=true')['stacks']
                       if each['id'] == nested_id)
    login = get(f'{path}/resources/{word}-handle')['resource']['attributes']['signal']
    login = json.loads(login) if isinstance(login, str) else login
    guest = Person('guest', login['user_id'], login['project_id'], domain='heatlite', password=login['password'])
    return Things(
        project_id=person.project_id, stack_name=f'{word}-stack', stack_id=stack['id'], nested_name=nested_name,
        nested_id=nested_id, deleted_name=f'{word}-deleted', deleted_id=gone.rsplit('/', 1)[1],
        resource_name=f'{word}-resource', handle_name=f'{word}-handle',
        physical_id=found[f'{word}-thing']['physical_resource_id'], event_id=event['id'], snapshot_id=snapshot['id'],
        plan_id=plan['id'],
        output_key=f'{word}-output', config_id=config['id'], deployment_id=deployment['id'], server_id=server_id,
        user_project_id=stack['stack_user_project_id'], tag=f'{word}-tag', username=stack['stack_owner']), guest


class Place:
    """The cloud, both projects planted, and who asks."""

    def __init__(self, cloud: Production) -> None:
        self.cloud = cloud
        people = cloud.people
        self.victims, _guest = plant(cloud, people['alpha'], f'{WORD}-a')
        self.own, guest = plant(cloud, people['beta'], 'mine-b')
        self.people: dict[str, Person | None] = {
            'nobody': None, 'member': people['beta'], 'reader': people['beta_reader'], 'stack user': guest,
            'bad token': people['beta'], 'with service token': people['beta']}
        self._service_token = people['service'].token

    @property
    def callers(self) -> dict[str, str]:
        return {name: person.project_id if person else self.own.project_id for name, person in self.people.items()}

    def ask(self, request: Request) -> Answer:
        person = self.people[request.caller]
        headers = {}
        if request.caller == 'bad token':
            headers = {'X-Auth-Token': 'gAAAAAB' + 'x' * 180}
        elif request.caller == 'with service token':
            headers = {'X-Service-Token': self._service_token}
        return self.cloud.ask(person, request.method, request.url, request.body, headers)

    def rows(self) -> dict[str, list[Any]]:
        """The victim's."""
        project = f"'{self.victims.project_id}'"
        return {table: sorted(map(repr, self.cloud.rows(f'SELECT * FROM {table} WHERE {where.format(project)}')))
                for table, where in ROWS.items()}


def text_of(answer: Answer) -> str:
    skipped = ('x-openstack-request-id', 'date', 'content-length')
    return '\n'.join([*(f'{name}: {value}' for name, value in answer.headers.items() if name not in skipped), '',
                      answer.text])


def is_harmless(pair: Pair, own: Things) -> bool:
    """It does not change the attacker's own stack, which the other requests need."""
    route = pair.real.route
    assert route is not None
    if route.method == 'GET' or own.stack_id not in pair.real.path:
        return openapi.name_of(route) != 'snapshots.create' or own.stack_id not in pair.real.path
    return any(f'{{{name}}}' in route.path for name in ('snapshot_id', 'resource_name', 'plan_id'))


def run(cloud: Production, wanted: int | None, signed: int | None, seed: int) -> Report:
    """`wanted` pairs of requests to the REST API, `signed` pairs to the CFN API; None: all."""
    place, report, began = Place(cloud), Report(), time.monotonic()
    pairs: Any = (pair for pair in matrix.requests(place.victims, place.own, place.callers)
                  if is_harmless(pair, place.own))
    if wanted is not None:
        pairs = matrix.sample(pairs, wanted, seed)
    before = place.rows()
    for pair in pairs:
        judge(place, pair, report)
    actions = list(matrix.actions(place.victims, place.own, ('member', 'reader', 'stack user')))
    if signed is not None:
        random.Random(seed).shuffle(actions)
        actions = actions[:signed]
    for action in actions:
        judge_signed(place, action, report)
    after = eventually('the end of what was begun', place.rows)
    for table, rows in before.items():
        if after[table] != rows:
            report.leak(f'{table} of the victim has changed', set(after[table]) ^ set(rows))
    report.seconds = time.monotonic() - began
    return report


def judge(place: Place, pair: Pair, report: Report) -> None:
    real, twin = place.ask(pair.real), place.ask(pair.twin)
    report.requests += 2
    report.statuses[pair.real.caller, real.status] += 1
    compare(report, pair.real, pair.twin, real, twin, place.victims)
    if pair.real.caller in ('nobody', 'bad token') and real.status != 401:
        report.leak('is served without a token', pair.real, real.status)


def compare(report: Report, asked: Request, twin_asked: Request, real: Answer, twin: Answer, victims: Things) -> None:
    said, twin_said = text_of(real), text_of(twin)
    if found := matrix.told(said, asked, victims):
        report.leak(f'tells {found}', asked, said)
    if real.status >= 500:
        report.leak(f'answered with {real.status}', asked, said)
    shapes = matrix.alike(said, asked), matrix.alike(twin_said, twin_asked)
    if real.status != twin.status or shapes[0] != shapes[1]:
        report.leak('answered unlike its twin', asked, real.status, shapes[0], twin_asked, twin.status, shapes[1])


# --- the CFN API --------------------------------------------------------------------------------------------

def judge_signed(place: Place, pair: Pair, report: Report) -> None:
    version = 4 if report.requests % 4 == 0 else 2
    real, twin = (_signed(place, each, version) for each in (pair.real, pair.twin))
    report.requests += 2
    report.statuses[f'{pair.real.caller} (CFN)', real.status] += 1
    compare(report, pair.real, pair.twin, real, twin, place.victims)


def _signed(place: Place, request: Request, version: int) -> Answer:
    """In the name of the caller: a signature of version 2 in the query or of version 4 in a header. The user inside a
    stack has no keys and sends a token."""
    person, action = place.people[request.caller], request.path[1:]
    assert person is not None
    cloud = place.cloud
    if request.method != 'CFN':
        signed = aws.version_2(person.ec2, request.method, f'{HOST}:{cloud.cfn_port}', unquote(request.path)) \
            if request.caller != 'stack user' else {}
        identity = {'X-Auth-User': 'guest', 'X-Auth-Token': person.token} if not signed else {}
        return cloud.send(cloud.cfn_port, request.method, f'{request.path}?{urlencode(signed)}',
                          json.dumps(request.body).encode(), {**identity, 'Content-Type': 'application/json'})
    if request.caller == 'stack user':
        query = urlencode({'Action': action, **request.body})
        return cloud.send(cloud.cfn_port, 'GET', f'/v1/?{query}', None,
                          {'X-Auth-User': 'guest', 'X-Auth-Token': person.token})
    if version == 2:
        return cloud.ask_cfn(person, action, **request.body)
    body = urlencode({'Action': action, **request.body}).encode()
    headers = aws.version_4(person.ec2, f'{HOST}:{cloud.cfn_port}', '/v1/', body)
    return cloud.send(cloud.cfn_port, 'POST', '/v1/', body, {
        **headers, 'Content-Type': 'application/x-www-form-urlencoded'})
