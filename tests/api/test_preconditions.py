"""`ETag` and `If-Match` of stacks: what the API shows, reads and sends. Engines judge it: tests/engine/requests."""

import pytest
from oslo_middleware import cors

from heatlite.common import exception
from heatlite.rpc import messages
from tests.api import in_process, rows

P = f'/v1/{in_process.PROJECT}'
WEB = f'{P}/stacks/web/{rows.WEB}'
THEIRS = f'/v1/{in_process.OTHER}/stacks/theirs/{rows.THEIRS}'
TEMPLATE = {'template': {'heat_template_version': '2018-08-31'}}
CHANGES = [('PUT', TEMPLATE), ('PATCH', TEMPLATE), ('DELETE', None)]
TAG = 'c0ffee'


class RecordingEngine:
    """Answers as an engine; keeps the messages."""

    def __init__(self, answer):
        self.answer = answer
        self.sent = []

    def call(self, context, message):
        self.sent.append(message)
        if isinstance(self.answer, Exception):
            raise self.answer
        return {'tenant': in_process.PROJECT, 'stack_name': 'web', 'stack_id': rows.WEB, 'path': '', **self.answer}


@pytest.fixture
def engine():
    return RecordingEngine({messages.DEFINITION_TAG: TAG})


@pytest.fixture
def served(database, engine):
    return in_process.build(in_process.options(), database, engine)


def change(app, method, body, header, path=WEB, **more):
    return in_process.ask(app, method, path, body, headers={} if header is None else {'If-Match': header}, **more)


# --- the tag ---------------------------------------------------------------------------------------------

def test_a_stack_has_a_tag_and_answers_with_it_whatever_the_caller_has(api):
    answer = in_process.ask(api, 'GET', WEB)
    tag = answer.headers['ETag']
    assert tag[0] == tag[-1] == '"' and len(tag) > 30
    again = in_process.ask(api, 'GET', WEB, headers={'If-None-Match': tag})
    assert (again.status_code, again.headers['ETag']) == (200, tag)
    assert in_process.ask(api, 'GET', f'{WEB}?resolve_outputs=false').headers['ETag'] == tag
    assert in_process.ask(api, 'GET', f'{P}/stacks/batch/{rows.BATCH}').headers['ETag'] != tag


@pytest.mark.parametrize('path', [
    f'{P}/stacks/old/{rows.OLD}', f'{P}/stacks', f'{WEB}/resources/net', f'{WEB}/template', f'{P}/stacks/web', THEIRS])
def test_other_answers_have_none(api, path):
    assert 'ETag' not in in_process.ask(api, 'GET', path).headers


@pytest.mark.parametrize('method, path, body', [
    ('POST', f'{P}/stacks', {'stack_name': 'web', **TEMPLATE}), ('PUT', WEB, TEMPLATE), ('PATCH', WEB, TEMPLATE)])
@pytest.mark.parametrize('answered', [True, False], ids=['this release', 'the former one'])
def test_a_change_answers_with_the_tag_that_the_engine_says(served, engine, method, path, body, answered):
    if not answered:
        engine.answer = {}
    answer = in_process.ask(served, method, path, body)
    assert answer.status_code in (201, 202)
    assert answer.headers.get('ETag') == (f'"{TAG}"' if answered else None)
    assert method != 'POST' or answer.headers['Location'].endswith(WEB)


# --- the condition ---------------------------------------------------------------------------------------

@pytest.mark.parametrize('method, body', CHANGES)
@pytest.mark.parametrize('header, wanted', [
    (None, None), ('*', None), (' * ', None), ('"a"', ('a',)), ('"a","b"', ('a', 'b')), ('"a" ,\t"b"', ('a', 'b')),
    (', "a",, "b",', ('a', 'b')), ('"*"', ('*',)), ('"a, b"', None), ('""', ('',)), ('W/"a"', ()),
    ('W/"a", "b"', ('b',)), ('"\xe9"', ('\xe9',)), ('"W/"', ('W/',))])
def test_the_condition_is_in_the_message(served, engine, method, body, header, wanted):
    answer = change(served, method, body, header)
    if header == '"a, b"':                      # tags have no blanks
        assert answer.status_code == 400
        return
    assert answer.status_code in (202, 204), answer.text
    assert engine.sent[0].if_match == wanted
    assert ('if_match' in engine.sent[0].sent()) == (wanted is not None)    # engines of any release take it without


@pytest.mark.parametrize('method, body', CHANGES)
@pytest.mark.parametrize('header', [
    '', ',', 'a', '"a', 'a"', '"a" "b"', '"a""b"', '*, "a"', '"a", *', 'w/"a"', 'W/ "a"', "'a'", '"a"; q=1', '"a\tb"',
    '"a",' + 'x' * 5000])
def test_a_malformed_header_is_refused(served, engine, method, body, header):
    answer = change(served, method, body, header)
    assert answer.status_code == 400 and not engine.sent
    assert answer.json['error']['type'] == 'HTTPBadRequest'
    assert 'Invalid header If-Match: expected the ETag' in answer.json['error']['message']
    assert len(answer.text) < 1500


@pytest.mark.parametrize('method, body', CHANGES)
@pytest.mark.parametrize('header', ['"a"', 'a'])
@pytest.mark.parametrize('path', [
    f'{P}/stacks/old/{rows.OLD}', f'{P}/stacks/theirs/{rows.THEIRS}', f'{P}/stacks/other/{rows.WEB}',
    f'{P}/stacks/none/{rows.number(1, 99)}'], ids=['deleted', 'of others', 'other name', 'none'])
def test_a_stack_that_the_caller_does_not_see_is_not_found(served, engine, method, body, header, path):
    answer = change(served, method, body, header, path)
    assert (answer.status_code, answer.headers.get('ETag'), engine.sent) == (404, None, [])


@pytest.mark.parametrize('method, body', CHANGES)
def test_a_refusal_says_what_to_do(served, engine, method, body):
    engine.answer = exception.PreconditionFailed(stack_name='web', why='so')
    answer = change(served, method, body, '"a"')
    assert answer.status_code == 412 and answer.content_type == 'application/json'
    assert (answer.json['code'], answer.json['title']) == (412, 'Precondition Failed')
    assert answer.json['explanation'] == 'A condition of the request is not met.'
    assert answer.json['error']['type'] == 'PreconditionFailed'
    assert 'Read the stack again' in answer.json['error']['message']


def test_previews_ask_nothing(served, engine):
    answer = change(served, 'PUT', TEMPLATE, 'malformed', f'{WEB}/preview')
    assert answer.status_code == 200 and engine.sent[0].if_match is None


@pytest.mark.parametrize('method', ['PUT', 'DELETE'])
def test_pages_of_other_sites_may_use_both(database, engine, method):
    conf = in_process.options()
    conf.register_opts(cors.OPTS, 'cors')
    conf.set_override('allowed_origin', ['http://dashboard'], group='cors')
    app = in_process.build(conf, database, engine)
    asked = {'Origin': 'http://dashboard', 'Access-Control-Request-Method': method,
             'Access-Control-Request-Headers': 'if-match'}
    answer = in_process.ask(app, 'OPTIONS', WEB, headers=asked)
    assert 'if-match' in answer.headers['Access-Control-Allow-Headers'].lower()
    answer = in_process.ask(app, 'GET', WEB, headers={'Origin': 'http://dashboard'})
    assert 'ETag' in answer.headers['Access-Control-Expose-Headers'] and answer.headers['ETag']
