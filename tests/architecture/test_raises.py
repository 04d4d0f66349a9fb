"""What a docstring says is raised can be: the class is one of ours or of Python, or the module names it elsewhere."""

import builtins
import re

import pytest

from tests.architecture import source

NAME = r'(?:\w+\.)*[A-Z]\w*[a-z]\w*'
RAISES = re.compile(rf'\b(?:Raises?|raises)\s+(?:an?\s+)?({NAME}(?:(?:,|\s+and|\s+or|,\s+and|,\s+or)\s+{NAME})*)')
CLASS = re.compile(r'^\s*class (\w+)', re.MULTILINE)


def unknown_errors(text, known):
    """Names of errors that the docstrings of a module mention as raised, and that are neither in `known` nor in the
    rest of the module. Regular expressions, as the parser takes half a minute for all modules."""
    raised = [found.group(1) for found in RAISES.finditer(text)]
    if not raised:
        return []
    rest = RAISES.sub('', text)
    names = {name for each in raised for name in re.findall(NAME, each)}
    return sorted(name for name in names if (last := name.rpartition('.')[2]) not in known
                  and not re.search(rf'\b{last}\b', rest))


def test_documented_errors_exist():
    texts = {path.relative_to(source.ROOT): path.read_text() for path in source.modules().values()}
    known = {*dir(builtins)} | {name for text in texts.values() for name in CLASS.findall(text)}
    assert [f'{path}: {wrong}' for path, text in texts.items() for wrong in unknown_errors(text, known)] == []
    assert sum(len(RAISES.findall(text)) for text in texts.values()) > 500


@pytest.mark.parametrize('docstring, unknown', [
    ('Raises ValueError.', []),
    ('Does it. Raises LostIt and\n    ValueError', ['LostIt']),
    ('Raises Used, errors.Lost, or ValueError.', ['errors.Lost']),
    ('It may raise what it wants. Raises the HTTPError of the service', []),
    ('Raises Code', []),
])
def test_the_rule(docstring, unknown):
    module = f'def f():\n    """{docstring}"""\n    raise Used("Code")'
    assert unknown_errors(module, dir(builtins)) == unknown
