"""The bill of materials is valid, has what the service needs, and nothing of what only its makers need."""

import configparser
import json

import pytest

from tests.answering import answering
from tests.architecture.source import ROOT
from tests.architecture.test_requirements import normal, required
from tools import audit, bom

FOR_PLUGINS = 'plugins-openstack'         # of plug-ins that others wrote; the service never imports them
SETUP = configparser.ConfigParser()
SETUP.read(ROOT / 'setup.cfg')


@pytest.fixture(scope='module')
def text():
    return bom.text()


@pytest.fixture(scope='module')
def bill(text):
    return json.loads(text)


def pinned():
    return {normal(name): version for name, _equals, version in (
        line.partition('==') for line in (ROOT / 'constraints.txt').read_text().splitlines() if '==' in line)}


@pytest.fixture(scope='module')
def validator():
    """Imported here: its grammars of addresses take seconds, which each process that collects tests would spend."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    return JsonStrictValidator(SchemaVersion.V1_6)


def test_it_is_valid(validator, text):
    assert validator.validate_str(text) is None


def test_a_wrong_one_is_not(validator, bill):
    assert validator.validate_str(json.dumps({**bill, 'components': [{}]})) is not None


def test_it_is_the_same_each_time(text):
    assert bom.text() == text


def test_it_has_what_is_required_as_it_is_pinned(bill):
    found = {normal(each['name']): each['version'] for each in bill['components']
             if each['purl'].startswith('pkg:pypi/')}
    assert required() <= set(found)
    versions = pinned()
    assert {name: version for name, version in found.items() if versions.get(name) != version} == {}
    assert not {'pytest', 'hypothesis', 'ruff', 'mypy', 'sphinx', 'schemathesis', 'cyclonedx-python-lib'} & set(found)


def test_all_of_it_hangs_together(bill):
    """Each component is reached from the service, and the service is the one that is described."""
    edges = {each['ref']: each.get('dependsOn', []) for each in bill['dependencies']}
    root = bill['metadata']['component']
    assert (root['name'], root['version']) == ('heatlite', SETUP['metadata']['version'])
    reached, waiting = set(), [root['bom-ref']]
    while waiting:
        if (each := waiting.pop()) not in reached:
            reached.add(each)
            waiting += edges[each]
    assert reached == {root['bom-ref'], *(each['bom-ref'] for each in bill['components'])}


def test_the_console_is_part_of_it(bill):
    lock = json.loads((ROOT / 'console' / 'package.json').read_text())
    found = {'/'.join(filter(None, (each.get('group'), each['name']))) for each in bill['components']
             if each['purl'].startswith('pkg:npm/')}
    assert set(lock['dependencies']) <= found
    assert not set(lock['devDependencies']) & found


def test_every_component_has_a_licence(bill):
    """A distribution that states none may be read by no lawyer: it is named here."""
    assert [each['name'] for each in bill['components'] if not each.get('licenses')] == []


def test_every_extra_is_either_part_of_it_or_for_makers():
    assert set(SETUP['options.extras_require']) == {
        *bom.EXTRAS, 'test', 'dist', 'docs', 'testing', 'lint', 'bom', FOR_PLUGINS}


# --- the audit ---------------------------------------------------------------------------------------------

def vulnerabilities(asked):
    """A database that knows one vulnerability, of `six`."""
    known = {'vulns': [{'id': 'OSV-1', 'affected': [{
        'package': {'name': 'six', 'ecosystem': 'PyPI'}, 'ranges': [{
            'type': 'ECOSYSTEM', 'events': [{'introduced': '0'}, {'fixed': '9.0'}]}]}]}]}
    return 200, {}, known if asked['package']['name'] == 'six' else {}


@pytest.fixture
def database():
    with answering(vulnerabilities) as url:
        yield f'{url}/'


@pytest.mark.parametrize('lines, code, words', [
    ('six==1.17.0\n', audit.SOME, 'six 1.17.0: OSV-1, fixed in 9.0'),
    ('attrs==26.1.0\n', audit.NONE, '1 distributions, 0 known vulnerabilities')])
def test_an_audit(database, tmp_path, capsys, lines, code, words):
    (tmp_path / 'pinned.txt').write_text(lines)
    assert audit.main(['--osv-url', database], tmp_path / 'pinned.txt') == code
    assert words in capsys.readouterr().out


def test_an_audit_that_cannot_ask_says_so(tmp_path, capsys):
    (tmp_path / 'pinned.txt').write_text('six==1.17.0\n')
    assert audit.main(['--osv-url', 'http://127.0.0.1:1/'], tmp_path / 'pinned.txt') == audit.NOT_ASKED
    assert capsys.readouterr().err.startswith(
        'The database of vulnerabilities could not be asked, so nothing is known: ')
