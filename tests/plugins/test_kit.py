"""The conformance kit itself: what it says of good types and of bad ones, and how it is called."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heatlite.cmd import manage
from heatlite.engine.compat import extensions
from heatlite.engine.resource import Resource
from heatlite.engine.types import contract_names, plugin_loading
from heatlite.testing import crash, examples, kit, report, schemas, skeletons

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures('plugin_folders')


@pytest.fixture
def skeleton(tmp_path):
    """The module of a new plug-in."""
    return skeletons.write('Acme::Lamp', tmp_path / 'lamp')[0]


def results(path, every=crash.NONE):
    return {each.check: each for each in kit.of(path).run(every)}


# --- the skeleton ------------------------------------------------------------------------------------------

def test_a_new_plugin_passes_as_it_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert manage.main(['--config-file', '/dev/null', 'plugin', 'new', 'Acme::StreetLamp']) == 0
    assert capsys.readouterr().out.split() == [
        'street_lamp/street_lamp.py', 'street_lamp/street_lamp.conformance.yaml',
        'street_lamp/tests/street_lamp_service.py', 'street_lamp/README.rst', 'street_lamp/template.yaml']
    assert manage.main(['--config-file', '/dev/null', 'plugin', 'check', 'street_lamp/street_lamp.py']) == 0
    assert capsys.readouterr().out.endswith('19 passed, 0 failed, 0 warned, 0 not tried: 1 type\n')
    assert manage.main(['--config-file', '/dev/null', 'plugin', 'new', 'Acme::StreetLamp']) == 1
    assert 'is there already' in capsys.readouterr().err


def test_the_pytest_option(skeleton):
    done = pytest_with('--heatlite-plugin', skeleton, '--heatlite-crash', '9', cwd=skeleton.parent)
    assert done.returncode == 0, done.stdout
    assert 'collected 19 items' in done.stdout and '19 passed' in done.stdout
    assert '19 passed, 0 failed, 0 warned, 0 not tried: 1 type' in done.stdout


def test_the_pytest_option_with_a_broken_module(tmp_path):
    (tmp_path / 'old.py').write_text("print 'hello'")
    done = pytest_with('-p', 'heatlite.testing.pytest_plugin', '--heatlite-plugin', tmp_path / 'old.py',
                       cwd=tmp_path)
    assert done.returncode == 1
    assert 'SyntaxError: Missing parentheses' in done.stdout


def test_without_the_option_nothing_is_imported(tmp_path):
    (tmp_path / 'test_it.py').write_text(
        'import sys\ndef test_it():\n'
        '    assert [name for name in sys.modules if name.startswith("heatlite")] == [\n'
        '        "heatlite", "heatlite.testing", "heatlite.testing.crash",\n'
        '        "heatlite.testing.pytest_plugin"] or "eventlet" not in sys.modules\n'
        '    assert not [name for name in sys.modules if name.startswith("heatlite.engine")]\n')
    assert pytest_with(cwd=tmp_path).returncode == 0


def pytest_with(*arguments, cwd):
    return subprocess.run([sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', *map(str, arguments)], cwd=cwd,
                          capture_output=True, text=True, check=False, env={**os.environ, 'PYTHONPATH': str(ROOT)})


# --- what is wrong -----------------------------------------------------------------------------------------

CHANGES = [                                 # (text of the skeleton, text instead), check, outcome, what it says
    (("_('How big it is.'), default=1,", "_('How big it is.'), default='big',"), 'loading', report.FAILED,
     r"InvalidSchemaError: Invalid default big .*\(line 22\)"),
    (("_('Color of the object. A change replaces it.'), default='red'", "_('Color.'), default=[]"),
     'properties', report.FAILED, r'lamp.py:25: color: the default \[\] does not fit'),
    (("default='red'", "default='red', required=True"), 'properties', report.FAILED,
     r'lamp.py:25: color: it is required, so its default is never used'),
    (("attributes.Schema(_('As the service says.')", "attributes.Schema(_('x')"), 'attributes', report.PASSED, ''),
    (('type=attributes.Schema.STRING', "type='Text'"), 'attributes', report.FAILED,
     r"lamp.py:29: state: there is no type 'Text'"),
    (('def handle_update(self, json_snippet, tmpl_diff, prop_diff)', 'def handle_update(self, prop_diff)'), 'methods',
     report.FAILED, r'lamp.py:54: handle_update must take 3 arguments besides self'),
    (('def handle_update', 'def handle_updates'), 'methods', report.FAILED,
     r'lamp.py:22: size: update_allowed, but there is no handle_update'),
    (("f'/{self.resource_id}')[name]", "f'/{self.resource_id}')['status']"), 'attributes read', report.FAILED,
     'lamp.py:29: state: InvalidTemplateAttribute'),
    (("return {self.SIZE: resource_data['size']}", 'return {self.SIZE: 0}'), 'no-op', report.FAILED,
     'compared with the real thing, which was not changed, an update that changes nothing wrote PATCH /things/1'),
    (("if prop_diff:", "if not prop_diff:"), 'update', report.WARNED, 'nothing was written for size'),
    (("{'size': prop_diff[self.SIZE]}", "{'size': prop_diff['watts']}"), 'update', report.FAILED,
     "size: it UPDATE: KeyError: resources.it: 'watts'"),
    (("    def handle_delete(self):\n        if", "    def handle_delete(self):\n        if False and"), 'delete',
     report.FAILED, r"left behind: \('thing', '1'\)"),
    (("f'/{self.resource_id}', may_be_gone=True)", "f'/{self.resource_id}')"), 'delete when gone', report.FAILED,
     r'it DELETE: HTTPError: resources.it: 404 Client Error'),
    (("default='red'),", "default='red', update_allowed=True),"), 'replace', report.FAILED,
     r'color: it UPDATE: KeyError'),
]


@pytest.mark.parametrize('change, check, outcome, text', CHANGES, ids=lambda value: str(value)[:30])
def test_what_is_wrong_is_told(skeleton, change, check, outcome, text):
    written = skeleton.read_text()
    assert change[0] in written
    skeleton.write_text(written.replace(*change))
    found = results(skeleton)[check]
    assert found.outcome == outcome, found
    assert re.search(text, f'{os.path.basename(found.where)}: {found.reason}'), found


def test_a_name_that_means_no_type_fails(skeleton):
    written = skeleton.read_text()
    mapping = "{'Acme::Lamp': Lamp"
    assert mapping in written
    skeleton.write_text(written.replace(mapping, f"{mapping}, 'Acme::Good': 'OS::Heat::Value', 'Acme::W': 'notaclass'"))
    found = [each for each in kit.of(skeleton).run(crash.NONE) if each.outcome == report.FAILED]
    assert [(each.type_name, each.check, each.where) for each in found] == [('Acme::W', 'loading', str(skeleton))]
    assert 'it is mapped to "notaclass"' in found[0].reason


MISSPELT = [                                # (text of the skeleton, text instead), name, the name that was meant
    (('def handle_create', 'def handle_creat'), 'handle_creat', 'handle_create'),
    (('def handle_create', 'def handleCreate'), 'handleCreate', 'handle_create'),
    (('def handle_delete', 'def handle_deleet'), 'handle_deleet', 'handle_delete'),
    (('def check_create_complete', 'def check_create_complet'), 'check_create_complet', 'check_create_complete'),
    (('def find_existing', 'def find_exsiting'), 'find_exsiting', 'find_existing'),
    (('def _resolve_attribute', 'def _resolve_atribute'), '_resolve_atribute', '_resolve_attribute'),
    (('    properties_schema =', '    propertys_schema = {}\n    properties_schema ='), None, None),
    (('    properties_schema =', '    properties_schema = {}\n    update_allowed_propertys = ()\n    schema ='),
     'update_allowed_propertys', 'update_allowed_properties'),
    (('    attributes_schema =', '    atributes_schema ='), 'atributes_schema', 'attributes_schema'),
    (('    properties_schema =', '    supportstatus = None\n    properties_schema ='), 'supportstatus',
     'support_status'),
    (('    properties_schema =', '    propertys_schema ='), 'propertys_schema', 'properties_schema'),
]


@pytest.mark.parametrize('change, name, meant', MISSPELT, ids=[str(change[1]).strip() for change, _n, _m in MISSPELT])
def test_a_misspelt_name_of_the_contract_fails_and_is_logged(skeleton, change, name, meant, caplog):
    written = skeleton.read_text()
    assert change[0] in written
    skeleton.write_text(written.replace(*change))
    loaded = kit.of(skeleton)
    kind = loaded.types['Acme::Lamp']
    said = [text for _where, text in schemas.check_methods(kind) if 'did you mean' in text]
    logged = [line for line in caplog.messages if 'did you mean' in line]
    if name is None:                        # the right name is there, too: a helper
        assert said == logged == []
        return
    assert said == [f'{name} is never used: did you mean {meant}?']
    assert logged == [f'{skeleton}: Acme::Lamp: {kind.__name__}.{name} is never used: did you mean {meant}?']
    places = [where for where, text in schemas.check_methods(kind) if text in said]
    line = int(places[0].rpartition(':')[2])
    assert name in skeleton.read_text().splitlines()[line - 1]


@pytest.mark.parametrize('name', ['resource_maping', 'resourceMapping', 'available_resource_mappings'])
def test_a_misspelt_mapping_function_is_named(skeleton, name, caplog):
    skeleton.write_text(skeleton.read_text().replace('def resource_mapping', f'def {name}'))
    failure, = kit.of(skeleton).failures
    assert failure.error.startswith(f'it defines no types; {name} is never called: did you mean ')
    assert any(f'{name} is never called: did you mean ' in line for line in caplog.messages)


def test_no_name_of_good_plugins_is_taken_for_a_misspelling(plugin_folders, types):
    for name, kind in types.classes():
        assert list(contract_names.misspelt(kind)) == [], name
    folders = [ROOT / 'tests' / 'plugins' / 'fixtures' / 'vendors', *sorted((ROOT / 'contrib' / 'plugins').iterdir())]
    found = plugin_loading.load([str(folder) for folder in folders])
    assert found.types
    for name, kind in found.types.items():
        assert isinstance(kind, str) or list(contract_names.misspelt(kind)) == [], name
    symbols = (ROOT / 'tests' / 'plugins' / 'plugin_symbols.yaml').read_text()
    names = set(re.findall(r'\b[a-z_]\w+\b', symbols)) - {*contract_names.NAMES, *dir(Resource)}
    assert {name: contract_names.nearest(name, contract_names.NAMES) for name in names
            if contract_names.nearest(name, contract_names.NAMES)} == {}


def test_the_table_of_names_is_that_of_the_contract():
    """What the base class has for types to override or set is spelt as there."""
    conditional = re.compile(r'handle_|check_\w+_complete$|find_existing$|observe$')
    missing = {name for name in contract_names.NAMES if not hasattr(Resource, name) and not conditional.match(name)}
    assert missing <= {'properties_schema', 'needs_replace_failed'}


def test_a_type_that_cannot_look_for_what_it_made_is_told_so(skeleton):
    skeleton.write_text(skeleton.read_text().replace('def find_existing', 'def look_for'))
    found = results(skeleton, crash.ALL)
    assert found['crash in create'].outcome == report.WARNED
    assert 'after a request' in found['crash in create'].reason
    assert "('thing', " in found['crash in create'].reason


def test_a_type_that_looks_in_the_wrong_place_fails(skeleton):
    skeleton.write_text(skeleton.read_text().replace("return found[0]['id'] if found else None", 'return None'))
    found = results(skeleton, crash.ALL)['crash in create']
    assert found.outcome == report.FAILED and 'more than one was made' in found.reason


def test_packages_and_folders(skeleton):
    """A package is one plug-in, with its examples beside it; another folder holds several."""
    package = skeleton.parent / 'lamps'
    package.mkdir()
    (package / '__init__.py').write_text('')
    skeleton.rename(package / 'lamp.py')
    examples.beside(skeleton).rename(examples.beside(package))
    (skeleton.parent / 'broken.py').write_text('1 / 0')
    assert results(package)['create'].outcome == report.PASSED
    found = list(kit.of(skeleton.parent).run(crash.NONE))
    assert [each.type_name for each in found if each.outcome == report.FAILED] == ['heat.engine.plugins.broken']
    assert len(found) == 1 + len(kit.CHECKS)


def test_a_module_without_types_is_no_success(tmp_path):
    (tmp_path / 'empty.py').write_text('')
    found, = kit.of(tmp_path / 'empty.py').run(crash.NONE)
    assert (found.outcome, found.reason) == (report.FAILED, 'it defines no types')


def test_a_type_without_example_is_not_tried(skeleton):
    examples.beside(skeleton).unlink()
    found = results(skeleton)
    assert found['properties'].outcome == report.PASSED
    assert (found['create'].outcome, found['create'].reason) == (report.NOT_TRIED, 'no example')


@pytest.mark.parametrize('text, diagnostic', [
    ('types: [', 'expected'), ('type: {}', 'the file: type is not known'),
    ('types: {Acme::Lamp: {property: 1}}', 'Acme::Lamp: property is not known'),
    ('types: {Acme::Lamp: {update: {size: 1}}}', 'update must be a list of maps'),
    ('cloud: real', 'cloud must be "simulated"'), ('stand_in: nowhere.py:running', 'of a file beside it')])
def test_wrong_examples_are_refused(skeleton, text, diagnostic):
    file = examples.beside(skeleton)
    file.write_text(text)
    with pytest.raises(examples.ExamplesError, match=re.escape(diagnostic)) as error:
        examples.read(file)
    assert str(file) in str(error.value)


# --- heatlite-manage plugins -------------------------------------------------------------------------------

def test_the_list_of_plugins(skeleton, tmp_path, capsys):
    options = tmp_path / 'heatlite.conf'
    options.write_text(f'[DEFAULT]\nplugin_dirs = {skeleton.parent}\n')
    assert manage.main(['--config-file', str(options), 'plugins']) == 0
    assert ['heat.engine.plugins.lamp', str(skeleton), 'Acme::Lamp'] in rows(capsys)
    (skeleton.parent / 'old.py').write_text("print 'hello'\nx = {'Old::Lamp': None}\n")
    assert manage.main(['--config-file', str(options), 'plugins']) == 1
    found = rows(capsys)
    assert ['heat.engine.plugins.lamp', str(skeleton), 'Acme::Lamp'] in found
    _name, file, types, error = next(row for row in found if row[0].endswith('old'))
    assert (file, types) == (str(skeleton.parent / 'old.py'), 'Old::Lamp')
    assert error.startswith('SyntaxError: Missing parentheses') and f'({file}, line 1)' in error


def rows(capsys):
    return [re.split(r' {2,}', line) for line in capsys.readouterr().out.splitlines()]


def test_the_list_has_entry_points_too(tmp_path, monkeypatch, capsys):
    info = tmp_path / 'acme-1.0.dist-info'
    info.mkdir()
    (info / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n')
    (info / 'entry_points.txt').write_text('[heat.clients]\nlantern = json:JSONDecoder\nsun = no_such_module:Sun\n')
    monkeypatch.syspath_prepend(tmp_path)
    extensions.forget()
    assert manage.main(['--config-file', '/dev/null', 'plugins']) == 1
    found = {row[0]: row[1:] for row in rows(capsys)}
    assert found['lantern'] == ['heat.clients: json:JSONDecoder']
    assert found['sun'] == ['heat.clients: no_such_module:Sun', "ModuleNotFoundError: No module named 'no_such_module'"]
    extensions.forget()
