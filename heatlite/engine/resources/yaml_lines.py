"""Reads YAML and records the line of each key, so that an error about a value can name its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

Path = tuple[object, ...]                      # keys and positions that lead to a value

Written: TypeAlias = Mapping[str, Any]
"""A map as a file of YAML has it. The form of its values is not known: the code that reads them checks it."""


class YamlError(Exception):
    """The text is not YAML, or a map has the same key twice. `line`: counted from 1."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        super().__init__(text)


@dataclass(frozen=True)
class YamlSource:
    """The plain values of a text. `values` is None for an empty text."""

    values: Any
    lines: Mapping[Path, int]               # counted from 1; of a map's entry: the line of its key

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest value that contains it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(text: str) -> YamlSource:
    """Raise YamlError."""
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        raise YamlError(error.problem_mark.line + 1 if error.problem_mark else 1, str(error.problem)) from None
    lines: dict[Path, int] = {}
    scalars = yaml.SafeLoader('')

    def value(node: yaml.Node, path: Path) -> object:
        lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            found: dict[object, object] = {}
            for key_node, value_node in node.value:
                key = scalars.construct_object(key_node)
                if key in found:
                    raise YamlError(key_node.start_mark.line + 1, f'{key} is there twice')
                lines[(*path, key)] = key_node.start_mark.line + 1
                found[key] = value(value_node, (*path, key))
            return found
        if isinstance(node, yaml.SequenceNode):
            return [value(item, (*path, place)) for place, item in enumerate(node.value)]
        return scalars.construct_object(node)

    return YamlSource(None if node is None else value(node, ()), lines)
