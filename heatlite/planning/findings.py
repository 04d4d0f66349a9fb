"""What checks of a plan find before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict

from heatlite.planning.plan import Cause, CauseDocument, Path, PlannedChange, cause_document

MOST_FINDINGS = 100                     # findings of one plan


class FindingLevel(StrEnum):
    """`error`: the action would fail as things are now; `warning`: it may fail; `note`: it is only said."""

    ERROR = 'error'
    WARNING = 'warning'
    NOTE = 'note'


class FindingDocument(TypedDict):
    level: str
    path: list[str]
    cause: CauseDocument | None
    text: str


@dataclass(frozen=True, slots=True)
class PlanFinding:
    """`path`: of the resource, () for the whole plan; `cause`: of the value that it is about."""

    level: FindingLevel
    text: str
    path: Path = ()
    cause: Cause | None = None

    def to_json(self) -> FindingDocument:
        return {'level': str(self.level), 'path': list(self.path), 'cause': cause_document(self.cause),
                'text': self.text}


def of_change(level: FindingLevel, change: PlannedChange, name: str, text: str) -> PlanFinding:
    """Return a finding about a property of a resource, with the cause of its value if the plan changes it."""
    cause = next((value.cause for value in change.values if value.path[0] == name), None)
    return PlanFinding(level, text, change.path, cause)


def bounded(findings: Iterable[PlanFinding]) -> list[PlanFinding]:
    """Return at most MOST_FINDINGS, errors first, and how many there are beside."""
    order = list(FindingLevel)
    ordered = sorted(findings, key=lambda each: order.index(each.level))
    if len(ordered) <= MOST_FINDINGS:
        return ordered
    return [*ordered[:MOST_FINDINGS],
            PlanFinding(ordered[MOST_FINDINGS].level, f'There are {len(ordered) - MOST_FINDINGS} more findings.')]


def as_text(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about the checks of a plan as a document. Plans that were made before there were checks have
    none."""
    totals = document.get('totals') or {}
    if totals:
        yield 'Totals: ' + ', '.join(
            f"{name} {counted['before']} -> {counted['after']}" if counted['before'] != counted['after']
            else f"{name} {counted['after']}" for name, counted in totals.items())
    cost = document.get('cost')
    if cost:
        unpriced = f" (without price: {', '.join(cost['without_price'])})" if cost['without_price'] else ''
        currency = f" {cost['currency']}" if cost['currency'] else ''
        yield f"Cost per hour: {cost['per_hour']['before']} -> {cost['per_hour']['after']}{currency}{unpriced}"
    for finding in document.get('findings') or ():
        yield _line(finding)


def _line(finding: FindingDocument) -> str:
    path = '/'.join(finding['path'])
    cause = finding['cause']
    line = f" line {cause['line']}" if cause and cause['line'] else ''
    where = f"  # {cause['kind']} {cause['what']}{line}" if cause else ''
    return f"{finding['level']}: {path + ': ' if path else ''}{finding['text']}{where}"
