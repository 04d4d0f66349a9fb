"""What a check is, and what it may find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heatlite.cmd.doctor.site import Site

OK, WARNING, FAILED = 'ok', 'warning', 'FAILED'
LEFT_OUT, NOT_USED = 'left out', 'not used'
STATUSES = (OK, WARNING, FAILED, LEFT_OUT, NOT_USED)


@dataclass(frozen=True)
class DoctorFinding:
    """One thing that is not as needed. The texts are whole sentences without secrets; `fix` names the option or the
    command."""

    expected: str
    found: str
    fix: str
    level: str = FAILED                     # or WARNING


def is_used(_site: Site) -> str:
    return ''


@dataclass(frozen=True)
class Check:
    """`run` returns what is wrong: nothing, if all is well. What it raises is a failure, too.

    `needs`: names of checks that must not have failed. `unused`: returns why the configuration does not need what is
    tested, '' if it does.
    """

    name: str
    tests: str                              # what, as a phrase
    run: Callable[[Site], Iterable[DoctorFinding]]
    needs: Sequence[str] = ()
    unused: Callable[[Site], str] = is_used


@dataclass(frozen=True)
class CheckOutcome:
    """`reason`: why the check was left out or is not used, else ''."""

    check: Check
    status: str
    findings: Sequence[DoctorFinding] = ()
    reason: str = ''


def status(findings: Sequence[DoctorFinding]) -> str:
    """Return the worst level of the findings."""
    levels = {each.level for each in findings}
    return FAILED if FAILED in levels else WARNING if WARNING in levels else OK
