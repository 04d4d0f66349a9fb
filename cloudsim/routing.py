"""Paths to functions: a tree of path segments, so that finding one costs the same with ten routes or a thousand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Handler = Callable[..., Any]


class Node:
    __slots__ = ('any', 'methods', 'named', 'rest')

    def __init__(self) -> None:
        self.named: dict[str, Node] = {}
        self.any: Node | None = None
        self.rest: dict[str, Handler] | None = None     # below here everything, slashes and all
        self.methods: dict[str, Handler] = {}


class Routes:
    """`{x}` in a path is one segment, `{x*}` at its end all that is left. Named segments win over `{x}`."""

    def __init__(self) -> None:
        self._root = Node()

    def add(self, method: str, path: str, handler: Handler) -> None:
        node = self._root
        for part in _parts(path):
            if part.endswith('*}'):
                node.rest = node.rest or {}
                node.rest[method] = handler
                return
            if part.startswith('{'):
                node.any = node.any or Node()
                node = node.any
            else:
                node = node.named.setdefault(part, Node())
        node.methods[method] = handler

    def find(self, method: str, path: str) -> tuple[Handler | None, list[str], bool]:
        """The function, what stood in the path's `{}`, and whether the path is known at all."""
        parts = _parts(path)
        found: list[str] = []
        node = self._walk(self._root, parts, 0, found)
        if node is not None:
            handler = node.methods.get(method)
            if handler is None and method == 'HEAD':
                handler = node.methods.get('GET')
            return handler, found, True
        return self._rest(method, parts)

    def _walk(self, node: Node, parts: list[str], at: int, found: list[str]) -> Node | None:
        if at == len(parts):
            return node if node.methods else None
        named = node.named.get(parts[at])
        if named is not None:
            end = self._walk(named, parts, at + 1, found)
            if end is not None:
                return end
        if node.any is not None:
            found.append(parts[at])
            end = self._walk(node.any, parts, at + 1, found)
            if end is not None:
                return end
            found.pop()
        return None

    def _rest(self, method: str, parts: list[str]) -> tuple[Handler | None, list[str], bool]:
        node, found = self._root, list[str]()
        for at, part in enumerate(parts):
            if node.rest is not None:
                return node.rest.get(method), [*found, '/'.join(parts[at:])], True
            if part in node.named:
                node = node.named[part]
            elif node.any is not None:
                node = node.any
                found.append(part)
            else:
                break
        return None, [], False


def _parts(path: str) -> list[str]:
    return path.strip('/').split('/') if path.strip('/') else []
