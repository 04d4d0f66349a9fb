"""The command: its options, and what it runs."""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

COMMAND = 'doctor'
TIMEOUT, LONGEST_TIMEOUT = 5.0, 60.0            # seconds of one connection
TIME, LONGEST_TIME = 25.0, 600.0                # seconds of all checks together
NOT_STARTED = 2                                 # exit code: no check was run

Show = Callable[[Sequence[str], Iterable[Sequence[object]]], None]


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(COMMAND, help=_('Test everything that the configuration needs; changes nothing.'),
                                 description=_('Tests everything that the configuration needs, and names the fix for '
                                               'each failure. Exit code: 0, 1 if a check failed, 2 if none was run.'))
    parser.add_argument('--format', choices=('text', 'json'), default='text')
    parser.add_argument('--only', metavar='NAME', action='append', default=[],
                        help=_('Only checks of this name; may have * and be repeated.'))
    parser.add_argument('--skip', metavar='NAME', action='append', default=[],
                        help=_("Not the checks of this name: --skip 'running-*' before the programs are started."))
    parser.add_argument('--timeout', metavar='SECONDS', type=_within(LONGEST_TIMEOUT), default=TIMEOUT,
                        help=_('Of each connection without an answer. Default %g.') % TIMEOUT)
    parser.add_argument('--time', metavar='SECONDS', type=_within(LONGEST_TIME), default=TIME,
                        help=_('Of all checks together. Default %g.') % TIME)
    parser.add_argument('--list', action='store_true', help=_('Print the names of all checks, and run none.'))


def _within(most: float) -> Callable[[str], float]:
    def seconds(text: str) -> float:
        number = float(text)
        if not 0.1 <= number <= most:
            raise argparse.ArgumentTypeError(_('0.1 to %g are possible') % most)
        return number
    return seconds


def run(conf: ConfigOpts, show: Show) -> int:
    """Print the outcomes. Returns the exit code. `conf`: the options of the program, with those of the command."""
    from heatlite.cmd import check_config, parts, plugins
    from heatlite.cmd.doctor import report, running, table
    from heatlite.cmd.doctor.checks import FAILED
    from heatlite.cmd.doctor.site import Site
    command = conf.command
    groups = [[check for check in group if (not command.only or _matches(check.name, command.only))
              and not _matches(check.name, command.skip)] for group in table.GROUPS]
    if command.list:
        show((_('Check'), _('Tests')), [(check.name, check.tests) for group in groups for check in group])
        return 0
    if not any(groups):
        print(_('No check has such a name; --list prints all.'), file=sys.stderr)
        return NOT_STARTED
    shared = parts.share(conf)
    with plugins.silence():                 # what libraries would log is in the outcomes
        check_config.register_libraries(shared)
        outcomes = running.run(groups, Site(shared, command.timeout, time.time), command.time)
    report.FORMATS[command.format](outcomes, report.hiding(shared), sys.stdout)
    sys.stdout.flush()
    return 1 if any(each.status == FAILED for each in outcomes) else 0


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
