"""The configurations that pages and packages give: their options exist, and their values keep no secret by accident."""

import configparser
import re
import textwrap

import pytest
from oslo_config import cfg

from heatlite.cmd import check_config, plugins
from heatlite.common import config, crypt, exception
from tests.system.processes import ROOT

PAGE = (ROOT / 'docs/operators/configuration.rst').read_text()
KEY = '0123456789abcdef0123456789abcdef'
FOLDERS = ('environment_dir', 'template_dir', 'plugin_dirs')


def minimal():
    """The block of the page."""
    found = re.search(r'^Minimal configuration of a cluster\n-+\n::\n\n((?:    .*\n|\n)+)', PAGE, re.MULTILINE)
    return textwrap.dedent(found[1])


def loaded(tmp_path, text):
    conf = cfg.ConfigOpts()
    (tmp_path / 'heatlite.conf').write_text(text)
    (tmp_path / 'heatlite.conf').chmod(0o640)
    with plugins.silence():
        config.load(['--config-file', str(tmp_path / 'heatlite.conf')], 'test', conf, default_files=[], warn=False)
        config.register_database(conf)
    return conf


def findings(tmp_path, text):
    with plugins.silence():
        return [(each.level, each.text) for each in check_config.findings(loaded(tmp_path, text))
                if 'there is no folder' not in each.text]


def test_the_key_of_the_minimal_configuration_is_refused(tmp_path):
    with pytest.raises(exception.HeatException):
        crypt.check_keys(loaded(tmp_path, minimal()))


def test_the_rest_of_the_minimal_configuration_has_no_fault(tmp_path):
    text = minimal().replace('auth_encryption_key = KEY', f'auth_encryption_key = {KEY}')
    assert text != minimal() and findings(tmp_path, text) == []


def test_the_folders_of_the_minimal_configuration_are_those_of_the_package():
    page, package = configparser.ConfigParser(), configparser.ConfigParser()
    page.read_string(minimal())
    package.read(ROOT / 'contrib/packaging/debian/heatlite.conf')
    assert [page['DEFAULT'][name] for name in FOLDERS] == [package['DEFAULT'][name] for name in FOLDERS]


@pytest.mark.parametrize('key', check_config.PUBLISHED_KEYS)
def test_a_key_that_was_published_is_a_warning(tmp_path, key):
    text = minimal().replace('auth_encryption_key = KEY', f'auth_encryption_key = {key}')
    assert [(level, 'was published in an example' in said, key in said) for level, said in findings(tmp_path, text)
            ] == [(check_config.WARNING, True, False)]


def test_no_file_has_a_key_that_programs_accept():
    files = [path for folder in ('docs', 'etc', 'contrib') for path in (ROOT / folder).rglob('*')
             if path.suffix in ('.rst', '.sample', '.conf', '.yaml') or path.name == 'make-secrets']
    keys = [key for file in files
            for key in re.findall(r'^[# ]*auth_encryption_key *= *(.*?) *$', file.read_text(), re.MULTILINE)]
    assert len(keys) >= 4 and [key for key in keys if len(key) == check_config.KEY_LENGTH] == []
