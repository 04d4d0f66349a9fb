"""The names under which resource types keep values with a resource, in the table `resource_data`.

Read from the source: what is given to `data_set` and to `stored_json`, and read from `data()`, as a text, a constant of
the module or of the class; and the `keep` of described types. Names that are computed are not seen.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ENGINE = Path(__file__).resolve().parents[2] / 'heatlite' / 'engine'
SETTING = frozenset({'data_set', 'data_delete'})
DESCRIPTION = 'keep'                        # key of a described type: {name: how}


def found(engine: Path = ENGINE) -> list[str]:
    """The names, sorted. `engine`: the package of an engine, of this release or of another one."""
    return list(_found(engine))


@functools.cache
def _found(engine: Path) -> tuple[str, ...]:
    names: set[str] = set()
    for path in sorted(engine.rglob('*.py')):
        names |= _of_module(ast.parse(path.read_text(encoding='utf-8')))
    for path in sorted(engine.rglob('*.yaml')):
        names |= set(_described(yaml.safe_load(path.read_text(encoding='utf-8'))))
    return tuple(sorted(names))


def _of_module(tree: ast.Module) -> set[str]:
    constants = dict(_constants(tree))
    names = set()
    for node in ast.walk(tree):
        key = _key(node)
        match key:
            case ast.Constant(value=str(text)):
                names.add(text)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in constants:
                names.add(constants[name])
    return names


def _key(node: ast.AST) -> ast.expr | None:
    """The expression that names a value of a resource: in self.data_set(KEY, ...), self.data()[KEY] and the like."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[key, *_more]) if name in SETTING:
            return key
        case ast.Call(func=ast.Attribute(value=ast.Name(id='stored_json')), args=[_resource, key, *_more]):
            return key
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr='data')), attr='get'),
                      args=[key, *_more]):
            return key
        case ast.Subscript(value=ast.Call(func=ast.Attribute(attr='data'), args=[]), slice=key):
            return key
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[
                ast.Call(func=ast.Attribute(attr='data'), args=[])]):
            return key
    return None


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """NAME = 'text', also of several at once, in the module and in its classes."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else (
            [node.target] if isinstance(node, ast.AnnAssign) else [])
        value = getattr(node, 'value', None)
        for target in targets:
            pairs = (zip(target.elts, value.elts, strict=False) if isinstance(target, ast.Tuple) and
                     isinstance(value, ast.Tuple) else [(target, value)])
            for name, text in pairs:
                if isinstance(name, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield name.id, text.value


def _described(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, each in value.items():
                if name == DESCRIPTION and isinstance(each, dict):
                    yield from map(str, each)
                yield from _described(each)
        case list():
            for each in value:
                yield from _described(each)
