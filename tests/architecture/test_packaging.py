"""What packages, units, images and charts name - programs, options, ports, paths, versions - exists in the product."""

import configparser
import itertools
import re
import shlex

import pytest
import yaml
from oslo_config import cfg

from heatlite.cmd.engine import GRACE
from heatlite.common import config, health, settings
from tests.architecture.source import ROOT
from tests.architecture.test_bom import FOR_PLUGINS
from tests.cmd.test_help import PROGRAMS, SETUP

PACKAGING = ROOT / 'contrib' / 'packaging'
CONTAINER, CHART = PACKAGING / 'container', PACKAGING / 'helm' / 'heatlite'
UNITS = sorted((ROOT / 'etc' / 'heatlite' / 'systemd').glob('*.service'))
VERSION = SETUP['metadata']['version']
PACKAGE_DATA = SETUP['options.package_data']
COMPOSE = yaml.safe_load((CONTAINER / 'compose.yaml').read_text())
VALUES = yaml.safe_load((CHART / 'values.yaml').read_text())
PORTS = {'api': 'heat_api', 'api-cfn': 'heat_api_cfn', 'api-cloudwatch': 'heat_api_cloudwatch'}
OWN_SERVICES = [name for name, facts in COMPOSE['services'].items() if facts['image'].startswith('heatlite:')]


@pytest.fixture(scope='module')
def conf():
    found = cfg.ConfigOpts()
    config.register(found)
    config.register_database(found)
    found([], default_config_files=[])
    return found


def test_supervisors_wait_for_the_end_of_an_engine(conf):
    """Its parent kills it at the end of that time; the supervisor would kill the parent with all workers."""
    longest = conf.engine.stop_timeout + GRACE
    of_all_units = (UNITS[0].parent / 'heatlite-.service.d' / 'hardening.conf').read_text()
    limit = re.search(r'^TimeoutStopSec=(\d+)$', of_all_units, re.MULTILINE)
    chart = re.search(r'terminationGracePeriodSeconds: (\d+)', template('engines.yaml'))
    assert longest < min(int(limit.group(1)), int(chart.group(1)),
                         int(COMPOSE['services']['engine']['stop_grace_period'].removesuffix('s')))


def packaged(file):
    """Whether a wheel has a file of a package that is not Python. A pattern matches in one folder only."""
    package = next(folder for folder in file.parents if (folder / '__init__.py').exists())
    name = '.'.join(package.relative_to(ROOT).parts)
    parts = file.relative_to(package).parts
    return any(len(parts) == pattern.count('/') + 1 and file.relative_to(package).match(pattern)
               for key in ('*', name) for pattern in PACKAGE_DATA.get(key, '').replace(',', ' ').split())


def test_wheels_have_all_files_of_the_packages():
    files = [path for path in (ROOT / 'heatlite').rglob('*')
             if path.is_file() and path.suffix not in ('.py', '.pyc') and '__pycache__' not in path.parts]
    assert len(files) > 50
    assert [str(path.relative_to(ROOT)) for path in files if not packaged(path)] == []


def assert_known(conf, assignment):
    group, _dot, name = assignment.partition('=')[0].strip().rpartition('.')
    known = settings.known_names(conf)
    assert (group or 'DEFAULT') in known and not settings.unknown(known, group or 'DEFAULT', name), assignment


def template(name):
    return (CHART / 'templates' / name).read_text()


def test_all_have_the_version_of_the_product():
    chart = yaml.safe_load((CHART / 'Chart.yaml').read_text())
    changelog = (PACKAGING / 'debian' / 'changelog').read_text()
    assert {chart['version'], chart['appVersion'], VALUES['image']['tag'], COMPOSE['x-heatlite']['image'][9:],
            re.match(r'heatlite \((.*)-1\)', changelog).group(1)} == {VERSION}


def test_each_program_is_installed_and_has_a_manual_page():
    rules = (PACKAGING / 'debian' / 'rules').read_text().replace('\\\n', ' ')
    assert re.search(r'^PROGRAMS = (.*)$', rules, re.M).group(1).split() == sorted(PROGRAMS)
    assert sorted(re.search(r'^UNITS = (.*)$', rules, re.M).group(1).split()) == sorted(unit.stem for unit in UNITS)
    pages = {page.stem for page in (ROOT / 'docs' / 'operators' / 'programs').glob('*.rst')} - {'index'}
    listed = (ROOT / 'docs' / 'conf.py').read_text().partition('man_pages = ')[2]
    manual = set(re.findall(r"^    \('([\w-]+)', .*, [18]\),$", listed, re.M))
    assert pages == manual == set(PROGRAMS)


@pytest.mark.parametrize('file, left_out', [
    (PACKAGING / 'debian' / 'rules', {'client'}),               # for the machines of users
    (CONTAINER / 'Containerfile', {'client', 'language-server'}),
    (ROOT / 'Makefile', set())], ids=['debian', 'container', 'bill'])
def test_extras_of_the_service_are_installed(file, left_out):
    """The extra of a package that has no pip cannot be added later."""
    tools = {'bom', 'dist', 'docs', 'lint', 'test', 'testing', FOR_PLUGINS}
    runtime = set(SETUP['options.extras_require']) - tools
    found = [set(each.replace('$(comma)', ',').split(',')) for each in re.findall(
        r'\.\[([\w$(),-]*key-manager[\w$(),-]*)\]', file.read_text())]
    assert [each - tools for each in found] == [runtime - left_out]


def test_no_text_installs_heatlite_from_an_index():
    """It is in none; `heatlite[EXTRA]` there would be the package of somebody else."""
    files = [path for folder in ('heatlite', 'docs', 'contrib/packaging') for path in (ROOT / folder).rglob('*')
             if path.suffix in ('.py', '.rst') and 'node_modules' not in path.parts]
    assert len(files) > 500
    assert [str(path) for path in files if re.search(r'heatlite\[[a-z-]+\]|pip install heatlite\b(?!-)',
                                                     path.read_text())] == []


@pytest.mark.parametrize('unit', UNITS, ids=lambda unit: unit.stem)
def test_units_start_programs(unit):
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.optionxform = str
    read.read(unit)
    assert shlex.split(read['Service']['ExecStart'])[0] == f'/usr/bin/{unit.stem}' and unit.stem in PROGRAMS


def test_the_unit_of_heatlite_all_names_what_the_other_programs_read():
    """The program reads only what is named; a folder that is named must be there."""
    read = configparser.ConfigParser(interpolation=None, strict=False)
    read.optionxform = str
    read.read(next(unit for unit in UNITS if unit.stem == 'heatlite-all'))
    folder = 'etc/heatlite/heatlite.conf.d'
    assert settings.named_sources(shlex.split(read['Service']['ExecStart'])) == [
        (settings.FILE, '/etc/heatlite/heatlite.conf'), (settings.FOLDER, f'/{folder}')]
    assert f'etc/{read["Service"]["ConfigurationDirectory"]}' == folder
    assert folder in (PACKAGING / 'debian' / 'heatlite.dirs').read_text().splitlines()


def test_the_configuration_of_the_package_names_options(conf):
    read = configparser.ConfigParser(interpolation=None, default_section='', strict=False)
    text = (PACKAGING / 'debian' / 'heatlite.conf').read_text()
    read.read_string(re.sub(r'^#(\w+ =)', r'\1', text, flags=re.M))
    for group, options in read.items():
        for name in options:
            assert_known(conf, f'{group}.{name}=')


def test_each_package_starts_all_apis_of_which_keystone_has_an_endpoint():
    programs = {'heatlite-api', *(f'heatlite-{name}' for name in PORTS if name != 'api')}
    assert programs == {f'heatlite-{name}' for name in COMPOSE['services'] if name in PORTS}
    assert programs == set(re.findall(r'"program" "([\w-]+)"', template('apis.yaml')))
    for page in (ROOT / 'docs/operators/packages.rst', PACKAGING / 'debian/README.Debian'):
        started = re.search(r'systemctl enable --now (heatlite-api (?:.*\\\n)*.*)', page.read_text())
        assert programs <= set(started[1].split()), page


@pytest.mark.parametrize('name', OWN_SERVICES)
def test_services_of_compose_start_programs(conf, name):
    facts = COMPOSE['services'][name]
    program, *arguments = facts['command']
    assert program in PROGRAMS
    given = [value for option, value in itertools.pairwise(arguments) if option == '--set']
    for assignment in given:
        assert_known(conf, assignment)
    if name in PORTS:
        port = conf[PORTS[name]].bind_port
        assert facts['ports'] == [f'{port}:{port}'] and f'{PORTS[name]}.bind_host=0.0.0.0' in given
    health_port = facts.get('environment', {}).get('HEATLITE_HEALTH_PORT', '8004')
    listens = [str(conf[PORTS[name]].bind_port)] if name in PORTS else [
        value.partition('=')[2] for value in given if value.startswith('metrics.engine_port=')]
    assert listens == [health_port] or facts.get('healthcheck') == {'disable': True}


def test_engines_answer_probes_at_the_same_port_in_each_package():
    found = configparser.ConfigParser()
    found.read_string((PACKAGING / 'debian' / 'heatlite.conf').read_text())
    port = found['metrics']['engine_port']
    assert COMPOSE['services']['engine']['environment']['HEATLITE_HEALTH_PORT'] == port == str(VALUES['engine']['port'])
    assert f'/127.0.0.1:{port}/readiness' in (ROOT / 'docs' / 'operators' / 'running.rst').read_text()


def test_the_options_that_are_made_for_compose_exist(conf):
    script = (CONTAINER / 'make-secrets').read_text()
    group = None
    for line in script[script.index('<<END') + 5:].split('\nEND')[0].splitlines():
        if found := re.fullmatch(r'\[(\w+)\]', line):
            group = found.group(1)
        elif line and group != 'keystone_authtoken':    # of the middleware, registered when it is loaded
            assert_known(conf, f'{group}.{line}')


def test_the_chart_names_programs_options_ports_and_paths(conf):
    for values, group in (('api', 'heat_api'), ('apiCfn', 'heat_api_cfn'), ('apiCloudwatch', 'heat_api_cloudwatch')):
        assert VALUES[values]['port'] == conf[group].bind_port
    apis, engines, job = template('apis.yaml'), template('engines.yaml'), template('db-sync.yaml')
    programs = re.findall(r'"program" "([\w-]+)"', apis) + re.findall(r'command: \[(heatlite-\w+)\]\n', engines + job)
    assert set(programs) - {'heatlite-healthy'} <= set(PROGRAMS) and len(programs) >= 4
    for group in re.findall(r'"group" "(\w+)"', apis):
        for name in ('bind_host', 'bind_port'):
            assert_known(conf, f'{group}.{name}=')
    assert_known(conf, re.search(r'"(metrics\.engine_port)=', engines).group(1) + '=')
    assert set(re.findall(r'path: (/\w+)', apis)) == {health.LIVE, health.READY}
    assert f'[heatlite-healthy, {health.READY}]' in engines
    assert f"'{health.LIVE}'" in (CONTAINER / 'healthy').read_text()


PAGES = sorted([*ROOT.glob('*.rst'), *(ROOT / 'docs').rglob('*.rst'), *(ROOT / 'tools').glob('*.py')])


def test_extras_are_installed_in_the_versions_that_were_tested():
    """Without them pip may raise libraries that the service in the same environment uses."""
    found = [(str(page.relative_to(ROOT)), each) for page in PAGES
             for each in re.findall(r"pip install [^`:;]*?'\.\[[a-z,-]+\]'", ' '.join(page.read_text().split()))]
    assert len(found) > 5
    assert not [each for each in found if '-c constraints.txt' not in each[1]]
