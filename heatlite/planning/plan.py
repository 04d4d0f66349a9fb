"""A plan: what an action will do to each resource of a tree, as values that are printed, stored and compared.

A plan is made by a dry run of the traversal. Applying it drives the same traversal, which begins no action on a
resource that the plan does not allow (`Permissions`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NotRequired, TypedDict

from heatlite.common.wording import first_few
from heatlite.planning import protection, replacement, text
from heatlite.planning.protection import UNGUARDED, BlockedDocument, Denial, DeniedAction, Guard, Protection
from heatlite.planning.protection import Path as Path
from heatlite.planning.ruling import Effect, Ruling, RulingDocument
from heatlite.planning.states import Action

NOT_READ: Final = object()              # in place of a live value
MOST_NAMED = 5                          # values that one difference names
LONGEST_NAMED = 100                     # characters of such a value


@dataclass(frozen=True, slots=True)
class MeasuredResource:
    """What counts of a resource: its type, and the values of the properties that count (`consumption.FACTS`)."""

    type: str
    values: Mapping[str, object]


class PlanAction(StrEnum):
    """What becomes of a resource."""

    CREATE = 'create'
    UPDATE = 'update'
    REPLACE = 'replace'
    DELETE = 'delete'
    RELEASE = 'release'                 # heatlite forgets it, and the object stays in the cloud
    IMPORT = 'import'                   # an object that exists becomes a resource
    NONE = 'none'
    UNKNOWN = 'unknown'                 # one of `may`, which one is known only when it is carried out


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a property changes, or a resource is replaced. `kind`: template, parameter, file, resource, cloud; of a
    replacement also those of `replacement.Reason`.

    `what`: the path in the template, the name of the parameter, file or resource, or the id of the object that was
    changed in the cloud; for other kinds see `replacement.ReplacementCause`, also for `by` and `at`. `line`, `column`:
    from 1, in the template's text; None if it was not sent as text.
    """

    kind: str
    what: str
    line: int | None = None
    column: int | None = None
    by: str | None = None
    at: str | None = None

    def __str__(self) -> str:
        if self.kind in replacement.KINDS:
            return replacement.as_text({'kind': self.kind, 'what': self.what, 'by': self.by, 'at': self.at})
        return f'{self.kind} {self.what}' + (f' line {self.line}' if self.line else '')


@dataclass(frozen=True, slots=True)
class ValueChange:
    """The change of one value. `path`: property, then keys and indexes. `is_unknown`: `after` is known only later.

    `before`: as stored; `live`: as the service reports it, or NOT_READ.
    """

    path: tuple[object, ...]
    before: object
    after: object
    is_unknown: bool = False
    forces_replacement: bool = False
    cause: Cause | None = None
    live: object = NOT_READ


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What becomes of one resource. `may`: the actions that may come of `unknown`; `reason`: why it is unknown or
    replaced.

    `before`, `after`: what counts of its present and its future object; None: there is none, or its type does not
    count. `is_gone`: the service does not know the present object any more. `cause`: of a replacement that no changed
    property requires.
    """

    path: Path
    type: str
    action: PlanAction
    values: tuple[ValueChange, ...] = ()
    reason: str = ''
    may: tuple[PlanAction, ...] = ()
    physical_id: str | None = None
    before: MeasuredResource | None = None
    after: MeasuredResource | None = None
    is_gone: bool = False
    cause: Cause | None = None


class PermissionsDocument(TypedDict):
    actions: dict[str, list[str]]
    open: list[str]
    is_open: bool
    unnamed: int


class CauseDocument(TypedDict):
    """Where a value, or a replacement, comes from. `by`, `at`: of a replacement."""

    kind: str
    what: str
    line: int | None
    column: int | None
    by: NotRequired[str | None]
    at: NotRequired[str | None]


class ValueDocument(TypedDict):
    path: list[object]
    before: object
    after: object
    unknown: bool
    forces_replacement: bool
    cause: CauseDocument | None
    live: NotRequired[object]


class ChangeDocument(TypedDict):
    """`cause`: plans of the previous release have none."""

    path: list[str]
    type: str
    action: str
    reason: str | None
    may: list[str]
    physical_resource_id: str | None
    cause: NotRequired[CauseDocument | None]
    values: list[ValueDocument]


class PlanDocument(TypedDict):
    """A plan as clients see it. `refreshed_at` and `policies` are added when it is stored; plans of the previous
    release have no `blockers`."""

    action: str
    summary: dict[str, int]
    is_empty: bool
    fails: str | None
    blockers: NotRequired[list[BlockedDocument]]
    changes: list[ChangeDocument]
    outputs: list[ValueDocument]
    rollback_may_change: list[str]
    refreshed_at: NotRequired[str | None]
    policies: NotRequired[list[RulingDocument]]


# What an action does to a resource that exists, as protections name it.
DENIABLE: Mapping[Action, Denial] = {Action.UPDATE: Denial.UPDATE, Action.DELETE: Denial.DELETE}


@dataclass(frozen=True, slots=True)
class Permissions:
    """The actions that may begin in one stack: those that a plan allows (resource name -> actions) and that no
    protection denies.

    `is_open`: everything is allowed, as what is inside was not known. `open`: names of resources whose nested stacks
    are open. `unnamed`: the most resources that may exist beside those in `actions`: members whose names are generated
    when they are made, and spare members of a rolling update. Only then `actions` has all resources. `guard`: what
    protections deny; it is not part of a plan.
    """

    actions: Mapping[str, frozenset[Action]] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    is_open: bool = False
    unnamed: int = 0
    guard: Guard = UNGUARDED

    def refusal(self, name: str, action: Action, names: Collection[str] = (), *, visits: bool = False) -> str:
        """Return why the action may not begin; '' if it may. `names`: of all resources of the stack's definition;
        `visits`: nothing of the resource itself changes. That is always allowed: what is not planned, or is protected,
        is refused inside its nested stack."""
        if visits:
            return ''
        if not self.allows(name, action, names):
            return text.not_planned(name, action)
        return self.guard.refusal(name, DENIABLE[action]) if action in DENIABLE else ''

    def allows(self, name: str, action: Action, names: Collection[str] = ()) -> bool:
        """Whether the plan allows the action."""
        if self.is_open or action in self.actions.get(name, ()):
            return True
        return (self.is_unnamed(name) and action in ANY_ACTION
                and sum(each not in self.actions for each in names) <= self.unnamed)

    def is_unnamed(self, name: str) -> bool:
        """Whether the plan allows the resource without knowing its name."""
        return self.unnamed > 0 and name not in self.actions

    def opens(self, name: str) -> bool:
        """Whether everything is allowed in the nested stack of a resource."""
        return self.is_open or name in self.open or self.is_unnamed(name)

    def __or__(self, other: Permissions) -> Permissions:
        """Return what either allows: a replaced resource has an old nested stack and a new one, under the same path."""
        return Permissions({name: self.actions.get(name, frozenset()) | other.actions.get(name, frozenset())
                            for name in dict.fromkeys((*self.actions, *other.actions))}, self.open | other.open,
                           self.is_open or other.is_open, self.unnamed + other.unnamed)

    def when_rolled_back(self) -> Permissions:
        """Return what a rollback may do: anything to the resources that the plan changes, and nothing to others."""
        return replace(self, actions={name: actions and ANY_ACTION for name, actions in self.actions.items()})

    def to_json(self) -> PermissionsDocument:
        return {'actions': {name: sorted(actions) for name, actions in self.actions.items()},
                'open': sorted(self.open), 'is_open': self.is_open, 'unnamed': self.unnamed}

    @classmethod
    def from_json(cls, stored: PermissionsDocument) -> Permissions:
        return cls({name: frozenset(Action(each) for each in actions) for name, actions in stored['actions'].items()},
                   frozenset(stored['open']), stored['is_open'], stored['unnamed'])


ANY_ACTION = frozenset({Action.CREATE, Action.UPDATE, Action.DELETE, Action.ADOPT, Action.CHECK})
EVERYTHING = Permissions(is_open=True)
NOTHING = Permissions()


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of one action on a tree, in order of execution; outputs before and after; what may fail.

    `permissions`: path of a stack -> what may be done in it.
    """

    action: str
    changes: tuple[PlannedChange, ...]
    outputs: tuple[ValueChange, ...]
    permissions: Mapping[Path, Permissions]
    fails: str = ''                     # why the action would fail
    blockers: tuple[DeniedAction, ...] = ()  # what protections deny of it
    ignored: tuple[str, ...] = ()       # what the request asks for and the action ignores, one sentence for each

    @property
    def summary(self) -> dict[str, int]:
        """Action -> number of resources."""
        counted = Counter(change.action for change in self.changes)
        return {str(action): counted[action] for action in PlanAction}

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return all(change.action is PlanAction.NONE for change in self.changes) and not self.outputs


# What a planned change does to a resource that exists, as protections name it.
DENIABLE_CHANGES: Mapping[PlanAction, Denial] = {
    PlanAction.UPDATE: Denial.UPDATE, PlanAction.REPLACE: Denial.REPLACE, PlanAction.DELETE: Denial.DELETE,
    PlanAction.RELEASE: Denial.DELETE}


def blockers(protections: Sequence[Protection], changes: Iterable[PlannedChange]) -> tuple[DeniedAction, ...]:
    """Return what protections deny of the changes. Those that are unknown are not among them."""
    return tuple(protection.blocked(protections, (
        (change.path, DENIABLE_CHANGES[change.action]) for change in changes if change.action in DENIABLE_CHANGES)))


def blocked_changes(protections: Sequence[Protection], document: Mapping[str, Any]) -> Iterator[DeniedAction]:
    """As `blockers`, of a plan as a document."""
    return protection.blocked(protections, (
        (tuple(change['path']), DENIABLE_CHANGES[action]) for change in document['changes']
        if (action := PlanAction(change['action'])) in DENIABLE_CHANGES))


def digest(document: object) -> str:
    """Return the SHA-256 of a JSON document in canonical form, as hexadecimal digits."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(',', ':')).encode()).hexdigest()


def place(path: Sequence[str]) -> str:
    """Return a key of fixed length for the path of a stack."""
    return digest(list(path))


def value_changes(name: str, before: object, after: object,
                  is_known: Callable[[object], bool]) -> Iterator[tuple[tuple[object, ...], object, object, bool]]:
    """Yield (path, before, after, is unknown) for each value within a property that differs.

    `is_known(value)`: whether the value has no unknown part. Maps are compared by key, lists of equal length by index;
    all else is one value.
    """
    for path, (old, new), is_unknown in _differing(name, (before, after), is_known):
        yield path, old, new, is_unknown


def observed_changes(
        name: str, before: object, live: object, after: object,
        is_known: Callable[[object], bool]) -> Iterator[tuple[tuple[object, ...], object, object, object, bool]]:
    """As `value_changes`, of three values: yield (path, before, live, after, is unknown)."""
    for path, (old, real, new), is_unknown in _differing(name, (before, live, after), is_known):
        yield path, old, real, new, is_unknown


def _differing(name: str, values: tuple[object, ...], is_known: Callable[[object], bool]) -> Iterator[
        tuple[tuple[object, ...], tuple[object, ...], bool]]:
    """Yield (path, values, is unknown) where the values differ; the last one, if unknown, becomes None."""
    waiting: list[tuple[tuple[object, ...], tuple[object, ...]]] = [((name,), values)]
    while waiting:
        path, found = waiting.pop()
        inner = _inner(found)
        if inner is not None:
            waiting.extend(((*path, key), each) for key, each in reversed(inner))
        elif not is_known(found[-1]):
            yield path, (*found[:-1], None), True
        elif any(each != found[-1] for each in found):
            yield path, found, False


def _inner(values: tuple[Any, ...]) -> list[tuple[object, tuple[object, ...]]] | None:
    """Return the parts to compare one by one; None if the values are compared as a whole."""
    if all(isinstance(each, Mapping) for each in values):
        keys = dict.fromkeys(key for each in values for key in each)
        return [(key, tuple(each.get(key) for each in values)) for key in keys]
    if all(isinstance(each, list) for each in values) and len({len(each) for each in values}) == 1:
        return list(enumerate(zip(*values, strict=True)))
    return None


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each difference between two plans as documents (`to_document`)."""
    sentences = []
    old, new = ({tuple(change['path']): change for change in document['changes']} for document in (before, after))
    for path in dict.fromkeys((*old, *new)):
        was, now = old.get(path), new.get(path)
        if was == now:
            continue
        acted, acts = (change['action'] if change else PlanAction.NONE.value for change in (was, now))
        shown = '/'.join(path)
        sentences.append(f'{shown}: {acted} was planned, now it would be {acts}' if acted != acts
                         else f'{shown}: {acted}, but with other values{_of_values(was, now)}')
    return sentences


def _of_values(was: ChangeDocument | None, now: ChangeDocument | None) -> str:
    """Return the properties of which two planned changes differ, and what the service says now where it was read."""
    old, new = ({_joined(value['path']): value for value in (change['values'] if change else ())}
                for change in (was, now))
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    shown = [f"{name} ({json.dumps(new[name]['live'])[:LONGEST_NAMED]} in the cloud)"
             if name in new and 'live' in new[name] else name for name in names[:MOST_NAMED]]
    return f' of {first_few([*shown, *names[MOST_NAMED:]], MOST_NAMED)}' if names else ''


def to_document(plan: Plan) -> PlanDocument:
    """Return the plan as clients see it, without what belongs to its storage (id, author, times)."""
    return {'action': plan.action, 'summary': plan.summary, 'is_empty': plan.is_empty, 'fails': plan.fails or None,
            'blockers': [each.to_json() for each in plan.blockers],
            'changes': [_change(change) for change in plan.changes],
            'outputs': [_value(value) for value in plan.outputs],
            'rollback_may_change': ['/'.join((*path, name)) for path, permissions in plan.permissions.items()
                                    for name, actions in permissions.actions.items() if actions]}


def _change(change: PlannedChange) -> ChangeDocument:
    return {'path': list(change.path), 'type': change.type, 'action': str(change.action),
            'reason': change.reason or None, 'may': [str(action) for action in change.may],
            'physical_resource_id': change.physical_id, 'cause': _cause_of_change(change.cause),
            'values': [_value(value) for value in change.values]}


def _cause_of_change(cause: Cause | None) -> CauseDocument | None:
    found = cause_document(cause)
    return None if found is None or cause is None else {**found, 'by': cause.by, 'at': cause.at}


def _value(value: ValueChange) -> ValueDocument:
    found: ValueDocument = {
        'path': list(value.path), 'before': value.before, 'after': value.after, 'unknown': value.is_unknown,
        'forces_replacement': value.forces_replacement, 'cause': cause_document(value.cause)}
    if value.live is not NOT_READ:
        found['live'] = value.live
    return found


def cause_document(cause: Cause | None) -> CauseDocument | None:
    """Return a cause as clients see it."""
    return None if cause is None else {
        'kind': cause.kind, 'what': cause.what, 'line': cause.line, 'column': cause.column}


MARKS: Mapping[str, str] = {'create': '+', 'update': '~', 'replace': '-/+', 'delete': '-', 'release': 'x',
                            'import': '<', 'unknown': '?', 'none': ' '}


def as_text(document: Mapping[str, Any]) -> Iterable[str]:
    """Return the lines of a plan for people; unchanged resources are only counted."""
    counted = [f'{count} to {name}' for name, count in document['summary'].items() if count and name != 'none']
    yield ', '.join(counted) if counted else 'Nothing to do'
    if document.get('refreshed_at'):
        yield f"Compared with the cloud at {document['refreshed_at']}"
    if document['fails']:
        yield f"It would fail: {document['fails']}"
    for blocker in document.get('blockers', ()):    # plans of the previous release have none
        yield f'Protected: {protection.DeniedAction.from_json(blocker)}'
    for each in map(Ruling.from_json, document.get('policies', ())):       # added when the plan is stored
        if each.effect is not Effect.ALLOW:
            yield f'Policy {each}'
    for change in document['changes']:
        if change['action'] == 'none':
            continue
        also = f" (may be {' or '.join(change['may'])})" if change['may'] else ''
        why = f": {_why(change)}" if change['reason'] else ''
        yield f"{MARKS[change['action']]:>3} {'/'.join(change['path'])} ({change['type']}){also}{why}"
        for value in change['values']:
            yield f'      {_value_as_text(value)}'
    for value in document['outputs']:
        yield f'  = output {_value_as_text(value)}'


def _why(change: ChangeDocument) -> str:
    cause = change.get('cause')                     # plans of the previous release have none
    if not cause:
        return str(change['reason'])
    found = Cause(cause['kind'], cause['what'], cause['line'], by=cause.get('by'), at=cause.get('at'))
    return f"{change['reason']} ({found})"


def _value_as_text(value: ValueDocument) -> str:
    after = '(known when it is applied)' if value['unknown'] else json.dumps(value['after'])
    forced = '  # forces replacement' if value['forces_replacement'] else ''
    cause = value['cause']
    where = f" line {cause['line']}" if cause and cause['line'] else ''
    why = f"  # {cause['kind']} {cause['what']}{where}" if cause else ''
    is_drift = 'live' in value and value['live'] != value['before']
    live = f" (in the cloud: {json.dumps(value['live'])})" if is_drift else ''
    before = json.dumps(value['before'])
    if before == after and not live:                # of a new object that gets what the old one had
        return f"{_joined(value['path'])}: {after}{why}"
    return f"{_joined(value['path'])}: {before}{live} -> {after}{forced}{why}"


def _joined(path: Iterable[object]) -> str:
    return '.'.join(map(str, path))
