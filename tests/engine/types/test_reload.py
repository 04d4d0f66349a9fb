"""Plug-ins and environments read again while the engine runs: what is new counts, what is broken stays as it was."""

from __future__ import annotations

import logging

import pytest
from oslo_config import cfg

from heatlite.common import config, exception
from heatlite.engine.types import registry

LAMP = '''
from heat.engine import resource
class Lamp(resource.Resource):
    color = {color!r}
def resource_mapping():
    return {{'Acme::Lamp': Lamp}}
'''


@pytest.fixture
def folder(tmp_path):
    for name in ('plugins', 'environments'):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def types(folder, plugin_folders):
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[], default_config_dirs=[])
    conf.set_override('plugin_dirs', [str(folder / 'plugins')])
    conf.set_override('environment_dir', str(folder / 'environments'))
    (folder / 'plugins' / 'lamp.py').write_text(LAMP.format(color='red'))
    found = registry.create(conf)
    found.load_plugins()
    yield found
    registry.use(None)


def color(types):
    return types.resolve('Acme::Lamp', 'r').color


def test_a_new_version_counts_from_then_on(types, folder):
    before, kind = types.frozen(), types.resolve('Acme::Lamp', 'r')
    (folder / 'plugins' / 'lamp.py').write_text(LAMP.format(color='sky'))       # as long as before, within a second
    (folder / 'plugins' / 'more.py').write_text(LAMP.format(color='x').replace('Acme::', 'Village::'))
    types.reload_plugins()
    assert color(types) == 'sky' and types.resolve('Village::Lamp', 'r').color == 'x'
    assert before.resolve('Acme::Lamp', 'r') is kind and kind.color == 'red'
    with pytest.raises(exception.StackValidationFailed):
        before.resolve('Village::Lamp', 'r')


def test_a_module_that_is_gone_takes_its_types_along(types, folder):
    (folder / 'plugins' / 'lamp.py').unlink()
    types.reload_plugins()
    with pytest.raises(exception.StackValidationFailed):
        color(types)
    assert types.resolve('OS::Heat::None', 'r')


@pytest.mark.parametrize('text', [
    'def broken(:', 'raise RuntimeError("no")', LAMP.format(color='sky').replace('    color', '    properties_schema')])
def test_of_a_broken_one_the_former_version_stays(types, folder, caplog, text):
    (folder / 'plugins' / 'lamp.py').write_text(text)
    with caplog.at_level(logging.WARNING):
        types.reload_plugins()
    assert color(types) == 'red'
    assert len(caplog.records) == len(types.failures) == 1
    (folder / 'plugins' / 'lamp.py').write_text(LAMP.format(color='sky'))
    types.reload_plugins()
    assert color(types) == 'sky' and types.failures == []


def test_environments_too(types, folder, caplog):
    file = folder / 'environments' / 'a.yaml'
    file.write_text('resource_registry: {"Acme::Sun": "Acme::Lamp"}')
    types.reload_plugins()
    assert types.resolve('Acme::Sun', 'r').color == 'red'
    file.write_text('resource_registry: [')
    with caplog.at_level(logging.WARNING):
        types.reload_plugins()
    assert types.resolve('Acme::Sun', 'r').color == 'red' and len(caplog.records) == 1
    file.unlink()
    types.reload_plugins()
    with pytest.raises(exception.StackValidationFailed):
        types.resolve('Acme::Sun', 'r')
