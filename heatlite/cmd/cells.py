"""heatlite-manage cells: where projects are, and their moves. See docs/operators/cells.rst."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.db.connection import Database
    from heatlite.db.project_cells import PlacedProject

COMMAND = 'cells'
LINES = 20                                  # portions of rows for each line of progress

Show = Callable[[Sequence[str], Iterable[Sequence[object]]], None]


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(COMMAND, help=_('List cells, show where projects are, and move one.'))
    steps = command.add_subparsers(dest='cells_command', required=True)
    steps.add_parser('list', help=_('All cells, with the number of projects, engines and stacks.'))
    shown = steps.add_parser('show', help=_('In which cell a project is, or each project that was ever moved.'))
    shown.add_argument('project', nargs='?', help=_('Default: all projects in the map.'))
    moved = steps.add_parser('move', help=_(
        'Move a project with its stacks to a cell, while they run; run it again if it was interrupted.'))
    moved.add_argument('project', help=_('Id of the project.'))
    moved.add_argument('cell', help=_('Its name; home: the one of [database] connection.'))
    moved.add_argument('--wait-for-updates', type=float, metavar='SECONDS', help=_(
        'How long updates of resources that are under way may take to end, before they are interrupted; default: 10.'))


def run(conf: ConfigOpts, database: Database, show: Show) -> int:
    from heatlite.db import sync
    cells = _databases(conf, database)
    for each in cells.values():
        sync.check(each)
    return COMMANDS[conf.command.cells_command](conf, cells, show)


def sync_all(conf: ConfigOpts, database: Database) -> dict[str, str | None]:
    """Make or update the tables of all cells, and mark their databases as cells. Returns the version of the tables by
    name of the cell."""
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.db import presence, sync
    cells = _databases(conf, database)
    for each in cells.values():
        sync.up(each)
        if len(cells) > 1:
            each.retry(lambda tx: presence.become_cell(tx, GreenRuntime().now()))
    return {name: sync.version(each) for name, each in cells.items()}


def _databases(conf: ConfigOpts, database: Database) -> Mapping[str, Database]:
    from heatlite.db.cells import databases
    from heatlite.db.project_cells import HOME
    return {HOME: database, **databases(conf)}


def list_cells(conf: ConfigOpts, cells: Mapping[str, Database], show: Show) -> int:
    from heatlite.db import engines, project_cells, stack_lists
    with cells[project_cells.HOME].reader() as tx:
        counts = project_cells.counts(tx)
    rows = []
    for name, each in cells.items():
        with each.reader() as tx:
            live = sum(engine.is_up for engine in engines.page(tx))
            rows.append((name, each.url.render_as_string(), live, stack_lists.count_live(tx), counts.get(name, 0)))
    show((_('Cell'), _('Database'), _('Engines'), _('Stacks'), _('Projects in the map')), rows)
    return 0


def show_project(conf: ConfigOpts, cells: Mapping[str, Database], show: Show) -> int:
    from heatlite.db import project_cells
    with cells[project_cells.HOME].reader() as tx:
        found = project_cells.page(tx, conf.command.project)
    rows: list[tuple[object, ...]] = [(each.project_id, each.cell, _state(each), each.since) for each in found]
    if not rows and conf.command.project is not None:
        rows = [(conf.command.project, project_cells.HOME, _('never moved'), None)]
    show((_('Project'), _('Cell'), _('State'), _('Since')), rows)
    return 0


def _state(place: PlacedProject) -> str:
    if place.moving_to is not None:
        return _('is being moved to %s') % place.moving_to
    return _('here; rows are left in %s') % place.leaving if place.leaving is not None else _('here')


def move(conf: ConfigOpts, cells: Mapping[str, Database], show: Show) -> int:
    from heatlite.cmd import keys
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.db.moving import CellMove, MoveDelays
    keys.check(conf)
    wanted = conf.command.cell
    for each in cells.values():
        keys.check_fits(conf, each)         # what is sealed is copied as it is
    portions = 0

    def reached(step: str) -> None:
        nonlocal portions
        portions += step == 'rows'
        if step == 'rows' and portions % LINES == 0:
            print(_('%d rows copied') % sum(done.report.rows.values()), file=sys.stderr)

    seconds = conf.command.wait_for_updates
    pace = MoveDelays() if seconds is None else MoveDelays(updates=seconds)
    done = CellMove(cells, conf.command.project, wanted, GreenRuntime(), pace, reached)
    report = done.run()
    if report.waited is None:
        print(_('The project is in cell "%s".') % wanted)
        return 0
    show((_('Table'), _('Rows')), sorted(report.rows.items()))
    print(_('Changes waited for at most %.1f seconds.') % report.waited)
    return 0


COMMANDS = {'list': list_cells, 'show': show_project, 'move': move}
