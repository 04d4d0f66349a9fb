"""heatlite-manage encryption_keys: which keys stored values are encrypted with, and encrypting all with the first one.

Both run while engines and API processes serve. No key is printed: keys are named by option and position.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from heatlite.common import crypt, runtime
from heatlite.common.i18n import _
from heatlite.db import sealing, sync
from heatlite.db.connection import Database

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

COMMAND = 'encryption_keys'
MOST_AT_ONCE = 1000                         # rows in one transaction: it holds their locks
LONGEST_PAUSE = 3600.0                      # seconds
REPORTED = 10_000                           # rows of a table between two lines of progress

Show = Callable[[Sequence[str], Iterable[Sequence[object]]], None]


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(COMMAND, help=_('The keys of stored secrets: which are in use; change to the first.'))
    actions = parser.add_subparsers(dest='keys_command', required=True)
    listing = actions.add_parser('list', help=_('Count the values that each configured key decrypts.'))
    listing.add_argument('--unused', type=_position, metavar='N', help=_(
        'Exit with code 1 if a value still needs the N-th of auth_decryption_keys, or none of the keys decrypts it.'))
    again = actions.add_parser('reencrypt', help=_('Encrypt with auth_encryption_key all values of other keys.'))
    again.add_argument('-b', '--batch-size', type=_batch, default=sealing.AT_ONCE, metavar='N',
                       help=_('Rows in one transaction, at most %(most)d. Default %(usual)d.')
                       % {'most': MOST_AT_ONCE, 'usual': sealing.AT_ONCE})
    again.add_argument('--pause', type=_seconds, default=0.0, metavar='SECONDS',
                       help=_('Wait after each transaction that changed rows. Default 0.'))


def _position(text: str) -> int:
    return int(_between(_number(int, text), 1, 1000))


def _batch(text: str) -> int:
    return int(_between(_number(int, text), 1, MOST_AT_ONCE))


def _seconds(text: str) -> float:
    return _between(_number(float, text), 0.0, LONGEST_PAUSE)


def _number(kind: type[int] | type[float], text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(_("'%s' is no number") % text) from None


def _between(number: float, least: float, most: float) -> float:
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(_('%(least)g to %(most)g are possible') % {'least': least, 'most': most})
    return number


def run(conf: ConfigOpts, database: Database, show: Show) -> int:
    """Run the command and return the exit code. Raises Error for keys of the wrong length, DatabaseUnavailable."""
    crypt.check_keys(conf)
    sync.check(database)
    return {'list': _list, 'reencrypt': _reencrypt}[conf.command.keys_command](conf, database, show)


def _list(conf: ConfigOpts, database: Database, show: Show) -> int:
    wanted = conf.command.unused
    others = [key for key in conf.auth_decryption_keys if key != conf.auth_encryption_key]
    if wanted is not None and wanted > len(others):
        raise SystemExit(_('auth_decryption_keys has %d keys besides auth_encryption_key.') % len(others))
    found = sealing.usage(database, crypt.keyring(conf), _Progress())
    numbers = [found[key] for key in others]
    show((_('Key'), _('Values')), [
        ('auth_encryption_key', found[conf.auth_encryption_key]),
        *((f'auth_decryption_keys {number}', values) for number, values in enumerate(numbers, 1)),
        (_('another key'), found[None])])
    return int(wanted is not None and bool(numbers[wanted - 1] or found[None]))


def _reencrypt(conf: ConfigOpts, database: Database, show: Show) -> int:
    pause = partial(runtime.current().sleep, conf.command.pause)
    progress = _Progress()
    rewriting = sealing.Rewriting(None, crypt.keyring(conf), conf.command.batch_size, pause)
    total = rewriting.run(database, progress)
    show((_('Table'), _('Rows read'), _('Rows rewritten')), [
        (table, read, changed) for table, (read, changed) in progress.tables.items()])
    print(_('Rows rewritten: %d') % total)
    for table, rows in rewriting.skipped.items():
        print(_('%(table)s: none of the keys decrypts %(rows)d rows') % {'table': table, 'rows': rows}, file=sys.stderr)
    return 1 if rewriting.skipped else 0


class _Progress:
    """Notes how far each table is, and prints it to standard error once in `REPORTED` rows."""

    def __init__(self) -> None:
        self.tables: dict[str, tuple[int, int]] = {}        # rows read, rows changed

    def __call__(self, table: str, read: int, changed: int) -> None:
        before, _changed = self.tables.get(table, (0, 0))
        self.tables[table] = read, changed
        if read // REPORTED > before // REPORTED:
            print(_('%(table)s: %(read)d rows read, %(changed)d rewritten')
                  % {'table': table, 'read': read, 'changed': changed}, file=sys.stderr, flush=True)
