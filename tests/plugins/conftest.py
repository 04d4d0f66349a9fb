from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from heatlite.common import config
from heatlite.common import runtime as runtimes
from heatlite.engine.types import plugin_loading, registry
from tests.plugins import bench, own_types

FIXTURES = Path(__file__).parent / 'fixtures'


@pytest.fixture
def runtime() -> Iterator[bench.SteppedRuntime]:
    before = runtimes.current()
    stepped = bench.SteppedRuntime()
    runtimes.use(stepped)
    yield stepped
    runtimes.use(before)


@pytest.fixture
def types() -> Iterator[registry.TypeRegistry]:
    """Built-in types only, and options nobody has set."""
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], project='heatlite', default_config_files=[], default_config_dirs=[])
    yield registry.create(conf)
    registry.use(None)


@pytest.fixture(scope='module')
def kit() -> Iterator[tuple[own_types.OwnTypes, Callable[[str], Any]]]:
    """(the conformance kit with our own types, a function from a type to its cloud)"""
    registry.create()
    found = own_types.own_types()
    with found.clouds() as cloud_of:
        yield found, cloud_of
    registry.use(None)


@pytest.fixture
def plugin_folders() -> Iterator[None]:
    """Nothing of a test's plug-ins is left behind."""
    before = list(plugin_loading.package.__path__)
    yield
    plugin_loading.package.__path__[:] = before
    gone = ('heatlite.engine.plugins.', 'heat.engine.plugins.')
    for name in [name for name in sys.modules if name.startswith(gone)]:
        del sys.modules[name]


@pytest.fixture
def vendors(types: registry.TypeRegistry, plugin_folders: None) -> registry.TypeRegistry:
    """Built-in types and the third-party modules of the fixtures."""
    found = plugin_loading.load([str(FIXTURES / 'vendors')])
    for name, kind in found.types.items():
        types.register(name, kind)
    for name, check in found.constraints.items():
        types.register_constraint(name, check)
    types.failures += found.failures
    return types
