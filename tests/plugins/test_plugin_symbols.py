"""Every name that third-party plug-ins import resolves, and is of the kind that they use it as."""

from __future__ import annotations

import importlib
import importlib.util
import json
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence

import pytest
import yaml

from heatlite.engine.compat import aliases, group_scaling, old_names

SYMBOLS = yaml.safe_load(pathlib.Path(__file__).with_name('plugin_symbols.yaml').read_text())
KINDS = {
    'class': lambda found: isinstance(found, type),
    'error': lambda found: isinstance(found, type) and issubclass(found, Exception),
    'function': lambda found: callable(found) and not isinstance(found, type),
    'text': lambda found: isinstance(found, str),
    'number': lambda found: isinstance(found, int | float),
    'values': lambda found: isinstance(found, Mapping | Sequence) and len(found) > 0,
}
# In a process of its own: an import by the whole name also sets the name in its package.
IMPORTER = '''
import json, sys
from heatlite.engine.compat import aliases
aliases.install()
failed = {}
for module in json.load(sys.stdin):
    package, _dot, last = module.rpartition(".")
    names = {}
    try:
        exec(f"from {package} import {last}", names)
        exec(f"import {module}", names)
        assert sys.modules[module] is names[last], "two modules"
    except Exception as error:
        failed[module] = f"{type(error).__name__}: {error}"
print(json.dumps(failed))
'''


@pytest.mark.parametrize('module, name, kind', [
    (module, name, kind) for module, names in SYMBOLS.items() for name, kind in names.items()])
def test_a_name_resolves_and_is_of_its_kind(module, name, kind):
    aliases.install()
    names = {}
    exec(f'from {module} import {name}', names)
    assert KINDS[kind](names[name]), names[name]
    assert getattr(importlib.import_module(module), name) is names[name]


def test_a_module_is_found_by_its_name_in_its_package():
    """`from heat.engine import environment`, as most plug-ins write it, in a process that has imported nothing."""
    found = subprocess.run([sys.executable, '-c', IMPORTER], input=json.dumps(list(SYMBOLS)), capture_output=True,
                           text=True, check=True)
    assert json.loads(found.stdout) == {}


def test_no_former_name_hides_a_module_of_ours():
    root = pathlib.Path(importlib.util.find_spec('heatlite').origin).parent
    former = {*old_names.MADE, *old_names.MOVED, *old_names.PACKAGES}
    assert [name for name in former if (root / name.replace('.', '/')).with_suffix('.py').exists()
            or (root / name.replace('.', '/')).exists()] == []


@pytest.mark.parametrize('adjustment, kind, step, size', [
    (2, 'ChangeInCapacity', None, 5), (2, group_scaling.CHANGE_IN_CAPACITY, None, 5),
    (9, group_scaling.EXACT_CAPACITY, None, 6), (-9, group_scaling.CFN_EXACT_CAPACITY, None, 1),
    (10, group_scaling.PERCENT_CHANGE_IN_CAPACITY, 2, 5), (-50, group_scaling.CFN_PERCENT_CHANGE_IN_CAPACITY, None, 2)])
def test_the_size_after_an_adjustment(adjustment, kind, step, size):
    assert group_scaling.calculate_new_capacity(3, adjustment, kind, step, 1, 6) == size


def test_a_rolling_update_ends():
    current, updated, sizes = 4, 0, []
    while group_scaling.needs_update(4, current, updated):
        current, count = group_scaling.next_batch(4, current, updated, 2, 3)
        updated += count
        sizes.append((current, updated))
    assert sizes[-1] == (4, 4)
    assert all(size - 2 >= 3 or size == 4 for size, _ in sizes), sizes
