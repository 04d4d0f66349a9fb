"""heatlite-manage backup, restored and orphans. See docs/operators/backup.rst."""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from heatlite.common import exception
from heatlite.common.i18n import _

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.db.connection import Database
    from heatlite.engine.observe.orphans import Orphan

Show = Callable[[Sequence[str], Iterable[Sequence[object]]], None]
TOOLS = {'mysql': 'mariadb-dump --single-transaction', 'postgresql': 'pg_dump'}
MOST_TRIED = 20                 # stacks of a project whose credentials are tried
PAGES = 1000                        # that are copied at once: writers wait meanwhile


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    copy = commands.add_parser('backup', help=_('Copy a SQLite database while it is used.'))
    copy.add_argument('file', type=Path, help=_('The copy; a file that does not exist yet.'))
    prepare = commands.add_parser('restored', help=_('Prepare a database that was restored from a backup.'))
    prepare.add_argument('--taken-at', type=_time, metavar='TIME', help=_(
        'When the backup was taken, such as 2026-01-31T12:00:00Z. Default: its newest entry.'))
    search = commands.add_parser('orphans', help=_('List objects made since the backup that no stack has.'))
    search.add_argument('--project', metavar='ID', help=_('Only of this project.'))
    search.add_argument('--since', type=_time, metavar='TIME', help=_(
        'Only objects made since then. Default: when the backup was taken.'))


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(_("'%s' is no time such as 2030-01-31T12:00:00") % text) from None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo is not None else found


def run(conf: ConfigOpts, database: Database, show: Show) -> int:
    return COMMANDS[conf.command.name](conf, database, show)


def backup(conf: ConfigOpts, database: Database, show: Show) -> int:
    """Copy the database as it is at one moment; programs that write to it go on. The copy has mode 0600."""
    file = conf.command.file
    if database.dialect != 'sqlite':
        raise exception.Error(_('Use %s for this database.') % TOOLS[database.dialect])
    if not Path(str(database.url.database)).is_file():
        raise exception.Error(_('There is no file %s.') % database.url.database)
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise exception.Error(f'{file}: {os.strerror(error.errno or 0)}') from None
    try:
        with closing(sqlite3.connect(str(database.url.database))) as source, closing(sqlite3.connect(file)) as target:
            # The reading transaction holds one state of the file in WAL mode: the copy need not begin again.
            source.execute('BEGIN')
            source.execute('SELECT count(*) FROM sqlite_master').fetchone()
            source.backup(target, pages=PAGES)
            source.rollback()
    except sqlite3.Error as error:
        file.unlink()
        raise exception.Error(str(error)) from None
    print(_('%(file)s: %(size)d KiB') % {'file': file, 'size': file.stat().st_size // 1024})
    return 0


def restored(conf: ConfigOpts, database: Database, show: Show) -> int:
    from heatlite.common.green_threads import GreenRuntime
    from heatlite.db import restoring, sync
    sync.check(database)
    now = GreenRuntime().now()
    found = database.retry(lambda tx: restoring.prepare(tx, conf.command.taken_at, now))
    show((_('Restored'), ''), [
        (_('backup taken at'), _shown(found.taken_at)), (_('stacks'), found.stacks),
        (_('stacks in progress'), found.unfinished), (_('engines removed'), found.engines),
        (_('plans that are void'), found.plans)])
    return 0


def orphans(conf: ConfigOpts, database: Database, show: Show) -> int:
    """Run the command; return 1 if a project could not be read."""
    from heatlite.cmd import keys, parts
    from heatlite.db import restoring, stack_lists, sync
    parts.share(conf)                       # clients read the options of the process
    sync.check(database)
    keys.check(conf)
    with database.reader() as tx:
        since = conf.command.since or restoring.restored_from(tx)
        projects = stack_lists.newest_roots(tx, conf.command.project)
    rows, unread = [], []
    for project_id, stack_ids in projects.items():
        found, failed = _orphans(database, stack_ids[:MOST_TRIED], since)
        rows += [(project_id, each.type, each.id, each.name, _shown(each.made_at), each.made_for) for each in found]
        unread += [(project_id, name, reason) for name, reason in failed.items()]
    show((_('Project'), _('Type'), _('Id'), _('Name'), _('Made at'), _('Made for')), rows)
    if unread:
        print()
        show((_('Project'), _('Not read'), _('Reason')), unread)
    return 1 if unread else 0


def _orphans(database: Database, stack_ids: Sequence[str],
             since: datetime | None) -> tuple[list[Orphan], dict[str, str]]:
    """Return the orphans of a project, and why lists could not be read. Logs in as the first of the stacks that can:
    the trust of a stack that was deleted after the backup is gone."""
    from keystoneauth1 import exceptions as services

    from heatlite.db import resource_lists, stacks
    from heatlite.engine import clients
    from heatlite.engine.observe import orphans, project
    from heatlite.engine.reconcile import loading
    failed = ''
    for stack_id in stack_ids:
        with database.reader() as tx:
            row = stacks.get(tx, stack_id)
            context = loading.stored_context(tx, row) if row is not None else None
        if context is None:
            continue
        asked = clients.of(context)
        try:
            listing, unread = orphans.read(asked, project.log_in(asked))
        except (services.ClientException, exception.HeatException) as error:
            failed = str(error)
            continue
        with database.reader() as tx:
            return orphans.find(listing, partial(resource_lists.owners, tx), since), unread
    return [], {_('all'): failed}


def _shown(time: datetime | None) -> str:
    return '' if time is None else time.strftime('%Y-%m-%dT%H:%M:%SZ')


COMMANDS = {'backup': backup, 'restored': restored, 'orphans': orphans}
