"""What a release is for the one before it and the one after it: its schema, its messages, its stored documents.

All of it is plain JSON, made from the code that runs; `tests/upgrade/releases` has that of each release.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from heatlite.common import exception
from heatlite.common.context import RequestContext
from heatlite.db import sync
from heatlite.db.forced_deletes import Left
from heatlite.db.guards import Lock
from heatlite.db.project_cells import Numbers
from heatlite.db.tables import SEALED, WRITTEN_BY_USERS, metadata
from heatlite.engine.durability import request_ids
from heatlite.engine.reconcile import exports, imports, loading, nesting, plan_references, step_context
from heatlite.engine.resources.rest.calls import DescribedCall
from heatlite.monitoring import alarms
from heatlite.planning import drift, plan, protection, replacement, revisions, ruling, states, waiting
from heatlite.rpc import messages
from heatlite.rpc.server import MESSAGES
from tests.upgrade import data_keys

RELEASES = Path(__file__).with_name('releases')
PARTS = ('schema', 'messages', 'documents')
State = dict[str, Any]


def schema() -> State:
    """{revision, tables: {name: {columns: {name: {type, length, nullable, default}}, key, uniques, indexes}}}, sealed
    columns. Types are those of SQLAlchemy; a test compares the tables with what migrations make."""
    return {'revision': sync.HEAD, 'tables': {name: _table(table) for name, table in sorted(metadata.tables.items())},
            'sealed': {table.name: sorted(names) for table, names in {**SEALED, **WRITTEN_BY_USERS}.items()}}


def _table(table: sa.Table) -> State:
    return {'columns': {column.name: {
                'type': type(column.type).__name__, 'length': getattr(column.type, 'length', None),
                'nullable': bool(column.nullable),
                'default': None if column.server_default is None else str(column.server_default.arg)}
                for column in table.c},
            'key': [column.name for column in table.primary_key],
            'uniques': sorted([column.name for column in each.columns] for each in table.constraints
                              if isinstance(each, sa.UniqueConstraint)),
            'indexes': {str(each.name): {'columns': [column.name for column in each.columns], 'unique': each.unique}
                        for each in sorted(table.indexes, key=lambda index: str(index.name))}}


def _as_sent(annotation: str) -> str:
    """The type of a field as it is sent. What is any value, and which keys a mapping has, is for type checkers only."""
    def sent(name: re.Match[str]) -> str:
        if name[0] == 'object':
            return 'Any'
        return 'Mapping[str, Any]' if typing.is_typeddict(vars(messages).get(name[0])) else name[0]
    return re.sub(r'\w+', sent, annotation)


def wire() -> State:
    """{calls: {method: {fields: {name: {type, default}}, reads, answer}}, errors: {name: {code, bases, only_for?}}}. A
    field without a default is required. Errors are those which the package defines: the names that foreign plug-ins may
    ask for are added to its module when the first of them is loaded."""
    found = {}
    for method, message in sorted(MESSAGES.items()):
        fields = {}
        for each in dataclasses.fields(message):
            default = messages.default(each)
            fields[each.name] = {'type': _as_sent(str(each.type)), 'required': default is dataclasses.MISSING,
                                 'default': None if default is dataclasses.MISSING else _plain(default)}
        found[method] = {'fields': fields, 'reads': message.reads, 'answer': message.answer}
    errors = {name: {'code': kind.http_code, 'bases': [
                  base.__name__ for base in kind.__mro__[1:]
                  if issubclass(base, exception.HeatException) and base is not exception.HeatException],
                     **({'only_for': list(ONLY_FOR[name])} if name in ONLY_FOR else {})}
              for name, kind in sorted(vars(exception).items())
              if isinstance(kind, type) and issubclass(kind, exception.HeatException)
              and (kind.__module__, kind.__name__) == (exception.__name__, name)}
    return {'calls': found, 'errors': errors}


# Errors that answer only requests with one of these fields, which a release that does not know the error never sends.
ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    exception.PreconditionFailed.__name__: ('update_stack.if_match', 'delete_stack.if_match')}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


@dataclasses.dataclass(frozen=True)
class Document:
    """A document that is stored, or part of a message: `sample` has all its fields, `read` is what reads it."""

    sample: Any
    read: Callable[[Any], Any]


NOW = datetime(2030, 1, 2, 3, 4, 5, 6)
_PROTECTION = protection.Protection(('group', '*'), frozenset({protection.Denial.DELETE}), 'why')
_RULE = alarms.AlarmRule.stored
_REPORT = drift.DriftReport('2030-01-02T03:04:05', 'engine', {'drifted': 1}, (drift.ResourceDrift(
    ('group', 'a'), 'T', next(iter(drift.DriftFinding)), next(iter(drift.DriftPolicy)), 'id',
    (drift.PropertyDrift(('p',), 'x', 'y', 'then', 'them'),), 'why', 'then', 'them'),))


def documents() -> Mapping[str, Document]:
    """By table and column, or by what has them."""
    metric = alarms.Metric('n', 'm', (('a', 'b'),))
    rule = {each.name: None for each in dataclasses.fields(alarms.AlarmRule)}
    return {
        'alarm.rule': Document(_rule(metric, rule), _RULE),
        'drift.report': Document(drift.to_json(_REPORT), drift.from_json),
        'forced_delete.left_behind': Document(
            dataclasses.asdict(Left(('a',), 'T', 'id', 'why')), lambda found: _known(Left, found)),
        'guard.lock': Document(
            dataclasses.asdict(Lock('why', 'id', 'name', '2030-01-02T03:04:05')), lambda found: _known(Lock, found)),
        'guard.protections': Document(_PROTECTION.to_json(), protection.Protection.from_json),
        'plan_permission.permissions': Document(
            plan.Permissions({'a': frozenset({states.Action.UPDATE})}, frozenset({'b'}), False, 1).to_json(),
            plan.Permissions.from_json),
        'plan.document, policies': Document(
            ruling.Ruling('p', next(iter(ruling.Effect)), ('why',)).to_json(), ruling.Ruling.from_json),
        'plan.document, blockers': Document(
            protection.DeniedAction(('a',), protection.Denial.DELETE, _PROTECTION).to_json(),
            protection.DeniedAction.from_json),
        'project_cell.numbers': Document(
            dataclasses.asdict(Numbers(1, 2, 3, [4])), lambda found: _known(Numbers, found)),
        'resource.cause': Document(
            replacement.ReplacementCause(next(iter(replacement.Reason)), 'what', 'by', 'at').to_json(),
            replacement.ReplacementCause.from_json),
        'resource.definition': Document(
            {'metadata': {'a': 1}, 'depends_on': ['a'], 'deletion_policy': 'Retain', 'update_policy': {'b': {}},
             'description': 'x', 'external_id': 'id'}, _of_definition),
        'resource.waits': Document(waiting.Wait('call', 1.5, NOW, NOW, 'answer').to_json(), waiting.Wait.from_json),
        'signal.request': Document(
            {name: _REQUEST[name] for name in (*request_ids.NAMES, request_ids.TRACE)}, _of_signal),
        'software_config.config': Document(
            {'config': 'x', 'inputs': [], 'outputs': [], 'options': {}},
            lambda found: tuple(found[name] for name in ('config', 'inputs', 'outputs', 'options'))),
        'stack.request': Document(_REQUEST, _of_request),
        'resource.handle, calls': Document(
            DescribedCall('GET', '/x', {'a': 1}, {'h': 'v'}, {'q': 1}, (404,), 's', '1.2', 'answer').stored(),
            DescribedCall.read)}


_REQUEST = {
    'request_id': 'req-1', 'global_request_id': 'req-2', request_ids.PLAN: plan_references.reference('id',
                                                                                                     ('group', 'a')),
    request_ids.TRACE: {'traceparent': f'00-{"a" * 32}-{"b" * 16}-01'},
    **exports.ABANDONING, **imports.UNDOING, 'adopt': {'a': {'resource_id': 'id'}}, 'restore': 'id', 'snapshot': 'id',
    'facade': {name: {} for name in ('metadata', 'deletion_policy', 'update_policy')}}


def _of_request(found: Mapping[str, Any]) -> Any:
    """What an engine reads of the request of a stack: for its ids, plan, snapshot, facade and for what it is done."""
    row: Any = SimpleNamespace(id='id', name='name', project_id='p', generation=1, action=states.Action.DELETE,
                               status=states.Status.IN_PROGRESS, request=found)
    facade = loading.facade(row)
    assert isinstance(facade, nesting.StoredFacade)
    return (request_ids.of(row), request_ids.subject(row), request_ids.asked_by(row), plan_references.of(row),
            exports.is_abandoned(row), imports._is_undoing(row),
            [facade.part(name) for name in ('metadata', 'deletion_policy', 'update_policy')],
            [found[name] for name in ('adopt', 'restore', 'snapshot')])


def _of_definition(found: Mapping[str, Any]) -> Any:
    return step_context.definition_of('name', {**found, 'type': 'T', 'properties': {}}).render_hot()


def _of_signal(found: Mapping[str, Any]) -> Any:
    made = request_ids.of_signal(RequestContext(overwrite=False), found)
    return made.request_id, made.global_request_id


def _rule(metric: alarms.Metric, names: Mapping[str, Any]) -> Any:
    actions = dict.fromkeys(alarms.ACTIONS, ('url',))
    given = {'metric': metric, 'statistic': 'Average', 'comparison': 'GreaterThanThreshold', 'threshold': 1.0,
             'period': 60, 'evaluation_periods': 1, **actions}
    return alarms.AlarmRule(**{name: value for name, value in given.items() if name in names}).to_json()


def _known(cls: type, found: Mapping[str, Any]) -> Any:
    from heatlite.common.document_parts import known_fields
    return cls(**known_fields(cls, found))


# By their names in the records of releases: those of classes may change.
WORDS: Mapping[str, type[StrEnum]] = {
    'Action': states.Action, 'Status': states.Status, 'Denial': protection.Denial, 'Finding': drift.DriftFinding,
    'Policy': drift.DriftPolicy, 'Effect': ruling.Effect, 'Reason': replacement.Reason,
    'Outcome': revisions.RevisionOutcome}


def durable() -> State:
    """{documents: {name: sample}, words: {enumeration: [word]}, keys: names of values that resource types keep}: what
    rows hold beside plain columns."""
    return {'documents': {name: _plain(found.sample) for name, found in sorted(documents().items())},
            'words': {name: sorted(map(str, kind)) for name, kind in WORDS.items()}, 'keys': data_keys.found()}


# Columns of texts that have no sample: why not.
WITHOUT_SAMPLE: Mapping[str, tuple[str, ...]] = {
    'a plain text': (
        'alarm.reason', 'alarm_history.summary', 'credentials.auth_url', 'credentials.password', 'credentials.token',
        'credentials.trust_id', 'event.reason', 'resource.reason', 'snapshot.reason',
        'software_deployment.status_reason', 'stack.description', 'stack.reason'),
    'what a user wrote, or is shown: described by the API': (
        'alarm.reason_data', 'alarm_history.data', 'alarm_webhook.body', 'alarm_webhook.url', 'files.content',
        'metric.dimensions', 'plan.summary', 'revision.parameters', 'signal.details', 'snapshot.data',
        'software_deployment.input_values', 'software_deployment.output_values', 'stack.outputs', 'stack.parameters',
        'stack.tags', 'template.document', 'template.environment'),
    'the fields of messages, which are compared as such': ('plan.request',),
    'values by names of the template': ('resource.requires',),
    'what resource types keep; their keys are compared': (
        'event.properties', 'resource.attributes', 'resource.metadata', 'resource.properties',
        'resource_data.value'),
    'an error, of those that are compared': ('signal_error.error',)}


def current() -> State:
    """The state of the code that runs, without `statements`."""
    return {'schema': schema(), 'messages': wire(), 'documents': durable()}


def names() -> list[str]:
    """The releases, the newest last."""
    return sorted((each.name for each in RELEASES.iterdir() if each.is_dir()),
                  key=lambda name: tuple(map(int, name.split('.'))))


def load(name: str) -> State:
    return {path.stem: json.loads(path.read_text()) for path in (RELEASES / name).glob('*.json')}
