"""Executes checks within a bounded time: groups in parallel, the checks of a group one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence

from heatlite.cmd.doctor.checks import FAILED, LEFT_OUT, NOT_USED, Check, CheckOutcome, DoctorFinding, status
from heatlite.cmd.doctor.site import Site
from heatlite.common.i18n import _


def run(groups: Sequence[Sequence[Check]], site: Site, within: float) -> list[CheckOutcome]:
    """Run the checks and return the outcomes in their order. `within`: seconds; what has not ended by then has failed.

    The first group, of checks that load code of this host, has half of the time for itself: Python 3.11 cannot parse
    source in several threads at once. The others share nothing but results that a check needs, of a group before.
    Needs that are not among the checks are ignored: the operator has left them out.
    """
    checks = [check for group in groups for check in group]
    found: dict[str, CheckOutcome] = {}
    ended = {check.name: threading.Event() for check in checks}
    deadline = time.monotonic() + within

    def execute(group: Sequence[Check]) -> None:
        for check in group:
            for name in check.needs:
                if name in ended:
                    ended[name].wait()
            found.setdefault(check.name, _outcome(check, site, found))
            ended[check.name].set()

    for number, group in enumerate(groups):   # daemons: a check that hangs must not keep the program from ending
        thread = threading.Thread(target=execute, args=(group,), daemon=True)
        thread.start()
        if number == 0:
            thread.join(within / 2)
    for check in checks:
        ended[check.name].wait(max(deadline - time.monotonic(), 0.0))
    return [found.setdefault(check.name, late) for group in groups for check, late in _late(group, within, ended)]


def _outcome(check: Check, site: Site, found: Mapping[str, CheckOutcome]) -> CheckOutcome:
    try:
        why = check.unused(site)
        if why:
            return CheckOutcome(check, NOT_USED, reason=why)
        for name in check.needs:
            if name in found and found[name].status in (FAILED, LEFT_OUT):
                return CheckOutcome(check, LEFT_OUT, reason=_('needs %s') % name)
        findings = tuple(check.run(site))
    except (Exception, SystemExit) as error:    # whatever a library raises; SystemExit is of functions of ours
        text = ' '.join(str(error).split())
        return CheckOutcome(check, FAILED, (DoctorFinding(
            _('This can be tested: %s.') % check.tests, f'{type(error).__name__}: {text[:500]}',
            _('Correct what the message names; without an idea, report it with this output.')),))
    return CheckOutcome(check, status(findings), findings)


def _late(group: Sequence[Check], within: float,
          ended: Mapping[str, threading.Event]) -> list[tuple[Check, CheckOutcome]]:
    """For each check of a group the outcome that it has if it has not ended: the first one did not answer."""
    found, waiting_for = [], ''
    for check in group:
        waits = waiting_for or next((name for name in check.needs if name in ended and not ended[name].is_set()), '')
        if waits:
            outcome = CheckOutcome(check, LEFT_OUT, reason=_('no time was left after %s') % waits)
        else:
            outcome = CheckOutcome(check, FAILED, (DoctorFinding(
                _('An answer within %d seconds.') % within, _('There was none.'),
                _('Look for a service, a name server or a file system that hangs, or give --time more seconds.')),))
        if not waiting_for and not ended[check.name].is_set():
            waiting_for = check.name
        found.append((check, outcome))
    return found
