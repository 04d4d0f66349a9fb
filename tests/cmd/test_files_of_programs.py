"""Each program reads files and folders in one order, says which file applies, and so do the parts of a command."""

import functools
import os

import pytest
from oslo_config import cfg

from heatlite.cmd import all_in_one, engine, manage, parts, serving
from heatlite.common import config, settings
from heatlite.wsgi import lazy

SERVICES = {
    'heatlite-engine': engine.load,
    **{name: functools.partial(lambda name, words: serving.load(name, words, ''), name)
       for name in ('heatlite-api', 'heatlite-api-cfn', 'heatlite-api-cloudwatch')},
    'heatlite-manage': lambda words: manage.load([*words, 'db_version'])}
LATER = 'named/b/1.conf'
FILES = ('.heatlite/heatlite.conf', '.heatlite/heatlite.conf.d/10.conf', '.heatlite/heatlite.conf.d/20.conf',
         'mine.conf', 'named/a/1.conf', LATER)
DEFAULT_SIZE = 524288


class Loaded(Exception):
    """Carries the options of a program, which does not start."""


@pytest.mark.parametrize('start', SERVICES.values(), ids=SERVICES)
def test_a_folder_that_is_missing_is_named_with_its_option(start, monkeypatch, tmp_path):
    monkeypatch.setattr(os, 'umask', lambda _mask: 0)
    monkeypatch.setattr(cfg, 'CONF', cfg.ConfigOpts())
    with pytest.raises(SystemExit) as ended:
        start(['--config-dir', f'{tmp_path}/none'])
    assert ended.value.code == f'--config-dir {tmp_path}/none: there is no such folder'


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with the files, in each of which one option is the number of the file."""
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.delenv('HEATLITE_CONFIG', raising=False)
    for number, name in enumerate(FILES, 1):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'[DEFAULT]\nmax_template_size = {number}\n')
    return tmp_path


@pytest.fixture
def loaded(monkeypatch):
    """loaded(start, *arguments): the options with which a program starts."""
    real = config.load

    def load(*arguments, **named):
        raise Loaded(real(*arguments, **named))

    def found(start, *arguments):
        mask = os.umask(0o077)
        try:
            with monkeypatch.context() as patched, pytest.raises(Loaded) as stopped:
                patched.setattr(cfg, 'CONF', cfg.ConfigOpts())
                patched.setattr(config, 'load', load)
                start(*arguments)
            return stopped.value.args[0]
        finally:
            os.umask(mask)

    return found


def assert_applies(conf, expected, monkeypatch):
    """The value is that of one file, which findings name, also after SIGHUP and for the clients of a command."""
    monkeypatch.setattr(cfg, 'CONF', cfg.ConfigOpts())
    number = DEFAULT_SIZE if expected is None else FILES.index(expected) + 1
    for each in (conf, parts.share(conf)):
        assert each.max_template_size == number
        place = settings.place(each, 'DEFAULT', 'max_template_size')
        assert place.endswith(f'/{expected}:2: ') if expected else place == ''
        assert each.reload_config_files() and each.max_template_size == number


def command_lines(home):
    """(arguments, the file that applies) of programs that read default files."""
    file, first, second = home / 'mine.conf', home / 'named/a', home / 'named/b'
    return [([], FILES[2]), (['--config-file', str(file)], FILES[2]), ([f'--config-file={file}'], FILES[2]),
            (['--debug', '--config-file', str(file), '--set', 'engine.lease_ttl=9'], FILES[2]),
            (['--config-file', str(file), '--config-dir', str(first), '--config-dir', str(second)], LATER),
            (['--config-dir', str(first), '--config-dir', str(second)], LATER),
            (['--config-dir', str(first), '--config-file', str(file)], 'mine.conf')]


@pytest.mark.parametrize('program', SERVICES)
def test_folders_are_read_after_files(home, loaded, monkeypatch, program):
    for arguments, expected in command_lines(home):
        assert_applies(loaded(SERVICES[program], arguments), expected, monkeypatch)


@pytest.mark.parametrize('program', SERVICES)
def test_the_folder_of_a_program_is_read_last(home, loaded, program):
    (home / f'.heatlite/{program}.conf.d').mkdir()
    (home / f'.heatlite/{program}.conf.d/1.conf').write_text('[DEFAULT]\nmax_template_size = 77\n')
    for arguments in ([], ['--config-file', str(home / 'mine.conf')]):
        assert loaded(SERVICES[program], arguments).max_template_size == 77


@pytest.mark.parametrize('named', [None, 'mine.conf'])
def test_a_wsgi_server_reads_them_in_this_order_too(home, loaded, monkeypatch, named):
    if named:
        monkeypatch.setenv('HEATLITE_CONFIG', str(home / named))
    assert_applies(loaded(lazy.application, 'heatlite-api', 'heatlite.api.deploy'), FILES[2], monkeypatch)


def test_heatlite_all_reads_what_is_named(home, loaded, monkeypatch):
    file, folder = str(home / 'mine.conf'), str(home / '.heatlite/heatlite.conf.d')
    for arguments, expected in (([], None), (['--config-file', file], 'mine.conf'),
                                (['--config-file', file, '--config-dir', folder], FILES[2])):
        assert_applies(loaded(all_in_one.load, arguments), expected, monkeypatch)


def test_a_folder_without_files_replaces_those_of_the_host(home, loaded, monkeypatch):
    """A command for another database than that of the host."""
    (home / 'empty').mkdir()
    arguments = ['--config-file', str(home / 'mine.conf'), '--config-dir', str(home / 'empty')]
    assert_applies(loaded(SERVICES['heatlite-manage'], arguments), 'mine.conf', monkeypatch)


def test_hidden_files_and_a_tilde_are_read_as_by_oslo_config(home, loaded, monkeypatch):
    (home / 'named/b/.2.conf').write_text('[DEFAULT]\nmax_template_size = 99\n')
    assert_applies(loaded(engine.load, ['--config-file=~/mine.conf', '--config-dir=~/named/b']), LATER, monkeypatch)
