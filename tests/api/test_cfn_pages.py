"""Pages of the lists of the CloudFormation API: NextToken as in AWS, and no more in one answer than is bounded."""

import json
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

from heatlite.api.aws.envelope import Envelope
from heatlite.api.cfn import deploy
from heatlite.common import limits, turns
from heatlite.db import stacks, tables
from tests.api import in_process, rows

LISTS = {'ListStacks': 'StackSummaries', 'DescribeStacks': 'Stacks', 'DescribeStackEvents': 'StackEvents'}


@pytest.fixture
def database(tmp_path):
    with rows.database(tmp_path) as made:
        yield made


@pytest.fixture
def app(database):
    return deploy.build(in_process.options(), database, in_process.NoEngine(), identity=in_process.Verified)


@pytest.fixture
def ask(app):
    def ask(action, **parameters):
        answer = raw(app, action, ContentType='JSON', **parameters)
        assert answer.status_code == 200, answer.text
        return answer.json[f'{action}Response'][f'{action}Result']
    return ask


def raw(app, action, **parameters):
    return in_process.ask(app, 'GET', f'/v1/?{urlencode({"Action": action, **parameters})}')


def more(database, count):
    """More stacks in the project, and as many events of `web`."""
    with database.writer() as tx:
        for number in range(count):
            tx.execute(tables.stack.insert().values(rows.stack(
                rows.number(20, number), f's{number}', 100 + number // 2, status='FAILED' if number % 3 else 'COMPLETE',
                outputs=json.dumps([{'output_key': 'o', 'output_value': 'v', 'description': ''}]))))
            row = rows.event(1, rows.WEB, 'net', 'OS::Neutron::Net', 'SIGNAL', 'COMPLETE')
            del row['id']
            tx.execute(tables.event.insert().values({**row, 'uuid': rows.number(21, number)}))


def identities(action, found):
    return [each['EventId' if action == 'DescribeStackEvents' else 'StackId'] for each in found[LISTS[action]]]


def paged(ask, action, **parameters):
    """The ids of all pages; each page with the number of its entries."""
    found, sizes, token = [], [], {}
    while True:
        page = ask(action, **parameters, **token)
        found += identities(action, page)
        sizes.append(len(page[LISTS[action]]))
        if 'NextToken' not in page:
            return found, sizes
        token = {'NextToken': page['NextToken']}


@pytest.fixture
def small(monkeypatch):
    """Pages of three."""
    monkeypatch.setattr(limits, 'STACKS_DESCRIBED', 3)
    monkeypatch.setattr(limits, 'ROWS_LISTED', 3)


@pytest.mark.parametrize('action, parameters', [
    ('ListStacks', {}), ('ListStacks', {'StackStatusFilter.member.1': 'CREATE_FAILED'}),
    ('DescribeStacks', {}), ('DescribeStackEvents', {}), ('DescribeStackEvents', {'StackName': 'web'})])
def test_the_pages_are_the_list(database, ask, monkeypatch, action, parameters):
    more(database, 10)
    whole = ask(action, **parameters)
    assert 'NextToken' not in whole
    monkeypatch.setattr(limits, 'STACKS_DESCRIBED', 3)
    monkeypatch.setattr(limits, 'ROWS_LISTED', 3)
    found, sizes = paged(ask, action, **parameters)
    assert found == identities(action, whole)
    assert len(sizes) > 1 and max(sizes) == min(sizes[:-1]) == 3


def test_pages_go_on_after_a_row_that_is_gone(database, ask, small):
    more(database, 9)
    first = ask('DescribeStackEvents', StackName='web')
    rest = {'StackName': 'web', 'NextToken': first['NextToken']}
    before = identities('DescribeStackEvents', ask('DescribeStackEvents', **rest))
    with database.writer() as tx:
        tx.execute(tables.event.delete().where(tables.event.c.uuid == first['StackEvents'][-1]['EventId']))
    after = ask('DescribeStackEvents', **rest)
    assert identities('DescribeStackEvents', after) == before


def test_a_list_of_the_usual_length_is_one_page(database, ask):
    more(database, 90)
    for action, key in LISTS.items():
        found = ask(action)
        assert len(found[key]) >= 90 and 'NextToken' not in found, action


@pytest.mark.parametrize('token', [
    'nonsense', '!', 'W10', 'ü', 'WyJMaXN0U3RhY2tzIl0', 'WyJMaXN0U3RhY2tzIiwiMjAyNiIsICJcdTAwMDAiXQ'])
@pytest.mark.parametrize('action', LISTS)
def test_a_token_that_is_none(app, action, token):
    answer = raw(app, action, NextToken=token)
    assert answer.status_code == 400
    assert 'InvalidParameterValue' in answer.text and 'NextToken' in answer.text


def test_a_token_of_another_action(app, database, ask, small):
    more(database, 9)
    token = ask('ListStacks')['NextToken']
    assert raw(app, 'DescribeStacks', NextToken=token).status_code == 400


def test_a_page_of_long_texts_is_short(database, ask, monkeypatch):
    """Stacks with large outputs are not even read once the page is full."""
    more(database, 10)
    size = limits.MOST_PAGE // 3
    with database.writer() as tx:
        tx.execute(tables.stack.update().where(tables.stack.c.name.like('s%')).values(outputs=json.dumps(
            [{'output_key': 'o', 'output_value': 'x' * size, 'description': ''}])))
    read = []
    whole = stacks.show
    monkeypatch.setattr(stacks, 'show', lambda tx, stack_id: read.append(stack_id) or whole(tx, stack_id))
    found = ask('DescribeStacks')
    assert (len(found['Stacks']), len(read)) == (2, 3)
    ids, _sizes = paged(ask, 'DescribeStacks')
    assert len(ids) == len(set(ids)) >= 10


def test_an_entry_longer_than_a_page_is_one_page(database, ask):
    more(database, 2)
    with database.writer() as tx:
        tx.execute(tables.stack.update().where(tables.stack.c.name.like('s%')).values(outputs=json.dumps(
            [{'output_key': 'o', 'output_value': 'x' * (limits.MOST_PAGE + 1), 'description': ''}])))
    _ids, sizes = paged(ask, 'DescribeStacks')
    assert sizes[:2] == [1, 1]


# --- the XML ------------------------------------------------------------------------------------------------

def test_xml_is_made_with_turns():
    spent = []
    turns.use(lambda *owners: spent.append(owners))
    try:
        Envelope().response({'a': {'members': [{'key': str(number)} for number in range(1_000)]}}, as_json=False)
    finally:
        turns.use(None)
    assert len(spent) >= 10


def test_xml_of_any_depth():
    value = 'deep'
    for _level in range(5_000):
        value = {'a': value}
    body = Envelope().response({'a': value}, as_json=False).body
    assert body.count(b'<a>') == 5_001


def test_xml_has_no_declaration_and_escapes_texts():
    body = Envelope('http://example.org/?a&b', frozenset({'Doc'}), frozenset({'Yes'})).response({'Root': {
        'Text': 'a < b & c > "d" \u00fc\0', 'None': None, 'Empty': '', 'No': {}, 'List': [1, [2], {'x:y': 3}],
        'Doc': {'a': '<'}, 'NoDoc': {}, 'Yes': True, 'Bool': True, '1st': 'x'}}, as_json=False).body
    assert body.decode() == (
        '<Root xmlns="http://example.org/?a&amp;b"><Text>a &lt; b &amp; c &gt; "d" \u00fc</Text><Empty /><No />'
        '<List><member>1</member><member><member>2</member></member><member><x.y>3</x.y></member></List>'
        '<Doc>{"a": "&lt;"}</Doc><NoDoc /><Yes>true</Yes><Bool>True</Bool><_1st>x</_1st></Root>')
    assert ElementTree.fromstring(body)[0].text.startswith('a < b')
