"""Drift: how the objects of a stack differ from the definitions that were applied to them.

Values are compared as a service may spell them: numbers and booleans also as text, addresses in any spelling, lists in
any order, nothing as an empty text, list or map. What a definition leaves to the service cannot drift.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypedDict

from heatlite.common.wording import first_few
from heatlite.planning.protection import Denial

ADDRESS = re.compile(r'[0-9A-Fa-f.:]{2,45}(/\d{1,3})?')
MAC = re.compile('[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}')
MOST_NAMED = 10                     # properties that a sentence names


class DriftPolicy(StrEnum):
    """What is done about the drift of a resource that a scheduled look has found."""

    IGNORE = 'ignore'               # it is not compared at all, also not by updates that converge
    REPORT = 'report'
    REPAIR = 'repair'               # an update brings the object back; an object that is gone is made again
    REPLACE = 'replace'             # an update replaces the object


REPAIRING = (DriftPolicy.REPAIR, DriftPolicy.REPLACE)


class DriftFinding(StrEnum):
    """What a look says of one resource. Only the first three are drift."""

    CHANGED = 'changed'             # properties differ
    GONE = 'gone'                   # the service does not know the object
    UNREADABLE = 'unreadable'       # the service did not answer, or refused
    SAME = 'same'
    IGNORED = 'ignored'             # by policy
    UNCOMPARED = 'uncompared'       # a nested stack, a type of which nothing can be read, or there is no object now


DRIFT = (DriftFinding.CHANGED, DriftFinding.GONE)
SHOWN = (*DRIFT, DriftFinding.UNREADABLE)        # listed one by one; the others are counted


@dataclass(frozen=True)
class PropertyDrift:
    """One value within a property. `noticed_at`: of the first look that has found this value, as text."""

    path: tuple[object, ...]
    expected: object
    actual: object
    noticed_at: str = ''
    noticed_by: str = ''


@dataclass(frozen=True)
class ResourceDrift:
    """What was found of one resource. `path`: names of resources from the stack down. `reason`: why it is unreadable,
    or why it is not repaired. `place`: its stack and the number of its row, not stored."""

    path: tuple[str, ...]
    type: str
    finding: DriftFinding
    policy: DriftPolicy = DriftPolicy.REPORT
    physical_id: str | None = None
    properties: tuple[PropertyDrift, ...] = ()
    reason: str = ''
    noticed_at: str = ''
    noticed_by: str = ''
    place: tuple[str, int] | None = field(default=None, compare=False)

    @property
    def repair(self) -> Denial:
        """What its repair does to the resource, as protections name it."""
        is_replaced = self.finding is DriftFinding.GONE or self.policy is DriftPolicy.REPLACE
        return Denial.REPLACE if is_replaced else Denial.UPDATE

    def __str__(self) -> str:
        if self.finding is DriftFinding.GONE:
            return 'the object is gone'
        names = ['.'.join(map(str, each.path)) for each in self.properties]
        return f'changed: {first_few(names, MOST_NAMED)}'


@dataclass(frozen=True)
class DriftReport:
    """What one look has found. `looked_at`: when it began, as text; `looked_by`: `request` or `schedule`.

    `counts`: finding -> number of resources; `resources`: those of SHOWN, in the order of the templates."""

    looked_at: str
    looked_by: str
    counts: Mapping[str, int] = field(default_factory=dict)
    resources: tuple[ResourceDrift, ...] = ()

    @property
    def drifted(self) -> tuple[ResourceDrift, ...]:
        return tuple(each for each in self.resources if each.finding in DRIFT)

    @property
    def to_repair(self) -> tuple[ResourceDrift, ...]:
        """What policies want to be repaired and nothing prevents."""
        return tuple(each for each in self.drifted if each.policy in REPAIRING and not each.reason)

    def refused(self, reasons: Mapping[tuple[str, ...], str]) -> DriftReport:
        """Return the report with the reasons why resources are not repaired, by path."""
        return replace(self, resources=tuple(
            replace(each, reason=reasons[each.path]) if each.path in reasons else each for each in self.resources))


def report(looked_at: str, looked_by: str, drifts: Iterable[ResourceDrift],
           before: DriftReport | None = None) -> DriftReport:
    """Return the report of a look. What the report `before` has, too, was noticed then."""
    counts: Counter[str] = Counter()
    shown = []
    known = {each.path: each for each in before.resources} if before is not None else {}
    for each in drifts:
        counts[each.finding] += 1
        if each.finding in SHOWN:
            shown.append(_noticed(each, known.get(each.path), looked_at, looked_by))
    return DriftReport(looked_at, looked_by, {str(finding): counts[finding] for finding in DriftFinding}, tuple(shown))


def news(now: DriftReport, before: DriftReport | None) -> tuple[ResourceDrift, ...]:
    """Return the drift of `now` of which something was not known before."""
    known = {each.path: each for each in before.drifted} if before is not None else {}
    return tuple(each for each in now.drifted if each.path not in known or (
        each.finding, {(value.path, value.noticed_at) for value in each.properties}) != (
        known[each.path].finding, {(value.path, value.noticed_at) for value in known[each.path].properties}))


def _noticed(resource_drift: ResourceDrift, before: ResourceDrift | None, at: str, by: str) -> ResourceDrift:
    """Return `resource_drift` with the times of what was found before."""
    same = before if before is not None and (before.finding, before.physical_id) == (
        resource_drift.finding, resource_drift.physical_id) else None
    known = {(each.path, canonical(each.actual)): each for each in same.properties} if same is not None else {}
    properties = tuple(
        replace(each, noticed_at=old.noticed_at if old is not None else at,
                noticed_by=old.noticed_by if old is not None else by)
        for each in resource_drift.properties for old in [known.get((each.path, canonical(each.actual)))])
    return replace(resource_drift, properties=properties, noticed_at=same.noticed_at if same is not None else at,
                   noticed_by=same.noticed_by if same is not None else by)


# --- comparing -----------------------------------------------------------------------------------------------

def same(expected: object, actual: object) -> bool:
    """Whether an object has the value that a definition gave it. Costs the size of both; of lists of maps that differ,
    the product of their lengths."""
    if expected is None:
        return True                                     # left to the service
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(same(expected.get(key, {}), actual.get(key)) for key in dict.fromkeys((*expected, *actual)))
    if _is_empty(expected) or _is_empty(actual):
        return _is_empty(expected) and _is_empty(actual)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and _same_members(expected, actual)
    return _word(expected) == _word(actual)


def differences(name: str, expected: object, actual: object) -> Iterator[PropertyDrift]:
    """Yield each value within a property that differs. Maps are compared by key; all else is one value."""
    waiting: list[tuple[tuple[object, ...], object, object]] = [((name,), expected, actual)]
    while waiting:
        path, wanted, found = waiting.pop()
        if same(wanted, found):
            continue
        if isinstance(wanted, Mapping) and isinstance(found, Mapping):
            waiting.extend(((*path, key), wanted.get(key, {}), found.get(key))
                           for key in reversed(dict.fromkeys((*wanted, *found))))
            continue
        yield PropertyDrift(path, wanted if wanted != {} else None, found)


def canonical(value: object) -> str:
    """Return a text that is equal for values that are the same, whatever their spelling."""
    return json.dumps(_canonical(value), sort_keys=True)


def _same_members(expected: Sequence[object], actual: Sequence[object]) -> bool:
    wanted = Counter(map(canonical, expected))
    wanted.subtract(map(canonical, actual))
    if not any(wanted.values()):
        return True
    remaining = list(actual)
    # The most specific first: a member that gives little would match what another one needs.
    for each in sorted(expected, key=lambda member: -len(canonical(member))):
        found = next((number for number, other in enumerate(remaining) if same(each, other)), None)
        if found is None:
            return False
        del remaining[found]
    return True


def _canonical(value: object) -> object:
    match value:
        case Mapping():
            return {str(key): _canonical(item) for key, item in value.items() if not _is_empty(item)}
        case list() | tuple() | set() | frozenset():
            return sorted((_canonical(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return None if _is_empty(value) else _word(value)


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | Mapping | list | tuple | set | frozenset) and not value)


def _word(value: object) -> str:
    """Return a number, a boolean or a text as services spell it."""
    match value:
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case str() if value.lower() in ('true', 'false'):
            return value.lower()
        case str() if ADDRESS.fullmatch(value):
            return _address(value)
    return str(value)


def _address(value: str) -> str:
    """Return an address of a card in small letters, and one of a network with the length of its prefix."""
    try:
        return ipaddress.ip_interface(value).with_prefixlen
    except ValueError:
        return value.lower() if MAC.fullmatch(value) else value


# --- storage -------------------------------------------------------------------------------------------------

class DriftValueDocument(TypedDict):
    path: list[object]
    expected: object
    actual: object
    noticed_at: str
    noticed_by: str


class ResourceDocument(TypedDict):
    path: list[str]
    type: str
    finding: str
    policy: str
    physical_resource_id: str | None
    reason: str | None
    noticed_at: str
    noticed_by: str
    properties: list[DriftValueDocument]


class ReportDocument(TypedDict):
    """A report as it is stored and as clients see it."""

    looked_at: str
    looked_by: str
    is_drifted: bool
    summary: dict[str, int]
    resources: list[ResourceDocument]


def to_json(drift_report: DriftReport) -> ReportDocument:
    """Return a report as it is stored and as clients see it."""
    return {
        'looked_at': drift_report.looked_at, 'looked_by': drift_report.looked_by,
        'is_drifted': bool(drift_report.drifted), 'summary': dict(drift_report.counts),
        'resources': [_resource(each) for each in drift_report.resources]}


def _resource(each: ResourceDrift) -> ResourceDocument:
    return {
        'path': list(each.path), 'type': each.type, 'finding': str(each.finding), 'policy': str(each.policy),
        'physical_resource_id': each.physical_id, 'reason': each.reason or None,
        'noticed_at': each.noticed_at, 'noticed_by': each.noticed_by, 'properties': [
            {'path': list(value.path), 'expected': value.expected, 'actual': value.actual,
             'noticed_at': value.noticed_at, 'noticed_by': value.noticed_by} for value in each.properties]}


def from_json(stored: ReportDocument) -> DriftReport:
    return DriftReport(stored['looked_at'], stored['looked_by'], stored['summary'], tuple(
        ResourceDrift(
            tuple(each['path']), each['type'], DriftFinding(each['finding']), DriftPolicy(each['policy']),
            each['physical_resource_id'], tuple(
                PropertyDrift(tuple(value['path']), value['expected'], value['actual'], value['noticed_at'],
                              value['noticed_by']) for value in each['properties']),
            each['reason'] or '', each['noticed_at'], each['noticed_by'])
        for each in stored['resources']))
