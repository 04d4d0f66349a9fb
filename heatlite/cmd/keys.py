"""Checks the encryption key before a program starts, so that nothing is written with a wrong one."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from heatlite.common.invalid_options import InvalidOptions

if TYPE_CHECKING:
    from oslo_config.cfg import ConfigOpts

    from heatlite.common.runtime import Runtime
    from heatlite.db.connection import Database

LOG = logging.getLogger(__name__)


def load(conf: ConfigOpts) -> None:
    """Read keys that the options name by ids. Raises SystemExit with one line if the key manager does not give them.

    Harmless after the first time.
    """
    from heatlite.common import exception, key_manager
    try:
        key_manager.load(conf)
    except exception.HeatException as error:
        raise SystemExit(str(error)) from None


def check(conf: ConfigOpts) -> None:
    """Raise InvalidOptions if an encryption key is invalid, and SystemExit as `load`: for the start of every program
    that needs them."""
    from heatlite.common import crypt, exception
    load(conf)
    try:
        crypt.check_keys(conf)
    except exception.HeatException as error:
        raise InvalidOptions(str(error)) from None


def check_fits(conf: ConfigOpts, database: Database, name: str = 'The option auth_encryption_key') -> None:
    """End the process with one line if the database is not that of a heatlite, or its secrets were sealed with another
    key.

    It could read none of them, and would write secrets that others cannot read. `name`: of the key, for the line.
    Raises DatabaseUnavailable.
    """
    from heatlite.common import crypt, exception
    from heatlite.db import sealing, sync
    try:
        sync.check_owner(sync.version(database))
        sealing.check_keys(database, crypt.keyring(conf))
    except exception.InvalidEncryptionKey:
        _end(conf, f'{name} is not the key of this database: its secrets were sealed with another one.')
    except exception.Error as error:
        _end(conf, str(error))


def _end(conf: ConfigOpts, text: str) -> NoReturn:
    LOG.error(text)
    if conf.log_file or conf.log_dir or conf.use_journal:
        print(text, file=sys.stderr)
    os._exit(os.EX_CONFIG)                          # also from a thread, and before any work begins


def watch(conf: ConfigOpts, database: Database, runtime: Runtime) -> None:
    """Run `check_fits` as soon as the database answers."""
    from heatlite.common import exception, retries
    retries.call(lambda: check_fits(conf, database), retries.START, exception.DatabaseUnavailable, sleep=runtime.sleep)
