"""Explains the state of a stack or a resource: what it waits for, why it failed, what took long.

It reads rows, and calls no engine.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NotRequired, TypedDict

from sqlalchemy import Connection

from heatlite.api import finding, views
from heatlite.api.handlers.places import TreePlaces
from heatlite.api.wsgi import Request
from heatlite.common import exception, turns
from heatlite.common.i18n import _
from heatlite.db import engines, events, leases, resource_lists, resources, revisions, stack_trees, stacks
from heatlite.db.connection import moment
from heatlite.planning import comparison, explanation, graph, replacement, waiting
from heatlite.planning.comparison import ComparedDefinition
from heatlite.planning.explanation import Happened, Path, Row, is_within
from heatlite.planning.replacement import ReplacementCause
from heatlite.planning.states import Action, ResourceState, Status
from heatlite.planning.timeouts import action_seconds
from heatlite.planning.waiting import Wait

View = dict[str, object]
MOST_ENTRIES = 50                       # entries of each list
MOST_EVENTS = 2000
MOST_BEFORE = 10                        # resources of which the last time is looked up
MOST_RUNS = 50                          # events of a resource, newest ones
MOST_STACKS = 1000                      # whose events are searched, outer ones first


class WaitView(TypedDict):
    """A resource that an action is in progress on, for `seconds`. The next call, when it is made and what the service
    said last are known of one that is explained."""

    path: list[str]
    type: str
    action: str
    since: str | None
    seconds: int
    physical_resource_id: str | None
    reason: str
    call: NotRequired[str | None]
    next_at: NotRequired[str | None]
    last_answer: NotRequired[View | None]


class NextCall(TypedDict):
    """The next call to the service of a resource that is waited for, and what it said last."""

    call: str | None
    next_at: str | None
    last_answer: View | None


class CauseView(TypedDict):
    """A resource that an action failed because of: its last attempt, and how many there were."""

    path: list[str]
    type: str
    action: str
    reason: str
    time: str | None
    physical_resource_id: str | None
    attempts: int
    advice: str | None
    place: object


class WaitingView(TypedDict):
    """What a stack in progress waits for."""

    engine: str | None
    gives_up_at: str | None
    waiting_for: list[WaitView]
    blocked: list[View]


def show(req: Request, stack_name: str, stack_id: str) -> View:
    """Explain a stack."""
    with req.db.reader() as tx:
        row = finding.visible(req, stacks.show(tx, stack_id), stack_name)
        found = explained(tx, row, req.conf.stack_action_timeout)
        if req.context.is_admin and found['engine']:
            found['engine_host'] = engines.host_of(tx, str(found['engine']))
        return {'explanation': found}


def show_resource(req: Request, stack_name: str, stack_id: str, path: str) -> View:
    """Explain one resource. `path`: names from this stack down, with slashes between."""
    with req.db.reader() as tx:
        row = finding.visible(req, stacks.show(tx, stack_id), stack_name)
        return {'explanation': of_resource(tx, row, tuple(path.split('/')),
                                           req.conf.stack_action_timeout)}


def of_resource(tx: Connection, row: stacks.StoredStack, path: Path, timeout: int) -> View:
    """Return the explanation of the resource at `path` in or below the stack `row`. `timeout`: as of `explained`.
    Raises ResourceNotFound.

    Reads the rows of the stack that the resource is in, and of unfinished ones below the resource.
    """
    tree = ExplainedTree(tx, row, path)
    found = tree.row(path)
    if found is None:
        raise exception.ResourceNotFound(resource_name='/'.join(path), stack_name=row.name)
    now, beginning = moment(tx), events.beginning(tx, row.id)
    causes = [] if beginning is None else _causes(tx, tree, beginning, path)
    lacking = next((each.waits_for for each in explanation.blocked(tree.rows) if each.path == path), None)
    return {
        'path': list(path), 'type': found.type, 'action': found.action, 'status': found.status,
        'status_reason': found.reason, 'physical_resource_id': found.physical_id,
        'state': explanation.state_of(found, lacking), 'since': views.when(found.changed_at),
        'seconds': _age(found.changed_at, now),
        'waits_for': [list(each) for each in lacking or ()],
        'waiting_for': _waited_for(tx, tree, [each for each in tree.rows if is_within(each.path, path)], now),
        'gives_up_at': gives_up_at(row, timeout) if found.status == Status.IN_PROGRESS else None,
        'causes': causes,
        'not_started': [list(each) for each in explanation.not_started(tree.by_path, [path])][:MOST_ENTRIES],
        'place': tree.places.of(path, found.reason),
        'runs': [{'action': run.action, 'status': run.status, 'since': views.when(run.began),
                  'seconds': round(((run.ended or now) - run.began).total_seconds(), 1), 'reason': run.reason}
                 for run in explanation.runs(tree.happened(
                     events.of_resource(tx, tree.stack_of(path), path[-1], MOST_RUNS)))]}


def explained(tx: Connection, row: stacks.StoredStack, timeout: int) -> View:
    """Return the explanation of a stack. `timeout`: seconds that its action may take, if the stack has none of its own.

    Reads the rows of the stack and of nested ones that are not complete; lists are cut at MOST_ENTRIES.
    """
    tree, now = ExplainedTree(tx, row), moment(tx)
    found = _waiting(tx, row, tree, now, timeout) if row.status == Status.IN_PROGRESS else None
    beginning = events.beginning(tx, row.id)
    causes: list[CauseView] = []
    chain: list[View] = []
    replaced: list[View] = []
    if beginning is not None:
        happened = tree.happened(events.since(tx, [tree.top], beginning.created_at, MOST_EVENTS,
                                              after=beginning.id))
        causes, chain = _causes(tx, tree, beginning), _chain(tx, tree, beginning, happened, now)
        replaced = _replaced(tx, row, tree, beginning, happened)
    state = (explanation.WAITING if row.status == Status.IN_PROGRESS else
             explanation.FAILED if causes else explanation.SETTLED)
    return {
        'stack_id': row.id, 'stack_name': row.name, 'action': row.action, 'status': row.status,
        'status_reason': row.reason, 'state': state, 'since': views.when(row.started_at or row.created_at),
        'engine': None, 'gives_up_at': None, 'waiting_for': [], 'blocked': [], **(found or {}), 'causes': causes,
        'not_started': [list(path) for path in explanation.not_started(
            tree.by_path, [tuple(cause['path']) for cause in causes])][:MOST_ENTRIES],
        'critical_path': chain[:MOST_ENTRIES], 'replaced': replaced, 'summary': _summary(row, found, causes)}


def row_at(above: Path, row: ResourceState | resource_lists.ShownResource) -> Row:
    """Return a resource of the stack at `above`."""
    return Row((*above, row.name), row.type, row.action, row.status, row.reason, row.physical_id,
               tuple((*above, name) for name in row.requires), row.updated_at or row.created_at or datetime.min,
               row.replaces is not None)


def _age(changed_at: datetime, now: datetime) -> int:
    """Whole seconds since then."""
    return max(int((now - changed_at).total_seconds()), 0)


class ExplainedTree:
    """The rows of a stack, and of the nested ones that are not complete, with their paths.

    `path`: read the stacks above this resource, whatever their state, and of others those below it only.
    """

    def __init__(self, tx: Connection, top: stacks.StoredStack, path: Path = ()) -> None:
        below = stack_trees.descendants(tx, top.root_id, top.id)
        self.paths = stack_trees.paths(top.id, below)
        self.top = top.id
        wanted = [top.id]
        for each in below:
            place = self.paths[each.id]
            is_above = len(place) < len(path) and is_within(path, place)
            if is_above or (each.status != Status.COMPLETE and is_within(place, path)):
                wanted.append(each.id)
        self.rows = [row for stack_id in wanted for row in self._rows(tx, stack_id)]
        self.places = TreePlaces(tx, top.template_id, self.row)

    @functools.cached_property
    def by_path(self) -> Mapping[Path, Row]:
        return {row.path: row for row in self.rows}

    def row(self, path: Path) -> Row | None:
        return self.by_path.get(path)

    def stack_of(self, path: Path) -> str:
        """Return the id of the stack that the resource at `path` is in."""
        return next(stack_id for stack_id, above in self.paths.items() if above == path[:-1])

    def _rows(self, tx: Connection, stack_id: str) -> Iterable[Row]:
        above = self.paths[stack_id]
        for row in resources.light(tx, stack_id):
            if row.replaced_by is None:
                turns.spend(1 + len(row.requires) // graph.NEEDED_A_STEP)
                yield row_at(above, row)

    def happened(self, history: Iterable[events.ShownEvent]) -> list[Happened]:
        return [Happened((*self.paths[each.stack_id], each.resource_name), each.resource_type, each.action, each.status,
                         each.reason, each.physical_id, each.created_at) for each in history]


def _waiting(tx: Connection, row: stacks.StoredStack, tree: ExplainedTree, now: datetime,
             default: int) -> WaitingView:
    return {
        'engine': leases.owner(tx, row.id), 'gives_up_at': gives_up_at(row, default),
        'waiting_for': _waited_for(tx, tree, tree.rows, now),
        'blocked': [{'path': list(each.path), 'waits_for': [list(path) for path in each.waits_for][:MOST_ENTRIES]}
                    for each in explanation.blocked(tree.rows)[:MOST_ENTRIES]]}


def gives_up_at(row: stacks.StoredStack, default: int) -> str | None:
    """When the action in progress times out. `default`: seconds, if the stack has no timeout of its own."""
    timeout = timedelta(seconds=action_seconds(row.timeout_mins, default))
    return views.when((row.started_at or row.created_at) + timeout)


def waited_for(rows: Iterable[Row], now: datetime, most: int) -> list[WaitView]:
    """Return the resources of `rows` that an action is in progress on, at most `most`, the longest running first."""
    return [{'path': list(each.path), 'type': each.type, 'action': each.action, 'since': views.when(each.changed_at),
             'seconds': _age(each.changed_at, now),
             'physical_resource_id': each.physical_id, 'reason': each.reason}
            for each in explanation.working(rows)[:most]]


def _waited_for(tx: Connection, tree: ExplainedTree, rows: Iterable[Row], now: datetime) -> list[WaitView]:
    """As `waited_for`, from the beginning of each action, with the next call and what the service said last."""
    found = explanation.working(rows)[:MOST_ENTRIES]
    if not found:
        return []
    owners = {each.path: tree.stack_of(each.path) for each in found}
    stack_ids = list(dict.fromkeys(owners.values()))
    began = events.beginnings(tx, stack_ids, [each.path[-1] for each in found], min(each.changed_at for each in found))
    waits = resource_lists.waits(tx, stack_ids)
    views_of = waited_for([replace(each, changed_at=began.get((owners[each.path], each.path[-1]), each.changed_at))
                           for each in found], now, MOST_ENTRIES)
    return [{**view, **_next_call(view, waits.get((owners[tuple(view['path'])], view['path'][-1])), now)}
            for view in views_of]


def _next_call(view: WaitView, noted: Wait | None, now: datetime) -> NextCall:
    if noted is None:                               # a short wait is not noted
        is_long = view['seconds'] > waiting.LONG.total_seconds() + waiting.SHORTEST.total_seconds()
        return {'call': waiting.first_call(view['action']) if is_long else None, 'next_at': None, 'last_answer': None}
    answer = noted.answer
    return {'call': noted.call, 'next_at': views.when(noted.next_at(now)),
            'last_answer': None if answer is None else {**answer, 'at': views.when(noted.at)}}


def _causes(tx: Connection, tree: ExplainedTree, beginning: events.ShownEvent, below: Path = ()) -> list[CauseView]:
    failed = events.since(tx, list(tree.paths)[:MOST_STACKS], beginning.created_at, MOST_EVENTS, Status.FAILED,
                          beginning.id)
    found = (each for cause in explanation.first_causes(tree.happened(failed))
             if (is_within(cause.path, below) or is_within(below, cause.path)) and not _succeeded(tree, cause)
             for each in explanation.waited_for(cause, tree.rows) if is_within(each.path, below))
    return [{'path': list(each.path), 'type': each.type, 'action': each.action, 'reason': each.reason,
             'time': views.when(each.at), 'physical_resource_id': each.physical_id,
             'attempts': each.attempts, 'advice': explanation.advice(each.reason),
             'place': tree.places.of(each.path, each.reason)} for each in itertools.islice(found, MOST_ENTRIES)]


def _succeeded(tree: ExplainedTree, cause: Happened) -> bool:
    """Whether the action has succeeded since, at another attempt."""
    row = tree.row(cause.path)
    return row is not None and (row.action, row.status) == (cause.action, Status.COMPLETE)


def _chain(tx: Connection, tree: ExplainedTree, beginning: events.ShownEvent, happened: Sequence[Happened],
           now: datetime) -> list[View]:
    """Return the critical path; the longest ones of it beside what the same action took the last time."""
    own = [row for row in tree.rows if len(row.path) == 1]
    chain = explanation.critical_path(own, happened, now)
    actions = {event.path: event.action for event in happened}
    before = {each.path: explanation.last_seconds(
        tree.happened(events.of_resource(tx, tree.top, each.path[0], MOST_RUNS)), actions[each.path],
        beginning.created_at) for each in sorted(chain, key=lambda each: -each.seconds)[:MOST_BEFORE]}
    return [{'path': list(each.path), 'seconds': round(each.seconds, 1),
             'seconds_before': None if (last := before.get(each.path)) is None else round(last, 1)} for each in chain]


def _replaced(tx: Connection, row: stacks.StoredStack, tree: ExplainedTree, beginning: events.ShownEvent,
              happened: Sequence[Happened]) -> list[View]:
    """Return the resources of this stack that its last update made anew, and why, as was stored with them or as its
    last two definitions tell."""
    if beginning.action != Action.UPDATE or not any(event.action == Action.CREATE for event in happened):
        return []
    changed: dict[Path, Sequence[str]] = {(name,): found for name, found in _changed_properties(tx, row).items()}
    causes: dict[Path, ReplacementCause] = {
        (name,): found for name, found in resources.replacement_causes(tx, row.id).items()}
    found: list[View] = [
        {'path': list(each.path), 'properties': list(each.properties),
         'because_of': [list(path) for path in each.because_of],
         'cause': _cause(each.cause)}
        for each in explanation.replaced(happened, tree.by_path, changed, causes)]
    return found[:MOST_ENTRIES]


def _cause(cause: ReplacementCause | None) -> View | None:
    if cause is None:
        return None
    found = cause.to_json()
    return {**found, 'text': replacement.as_text(found)}


def _changed_properties(tx: Connection, row: stacks.StoredStack) -> Mapping[str, Sequence[str]]:
    """Return the properties whose definition the last update has changed, by resource; none if it kept the
    definition."""
    if row.revision is None or row.revision < 2:
        return {}
    before, after = (revisions.definition(tx, row.id, number) for number in (row.revision - 1, row.revision))
    if before is None or after is None or (
            after[0].created_at < (row.started_at or row.created_at) - timedelta(seconds=1)):
        return {}
    return comparison.changed_properties(*(
        ComparedDefinition(stored.document, stored.environment, stored.files, found.parameters or {})
        for found, stored in (before, after)))


def _summary(row: stacks.StoredStack, found: WaitingView | None, causes: Sequence[CauseView]) -> str:
    """One sentence for people."""
    if causes:
        cause = causes[0]
        return _('%(action)s failed because of %(path)s: %(reason)s') % {
            'action': cause['action'], 'path': '/'.join(cause['path']), 'reason': cause['reason']}
    if found is not None and found['waiting_for']:
        first = found['waiting_for'][0]
        if found['engine'] is None:
            return _('%s waits for an engine: none that is alive works on it.') % row.action
        return _('%(action)s waits for %(path)s (%(type)s), for %(seconds)d s') % {
            'action': row.action, 'path': '/'.join(first['path']), 'type': first['type'], 'seconds': first['seconds']}
    if row.status == Status.IN_PROGRESS:
        return _('%s has begun; no resource is in progress yet.') % row.action
    return row.reason
