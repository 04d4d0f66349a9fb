"""What types store beside the physical id of an object, which an import does not have."""

from __future__ import annotations

import ast
from pathlib import Path

from heatlite.engine import resources
from tests.plugins.importing import imported_data

PACKAGE = Path(resources.__file__).parent


def stored():
    """Module -> the first arguments of its calls of `data_set`."""
    found = {}
    for path in PACKAGE.rglob('*.py'):
        keys = {ast.unparse(node.args[0]) for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == 'data_set'}
        if keys:
            found[str(path.relative_to(PACKAGE))] = keys
    return found


def test_all_that_is_stored_is_known_to_imports_or_listed():
    """A type that stores something new says what an import does about it."""
    assert {module: set(keys) for module, keys in imported_data()['stored'].items()} == stored()


def test_a_module_whose_data_an_import_reads_has_a_type_that_reads_it():
    reading = {path.relative_to(PACKAGE).parts[-2] for path in PACKAGE.rglob('*.py')
               if 'def data_when_imported' in path.read_text()}
    listed = {Path(module).parts[-2] for module, keys in imported_data()['stored'].items() if 'read' in keys.values()}
    assert reading == listed
