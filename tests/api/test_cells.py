"""Projects in two cells: each request is answered by the cell of its project, and changes wait while it is moved."""

import json
from datetime import datetime
from urllib.parse import quote

import pytest
from oslo_policy import opts as policy_options

from heatlite.api import cells
from heatlite.api.cfn import deploy as cfn
from heatlite.common import exception, health, runtime
from heatlite.common.green_threads import GreenRuntime
from heatlite.db import project_cells, sync
from heatlite.db.connection import Database
from heatlite.db.moving import CellMove, MoveDelays
from heatlite.db.project_cells import HOME, ProjectPlace
from heatlite.rpc.cells import Cell
from tests.api import in_process, rows
from tests.api.in_process import OTHER, PROJECT, ask

WEB = f'/v1/{PROJECT}/stacks/web/{rows.WEB}'
NOW = datetime(2026, 11, 27)
READS = [WEB, f'{WEB}/resources', f'{WEB}/events', f'{WEB}/template', f'{WEB}/outputs', f'{WEB}/snapshots',
         f'/v1/{PROJECT}/stacks', f'/v1/{PROJECT}/stacks/detail?show_nested=true',
         f'/v1/{PROJECT}/stacks/batch/{rows.BATCH}', f'/v1/{PROJECT}/software_configs',
         f'/v1/{PROJECT}/software_deployments', f'/v1/{PROJECT}/plans']
CHANGES = [('DELETE', WEB), ('POST', f'{WEB}/actions'), ('PUT', WEB), ('POST', f'/v1/{PROJECT}/stacks')]


class Engine:
    """The engines of a cell: notes what they are asked."""

    def __init__(self):
        self.asked = []

    def call(self, context, message):
        self.asked.append(message.method())

    def wake(self, stack_id, engine_id=None):
        pass


class World:
    def __init__(self, folder):
        self.home, self.east = (Database(f'sqlite:///{folder}/{name}.sqlite') for name in ('home', 'east'))
        rows.fill(self.home.engine)
        sync.up(self.east)
        self.engines = {HOME: Engine(), 'east': Engine()}
        self.api = self.another_api()

    def another_api(self, conf=None):
        """An API that has read nothing of the map."""
        return in_process.build(conf, self.home, self.engines[HOME], others={
            'east': Cell(self.east, self.engines['east'])})

    def put(self, place, project_id=PROJECT):
        with self.home.writer() as tx:
            project_cells.put(tx, project_id, place, NOW)
        self.api = self.another_api()

    def move(self, target):
        CellMove({HOME: self.home, 'east': self.east}, PROJECT, target, GreenRuntime(), MoveDelays(0.0, 0.0)).run()
        self.api = self.another_api()

    def read(self, url, **more):
        answer = ask(self.api, 'GET', url, **more)
        return answer.status_int, answer.body and json.loads(answer.body)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.home.close()
    made.east.close()


def test_all_documents_of_a_project_are_equal_after_a_move(world):
    before = [world.read(url) for url in READS]
    theirs = world.read(f'/v1/{OTHER}/stacks', project=OTHER)
    assert {status for status, _document in before} == {200}
    world.move('east')
    assert [world.read(url) for url in READS] == before
    assert world.read(f'/v1/{OTHER}/stacks', project=OTHER) == theirs
    with world.home.reader() as tx:
        assert tx.exec_driver_sql('SELECT count(*) FROM stack WHERE project_id = ?', (PROJECT,)).scalar() == 0


def test_changes_go_to_the_engines_of_the_cell(world):
    assert ask(world.api, 'DELETE', WEB).status_int == 204
    world.move('east')
    assert ask(world.api, 'DELETE', WEB).status_int == 204
    assert [len(each.asked) for each in world.engines.values()] == [1, 1]


@pytest.fixture
def no_patience(monkeypatch):
    monkeypatch.setattr(cells, 'MOVE_WAIT_SECONDS', 0.0)


@pytest.mark.parametrize(('method', 'url'), CHANGES)
def test_while_a_project_is_moved_changes_wait_and_are_refused_then_and_reads_are_not(world, no_patience, method, url):
    world.put(ProjectPlace(HOME, 'east'))
    body = {'suspend': None} if url.endswith('actions') else {'stack_name': 'n', 'template': {}}
    body = None if method == 'DELETE' else body
    answer = ask(world.api, method, url, body)
    assert (answer.status_int, answer.json['error']['type']) == (503, 'ProjectMoves')
    assert int(answer.headers['Retry-After']) > 0
    assert not any(each.asked for each in world.engines.values())
    assert world.read(WEB)[0] == 200
    assert ask(world.api, 'POST', f'/v1/{OTHER}/stacks', body, project=OTHER).status_int != 503


class Pauses(GreenRuntime):
    """Counts the pauses of all threads."""

    def __init__(self):
        self.count = 0

    def sleep(self, seconds):
        self.count += 1
        super().sleep(seconds)


@pytest.fixture
def pauses():
    before = runtime.current()
    made = Pauses()
    runtime.use(made)
    yield made
    runtime.use(before)


def test_a_change_that_waits_is_carried_out_in_the_new_cell(world, pauses):
    """A signal is often sent only once."""
    world.put(ProjectPlace(HOME, 'east'))
    own, answers = GreenRuntime(), []
    api = world.api
    for url in (WEB, f'/v1/{PROJECT}/stacks/batch/{rows.BATCH}'):
        own.spawn(lambda url=url: answers.append(ask(api, 'DELETE', url).status_int))
    while pauses.count < 2 and not answers:         # until both were refused and wait
        own.sleep(0)
    assert not answers
    CellMove({HOME: world.home, 'east': world.east}, PROJECT, 'east', own, MoveDelays(0.0, 0.0)).run()
    while len(answers) < 2:
        own.sleep(0)
    assert answers == [204, 204]
    assert [len(each.asked) for each in world.engines.values()] == [0, 2]


def test_requests_of_cloudformation_go_to_the_cell_of_the_project_in_their_arn(world):
    def signal():
        api = cfn.build(in_process.options(), world.home, world.engines[HOME], identity=in_process.Verified, others={
            'east': Cell(world.east, world.engines['east'])})
        arn = f'arn:openstack:heat::{PROJECT}:stacks/web/{rows.WEB}/resources/server'
        for project in (PROJECT, rows.USERS):
            ask(api, 'POST', f'/v1/signal/{quote(arn)}', {}, project=project)
        listed = ask(api, 'GET', '/v1/?Action=ListStacks&ContentType=JSON')
        return {each['StackName'] for each in listed.json['ListStacksResponse']['ListStacksResult']['StackSummaries']}

    before = signal()
    asked = len(world.engines[HOME].asked)
    assert before and asked
    world.move('east')
    assert signal() == before
    assert [len(each.asked) for each in world.engines.values()] == [asked, asked]


def test_an_engine_that_knows_of_the_move_has_the_api_read_the_map_again(world, no_patience):
    def refuse(context, message):
        raise exception.ProjectMoves('it moves')

    world.engines[HOME].call = refuse
    api = world.api
    assert ask(api, 'DELETE', WEB).status_int == 503
    CellMove({HOME: world.home, 'east': world.east}, PROJECT, 'east', GreenRuntime(), MoveDelays(0.0, 0.0)).run()
    assert ask(api, 'DELETE', WEB).status_int == 204
    assert world.engines['east'].asked


def test_a_stream_continues_in_the_new_cell_after_what_its_client_has(world):
    def events(position):
        answer = ask(world.api, 'GET', f'/v1/{PROJECT}/events/stream', headers={
            'Accept': 'text/event-stream', 'Last-Event-ID': str(position)}, **{health.STOPPING: lambda: False})
        body = iter(answer.app_iter)
        next(body)
        found = next(body).decode()
        answer.app_iter.close()
        return [json.loads(line[len('data: '):]) for line in found.splitlines() if line.startswith('data: ')]

    before = events(1)
    assert before
    world.move('east')
    assert events(1) == before


def test_the_map_is_read_once_for_many_requests(world):
    statements = []
    import sqlalchemy as sa
    sa.event.listen(world.home._reading, 'before_cursor_execute',
                    lambda _c, _cursor, text, *_more: statements.append(text))
    for _number in range(5):
        world.read(WEB)
    assert sum('FROM project_cell' in text for text in statements) in (1, 2)      # 2: the machine is very slow


def test_users_inside_stacks_are_answered_by_the_cell_of_their_stack(world):
    url = f'/v1/{rows.USERS}/stacks/web/{rows.WEB}'
    before = world.read(url, project=rows.USERS, roles='heat_stack_user')
    world.move('east')
    assert world.read(url, project=rows.USERS, roles='heat_stack_user')[0] == before[0]
    with world.east.writer() as tx:
        assert tx.exec_driver_sql('SELECT user_project_id FROM stack WHERE id = ?', (rows.WEB,)).scalar() == rows.USERS


def test_administrators_find_stacks_of_all_cells_and_name_a_cell_for_lists(world, no_patience):
    world.move('east')
    admin = {'project': OTHER, 'roles': 'admin,member,reader'}
    found = f'/v1/{OTHER}/stacks/web/{rows.WEB}'
    assert world.read(found, **admin)[0] == 200
    assert world.read(f'/v1/{OTHER}/stacks/web/{rows.number(1, 99)}', **admin)[0] == 404
    assert {each['stack_name'] for each in world.read(f'/v1/{OTHER}/stacks', **admin)[1]['stacks']} == {'theirs'}
    for cell, names in (('home', {'theirs'}), ('east', {'web', 'batch'})):
        listed = world.read(f'/v1/{OTHER}/stacks', headers={'X-Heatlite-Cell': cell}, **admin)
        assert {each['stack_name'] for each in listed[1]['stacks']} >= names, cell
    assert world.read(f'/v1/{OTHER}/stacks', headers={'X-Heatlite-Cell': 'west'}, **admin)[0] == 400
    world.put(ProjectPlace('east', HOME))
    assert ask(world.api, 'DELETE', found, **admin).status_int == 503


def test_a_list_of_all_projects_needs_the_name_of_a_cell(world, tmp_path):
    (tmp_path / 'policy.yaml').write_text('"stacks:global_index": ""')
    conf = in_process.options()
    policy_options.set_defaults(conf)
    conf.set_override('policy_file', str(tmp_path / 'policy.yaml'), group='oslo_policy')
    api = world.another_api(conf)
    world.move('east')
    url = f'/v1/{PROJECT}/stacks?global_tenant=true'
    refused = ask(api, 'GET', url)
    assert (refused.status_int, 'X-Heatlite-Cell' in refused.json['error']['message']) == (400, True)
    assert ask(api, 'GET', f'/v1/{PROJECT}/stacks').status_int == 200


def test_a_cell_that_is_not_configured_is_no_reason_for_a_404(world):
    world.put(ProjectPlace('west'))
    assert world.read(WEB)[0] == 503


def test_an_unreadable_map_is_not_guessed(world):
    world.home.close()
    with world.home.writer() as tx:
        tx.exec_driver_sql('ALTER TABLE project_cell RENAME TO gone')
    assert world.read(WEB)[0] >= 500


def test_a_request_that_is_refused_at_once_reads_the_same_reason(world, monkeypatch):
    monkeypatch.setattr(cells, 'FAILED_SECONDS', 1000.0)
    with world.home.writer() as tx:
        tx.exec_driver_sql('ALTER TABLE project_cell RENAME TO gone')
    places = cells.ProjectMap(world.home)
    errors = []
    for _request in range(2):
        with pytest.raises(exception.DatabaseUnavailable) as raised:
            places.find(PROJECT)
        errors.append(raised.value)
    first, second = errors
    assert str(first) == str(second) and first.kwargs == second.kwargs
    assert first is not second and second.__cause__ is None
