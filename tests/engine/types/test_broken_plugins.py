"""A broken plug-in costs a clear line in the log and a record, never the engine."""

from __future__ import annotations

import logging

import pytest

from heatlite.cmd import manage
from heatlite.common import exception
from heatlite.engine.types import plugin_loading, registry

GOOD = '''
from heat.engine import resource
class Lamp(resource.Resource):
    properties_schema = {}
def resource_mapping():
    return {'Good::Lamp': Lamp}
'''

BROKEN = {                                  # name -> text, types it would have defined, what the record says
    'python2': ("print 'hello'\ndef resource_mapping():\n    return {'Old::Lamp': None,\n 'Old::Post': None}\n",
                ('Old::Lamp', 'Old::Post'), 'SyntaxError: Missing parentheses'),
    'no_library': ('import a_library_nobody_has\n', (), "ModuleNotFoundError: No module named 'a_library_nobody_has'"),
    'no_heat_module': ('from heat.engine import flying\n', (),
                       "ImportError: cannot import name 'flying' from 'heatlite.engine'"),
    'quits': ('import sys\nsys.exit(3)\n', (), 'SystemExit: 3'),
    'own_error': ('1 / 0\n', (), 'ZeroDivisionError: division by zero'),
    'bad_schema': ('''
from heat.engine import properties, resource
class Lamp(resource.Resource):
    properties_schema = {'watts': properties.Schema('Watt')}
def resource_mapping():
    return {'Bad::Schema': Lamp}
''', ('Bad::Schema',), 'InvalidSchemaError: Invalid type (Watt) (line 4), in "watts"'),
    'near_type': ('''
from heat.engine import properties, resource
class Lamp(resource.Resource):
    PROPERTIES = (SIZE, WATTS) = ('size', 'watts')
    properties_schema = {
        SIZE: properties.Schema('String'), WATTS: properties.Schema(
            'Integr')}
''', (), 'InvalidSchemaError: Invalid type (Integr); did you mean "Integer"? (line 6), in "watts"'),
    'one_constraint': ('''
from heat.engine import constraints, properties, resource
class Lamp(resource.Resource):
    properties_schema = {'lamps': properties.Schema('List', schema=properties.Schema('Map', schema={
        'watts': properties.Schema('Integer', constraints=constraints.Range(1, 60))}))}
''', (), 'InvalidSchemaError: constraints is a list: write constraints=[Range(...)] (line 5), in "lamps.watts"'),
    'no_python': ('def resource_mapping()\n    return {}\n', (), "SyntaxError: expected ':' ("),
    'bad_dictionary': ('''
from heat.engine import resource
class Lamp(resource.Resource):
    properties_schema = {'watts': {'Type': 'Integer', 'Watt': 5}}
def resource_mapping():
    return {'Bad::Dictionary': Lamp}
''', ('Bad::Dictionary',), "Lamp.properties_schema: InvalidSchemaError: Unknown key(s) ['Watt'] (line 4), in "
                           '"watts"'),
    'mapping_raises': ("def resource_mapping():\n    raise KeyError('x')\n", (),
                       "resource_mapping failed: KeyError: 'x'"),
    'mapping_is_a_list': ("def available_resource_mapping():\n    return ['x']\n", (),
                          'available_resource_mapping must return a map, not list'),
    'no_type': ("def resource_mapping():\n    return {'No::Type': dict}\n", ('No::Type',),
                "<class 'dict'> is not a subclass of heat.engine.resource.Resource"),
    'nothing': ("def resource_mapping():\n    return {'No::Type': None}\n", ('No::Type',),
                'None is not a subclass of heat.engine.resource.Resource'),
    'number': ("def resource_mapping():\n    return {'No::Type': 7}\n", ('No::Type',),
               '7 is not a subclass of heat.engine.resource.Resource'),
    'instance': ("def resource_mapping():\n    return {'No::Type': object()}\n", ('No::Type',),
                 'is not a subclass of heat.engine.resource.Resource'),
    'name_is_a_number': (GOOD.replace("'Good::Lamp'", '5'), ('5',),
                         'the name 5 in its mapping must be text that is not empty'),
    'name_is_empty': (GOOD.replace("'Good::Lamp'", "''"), ('',), "the name '' in its mapping must be text"),
    'constraint_without_name': ("class Odd:\n    validate = print\ndef constraint_mapping():\n"
                                '    return {None: Odd}\n', (), 'the name None in its mapping must be text'),
    'no_constraint': ("def constraint_mapping():\n    return {'odd': 5}\n", (),
                      'the constraint odd has no method validate'),
}


@pytest.mark.parametrize('name', BROKEN)
def test_it_is_left_out_with_a_record(name, types, plugin_folders, tmp_path, caplog):
    text, expected_types, expected = BROKEN[name]
    (tmp_path / f'{name}.py').write_text(text)
    (tmp_path / 'zz_good.py').write_text(GOOD)
    with caplog.at_level(logging.ERROR):
        found = plugin_loading.load([str(tmp_path)])
    failure, = found.failures
    assert failure.name == f'heat.engine.plugins.{name}'
    assert failure.file == str(tmp_path / f'{name}.py')
    assert failure.types == expected_types
    assert expected in failure.error
    assert [record.getMessage() for record in caplog.records] == [f'Plug-in {failure}']
    assert list(found.types) == ['Good::Lamp']


@pytest.mark.parametrize('text, says, is_of_before', [
    ("print 'hello'\n", "Missing parentheses in call to 'print'", True),
    ('try:\n    pass\nexcept OSError, e:\n    pass\n', 'multiple exception types', True),
    ('x = [\n', "'[' was never closed", False)])
def test_a_syntax_error_names_its_file_and_line(text, says, is_of_before, plugin_folders, tmp_path):
    (tmp_path / 'broken').mkdir()
    (tmp_path / 'broken' / '__init__.py').write_text('from heat.engine.plugins.broken import inside\n')
    (tmp_path / 'broken' / 'inside.py').write_text(text)
    failure = next(each for each in plugin_loading.load([str(tmp_path)]).failures if each.name.endswith('broken'))
    line = text.count('\n', 0, text.find('except')) + 1 if 'except' in text else 1
    assert says in failure.error and f'({tmp_path}/broken/inside.py, line {line})' in failure.error
    assert failure.error.endswith('; only Python 3 can be loaded') == is_of_before


@pytest.mark.parametrize('old, new, says', [
    ('def resource_mapping', 'def resource_maping', 'resource_maping is never called: did you mean resource_mapping?'),
    ('    properties_schema', '    handle_creat = print\n    properties_schema',
     'Good::Lamp: Lamp.handle_creat is never used: did you mean handle_create?')])
def test_the_command_warns_of_a_misspelling(old, new, says, plugin_folders, tmp_path, capsys):
    (tmp_path / 'lamp.py').write_text(GOOD.replace(old, new))
    assert manage.main(['--config-file', '/dev/null', '--set', f'plugin_dirs={tmp_path}', 'plugins']) == 0
    assert f'warning: {tmp_path}/lamp.py: {says}' in capsys.readouterr().out.splitlines()


DEAD_NAMES = {                              # name -> (target, what the record says)
    'My::W': ('notaclass', 'it is mapped to "notaclass", which is neither a subclass of heat.engine.resource.Resource, '
                           'nor the name of a type that is defined, nor that of a template (.yaml, .template)'),
    'My::Empty': ('', 'it is mapped to "", which is neither'),
    'My::Near': ('OS::Heat::RandomStrin', 'did you mean "OS::Heat::RandomString"?'),
    'My::Chain': ('My::W', 'it is mapped to My::W: The Resource Type (My::Chain) could not be found.'),
    'My::Circle': ('My::Circle', 'it is mapped to My::Circle: The resource registry maps'),
    'OS::Heat::Value': ('My::Nothing', 'it is mapped to "My::Nothing", which is neither'),
}
LIVING_NAMES = {'My::Alias': 'OS::Heat::RandomString', 'My::Late': 'Good::Lamp', 'My::Template': 'file:///nowhere.yaml',
                'My::Environment': 'Site::Lamp', 'My::Pattern::*': 'OS::Heat::*'}


def test_a_name_that_means_no_type_is_left_out_with_a_record(types, plugin_folders, tmp_path, caplog):
    mapping = {name: target for name, (target, _error) in DEAD_NAMES.items()} | LIVING_NAMES
    (tmp_path / 'aliases.py').write_text(f'def resource_mapping():\n    return {mapping}\n')
    (tmp_path / 'zz_good.py').write_text(GOOD)
    (tmp_path / 'environment').mkdir()
    (tmp_path / 'environment' / 'site.yaml').write_text(
        'resource_registry: {"Site::Lamp": "Good::Lamp", "Site::Post": "Good::Post", "Site::*": "OS::Heat::*"}')
    conf = types._conf
    conf.set_override('plugin_dirs', [str(tmp_path)])
    conf.set_override('environment_dir', str(tmp_path / 'environment'))
    with caplog.at_level(logging.WARNING):
        types.load_plugins()
    assert {name for failure in types.failures for name in failure.types} == set(DEAD_NAMES)
    for failure in types.failures:
        assert (failure.name, failure.file) == ('heat.engine.plugins.aliases', str(tmp_path / 'aliases.py'))
        assert DEAD_NAMES[failure.types[0]][1] in failure.error
        assert f'Plug-in {failure}' in caplog.messages
    assert set(types.plugins.types) == {'Good::Lamp', *LIVING_NAMES} == set(types.plugins.files)
    assert types.resolve('OS::Heat::Value', 'r').__name__ == 'Value'            # the built-in one is used
    assert types.resolve('My::Environment', 'r').__name__ == 'Lamp'
    with pytest.raises(exception.StackValidationFailed):
        types.resolve('My::W', 'r')
    line, = (message for message in caplog.messages if 'in the environment' in message)
    assert line.startswith('Site::Post in the environment ') and 'did you mean "Good::Lamp"' not in line


def test_of_a_name_that_means_no_type_any_more_the_former_meaning_stays(types, plugin_folders, tmp_path):
    (tmp_path / 'aliases.py').write_text("def resource_mapping():\n    return {'My::Alias': 'OS::Heat::Value'}\n")
    types._conf.set_override('plugin_dirs', [str(tmp_path)])
    types._conf.set_override('environment_dir', '/nowhere')
    types.load_plugins()
    (tmp_path / 'aliases.py').write_text("def resource_mapping():\n    return {'My::Alias': 'notaclass'}\n")
    types.reload_plugins()
    assert [failure.types for failure in types.failures] == [('My::Alias',)]
    assert types.resolve('My::Alias', 'r').__name__ == 'Value'


def test_a_package_that_fails_takes_only_itself(plugin_folders, tmp_path):
    for folder, text in (('bad', 'raise RuntimeError("no")'), ('good', '')):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / '__init__.py').write_text(text)
        (tmp_path / folder / 'lamp.py').write_text(GOOD.replace('Good', folder))
    (tmp_path / 'good' / 'setup.py').write_text('raise RuntimeError("never run")')
    found = plugin_loading.load([str(tmp_path)])
    assert list(found.types) == ['good::Lamp']
    assert [(failure.file, failure.error) for failure in found.failures] == [
        (str(tmp_path / 'bad' / '__init__.py'), 'RuntimeError: no (line 1)'),
        (str(tmp_path / 'bad' / 'lamp.py'), 'RuntimeError: no')]


def test_schemas_of_old_attributes_are_accepted(plugin_folders, tmp_path):
    (tmp_path / 'old.py').write_text(GOOD.replace('properties_schema = {}',
                                                  "properties_schema = {}\n    attributes_schema = {'a': 'text'}"))
    kind = plugin_loading.load([str(tmp_path)]).types['Good::Lamp']
    from heatlite.engine import attributes
    assert attributes.all_schemata(kind)['a'].description == 'text'


def test_without_folders_nothing_is_done(caplog):
    found = plugin_loading.load(['/nowhere'])
    assert (found.types, found.constraints, found.failures) == ({}, {}, [])
    registry.use(None)


def test_hooks_of_groups_that_are_never_called_are_named(plugin_folders, tmp_path):
    (tmp_path / 'group.py').write_text('''
from heat.engine.resources.openstack.heat import instance_group
class Group(instance_group.InstanceGroup):
    def _get_resource_definition(self):
        return None
def resource_mapping():
    return {'My::Group': Group}
''')
    found = plugin_loading.load([str(tmp_path)])
    assert list(found.types) == ['My::Group'] and len(found.warnings) == 1
    assert 'My::Group: Group._get_resource_definition is never called: override member_definition' in str(
        found.warnings[0])
