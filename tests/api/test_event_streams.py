"""Streams of events: who may listen to what, from where on, and how many."""

import itertools
import json

import pytest
import sqlalchemy as sa

from heatlite.api import event_hub
from heatlite.api.event_hub import EventStreamBounds, Hub, StreamScope
from heatlite.api.handlers import event_streams
from heatlite.common import exception, metrics
from heatlite.db import event_stream, tables
from tests.api import in_process, rows
from tests.api.in_process import OTHER, PROJECT

ACCEPT = {'Accept': 'text/event-stream'}
PROJECT_STREAM = f'/v1/{PROJECT}/events/stream'
STACK_STREAM = f'/v1/{PROJECT}/stacks/web/{rows.WEB}/events/stream'


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def database(tmp_path):
    with rows.database(tmp_path) as made:
        yield made


@pytest.fixture
def api(database):
    return in_process.build(in_process.options(), database, in_process.NoEngine())


@pytest.fixture
def hub(database):
    """A hub that looks when the test says so, in the test's time."""
    made = Hub(database, EventStreamBounds.of(in_process.options()), Clock())
    made._is_running = True
    return made


def never():
    return False


def listen(hub, scope, *more, **options):
    """As the built-in server does it."""
    return hub.listen(scope, *more, **{'is_stopping': never, **options})


def render(found):
    return [f'data: {found.event.uuid}\n\n'.encode()]


def happen(database, stack_id, *uuids):
    with database.writer() as tx:
        for uuid in uuids:
            row = {**rows.event(1, stack_id, 'net', 'OS::Neutron::Net', 'CREATE', 'COMPLETE'), 'uuid': uuid}
            del row['id']
            tx.execute(sa.insert(tables.event).values(row))


def parts(text):
    """(id, data) of each event in a chunk."""
    found = []
    for block in text.decode().strip().split('\n\n'):
        fields = dict(line.split(': ', 1) for line in block.split('\n') if ': ' in line)
        found.append((int(fields['id']), fields.get('data')))
    return found


def data(text):
    return [each for _id, each in parts(text)]


@pytest.mark.parametrize('path, options, status', [
    (PROJECT_STREAM, {}, 406),
    (STACK_STREAM, {}, 406),
    (PROJECT_STREAM, {'headers': {**ACCEPT, 'Last-Event-ID': 'yesterday'}}, 400),
    (PROJECT_STREAM, {'headers': {**ACCEPT, 'Last-Event-ID': '9' * 30}}, 400),
    (PROJECT_STREAM, {'headers': ACCEPT, 'project': OTHER}, 403),
    (PROJECT_STREAM, {'headers': ACCEPT, 'project': None}, 401),
    (PROJECT_STREAM, {'headers': ACCEPT, 'roles': 'heat_stack_user'}, 403),
    (STACK_STREAM, {'headers': ACCEPT, 'roles': 'heat_stack_user'}, 403),
    (f'/v1/{PROJECT}/stacks/theirs/{rows.THEIRS}/events/stream', {'headers': ACCEPT}, 404),
    (f'/v1/{PROJECT}/stacks/other/{rows.WEB}/events/stream', {'headers': ACCEPT}, 404)])
def test_refusals(api, path, options, status):
    assert in_process.ask(api, 'GET', path, **options).status_code == status


def test_an_event_as_it_is_sent(api, database):
    answer = in_process.ask(api, 'GET', STACK_STREAM, headers={**ACCEPT, 'Last-Event-ID': '0'})
    assert (answer.status_code, answer.content_type, answer.headers['Cache-Control']) == (
        200, 'text/event-stream', 'no-store')
    hello, replayed = itertools.islice(answer.app_iter, 2)
    answer.app_iter.close()
    assert hello == b'retry: 2000\nid: 0\n\n'
    block = next(each for each in replayed.decode().split('\n\n') if 'event: resource' in each).split('\n')
    sent = json.loads(block[2].removeprefix('data: '))
    assert sent['links'][0]['href'].startswith(f'http://localhost/v1/{PROJECT}/stacks/web/')
    assert (sent['stack_id'], sent['stack_name'], sent['root_stack_id']) == (rows.WEB, 'web', rows.WEB)
    listed = in_process.ask(api, 'GET', STACK_STREAM.removesuffix('/stream')).json['events']
    assert next(each for each in listed if each['id'] == sent['id']).items() <= sent.items()


def test_a_project_hears_of_its_own_stacks_only(hub, database):
    mine = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render)
    theirs = listen(hub, StreamScope(OTHER, project_id=OTHER), render)
    tree = listen(hub, StreamScope(PROJECT, stack_id=rows.WEB), render)
    inner = listen(hub, StreamScope(PROJECT, stack_id=rows.INNER), render)
    for each in (mine, theirs, tree, inner):
        assert next(each).startswith(b'retry')
    happen(database, rows.WEB, 'web-1')
    happen(database, rows.THEIRS, 'theirs-1')
    happen(database, rows.INNER, 'inner-1')
    happen(database, rows.BATCH, 'batch-1')
    assert hub.look() == 4
    assert data(next(mine)) == ['web-1', 'inner-1', 'batch-1']
    assert data(next(theirs)) == ['theirs-1']
    assert data(next(tree)) == ['web-1', 'inner-1']
    assert data(next(inner)) == ['inner-1']


def test_a_client_resumes_where_it_was(hub, database, monkeypatch):
    for name in ('PAGE', 'REPLAYED'):
        monkeypatch.setattr(event_hub, name, 2)
    first = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render)
    next(first)
    happen(database, rows.WEB, 'w1', 'w2', 'w3')
    while hub.look():
        pass
    received = parts(next(first))
    assert [each for _id, each in received] == ['w1', 'w2', 'w3']
    for place, (position, _uuid) in enumerate(received):
        again = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, position)
        next(again)
        happen(database, rows.WEB, f'later-{place}')
        expected = ['w1', 'w2', 'w3', *(f'later-{number}' for number in range(place))][place + 1:]
        found = []
        while len(found) < len(expected):
            found += data(next(again))
        hub.look()
        assert [*found, *data(next(again))] == [*expected, f'later-{place}']
        again.close()


def test_a_replay_reads_events_of_others_in_spans(hub, database, monkeypatch):
    monkeypatch.setattr(event_hub, 'SPAN', 3)
    with database.reader() as tx:
        position = tx.execute(sa.select(sa.func.max(tables.event.c.id))).scalar_one()
    happen(database, rows.THEIRS, *(f't{number}' for number in range(8)))
    happen(database, rows.WEB, 'w1')
    happen(database, rows.THEIRS, 't8')
    listener = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, position)
    next(listener)
    found = []
    while not found or found[-1][1] is None:
        found += parts(next(listener))
    assert found == [(position + 3, None), (position + 6, None), (position + 9, 'w1')]
    happen(database, rows.WEB, 'w2')
    hub.look()
    assert data(next(listener)) == ['w2']


def test_no_statement_of_a_replay_reads_more_than_a_span(hub, database, monkeypatch):
    monkeypatch.setattr(event_hub, 'SPAN', 100)
    happen(database, rows.THEIRS, *(f't{number}' for number in range(1_000)))
    listener = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, 0)
    spans = []
    whole = event_stream.of_project

    def of_project(tx, project_id, position, last, limit):
        spans.append(tx.execute(sa.select(sa.func.count()).select_from(tables.event).where(
            tables.event.c.id > position, tables.event.c.id <= last)).scalar_one())
        return whole(tx, project_id, position, last, limit)

    monkeypatch.setattr(event_stream, 'of_project', of_project)
    while len(spans) < 10:
        next(listener)
    assert set(spans) == {100}


def test_a_client_of_another_process_that_was_ahead_gets_nothing_twice(hub, database):
    """Its position is beyond what this process has read."""
    happen(database, rows.WEB, 'w1')
    listener = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render)
    happen(database, rows.WEB, 'w2', 'w3')
    with database.reader() as tx:
        w2 = tx.execute(sa.select(tables.event.c.id).where(tables.event.c.uuid == 'w2')).scalar_one()
    ahead = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, w2)
    next(listener), next(ahead)
    hub.look()
    assert data(next(listener)) == ['w2', 'w3']
    assert data(next(ahead)) == ['w3']


def test_a_heartbeat_after_silence_and_an_end_when_the_token_expires(hub):
    listener = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, seconds=20.0)
    next(listener)
    hub.clock.seconds = 15.0
    assert next(listener) == b':\n\n'
    hub.clock.seconds = 20.0
    assert list(listener) == []
    assert hub.count == 0


def test_a_stream_ends_at_the_next_heartbeat_once_its_project_is_in_another_cell(hub):
    is_left = False
    listener = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, is_left=lambda: is_left)
    next(listener)
    hub.clock.seconds = 15.0
    assert next(listener) == b':\n\n'
    is_left = True
    hub.clock.seconds = 30.0
    assert list(listener) == []
    assert hub.count == 0


def ended(reason):
    return metrics.registry.get_sample_value('heatlite_event_streams_ended_total', {'reason': reason}) or 0


def test_a_slow_reader_is_bounded_and_loses_nothing(hub, database, monkeypatch):
    monkeypatch.setattr(event_hub, 'WAITING', 2)
    slow = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render)
    next(slow)
    before = ended('slow')
    happen(database, rows.WEB, 'w1', 'w2', 'w3')
    hub.look()
    received = parts(next(slow))
    assert [each for _id, each in received] == ['w1', 'w2']
    happen(database, rows.WEB, 'w4')
    hub.look()                                           # there is room again, but w3 was not taken
    assert list(slow) == []                              # the stream ends; it resumes with the last id
    assert ended('slow') == before + 1
    again = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, received[-1][0])
    next(again)
    assert data(next(again)) == ['w3', 'w4']


def test_a_position_of_another_database_is_ignored(hub, database):
    """After a restore from a backup the clients' numbers are beyond those that exist."""
    listener = listen(hub, StreamScope(PROJECT, project_id=PROJECT), render, 10 ** 17)
    next(listener)
    happen(database, rows.WEB, 'w1')
    hub.look()
    assert data(next(listener)) == ['w1']


def long(found):
    """Three parts, as of an event with two links; 1 000 bytes."""
    return [b'data: a', b'b', b'%s%s\n\n' % (b'x' * 950, found.event.uuid.encode().zfill(40))]


def test_what_waits_for_a_slow_reader_is_bounded_by_its_size(hub, database, monkeypatch):
    monkeypatch.setattr(event_hub, 'WAITING_BYTES', 5_000)
    slow = listen(hub, StreamScope(PROJECT, project_id=PROJECT), long)
    next(slow)
    before = ended('slow')
    happen(database, rows.WEB, *(f'w{number}' for number in range(8)))
    hub.look()
    received = parts(b''.join(slow))
    assert [each[-2:] for _id, each in received] == ['w0', 'w1', 'w2', 'w3', 'w4']
    assert ended('slow') == before + 1


@pytest.mark.parametrize('position', [None, 0], ids=['as they happen', 'earlier ones'])
def test_a_chunk_is_small(hub, database, monkeypatch, position):
    monkeypatch.setattr(event_hub, 'CHUNK', 3_000)
    scope = StreamScope(PROJECT, stack_id=rows.INNER)
    if position is None:
        listener = listen(hub, scope, long)
        next(listener)
    happen(database, rows.INNER, *(f'w{number}' for number in range(10)))
    if position is None:
        hub.look()
    else:
        listener = listen(hub, scope, long, position)
        next(listener)
    found = []
    while not found or not found[-1].endswith(b'w9\n\n'):
        found.append(next(listener))
    assert max(map(len, found)) < 4_000
    assert [each[-2:] for _id, each in parts(b''.join(found))][-10:] == [f'w{number}' for number in range(10)]


def test_an_event_is_rendered_once_for_listeners_of_all_hosts(hub, database):
    rendered = []

    def linked(found):
        rendered.append(found)
        return event_streams.parts_of(found)

    bases = [f'http://h{number}/é' for number in range(5)]
    listeners = [listen(hub, StreamScope(PROJECT, project_id=PROJECT), linked, base=json.dumps(base)[1:-1].encode())
                 for base in bases]
    for each in listeners:
        next(each)
    happen(database, rows.WEB, 'w1')
    hub.look()
    for base, each in zip(bases, listeners, strict=True):
        block = next(each).decode().strip().split('\n')
        assert json.loads(block[2].removeprefix('data: ')) == event_streams.view(base, rendered[0])
    assert len(rendered) == 1


def test_the_number_of_listeners_is_bounded(database):
    hub = Hub(database, EventStreamBounds.of(in_process.options(
        event_streams__listeners=2, event_streams__listeners_per_project=1)), Clock())
    hub._is_running = True
    first, before = listen(hub, StreamScope('a', project_id='a'), render), ended('refused')
    with pytest.raises(exception.HTTPServiceUnavailable):
        listen(hub, StreamScope('a', project_id='a'), render)
    assert ended('refused') == before + 1
    listen(hub, StreamScope('b', project_id='b'), render)
    with pytest.raises(exception.HTTPServiceUnavailable):
        listen(hub, StreamScope('c', project_id='c'), render)
    first.close()
    first.close()
    listen(hub, StreamScope('a', project_id='a'), render)
    assert hub.count == 2


def test_a_few_projects_leave_listeners_for_others(database):
    hub = Hub(database, EventStreamBounds.of(in_process.options(
        event_streams__listeners=64, event_streams__listeners_per_project=64)), Clock())
    hub._is_running = True
    taken = []
    for project in 'abcde':
        with pytest.raises(exception.HTTPServiceUnavailable):
            while True:
                listen(hub, StreamScope(project, project_id=project), render)
        taken.append(hub.count - sum(taken))
    assert taken == [16, 12, 9, 6, 5]


def test_other_servers_have_few_threads_for_streams(hub):
    """They do not say when they stop."""
    streams = [hub.listen(StreamScope(owner, project_id=owner), render) for owner in 'ab']
    with pytest.raises(exception.HTTPServiceUnavailable):
        hub.listen(StreamScope('c', project_id='c'), render)
    next(streams[0])
    hub.clock.seconds = event_hub.THREAD_SECONDS
    assert list(streams[0]) == []


def test_streams_end_when_their_server_stops(hub):
    stopping = []
    listener = listen(hub, StreamScope('a', project_id='a'), render, is_stopping=lambda: bool(stopping))
    next(listener)
    stopping.append(True)
    assert list(listener) == []


def test_one_statement_serves_all_listeners(hub, database):
    for _number in range(50):
        listen(hub, StreamScope(PROJECT, project_id=PROJECT), render)
    happen(database, rows.WEB, 'w1')
    statements = []
    sa.event.listen(database._reading, 'before_cursor_execute', lambda *args: statements.append(args[2]))
    hub.look()
    assert len(statements) == 1
