"""The language, planning and monitoring are pure: they import nothing with a clock, randomness, threads, or files.

What they may import is listed, so that any other module is refused.
"""

import ast

import pytest

from tests.architecture import source

PACKAGES = ('language', 'monitoring', 'planning')
ALLOWED = {
    '__future__', 'bisect', 'collections', 'contextlib', 'contextvars', 'copy', 'dataclasses', 'datetime', 'decimal',
    'difflib', 'enum', 'functools', 'hashlib', 'heapq', 'ipaddress', 'itertools', 'json', 'math', 're', 'sys', 'types',
    'typing', 'urllib.parse', 'weakref',
    'regex', 'yaml', 'yaql',
    'heatlite.common.backoff', 'heatlite.common.document_parts', 'heatlite.common.document_size',
    'heatlite.common.exception', 'heatlite.common.i18n',
    'heatlite.common.identifier', 'heatlite.common.json_bounds', 'heatlite.common.limits',
    'heatlite.common.json_values', 'heatlite.common.name_patterns',
    'heatlite.common.service_answers', 'heatlite.common.template_files', 'heatlite.common.template_format',
    'heatlite.common.turns', 'heatlite.common.wording', 'heatlite.common.yaml_reading',
    'heatlite.language', 'heatlite.planning',
}
CLOCKS = {'now', 'utcnow', 'today'}         # of datetime and date
BUILTINS = {'open', 'input', 'print', '__import__', 'exec', 'eval', 'compile'}


SUPPLIERS = {'float'}                       # what a function without arguments may supply to planning: random numbers


def is_allowed(imported):
    """Whether a module, or what a module contains, is in the list."""
    parts = imported.split('.')
    return any('.'.join(parts[:length]) in ALLOWED for length in range(1, len(parts) + 1))


def impure_calls(tree):
    """Calls of built-in functions with effects, and of a clock."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
                found.append(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id='datetime' | 'date'), attr=name)) if name in CLOCKS:
                found.append(name)
    return found


def suppliers(tree):
    """What functions without arguments return, where annotations name them. Calling one may read anything."""
    return [ast.unparse(result) for node in ast.walk(tree) for result in [_supplied(node)] if result is not None]


def _supplied(node):
    match node:
        case ast.Subscript(value=ast.Name(id='Callable'), slice=ast.Tuple(elts=[ast.List(elts=[]), result])):
            return result
    return None


@pytest.mark.parametrize('imported, allowed', [
    ('random', False), ('random.Random', False), ('os.path', False), ('urllib.request', False), ('urllib.parse', True),
    ('urllib.parse.quote', True), ('collections.abc.Mapping', True), ('heatlite.common.turns', True),
    ('heatlite.common.turns.spend', True), ('heatlite.common.runtime', False), ('heatlite.db.stacks', False),
    ('remote', False), ('heatlite.languages', False),
])
def test_which_imports_are_allowed(imported, allowed):
    assert is_allowed(imported) is allowed


@pytest.mark.parametrize('text, found', [
    ('datetime.now()', ['now']), ('date.today()', ['today']), ('open("x")', ['open']), ('budget.open("x")', []),
    ('datetime(2026, 1, 1)', []), ('now()', []),
])
def test_which_calls_are_found(text, found):
    assert impure_calls(ast.parse(text)) == found


@pytest.mark.parametrize('package', PACKAGES)
def test_pure_packages_import_only_what_is_pure(package):
    found = [str(each) for name, path in source.modules(f'heatlite/{package}').items()
             for each in source.imports(name, path) if not is_allowed(each.imported)]
    assert found == []


@pytest.mark.parametrize('package', PACKAGES)
def test_pure_packages_call_no_clock_and_no_file(package):
    found = {name: calls for name, path in source.modules(f'heatlite/{package}').items()
             if (calls := impure_calls(ast.parse(path.read_text())))}
    assert found == {}


@pytest.mark.parametrize('text, found', [
    ('x: Callable[[], Iterable[int]] | None', ['Iterable[int]']), ('def f(x: Callable[[], float]): ...', ['float']),
    ('x: Callable[[str], int]', []), ('x: Callable[..., int]', []),
])
def test_which_suppliers_are_found(text, found):
    assert suppliers(ast.parse(text)) == found


def test_planning_is_handed_values_and_no_function_that_reads_them():
    found = {name: supplied for name, path in source.modules('heatlite/planning').items()
             if (supplied := [each for each in suppliers(ast.parse(path.read_text())) if each not in SUPPLIERS])}
    assert found == {}


def test_the_list_has_only_what_is_imported():
    imported = [each.imported for package in PACKAGES for name, path in source.modules(f'heatlite/{package}').items()
                for each in source.imports(name, path)]
    unused = {each for each in ALLOWED if not any(f'{name}.'.startswith(f'{each}.') for name in imported)}
    assert unused == set()
