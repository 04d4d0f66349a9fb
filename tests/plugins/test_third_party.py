"""Unmodified third-party modules, in the styles of 2013 to today, load and can be driven."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path

import pytest

from heatlite.common import exception
from heatlite.engine.compat import aliases
from heatlite.engine.types import plugin_loading, registry
from tests.plugins.bench import Bench
from tests.plugins.conftest import FIXTURES


def test_all_of_them_load(vendors):
    assert vendors.failures == []
    names = {name for name, kind in vendors.classes() if kind.__module__.startswith('heatlite.engine.plugins.')}
    assert names == {'Vendor::Icehouse::Lamp', 'Vendor::Kilo::Lamp', 'Vendor::Modern::Lamp', 'OS::Heat::TestResource',
                     'Vendor::Rack::Unit', 'Vendor::Shelf::Board'}


def test_the_life_of_a_plugin_of_2013(vendors):
    bench = Bench('Vendor::Icehouse::Lamp', {'name': 'a', 'colours': ['red']}, metadata={'k': 'v'})
    assert bench.validate() is None
    lamp = bench.create()
    assert bench.polls == [False, True]
    assert lamp.resource_id == 'lamp-a'
    assert lamp.metadata['lit'] == 'yes'
    assert lamp.given == {'name': 'a', 'colours': ['red']}
    assert lamp.FnGetRefId() == 'lamp-a'
    assert lamp.FnGetAtt('brightness') == 400
    assert lamp.FnGetAtt('seen') == {'name': 'a', 'colours': ['red']}
    assert bench.update({'name': 'a', 'colours': ['red'], 'watts': 6}) == {'watts': 6}
    assert bench.record.data == {'watts': '6'}
    assert bench.update({'name': 'a', 'colours': ['red'], 'watts': 6}) is None
    assert bench.update({'name': 'b', 'colours': ['red'], 'watts': 6}) == {'name': 'b'}
    with pytest.raises(exception.UpdateReplace):
        bench.update({'name': 'b', 'colours': ['green'], 'watts': 6})
    bench.run('DELETE')
    assert ('physical_id', None) in bench.memory.written


@pytest.mark.parametrize('properties, text', [
    ({}, 'Property error: resources.r.properties: Property name not assigned'),
    ({'name': 'a', 'watts': 99}, 'Property error: resources.r.properties.watts: 99 is out of range (min: 1, max: 60)'),
    ({'name': 'a', 'colours': ['blue']},
     'Property error: resources.r.properties.colours[0]: "blue" is not an allowed value ["red", "green"]'),
    ({'name': 'a', 'place': {'room': 'X1'}},
     'Property error: resources.r.properties.place.room: "X1" does not match pattern "[a-z]+"'),
])
def test_schemas_written_as_dictionaries_are_checked(vendors, properties, text):
    with pytest.raises(exception.StackValidationFailed) as error:
        Bench('Vendor::Icehouse::Lamp', properties).validate()
    assert str(error.value) == text


def test_the_life_of_a_plugin_of_2015(vendors, runtime):
    bench = Bench('Vendor::Kilo::Lamp', {'old_bulb': 'b1', 'settings': {'mode': 'day'}}, runtime=runtime)
    bench.validate()
    lamp = bench.create()
    assert lamp.properties['bulb'] == 'b1'
    assert bench.polls == [False, False, True]              # the second question was answered with PollDelay
    assert ('data', 'secret', 'glow', True) in bench.memory.written
    assert lamp.resource_id.startswith('city-r-')
    assert lamp.FnGetAtt('level') == 3
    assert bench.update({'old_bulb': 'b1', 'settings': {'mode': 'day'}, 'tags': ['x', 'y']}) == {'tags': ['x', 'y']}
    assert bench.record.data['tags'] == 'x,y'
    assert bench.run('SUSPEND').checker('RESUME') is None
    with pytest.raises(exception.Error, match="'level': expected '\\[1, 2\\]', got '3'"):
        bench.run('CHECK')
    bench.run('DELETE')


@pytest.mark.parametrize('properties, text', [
    ({'bulb': 'broken one'},
     "Property error: resources.r.properties.bulb: Error validating value 'broken one': No lamp broken one."),
    ({'bulb': 'a', 'old_bulb': 'b'},
     'Property error: resources.r.properties.bulb: Cannot define the following properties at the same time: '
     'bulb, old_bulb'),
    ({'tags': ['a', 'b', 'c', 'd']},
     'Property error: resources.r.properties.tags: length (4) is out of range (min: None, max: 3)'),
    ({'settings': {'mode': 'night', 'level': 8}}, 'Too bright for the night.'),
    ({'settings': {'colour': 1}}, 'Property error: resources.r.properties.settings: Unknown Property colour'),
])
def test_what_a_plugin_of_2015_refuses(vendors, properties, text):
    with pytest.raises(exception.StackValidationFailed) as error:
        Bench('Vendor::Kilo::Lamp', properties).validate()
    assert str(error.value).replace('r.Properties', 'resources.r.properties') == text


def test_errors_that_are_not_the_default_clients_pass_through_attributes(vendors):
    lamp = Bench('Vendor::Kilo::Lamp').create()
    with pytest.raises(exception.HeatException, match='No lamp now'):
        lamp.FnGetAtt('now')
    with pytest.raises(exception.InvalidTemplateAttribute):
        lamp.FnGetAtt('nothing')


def test_signals_become_events_unless_nothing_was_to_do(vendors):
    bench = Bench('Vendor::Kilo::Lamp')
    lamp = bench.create()
    bench.memory.written.clear()
    assert lamp.signal('x') is True
    assert lamp.signal('nothing') is False
    assert bench.memory.written == [('event', 'SIGNAL', 'COMPLETE', 'Signal: blinked')]
    with pytest.raises(exception.NotSupported, match='Signal resource during SUSPEND is not supported'):
        bench.fresh('SUSPEND').signal('x')


def test_a_handler_may_return_a_task_that_the_check_steps(vendors):
    bench = Bench('Vendor::Modern::Lamp', {'steps': 3})
    lamp = bench.create()
    assert bench.polls == [False, False, True]
    assert lamp.resource_id == 'lit' and lamp.data() == {'step': '2'}
    with pytest.raises(exception.NotSupported) as error:
        bench.update({'steps': 3, 'kind': 'x'})
    assert str(error.value) == 'Update to properties kind of r (Vendor::Modern::Lamp) is not supported.'
    with pytest.raises(exception.UpdateReplace):            # the default handle_update
        bench.update({'steps': 4})
    bench.run('DELETE')


def test_a_plugin_folder_overrides_a_built_in_type(vendors):
    bench = Bench('OS::Heat::TestResource', {'extra': 'yes'})
    bench.validate()
    assert bench.create().properties['extra'] == 'yes'
    from heatlite.engine.resources.openstack.heat import test_resource
    assert issubclass(vendors.resolve('OS::Heat::TestResource', 'r'), test_resource.TestResource)


def test_files_beside_a_plugin_by_bare_name(vendors):
    unit, board = vendors.resolve('Vendor::Rack::Unit', 'r'), vendors.resolve('Vendor::Shelf::Board', 'r')
    assert unit.same_module
    assert board.owners == ('shelf', 'shelf', 'shelf')
    assert Bench('Vendor::Rack::Unit').create().resource_id == 'rack'
    assert Bench('Vendor::Shelf::Board').create().resource_id == 'shelf'
    with pytest.raises(ImportError):
        import common  # noqa: F401 - nobody but plug-ins sees those names


def test_a_later_folder_wins_and_types_may_be_names_of_types(types, plugin_folders):
    found = plugin_loading.load([str(FIXTURES / 'vendors'), str(FIXTURES / 'second'), '/nowhere'])
    for name, kind in found.types.items():
        types.register(name, kind)
    assert types.resolve('Vendor::Modern::Lamp', 'r').__name__ == 'OtherLamp'
    assert types.resolve('Vendor::Alias', 'r').__name__ == 'RandomString'
    assert 'Vendor::Alias' not in dict(types.classes())


def test_one_module_object_under_both_names(vendors):
    aliases.install()
    import importlib

    import heat.engine.resource

    import heatlite.engine.resource
    assert heat.engine.resource is heatlite.engine.resource
    assert heatlite.engine.resource.__spec__.name == 'heatlite.engine.resource'
    for name in ('common.exception', 'engine.properties', 'engine.clients.client_plugin', 'engine.scheduler',
                 'engine.plugins.kilo_lamp', 'engine.plugins.rack.common'):
        assert importlib.import_module(f'heat.{name}') is importlib.import_module(f'heatlite.{name}')
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'heat\.engine\.nothing'"):
        importlib.import_module('heat.engine.nothing')


def test_the_registry_loads_folders_and_environments_by_options(plugin_folders, tmp_path):
    (tmp_path / '10-first').write_text('resource_registry: {"Acme::*": "OS::Heat::*", "OS::Heat::Delay": null}')
    (tmp_path / '20-broken').write_text('resource_registry: [')
    (tmp_path / '30-last').write_text('resource_registry: {"Acme::Lamp": "Vendor::Modern::Lamp"}')

    class Options:
        plugin_dirs = [str(FIXTURES / 'vendors')]
        environment_dir = str(tmp_path)

    found = registry.create(Options)
    found.load_plugins()
    registry.use(None)
    assert found.resolve('Acme::RandomString', 'r').__name__ == 'RandomString'
    with pytest.raises(exception.StackValidationFailed, match=r'The Resource Type \(OS::Heat::Delay\)'):
        found.resolve('OS::Heat::Delay', 'r')
    assert [failure.name for failure in found.failures] == ['20-broken']


def test_the_oldest_names_work(vendors):
    aliases.install()
    from heat.engine import resource
    assert 'Vendor::Kilo::Lamp' in resource.get_types('SUPPORTED')
    kind = resource.get_class('OS::Heat::None')

    class Old(kind):
        metadata = resource.Metadata()

    vendors.register('Vendor::Old', Old)
    bench = Bench('Vendor::Old', {}, metadata={'a': 1})
    old = bench.create()
    assert old.metadata == {'a': 1}
    old.metadata = {'b': 2}
    assert bench.memory.written[-1] == ('metadata', {'b': 2})
    old.set_deletion_policy('Retain')
    assert not old.has_handler('DELETE') and old.implementation_signature() == ('Old', '')


def test_option_groups_of_a_plugin(plugin_folders, tmp_path):
    (tmp_path / 'with_options.py').write_text('''
from oslo.config import cfg
group = cfg.OptGroup(name='with_options', title='options of a plug-in')
cfg.CONF.register_group(group)
cfg.CONF.register_opts([cfg.StrOpt('host', default='here')], group)
cfg.CONF.import_group(group, 'heat.common.config')
cfg.CONF.import_opt('heat_stack_user_role', 'heat.common.config')
''')
    assert plugin_loading.load([str(tmp_path)]).failures == []
    from oslo_config import cfg
    assert cfg.CONF.with_options.host == 'here'


LOAD = '''
import sys

from heatlite.common import runtime
runtime.patch()

from heatlite.engine.compat import aliases
from heatlite.engine.types import plugin_loading

aliases.install()
found = plugin_loading.load([sys.argv[1]])
assert not found.failures, found.failures
assert list(found.types) == ['Vendor::Policy']

import oslo_messaging.server                # a base class of it comes with the backend
'''


def test_a_plug_in_selects_the_backend_that_heat_has(tmp_path):
    """As those for group-based policies of 2025 do. The choice is for all of a process, so this one has its own."""
    pytest.importorskip('cotyledon', reason='cotyledon is not installed: the extra "plugins-openstack" has it')
    (tmp_path / 'policy.py').write_text('''
from heat.engine import resource
from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)


class Policy(resource.Resource):
    pass


def resource_mapping():
    return {'Vendor::Policy': Policy}
''')
    run = subprocess.run([sys.executable, '-c', LOAD, str(tmp_path)], cwd=Path(__file__).parents[2], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert run.returncode == 0, run.stdout


JUNO = '''
from heat.common import exception, heat_keystoneclient  # noqa: F401
from heat.engine import constraints, properties, resource

TITLE = _('The kind of a check')


class Check(resource.Resource):
    properties_schema = dict(kind=properties.Schema(properties.Schema.STRING, TITLE))

    def __init__(self, name, definition, stack):
        super().__init__(name, definition, stack)
        kind = self.properties_schema['kind']
        if not kind.constraints:
            kind.constraints.append(constraints.AllowedValues(['ping', 'http']))

    def handle_create(self):
        raise exception.Error(ARGUMENT=_('The quota of the vendor is exceeded'))


def resource_mapping():
    return {'Juno::Check': Check}
'''


@pytest.mark.parametrize('argument', ['msg', 'message'])
def test_a_plugin_of_juno_has_the_builtin_translator_and_adds_constraints(types, plugin_folders, tmp_path, argument):
    (tmp_path / 'juno_check.py').write_text(JUNO.replace('ARGUMENT', argument))
    found = plugin_loading.load([str(tmp_path)])
    assert found.failures == []
    types.register('Juno::Check', found.types['Juno::Check'])
    with pytest.raises(exception.StackValidationFailed, match='smtp'):
        Bench('Juno::Check', {'kind': 'smtp'}).validate()
    with pytest.raises(exception.Error, match='^The quota of the vendor is exceeded$'):
        Bench('Juno::Check', {'kind': 'ping'}).create()
    assert '_' not in vars(builtins)
