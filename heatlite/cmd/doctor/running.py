"""Executes checks in parallel, each after those that it needs, within a bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from heatlite.cmd.doctor.checks import FAILED, LEFT_OUT, NOT_USED, Check, Finding, Outcome, status
from heatlite.cmd.doctor.site import Site
from heatlite.common.i18n import _


def run(checks: Sequence[Check], site: Site, within: float) -> list[Outcome]:
    """Returns the outcomes in the order of `checks`. `within`: seconds; a check that has not ended by then has failed.

    Needs that are not among `checks` are ignored: the operator has left them out.
    """
    found: dict[str, Outcome] = {}
    ended = {check.name: threading.Event() for check in checks}
    deadline = time.monotonic() + within

    def execute(check: Check) -> None:
        for name in check.needs:
            if name in ended:
                ended[name].wait()
        found.setdefault(check.name, _outcome(check, site, found))
        ended[check.name].set()

    for check in checks:                    # daemons: a check that hangs must not keep the program from ending
        threading.Thread(target=execute, args=(check,), daemon=True, name=check.name).start()
    for check in checks:
        ended[check.name].wait(max(deadline - time.monotonic(), 0.0))
    return [found.setdefault(check.name, _late(check, within, ended)) for check in checks]


def _outcome(check: Check, site: Site, found: Mapping[str, Outcome]) -> Outcome:
    try:
        why = check.unused(site)
        if why:
            return Outcome(check, NOT_USED, reason=why)
        for name in check.needs:
            if name in found and found[name].status in (FAILED, LEFT_OUT):
                return Outcome(check, LEFT_OUT, reason=_('needs %s') % name)
        findings = tuple(check.run(site))
    except Exception as error:              # whatever a library raises; SystemExit is of our own functions
        return _failed(check, error)
    except SystemExit as error:
        return _failed(check, error)
    return Outcome(check, status(findings), findings)


def _failed(check: Check, error: BaseException) -> Outcome:
    text = ' '.join(str(error).split())
    return Outcome(check, FAILED, (Finding(
        _('This can be tested: %s.') % check.tests, f'{type(error).__name__}: {text[:500]}',
        _('Correct what the message names; without an idea, report it with this output.')),))


def _late(check: Check, within: float, ended: Mapping[str, threading.Event]) -> Outcome:
    waits = next((name for name in check.needs if name in ended and not ended[name].is_set()), None)
    if waits is not None:
        return Outcome(check, LEFT_OUT, reason=_('needs %s') % waits)
    return Outcome(check, FAILED, (Finding(
        _('An answer within %d seconds.') % within, _('There was none.'),
        _('Look for a service, a name server or a file system that hangs, or give --time more seconds.')),))
