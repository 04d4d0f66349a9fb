"""What the checks found, and the table of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OUTCOMES = (PASSED, FAILED, WARNED, NOT_TRIED) = ('passed', 'failed', 'warned', 'not tried')
MOST_NAMED = 3
SIGNS = {PASSED: 'ok', FAILED: 'FAIL', WARNED: 'warn', NOT_TRIED: '-'}


@dataclass(frozen=True)
class CheckResult:
    """What one check said of one type. `where`: FILE:LINE, if there is a place to look at."""

    type_name: str
    check: str
    outcome: str
    reason: str = ''
    where: str = ''

    def __str__(self) -> str:
        place = f'{self.where}: ' if self.where else ''
        return f'{self.type_name}, {self.check}: {place}{self.reason}'


def table(results: Sequence[CheckResult], checks: Sequence[str]) -> list[str]:
    """Lines: types down, checks across (by number, explained above), reasons below, sums at the end."""
    by_type: dict[str, dict[str, CheckResult]] = {}
    for each in results:
        by_type.setdefault(each.type_name, {})[each.check] = each
    width = max([len(name) for name in by_type] + [4])
    lines = ['   '.join(f'{number} {check}' for number, check in part)
             for part in _rows_of(list(enumerate(checks, 1)), 6)]
    lines += ['', ' '.join(['type'.ljust(width), *(str(number).ljust(4) for number, _check in enumerate(checks, 1))])]
    for name, found in by_type.items():
        signs = [SIGNS[found[check].outcome] if check in found else '' for check in checks]
        lines.append(' '.join([name.ljust(width), *(sign.ljust(4) for sign in signs)]).rstrip())
    for outcome, tell in ((FAILED, _told), (WARNED, _told), (PASSED, _told), (NOT_TRIED, _not_tried)):
        lines_of = tell(each for each in results if each.outcome == outcome and each.reason)
        if lines_of:
            lines += ['', f'{outcome}:', *(f'  {line}' for line in lines_of)]
    return [*lines, '', sums(results)]


def _told(results: Iterable[CheckResult]) -> list[str]:
    """One line for each reason of a type, whichever checks it concerns."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for each in results:
        grouped.setdefault((each.type_name, each.where, each.reason), []).append(each.check)
    return [str(CheckResult(name, ', '.join(checks), '', reason, where))
            for (name, where, reason), checks in grouped.items()]


def _not_tried(results: Iterable[CheckResult]) -> list[str]:
    """One line for each reason, with the checks and the types or, of many, their number."""
    types: dict[tuple[str, str], list[str]] = {}
    for each in results:
        types.setdefault((each.check, each.reason), []).append(each.type_name)
    checks: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (check, reason), names in types.items():
        checks.setdefault((reason, tuple(names)), []).append(check)
    return [f'{", ".join(found)}: {reason}: {", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} types"}'
            for (reason, names), found in checks.items()]


def _rows_of(items: Sequence[tuple[int, str]], length: int) -> list[Sequence[tuple[int, str]]]:
    return [items[start:start + length] for start in range(0, len(items), length)]


def sums(results: Sequence[CheckResult]) -> str:
    """`41 passed, 2 failed, 0 warned, 7 not tried: 5 types`"""
    counts = {outcome: sum(each.outcome == outcome for each in results) for outcome in OUTCOMES}
    types = len({each.type_name for each in results})
    sums = ', '.join(f'{count} {outcome}' for outcome, count in counts.items())
    return f'{sums}: {types} {"type" if types == 1 else "types"}'
