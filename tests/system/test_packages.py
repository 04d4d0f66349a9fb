"""Source distribution and wheel, installed into an empty environment: everything is there without a checkout."""

import json
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

from tests.cmd.test_help import PROGRAMS
from tests.system.processes import ROOT, Program, ask, finished

pytestmark = pytest.mark.thorough

NOT_OF_THE_SOURCE = shutil.ignore_patterns(
    '.git', '.venv', 'build', 'dist', '_build', 'node_modules', '*_cache', '*.egg-info')
# What the build itself adds.
MADE = ('PKG-INFO', 'heatlite.egg-info/')


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('packages')


@pytest.fixture(scope='module')
def source(folder):
    """A copy of the checkout, with litter in it."""
    found = folder / 'source'
    shutil.copytree(ROOT, found, ignore=NOT_OF_THE_SOURCE)
    for litter in ('docs/_build/index.html', 'build/lib/heatlite/old.py', '.state/heatlite.sqlite',
                   'heatlite/__pycache__/old.cpython-311.pyc', 'etc/heatlite/heatlite.log'):
        (found / litter).parent.mkdir(parents=True, exist_ok=True)
        (found / litter).write_text('litter')
    return found


@pytest.fixture(scope='module')
def built(folder, source):
    """Names in the source distribution, without its folder. The wheel is made of it."""
    # The environment of the tests has what the build needs; it fetches nothing.
    run(sys.executable, '-m', 'build', '--no-isolation', '--outdir', folder / 'dist', source)
    (archive,) = (folder / 'dist').glob('*.tar.gz')
    with tarfile.open(archive) as opened:
        return [name.partition('/')[2] for name in opened.getnames() if not opened.getmember(name).isdir()]


@pytest.fixture(scope='module')
def installed(folder, built):
    """The environment with the wheel and what it requires, in the tested versions, and nothing else."""
    found = folder / 'environment'
    venv.create(found, with_pip=True)
    (wheel,) = (folder / 'dist').glob('*.whl')
    run(found / 'bin' / 'pip', 'install', '-q', '-c', ROOT / 'constraints.txt', wheel)
    return found


def run(*command, code=0, cwd=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == code, f'{command}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}'
    return done.stdout


def test_the_source_distribution_has_what_is_committed(built):
    listed = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip('this is no git checkout')
    committed = {name for name in listed.stdout.split('\0') if name and not name.startswith('.')}
    found = {name for name in built if not name.startswith(MADE)}
    assert (found - committed, committed - found) == (set(), set())


def test_the_wheel_has_all_files_of_the_packages(folder, built):
    (wheel,) = (folder / 'dist').glob('*.whl')
    with zipfile.ZipFile(wheel) as opened:
        found = set(opened.namelist())
    assert {name for name in built if name.startswith('heatlite/')} - found == set()


def test_a_plug_in_can_be_begun(installed, tmp_path):
    run(installed / 'bin' / 'heatlite-manage', 'plugin', 'new', 'Acme::Lamp', cwd=tmp_path)
    assert [path.name for path in tmp_path.rglob('*lamp*.py')]


@pytest.mark.parametrize('program', sorted(PROGRAMS))
def test_programs_start(installed, program, tmp_path):
    assert run(installed / 'bin' / program, '--help', cwd=tmp_path).startswith(f'usage: {program}')


def test_samples_can_be_made_of_it(installed, tmp_path):
    for generator in ('oslo-config-generator', 'oslopolicy-sample-generator'):
        assert run(installed / 'bin' / generator, '--namespace', 'heatlite', cwd=tmp_path).count('\n') > 100
    for name in ('heatlite.conf.sample', 'policy.yaml.sample', 'environment.d/default.yaml'):
        assert (installed / 'etc' / 'heatlite' / name).read_text() == (ROOT / 'etc' / 'heatlite' / name).read_text()


def test_it_serves_and_finds_itself_well(installed, tmp_path):
    template = installed / 'share' / 'heatlite' / 'examples' / 'hello.yaml'
    state = tmp_path / 'state'
    program = Program(tmp_path / 'log', installed / 'bin' / 'heatlite-all', '--state-dir', state, '--port', '0',
                      '--cloud', 'simulated', cwd=tmp_path, PYTHONPATH='')
    try:
        said = [program.process.stdout.readline() for _ in range(5)]
        assert f'--template {template} ' in said[4], (said, program.log.read_text())
        url = said[0].split()[-1]
        assert len(ask('GET', f'{url}/v1/admin/resource_types')[1]['resource_types']) > 150
        page = ask('GET', f'{url}/console/')[1]
        assert page == (ROOT / 'heatlite' / 'api' / 'console' / 'static' / 'index.html').read_text()
        status, found = ask('POST', f'{url}/v1/admin/stacks', {
            'stack_name': 'hello', 'template': template.read_text()})
        assert status == 201, found
        assert finished(f"{url}/v1/admin/stacks/hello/{found['stack']['id']}") == 'CREATE_COMPLETE'
    finally:
        program.stop()
    options = tmp_path / 'heatlite.conf'
    options.write_text(f'[DEFAULT]\nauth_encryption_key = {(state / "encryption-key").read_text()}\n'
                       f'[database]\nconnection = sqlite:///{state}/heatlite.sqlite\n')
    options.chmod(0o600)
    judged = json.loads(run(
        installed / 'bin' / 'heatlite-manage', '--config-file', options, 'doctor', '--format', 'json',
        '--only', 'policy', '--only', 'plug-ins', '--only', 'extensions', '--only', 'database-*', cwd=tmp_path))
    checks = judged['checks']
    assert {each['name']: each['status'] for each in checks if each['status'] not in ('ok', 'not used')} == {}
    assert {'policy', 'extensions', 'database-schema', 'database-key'} <= {
        each['name'] for each in checks if each['status'] == 'ok'}
    run(installed / 'bin' / 'heatlite-lint', template, cwd=tmp_path)
