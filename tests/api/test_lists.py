"""Lists of stacks, resources and events: whole at any length, and as the rows are now however often they are read."""

import gc
import json
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from heatlite.api import rendering, results, schemas, views
from heatlite.api.handlers import events as listed_events
from heatlite.api.handlers import resources as listed_resources
from heatlite.api.handlers import software_deployments
from heatlite.api.json_text import JsonText
from heatlite.common import limits, turns
from heatlite.db import codec, events, resource_lists, snapshots, stack_lists, tables
from heatlite.db import software_deployments as db_deployments
from tests.api import in_process, rows
from tests.counted_texts import CountedText
from tests.simulation import statements

P = f'/v1/{in_process.PROJECT}'
WEB = f'{P}/stacks/web/{rows.WEB}'


@pytest.fixture
def database(tmp_path):
    with rows.database(tmp_path) as made:
        yield made


@pytest.fixture
def get(database):
    app = in_process.build(None, database, in_process.NoEngine())
    return lambda path, **more: in_process.ask(app, 'GET', path, **more).json


@pytest.mark.parametrize('number', [
    0, 1, *(pieces * rendering.PIECE + more for pieces in (1, 2) for more in (-1, 0, 1))])
@pytest.mark.parametrize('count', [0, rendering.PIECE + 1], ids=['at once', 'in pieces'])
@pytest.mark.parametrize('written', [lambda n: True, lambda n: False, lambda n: n % 3], ids=['written', 'not', 'some'])
def test_a_list_is_whole_at_any_length(number, count, written):
    items = [JsonText(n) if written(n) else n for n in range(number)]
    answer = results.StreamedList('numbers', items, count, {'more': [1], 'none': None})
    assert json.loads(rendering.render(answer, 200).body) == {'numbers': list(range(number)), 'more': [1], 'none': None}


@pytest.mark.parametrize('query', ['name=nothing', 'type=No::Such::Type', 'status=FAILED&with_detail=true'])
def test_a_large_stack_of_which_no_resource_matches(database, get, query):
    with database.writer() as tx:
        tx.execute(tables.resource.insert(), [
            rows.resource(rows.BATCH, number, f'r{number}', 'OS::Heat::None')
            for number in range(1, rendering.PIECE + 2)])
    path = f'{P}/stacks/batch/{rows.BATCH}/resources'
    assert len(get(path)['resources']) == rendering.PIECE + 1
    assert get(f'{path}?{query}') == {'resources': []}


class CountedType(str):
    """The name of a type that counts in how many rows parts are looked for."""

    count = 0

    def __contains__(self, part):
        CountedType.count += 1
        return str.__contains__(self, part)


def test_many_values_of_filters_are_looked_for_once():
    CountedText.compared = 0
    parts, names = [f'No::{number}' for number in range(900)], tuple(CountedText(number) for number in range(900))
    found = [SimpleNamespace(name=f'r{number}', type=CountedType('OS::Heat::None')) for number in range(100)]
    of_type = listed_resources._matching(schemas.ListResources(type_contains=(*parts, 'Heat')))
    assert all(map(of_type, found)) and CountedType.count == 901
    of_name = listed_resources._matching(schemas.ListResources(filters={'name': (*names, 'r5')}))
    assert [row.name for row in found if of_name(row)] == ['r5'] and CountedText.compared < 1000


def test_others_run_while_no_resource_matches(database, get):
    with database.writer() as tx:
        tx.execute(tables.resource.insert(), [
            rows.resource(rows.BATCH, number, f'r{number}', 'OS::Heat::None') for number in range(1, 1001)])
    taken = []
    turns.use(lambda *_owners: taken.append(True))
    try:
        assert get(f'{P}/stacks/batch/{rows.BATCH}/resources?type=No::Such') == {'resources': []}
    finally:
        turns.use(None)
    assert len(taken) >= 10


def test_snapshots_are_read_one_after_the_other(database, get, monkeypatch):
    """Each has an export of its stack, which may be large."""
    with database.writer() as tx:
        tx.execute(tables.snapshot.insert(), [rows.snapshot(number, rows.WEB) for number in (11, 12)])
    read, whole = [], snapshots.show
    monkeypatch.setattr(snapshots, 'show', lambda tx, snapshot_id: read.append(snapshot_id) or whole(tx, snapshot_id))
    found = get(f'{WEB}/snapshots')['snapshots']
    assert [each['id'] for each in found] == read == [rows.number(3, number) for number in (1, 11, 12)]
    assert all(each['data'] for each in found)


@pytest.mark.parametrize('method, path', [('DELETE', ''), ('POST', '/restore')])
def test_what_a_snapshot_holds_is_not_read_to_act_on_it(database, method, path):
    app = in_process.build(None, database, in_process.NoEngine())
    with statements.noted(lambda text: 'FROM snapshot' in text) as seen:
        in_process.ask(app, method, f'{WEB}/snapshots/{rows.number(3, 1)}{path}')
    assert seen and not any('snapshot.data' in text for text in seen)


# path, table, changes of columns: each of them is in the answer
CHANGES = {
    'stacks': (f'{P}/stacks', tables.stack, {
        'name': 'other', 'reason': 'why', 'description': 'what', 'tags': '["new"]', 'status': 'COMPLETE',
        'username': 'somebody else', 'updated_at': rows.minutes(77), 'user_project_id': 'c' * 32}),
    'resources': (f'{WEB}/resources', tables.resource, {
        'reason': 'why', 'status': 'FAILED', 'physical_id': 'other', 'type': 'OS::Heat::None',
        'updated_at': rows.minutes(77), 'requires': '{"net": 1}'}),
    'events': (f'{WEB}/events', tables.event, {
        'reason': 'why', 'status': 'FAILED', 'physical_id': 'other', 'resource_name': 'other'}),
}


@pytest.mark.parametrize('key, column', [(key, column) for key, (*_where, new) in CHANGES.items() for column in new])
def test_a_list_shows_each_change_of_a_row(database, get, key, column):
    path, table, new = CHANGES[key]
    before = get(path)[key]
    assert get(path)[key] == before                             # from what is kept
    with database.writer() as tx:
        last = tx.execute(sa.select(table.c.id).where(
            table.c.id == rows.BATCH if key == 'stacks' else table.c.stack_id == rows.WEB).order_by(
                table.c.id.desc()).limit(1)).scalar_one()
        tx.execute(table.update().where(table.c.id == last).values({column: new[column]}))
    after = get(path)[key]
    assert after != before
    assert len([each for each in after if each not in before]) == 1


def test_links_are_those_of_each_caller(get):
    for host in ('one.example', 'two.example', 'one.example'):
        for path in (f'{P}/stacks', f'{WEB}/resources', f'{WEB}/events', f'{WEB}/resources/net/events'):
            (found,) = get(path, headers={'Host': host}).values()
            assert {link['href'].split('/')[2] for each in found for link in each['links']} == {host}


def test_an_admin_sees_the_project_and_others_do_not(get):
    for roles, shown in (('admin,reader', True), ('reader', False), ('admin,reader', True)):
        assert {'project' in each for each in get(f'{P}/stacks', roles=roles)['stacks']} == {shown}


def test_nested_stacks_show_where_they_are(database, get):
    path = f'{WEB}/resources?nested_depth=2'
    before = {each['resource_name']: each for each in get(path)['resources']}
    assert 'nested' in [link['rel'] for link in before['inner']['links']]
    with database.writer() as tx:
        tx.execute(tables.stack.update().where(tables.stack.c.id == rows.INNER).values(live=None))
    after = {each['resource_name']: each for each in get(path)['resources']}
    assert 'nested' not in [link['rel'] for link in after['inner']['links']]


def test_a_member_is_rendered_once_if_it_is_small(database):
    with database.reader() as tx:
        (net, *_others) = resource_lists.page(tx, [rows.WEB])
    for given, is_kept in ((('http://a', net, ('server',), None, None), True),
                           (('http://a' * views.SMALL, net, (), None, None), False),
                           (('http://a', net, ('name',) * 1000, None, None), False)):
        first, second = views.listed_resource(*given), views.listed_resource(*given)
        assert json.loads(first) == json.loads(second) == views.resource(*given)
        assert (first is second) == is_kept


def test_large_rows_are_not_kept(database, get):
    """A description may have half a megabyte, a reason, too, and a resource may require a thousand others."""
    large = 'x' * codec.SMALL
    with database.writer() as tx:
        tx.execute(tables.stack.update().values(description=large))
        tx.execute(tables.resource.update().values(requires=json.dumps({large: 1})))
        tx.execute(tables.event.update().values(reason=large))
    for path in (f'{P}/stacks', f'{WEB}/resources', f'{WEB}/events'):
        get(path)
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, (stack_lists.Summary, resource_lists.ShownResource,
                                                                   events.ShownEvent))]
    assert [each for each in kept if large in str(vars(each))] == []


def test_a_list_of_long_texts_is_sent_in_pieces():
    items = [JsonText(json.dumps('x' * rendering.PIECE_TEXT))] * 3
    sent = list(rendering.render(results.StreamedList('texts', items, 3, is_large=True), 200).app_iter)
    assert max(map(len, sent)) < 1.1 * rendering.PIECE_TEXT
    assert len(json.loads(b''.join(sent))['texts']) == 3


@pytest.mark.parametrize('number', [0, 1, *(blocks * software_deployments.BLOCK + more
                                            for blocks in (1, 2) for more in (-1, 0, 1))])
def test_deployments_are_read_in_blocks(database, get, number):
    """Each has inputs and outputs of any size."""
    blocks = []
    with database.writer() as tx:
        tx.execute(tables.software_deployment.delete())
        for each in range(number):
            tx.execute(tables.software_deployment.insert().values(rows.deployment(each)))
    sa.event.listen(database._reading, 'before_cursor_execute', lambda *given: blocks.append(given[2]))
    found = get(f'{P}/software_deployments')['software_deployments']
    assert [each['id'] for each in found] == [rows.number(5, each) for each in range(number)]
    read = [each for each in blocks if 'FROM software_deployment' in each]
    assert len(read) == max(2 * -(-number // software_deployments.BLOCK), 1)       # the sizes, and the rows


def test_few_large_deployments_are_read_at_once(database, get, monkeypatch):
    """A block ends with the deployment with which it reaches the characters of a page."""
    monkeypatch.setattr(limits, 'MOST_PAGE', 1000)
    read, page = [], db_deployments.page
    monkeypatch.setattr(db_deployments, 'page', lambda *given: read.append(page(*given)) or read[-1])
    with database.writer() as tx:
        tx.execute(tables.software_deployment.delete())
        for each in range(12):
            tx.execute(tables.software_deployment.insert().values({
                **rows.deployment(each), 'output_values': json.dumps({'result': 'x' * 400})}))
    found = get(f'{P}/software_deployments')['software_deployments']
    assert [each['id'] for each in found] == [rows.number(5, each) for each in range(12)]
    assert [(len(each), goes_on) for each, goes_on in read] == [(3, True)] * 3 + [(3, False)]


@pytest.mark.parametrize('query', ['', '?nested_depth=5', '?limit=7'])
def test_few_events_with_long_reasons_are_read_at_once(database, get, monkeypatch, query):
    read, page = [], events.page
    with database.writer() as tx:
        for each in range(100, 109):
            tx.execute(tables.event.insert().values({
                **rows.event(each, rows.WEB, 'r', 'T', 'CREATE', 'FAILED'), 'reason': 'x' * 400}))
    whole = get(f'{WEB}/events{query}')
    monkeypatch.setattr(limits, 'MOST_PAGE', 1000)
    monkeypatch.setattr(events, 'page', lambda *given, **named: read.append(page(*given, **named)) or read[-1])
    assert get(f'{WEB}/events{query}') == whole
    assert max(sum(len(each.reason) for each in found) for found in read) <= 1000 + 400
    assert sum(map(len, read)) == len(whole['events'])


def test_the_timeline_reads_no_reasons(database, get):
    """Of thousands of events, each of which may have a long one."""
    statements = []
    sa.event.listen(database._reading, 'before_cursor_execute', lambda *given: statements.append(given[2]))
    get(f'{WEB}/timeline')
    listed = [each for each in statements
              if 'FROM event' in each and 'LIMIT' in each and 'resource_id IS NOT NULL' in each]
    assert len(listed) == 2 and not any('event.reason' in each for each in listed)


@pytest.mark.parametrize('query', [
    '', '?sort_dir=asc', '?limit=0', '?limit=3', '?limit=4', '?limit=7', '?limit=99999999999',
    '?resource_status=FAILED',
    '?sort_keys=resource_type', '?sort_keys=resource_type&sort_keys=event_time&sort_dir=desc', '?nested_depth=5',
    '?nested_depth=5&limit=5', '?nested_depth=5&sort_keys=resource_type', f'?marker={rows.number(2, 102)}',
    f'?nested_depth=5&marker={rows.number(2, 102)}'])
def test_events_are_read_in_blocks(database, get, monkeypatch, query):
    """There is no largest page."""
    read, page = [], events.page
    with database.writer() as tx:
        for each in range(100, 109):
            stack_id, status = rows.INNER if each % 3 else rows.WEB, 'FAILED' if each % 2 else 'COMPLETE'
            tx.execute(tables.event.insert().values(rows.event(
                each, stack_id, 'r', f'T{each % 2}', 'CREATE', status, created_at=rows.minutes(each % 4))))
    whole = get(f'{WEB}/events{query}')
    monkeypatch.setattr(listed_events, 'BLOCK', 3)
    monkeypatch.setattr(events, 'page', lambda *given, **named: read.append(page(*given, **named)) or read[-1])
    assert get(f'{WEB}/events{query}') == whole
    assert max(map(len, read)) <= 3 and sum(map(len, read)) == len(whole['events'])


@pytest.mark.parametrize('stored, listed, detailed', [
    ('No description', '', 'No description'), ('A shop', 'A shop', 'A shop')])
def test_a_template_without_description(database, get, stored, listed, detailed):
    with database.writer() as tx:
        tx.execute(tables.stack.update().where(tables.stack.c.id == rows.WEB).values(description=stored))
    assert {each['description'] for each in get(f'{P}/stacks')['stacks'] if each['id'] == rows.WEB} == {listed}
    assert get(WEB)['stack']['description'] == detailed
