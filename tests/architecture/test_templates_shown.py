"""The stored template of a stack may hold hidden values: few modules of the API read it."""

import ast

from tests.architecture import source

# Each of them masks it, or shows nothing of it but names and differences that are masked.
READERS = {'masking', 'handlers.explain', 'handlers.places', 'handlers.plans', 'handlers.revisions', 'handlers.stacks'}


def reads(path):
    """Lines in which an attribute `document` is read that is not called, as a function of a module is."""
    tree = ast.parse(path.read_text(), str(path))
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [node.lineno for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr == 'document' and node not in called]


def test_handlers_take_the_template_of_a_stack_from_masking():
    found = {name.removeprefix('heatlite.api.') for name, path in source.modules('heatlite/api').items() if reads(path)}
    assert found == READERS
