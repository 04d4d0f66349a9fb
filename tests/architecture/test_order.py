"""What must be there and current: charters, tools' configuration, the sample file, console scripts."""

import ast
import configparser
import subprocess
import sys
import tomllib

import pytest

from tests import conftest, shares
from tests.architecture import source

SETUP = configparser.ConfigParser()
SETUP.read(source.ROOT / 'setup.cfg')

PACKAGES = [path for package in ('cloudsim', 'heatlite') for path in source.modules(package).values()
            if path.name == '__init__.py']


@pytest.mark.parametrize('path', PACKAGES, ids=source.module_name)
def test_every_package_says_what_it_is_for(path):
    charter = ast.get_docstring(ast.parse(path.read_text()))
    assert charter
    assert len(charter) > 40


def test_every_folder_with_code_is_a_package():
    # Migrations are read by alembic, from their folder.
    folders = {path.parent for path in source.modules().values() if 'migrations' not in path.parts}
    assert not [str(each) for each in folders if not (each / '__init__.py').exists()]


TOOLS = tomllib.loads((source.ROOT / 'pyproject.toml').read_text())['tool']


def test_types_of_the_whole_product_are_checked_strictly():
    mypy = TOOLS['mypy']
    assert mypy['strict'] is True
    assert {'cloudsim', 'heatlite'} == set(mypy['packages'])
    assert 'overrides' not in mypy


def test_style_is_checked():
    ruff = TOOLS['ruff']
    assert ruff['line-length'] <= 120
    assert {'E', 'F', 'W', 'I', 'B'} <= set(ruff['lint']['select'])


@pytest.mark.parametrize('prefix', sorted({
    *shares.THOROUGH, *shares.QUICK, *shares.SWEEPS, *shares.DEPLOYMENTS, *conftest.FIRST}))
def test_what_is_left_out_in_parts_or_begun_first_is_there(prefix):
    path = source.ROOT / prefix.partition('::')[0]
    assert list(path.parent.glob(f'{path.name}*')), prefix


def test_the_sample_configuration_is_current(tmp_path):
    """`make sample` writes it anew."""
    fresh = tmp_path / 'heatlite.conf.sample'
    done = subprocess.run(
        [sys.executable, '-W', 'ignore', '-m', 'oslo_config.generator', '--config-file',
         'etc/heatlite/config-generator.conf', '--output-file', str(fresh)],
        cwd=source.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if 'Could not load heatlite' in done.stderr:
        pytest.skip('heatlite is not installed, only on the path: its options cannot be found')
    assert fresh.read_text() == (source.ROOT / 'etc/heatlite/heatlite.conf.sample').read_text()


def console_scripts():
    return [line.split('=')[1].strip() for line in
            SETUP['options.entry_points']['console_scripts'].strip().splitlines()]


@pytest.mark.parametrize('target', console_scripts())
def test_every_console_script_has_its_door(target):
    module, function = target.split(':')
    path = source.modules(module.partition('.')[0])[module]
    names = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert function in names


def test_what_is_required_is_pinned():
    wanted = [SETUP['options']['install_requires'], *SETUP['options.extras_require'].values()]
    pinned = {name(line) for line in (source.ROOT / 'constraints.txt').read_text().splitlines() if '==' in line}
    assert {name(line) for text in wanted for line in text.strip().splitlines()} <= pinned


def name(requirement):
    for sign in '<>=!~[; ':
        requirement = requirement.split(sign)[0]
    return requirement.strip().lower().replace('_', '-').replace('.', '-')
