"""The glossary names what there is, and words that only we understood do not come back."""

import ast
import re

import pytest

from tests.architecture import source

GLOSSARY = source.ROOT / 'docs/developers/glossary.rst'
ENTRY = re.compile(r'``(?P<file>[\w/]+\.py)``, +``(?P<name>\w+)``')
RETIRED = re.compile(
    r'\b(errands?|attendant|door-?bell|bells?|doors?|town|crowd|whoever|nobody|somebody|told|foresee\w*|foresight|foreseen)\b',
    re.IGNORECASE)
# How many files may still have them. No number may grow.
# The name of a rule, which is copied into files of operators; an example that Heat's error has.
STILL = {'nobody': 1, 'door': 1}


def entries():
    text = ' '.join(GLOSSARY.read_text().split())
    return [(found['file'], found['name']) for found in ENTRY.finditer(text)]


def terms():
    return [line for line in GLOSSARY.read_text().splitlines()[8:] if line and not line.startswith(' ')]


def test_every_term_says_where_it_is():
    assert len(entries()) == len(terms()) > 20


@pytest.mark.parametrize('file, name', entries())
def test_what_the_glossary_names_is_there(file, name):
    tree = ast.parse((source.ROOT / source.PACKAGE / file).read_text())
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    defined |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
                if isinstance(target, ast.Name)}
    assert name in defined


def retired():
    """{word: number of files of the product with it}"""
    found = {}
    for path in source.modules().values():
        for word in {match.lower() for match in RETIRED.findall(path.read_text())}:
            found.setdefault(word, set()).add(path)
    return {word: len(paths) for word, paths in found.items()}


def test_retired_words_do_not_come_back():
    counted = retired()
    assert not [f'{word}: {count} files' for word, count in counted.items() if count > STILL.get(word, 0)]


def test_the_list_of_what_is_left_is_true():
    assert not {word: counted for word, most in STILL.items() if (counted := retired().get(word, 0)) < most}
