"""Options are read when they are needed, not while a module is imported: two engines of one process have their own.

Each option is read somewhere, or says that it has no effect.
"""

import ast
import json
import subprocess
import sys

import pytest

from heatlite.common import options, settings
from heatlite.engine.resources import packed
from tests.architecture import source

# This module registers the options with the library, because plug-ins rely on it. It reads none.
REGISTERS = 'heatlite/common/config.py'
# These modules have names of options, but do not use their values.
DECLARE = ('heatlite/common/options.py', 'heatlite/common/settings.py', 'heatlite/common/foreign_options.py')
NO_EFFECT = settings.WITHOUT_EFFECT
LOAD = '''
import importlib, json, pkgutil, sys
import heatlite
from heatlite.common import config
from oslo_config import cfg

read, original = [], cfg.ConfigOpts._get

def noted(conf, name, *arguments, **named):
    frame = sys._getframe()
    while frame is not None and not frame.f_globals.get('__name__', '').startswith('heatlite.'):
        frame = frame.f_back
    if frame is not None:
        read.append(f"{frame.f_globals['__name__']}:{frame.f_lineno} {name}")
    return original(conf, name, *arguments, **named)

cfg.ConfigOpts._get = noted
for module in pkgutil.walk_packages(heatlite.__path__, 'heatlite.'):
    if module.name.startswith(('heatlite.wsgi.', 'heatlite.db.migrations.')) or module.name.endswith('__main__'):
        continue                                # these are programs: they run when they are imported
    importlib.import_module(module.name)
from heatlite.engine.resources import packed
for module in {'heatlite.engine.resources.rest.types', *packed.modules().values()}:
    dict(importlib.import_module(module).resource_mapping())
print(json.dumps(sorted(set(read))))
'''


def reads_at_import(tree):
    """Lines that use `cfg.CONF` outside the body of a function. Decorators and defaults are outside."""
    waiting, found = [tree], []
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                waiting += [*node.decorator_list, node.args]
                continue
            case ast.Lambda():
                waiting.append(node.args)
                continue
            case ast.Attribute(value=ast.Name(id='cfg'), attr='CONF') | ast.Name(id='CONF', ctx=ast.Load()):
                found.append(node.lineno)
        waiting += ast.iter_child_nodes(node)
    return sorted(found)


@pytest.mark.parametrize('text, lines', [
    ('from oslo_config import cfg\nSIZE = cfg.CONF.size', [2]),
    ('from oslo_config.cfg import CONF\nSIZE = CONF.size', [2]),
    ('class Lamp:\n    size = cfg.CONF.size', [2]),
    ('class Lamp:\n    def size(self):\n        return cfg.CONF.size', []),
    ('def size(value=cfg.CONF.size):\n    return value', [1]),
    ('@limited(cfg.CONF.size)\ndef size():\n    return 1', [1]),
    ('size = lambda: cfg.CONF.size', []),
])
def test_uses_outside_functions_are_found(text, lines):
    assert reads_at_import(ast.parse(text)) == lines


def test_no_module_uses_options_outside_functions():
    found = {source.module_name(path): lines for path in source.modules().values()
             if (lines := reads_at_import(ast.parse(path.read_text())))
             and str(path.relative_to(source.ROOT)) != REGISTERS}
    assert found == {}


def test_importing_modules_and_making_types_reads_no_option():
    done = subprocess.run([sys.executable, '-W', 'ignore', '-c', LOAD], cwd=source.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


def names_used(tree):
    """Attributes that are read, and texts: an option is read by one of these. Of a text that is put together in square
    brackets, for options with a number in their names, what it begins with and a star."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.Subscript(slice=ast.JoinedStr(values=[ast.Constant(value=str(name)), ast.FormattedValue()])):
                found.add(f'{name}*')
    return found


def is_used(name, used):
    return name in used or f'{name.rstrip("0123456789")}*' in used


@pytest.mark.parametrize('text, names', [
    ('cfg.CONF.size', {'size', 'CONF'}),
    ('cfg.CONF[group]["size"]', {'size', 'CONF'}),
    ('get_client_option("nova", "size")', {'nova', 'size'}),
    ('cfg.CONF[f"size_{number}"]', {'size_', 'size_*', 'CONF'}),
    ('self.size = 1', set()),
    ('# size\nsize = 1', set()),
])
def test_reads_of_options_are_found(text, names):
    assert names_used(ast.parse(text)) == names


def test_each_option_is_read_or_says_that_it_has_no_effect():
    """A setting of an operator that nothing reads looks like one that works."""
    used = {body['default_from_config'] for name in packed.names()
            for body in packed.facts(name).get('properties', {}).values() if 'default_from_config' in body}
    for path in source.modules().values():
        if str(path.relative_to(source.ROOT)) not in DECLARE:
            used |= names_used(ast.parse(path.read_text()))
    assert [f'[{group}] {option.name}' for group, declared in options.GROUPS.items() for option in declared
            if not is_used(option.dest, used) and not option.help.startswith(NO_EFFECT)] == []


def test_an_option_without_effect_says_why():
    assert [f'[{group}] {option.name}' for group, declared in options.GROUPS.items() for option in declared
            if option.help.startswith(NO_EFFECT) and not option.deprecated_reason] == []
