"""heatlite-manage import-heat: takes over the stacks of a Heat. See docs/operators/take-over.rst."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.db.connection import Database
    from heatlite.takeover.transfer import TransferReport

COMMAND = 'import-heat'

Show = Callable[[Sequence[str], Iterable[Sequence[object]]], None]


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(COMMAND, help=_('Take over the stacks of a Heat.'))
    command.add_argument('--heat-config', metavar='FILE', type=Path, action='append', required=True, dest='heat_config',
                         help=_('The configuration of that Heat; several add up.'))
    command.add_argument('--project', metavar='ID', help=_('Only the stacks of one project.'))
    command.add_argument('--dry-run', action='store_true', help=_('Store nothing; say what would not fit.'))
    command.add_argument('--switch', action='store_true', help=_(
        'That Heat is stopped for good: take over what is in progress, too, and go on with it.'))
    command.add_argument('--although-engines-live', action='store_true', help=_(
        'Switch although engines of that Heat report, as for one project.'))
    command.add_argument('--again', action='store_true', help=_(
        'After the switch, too, replace and remove what that Heat has changed or deleted. Does not check for an '
        'emptied or wrong database: see with --dry-run what is removed.'))
    command.add_argument('--with-deleted', action='store_true', help=_('Also stacks that were deleted and not purged.'))
    command.add_argument('--without-hidden', action='store_true', help=_(
        'Leave out stacks with a tag of hidden_stack_tags.'))


def run(conf: ConfigOpts, database: Database, show: Show) -> int:
    """Print the report. Returns 1 if anything but orphaned stacks did not fit."""
    from heatlite.cmd import keys, parts
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.db import sync
    from heatlite.engine.types import registry
    from heatlite.takeover import configuration
    from heatlite.takeover.source import HeatDatabase
    from heatlite.takeover.transfer import Transfer, TransferOptions

    command = conf.command
    keys.load(parts.share(conf))            # resource types read the options of the process
    theirs = configuration.load(command.heat_config, conf)
    sync.check(database)
    keys.check(conf)
    keys.check_fits(conf, database)
    types = registry.create(conf)
    types.load_plugins()
    heat = HeatDatabase(theirs.connection)
    options = TransferOptions(command.project, command.with_deleted,
                              tuple(conf.hidden_stack_tags) if command.without_hidden else (), command.switch,
                              command.dry_run, command.again, command.although_engines_live)
    if theirs.differing:
        show(('Option', 'In Heat', 'In heatlite'), theirs.differing)
        print()
    try:
        report = Transfer(heat, theirs.key, database, GreenRuntime(), types, options, _progress).run()
    finally:
        heat.close()
    return _show(report, options.switch, show)


def _progress(report: TransferReport) -> None:
    print(_('%d stacks with what is nested in them') % sum(report.trees.values()), file=sys.stderr)


def _show(report: TransferReport, switch: bool, show: Show) -> int:
    from heatlite.takeover.transfer import OUTCOMES, WAITING
    show(('Stacks with what is nested in them', 'Number'), [
        (outcome, report.trees[outcome]) for outcome in OUTCOMES if report.trees[outcome]])
    print()
    show(('Stored', 'Number'), sorted(report.stored.items()))
    if report.problems or report.orphans:
        print()
        show(('Project', 'Stack', 'Row', 'Why it was not taken over'), [
            (each.project_id, each.stack, each.row, each.reason) for each in (*report.problems, *report.orphans)])
    if report.orphans:
        print(_('\nOrphaned stacks belong to no tree and are left out by every run; delete them in Heat if their '
                'objects are not needed.'))
    if report.unmanaged:
        print()
        show(('Project', 'Stack', 'Type', 'What heatlite will not delete'), [
            (each.project_id, each.stack, each.row, each.reason) for each in report.unmanaged])
        print(_('\nThese types make nothing in heatlite. Delete the resources in Heat before the switch, or else their '
                'objects.'))
    if report.trees[WAITING]:
        print(_('\nStacks in progress are left to Heat until --switch.'))
    if switch and report.engines:
        print(_('\nEngines of Heat that reported lately, and must not run any more: %s') % ', '.join(report.engines))
    return 1 if report.problems else 0
