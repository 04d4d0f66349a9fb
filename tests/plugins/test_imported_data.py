"""What types store beside the physical id of an object, which an import does not have."""

from __future__ import annotations

import ast
from pathlib import Path

from heatlite.engine import resources
from tests.plugins.importing import imported_data

PACKAGE = Path(resources.__file__).parent


WRITER = 'stored_json.py'              # its callers name the keys


def stored():
    """Module -> the keys of data that it stores, as written: by `data_set`, or by WRITER for a resource."""
    found = {}
    for path in PACKAGE.rglob('*.py'):
        keys = {ast.unparse(key) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
                for key in named_by(node)}
        module = str(path.relative_to(PACKAGE))
        if keys and module != WRITER:
            found[module] = keys
    return found


def named_by(call):
    match call.func:
        case ast.Attribute(attr='data_set'):
            return call.args[:1]
        case ast.Attribute(value=ast.Name(id='stored_json'), attr='write' | 'note'):
            return call.args[1:2]
    return []


def test_all_that_is_stored_is_known_to_imports_or_listed():
    """A type that stores something new says what an import does about it."""
    assert {module: set(keys) for module, keys in imported_data()['stored'].items()} == stored()


def test_a_module_whose_data_an_import_reads_has_a_type_that_reads_it():
    reading = {path.relative_to(PACKAGE).parts[-2] for path in PACKAGE.rglob('*.py')
               if 'def data_when_imported' in path.read_text()}
    listed = {Path(module).parts[-2] for module, keys in imported_data()['stored'].items() if 'read' in keys.values()}
    assert reading == listed
