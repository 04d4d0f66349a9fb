"""Where in its module a class says something: file and line, for people who look for their mistake.

Read from the source when something is wrong, so that loading a good module costs nothing.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import traceback
from collections.abc import Iterator
from typing import Any


def of_entry(kind: type, attribute: str, *path: str) -> str:
    """`FILE:LINE` of `kind.<attribute>[path...]`; of the nearest thing around it that can be found; '' for nothing."""
    for owner in kind.__mro__:
        if attribute in vars(owner):
            found = _class(owner)
            if found is None:                   # made by a program, not written
                return ''
            file, node = found
            line = next((line for line in _lines(node, owner, attribute, path)), node.lineno)
            return f'{file}:{line}'
    return of_class(kind)


def of_class(kind: type) -> str:
    """`FILE:LINE` of the class, '' when it was not written in a file."""
    found = _class(kind)
    return f'{found[0]}:{found[1].lineno}' if found else ''


def of_error(error: BaseException, file: str) -> int | None:
    """The line of `file` at which `error` came up: the innermost one of its traceback there."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if os.path.realpath(frame.filename) == os.path.realpath(file)]
    return lines[-1] if lines else None


def _class(kind: type) -> tuple[str, ast.ClassDef] | None:
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:
        return None
    if file is None or not os.path.isfile(file):
        return None
    found = next((node for node in ast.walk(_tree(file, os.stat(file).st_mtime_ns)) if isinstance(node, ast.ClassDef)
                  and node.name == kind.__qualname__.rpartition('.')[2]), None)
    return (file, found) if found is not None else None


@functools.lru_cache(maxsize=8)
def _tree(file: str, _changed: int) -> ast.Module:
    try:
        with open(file, encoding='utf-8', errors='replace') as source:
            return ast.parse(source.read())
    except (OSError, SyntaxError):
        return ast.Module(body=[], type_ignores=[])


def _lines(node: ast.ClassDef, owner: type, attribute: str, path: tuple[str, ...]) -> Iterator[int]:
    """The most precise line first."""
    for statement in node.body:
        match statement:
            case ast.Assign(targets=targets, value=value) if any(
                    isinstance(target, ast.Name) and target.id == attribute for target in targets):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name == attribute:
                pass
            case _:
                continue
        lines = [statement.lineno]
        inside: ast.AST | None = value
        for name in path:
            entry = _entry(inside, owner, name)
            if entry is None:
                break
            line, inside = entry
            lines.append(line)
        yield lines[-1]


def _entry(node: ast.AST | None, owner: type, name: str) -> tuple[int, ast.AST] | None:
    """(line, value) of the first key `name` of a dictionary written in `node`, outer ones before inner ones."""
    waiting = [node] if node is not None else []
    while waiting:
        here = waiting.pop(0)
        if isinstance(here, ast.Dict):
            for key, value in zip(here.keys, here.values, strict=True):
                if key is not None and _value(key, owner) == name:
                    return key.lineno, value
        waiting += ast.iter_child_nodes(here)
    return None


def _value(key: ast.expr, owner: type) -> Any:
    match key:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            module = inspect.getmodule(owner)
            return getattr(owner, name, getattr(module, name, None))
        case ast.Attribute(attr=name):
            return getattr(owner, name, None)
    return None
