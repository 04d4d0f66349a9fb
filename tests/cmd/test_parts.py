"""What programs wait for before they serve."""

import logging
import signal
import subprocess
import sys

import pytest
from oslo_config import cfg

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


def test_an_engine_waits_for_the_schema_of_its_release(tmp_path, capsys):
    """During an upgrade it may be started before db_sync; after it, those of the former release go on."""
    database = Database(f'sqlite:///{tmp_path}/heatlite.sqlite')
    conf = config.load([], 'test', cfg.ConfigOpts(), default_files=[])
    with pytest.raises(Waited):
        parts.wait_for(conf, database, Clock())
    assert f'the database has none, and this release needs revision {sync.HEAD}: run' in capsys.readouterr().err
    sync.up(database)
    for revision in (sync.HEAD, '9999'):
        note(database, revision)
        parts.wait_for(conf, database, Clock())
    note(database, '0001')
    with pytest.raises(Waited):
        parts.wait_for(conf, database, Clock())
    database.close()


WRONG = {
    'a byte that is no UTF-8': '[DEFAULT]\n# Mühle\ndebug = true\n'.encode('latin-1'),
    'no boolean': b'[DEFAULT]\ndebug = many\n',
    'no number': b'[DEFAULT]\ndebug = true\nmax_stacks_per_tenant = many\n',
    'no file': b'[DEFAULT]\ndebug = true\nlog_config_append = /nowhere/logging.conf\n',
    'no file of that kind': b'[DEFAULT]\ndebug = true\nlog_config_append = {file}\n',
    'no configuration': b'debug = true\n  x\n[',
    'a folder': None}
NAMED = {'a byte that is no UTF-8': ':2: not a text in UTF-8', 'no boolean': 'many',
         'no number': 'max_stacks_per_tenant', 'no file': 'log_config_append'}


@pytest.mark.parametrize('what', WRONG)
def test_a_wrong_file_is_logged_and_changes_nothing(tmp_path, capsys, what):
    """At SIGHUP; a right one applies, before and after."""
    file, content = tmp_path / 'heatlite.conf', WRONG[what]
    file.write_text('[DEFAULT]\n')
    conf = config.load(['--config-file', str(file)], 'test', cfg.ConfigOpts(), default_files=[], warn=False)
    level, called = logging.getLogger().level, []
    reload = parts.reload(conf, lambda: called.append(conf.debug))
    file.unlink()
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content.replace(b'{file}', str(file).encode()))
    reload()
    said, = (line for line in capsys.readouterr().err.splitlines() if ' ERROR ' in line)
    assert NAMED.get(what, 'heatlite.conf') in said
    assert (conf.debug, conf.log_config_append, conf.max_stacks_per_tenant) == (False, None, 512)
    assert logging.getLogger().level == level
    if content is None:
        file.rmdir()
    for text, is_on in (('[DEFAULT]\ndebug = true\n', True), ('[DEFAULT]\n', False)):
        file.write_text(text)
        reload()
        assert conf.debug is is_on
    assert called == [False, True, False] and logging.getLogger().level == level


WORKER = '''
import sys
from heatlite.common import runtime
runtime.patch()
from oslo_config import cfg
from heatlite.cmd import parts, signals
from heatlite.common import config
conf = config.load(['--config-file', sys.argv[1]], 'test', cfg.ConfigOpts(), default_files=[], warn=False)
inbox = signals.Inbox()
print('ready', flush=True)
signals.until_stopped(inbox, parts.reload(conf, lambda: print('read', conf.debug, flush=True)))
print('stopped', flush=True)
'''


def test_a_worker_goes_on_after_a_wrong_file(tmp_path):
    file = tmp_path / 'heatlite.conf'
    file.write_text('[DEFAULT]\n')
    process = subprocess.Popen([sys.executable, '-c', WORKER, str(file)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'ready\n'
        for content, said in ((WRONG['no boolean'], 'read False\n'), (WRONG['a byte that is no UTF-8'], 'read False\n'),
                              (b'[DEFAULT]\ndebug = true\n', 'read True\n')):
            file.write_bytes(content)
            process.send_signal(signal.SIGHUP)
            assert process.stdout.readline() == said
        process.terminate()
        assert process.communicate(timeout=60)[0] == 'stopped\n' and process.returncode == 0
    finally:
        process.kill()
