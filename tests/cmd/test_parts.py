"""What programs wait for before they serve."""

import pytest

from heatlite.cmd import parts
from heatlite.common import config
from heatlite.db import sync
from heatlite.db.connection import Database


class Waited(Exception):
    pass


class Clock:
    def sleep(self, _seconds):
        raise Waited


def note(database, revision):
    with database.writer() as tx:
        tx.execute(sync.VERSION_TABLE.update().values(version_num=revision))


def test_an_engine_waits_for_the_schema_of_its_release(tmp_path):
    """During an upgrade it may be started before db_sync; after it, those of the former release go on."""
    database = Database(f'sqlite:///{tmp_path}/heatlite.sqlite')
    conf = config.load([], 'test', default_files=[])
    with pytest.raises(Waited):
        parts.wait_for(conf, database, Clock())
    sync.up(database)
    for revision in (sync.HEAD, '9999'):
        note(database, revision)
        parts.wait_for(conf, database, Clock())
    note(database, '0001')
    with pytest.raises(Waited):
        parts.wait_for(conf, database, Clock())
    database.close()
