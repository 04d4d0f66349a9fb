"""Each rule between two releases is broken once, in a copy of the present state."""

import copy

import pytest

from tests.upgrade import rules, state

USED = {name: sorted(table['columns']) for name, table in state.schema()['tables'].items()}


def column(name, found):
    table, _, column = name.partition('.')
    return found['tables'][table]['columns'][column]


def check_refused(reasons_of, now, ways, words):
    """Break a copy of `now` in that way: one reason says so. `reasons_of(now, broken)`: why it is refused."""
    broken = copy.deepcopy(now)
    ways[words](broken)
    reasons = list(reasons_of(now, broken))
    assert len(reasons) == 1 and words in reasons[0], reasons


def rename(found):
    columns = found['tables']['resource']['columns']
    columns['object_id'] = columns.pop('physical_id')


SCHEMA = {
    'dropped or renamed': rename,
    'table drift: it is dropped': lambda found: found['tables'].pop('drift'),
    'Text becomes String': lambda found: column('stack.reason', found).update(type='String', length=255),
    'shortened to 100': lambda found: column('stack.name', found).update(length=100),
    'BigInteger becomes Integer': lambda found: column('lease.writes', found).update(type='Integer'),
    'becomes NOT NULL': lambda found: column('stack.settled', found).update(nullable=False),
    'loses its default': lambda found: column('lease.strikes', found).update(default=None),
    'new, NOT NULL and has no default': lambda found: found['tables']['event']['columns'].update(
        kind={'type': 'String', 'length': 9, 'nullable': False, 'default': None}),
    'must be unique': lambda found: found['tables']['resource']['uniques'].append(['stack_id', 'name']),
    'name must be unique': lambda found: found['tables']['snapshot']['indexes'].update(
        ix_name={'columns': ['name'], 'unique': True}),
    'another primary key': lambda found: found['tables']['event'].update(key=['stack_id', 'id']),
    'index ix_stack_owner_id is dropped': lambda found: found['tables']['stack']['indexes'].pop('ix_stack_owner_id'),
    'is sealed': lambda found: found['sealed']['resource'].append('reason'),
}


@pytest.mark.parametrize('words', SCHEMA)
def test_a_broken_schema_is_refused(words):
    check_refused(lambda now, broken: rules.schema(now, broken, USED), state.schema(), SCHEMA, words)


@pytest.mark.parametrize('change', [
    lambda found: column('stack.status', found).update(length=64),
    lambda found: column('stack.status', found).update(type='Text', length=None),
    lambda found: column('lease.epoch', found).update(type='BigInteger'),
    lambda found: column('stack.name', found).update(nullable=True),
    lambda found: found['tables'].update(new=found['tables']['drift']),
    lambda found: found['tables']['event']['columns'].update(
        kind={'type': 'String', 'length': 9, 'nullable': False, 'default': 'x'}),
    lambda found: found['tables']['event']['indexes'].update(ix_new={'columns': ['action'], 'unique': False})])
def test_an_expanded_schema_is_accepted(change):
    now = state.schema()
    expanded = copy.deepcopy(now)
    change(expanded)
    assert list(rules.schema(now, expanded, USED)) == []


def test_what_the_former_release_does_not_use_may_go():
    now = state.schema()
    contracted = copy.deepcopy(now)
    del contracted['tables']['stack']['columns']['username'], contracted['tables']['drift']
    used = {**USED, 'stack': [name for name in USED['stack'] if name != 'username'], 'drift': []}
    assert list(rules.schema(now, contracted, used)) == []
    assert len(list(rules.schema(now, contracted, USED))) == 2


def field(method, name, found):
    return found['calls'][method]['fields'][name]


REQUIRED = {'type': 'str', 'required': True, 'default': None}
MESSAGES = {
    'message lock_stack: it is gone': lambda found: found['calls'].pop('lock_stack'),
    'its answer is another one': lambda found: found['calls']['create_stack'].update(answer='{id}'),
    'and now changes something': lambda found: found['calls']['preview_stack'].update(reads=False),
    'field tags is gone': lambda found: found['calls']['create_stack']['fields'].pop('tags'),
    'field details was Any and is str': lambda found: field('signal_resource', 'details', found).update(type='str'),
    'field digest is required': lambda found: field('apply_plan', 'digest', found).update(required=True),
    'has another default': lambda found: field('create_stack', 'disable_rollback', found).update(default=False),
    'is not sent any more': lambda found: field('delete_stack', 'stack_id', found).update(required=False),
    'field colour is new and required': lambda found: found['calls']['delete_stack']['fields'].update(colour=REQUIRED),
    'error Odd: the former release knows none': lambda found: found['errors'].update(Odd={'code': 418, 'bases': []}),
    'answers 404, not 409': lambda found: found['errors'].update(Odd={'code': 409, 'bases': ['New', 'NotFound']}),
    'its code changes': lambda found: found['errors']['NotFound'].update(code=410),
    'error StackExists: it is gone': lambda found: found['errors'].pop('StackExists'),
}


@pytest.mark.parametrize('words', MESSAGES)
def test_a_broken_message_is_refused(words):
    check_refused(rules.messages, state.wire(), MESSAGES, words)


def test_new_messages_fields_and_errors_are_accepted():
    now = state.wire()
    new = copy.deepcopy(now)
    new['calls']['paint_stack'] = new['calls']['delete_stack']
    new['calls']['delete_stack']['fields']['colour'] = {'type': 'str', 'required': False, 'default': 'red'}
    new['errors']['Odd'] = {'code': 404, 'bases': ['New', 'NotFound']}
    assert list(rules.messages(now, new)) == []


@pytest.mark.parametrize('fields, refused', [
    (['delete_stack.colour'], False), (['delete_stack.colour', 'paint_stack.colour'], False),
    (['delete_stack.stack_id'], True), (['delete_stack.colour', 'delete_stack.stack_id'], True), ([], True)])
def test_an_error_of_its_own_answers_new_fields_only(fields, refused):
    now = state.wire()
    new = copy.deepcopy(now)
    new['errors']['Odd'] = {'code': 418, 'bases': [], 'only_for': fields}
    assert bool(list(rules.messages(now, new))) == refused


DOCUMENTS = {
    'document resource.waits: it is gone': lambda found: found['documents'].pop('resource.waits'),
    'document drift.report, resources: finding is gone': lambda found: found['documents']['drift.report']['resources'][
        0].pop('finding'),
    'document guard.lock, reason: str becomes list': lambda found: found['documents']['guard.lock'].update(reason=[]),
    'Status: FAILED is gone': lambda found: found['words']['Status'].remove('FAILED'),
    'document stack.request: restore is gone': lambda found: found['documents']['stack.request'].pop('restore'),
    'document stack.request, plan: is_open is gone': lambda found: found['documents']['stack.request']['plan'].pop(
        'is_open'),
    'resource_data: private_key is gone, but stored': lambda found: found['keys'].remove('private_key'),
    'Status: PAUSED is new': lambda found: found['words']['Status'].append('PAUSED'),
}


@pytest.mark.parametrize('words', DOCUMENTS)
def test_a_broken_document_is_refused(words):
    check_refused(rules.documents, state.durable(), DOCUMENTS, words)


def test_a_document_may_grow():
    now = state.durable()
    new = copy.deepcopy(now)
    new['documents']['guard.lock']['colour'] = 'red'
    new['words']['Colour'] = ['red']
    new['keys'].append('colour')
    assert list(rules.documents(now, new)) == []
