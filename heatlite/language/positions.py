"""Where in a text a value stands: computed only when a complaint needs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from heatlite.common import turns
from heatlite.language.document import key_text, plain_value, readers

Place = tuple[int, int]
EVENTS_A_TURN = 100


@dataclass(slots=True)
class _Node:
    """One value: its place, and what is in it by key or position (a tree costs no more than the text)."""

    place: Place
    inside: dict[Any, _Node] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """A map or list whose end has not come yet. `key`: of a map, the key whose value is next, with its place."""

    node: _Node
    name: Any                       # how the collection is called in the one around it
    position: int | None            # of a list, where the next item goes
    repeated: bool                  # stands in something that stands there twice
    key: tuple[str, Place] | None = None


class Positions:
    """Line and column (from 1) of every value of a document, by its path. JSON is read as the YAML it nearly is."""

    def __init__(self, text: str) -> None:
        self.duplicates: list[tuple[tuple[Any, ...], Place]] = []
        self._root: _Node | None = None
        for reader in readers(text):
            self.duplicates, self._root = [], None
            with contextlib.suppress(yaml.YAMLError):   # what was found so far is still true
                self._scan(reader(text))
                break

    def find(self, path: tuple[Any, ...]) -> Place | None:
        """The place of `path`, else of the longest beginning of it that exists."""
        node = self._root
        if node is None:
            return None
        for part in path:
            below = node.inside.get(part)
            if below is None:
                break
            node = below
        return node.place

    def _scan(self, parser: Any) -> None:
        try:
            self._document(iter(parser.get_event, None))
        finally:
            parser.dispose()

    def _document(self, events: Iterator[Any]) -> None:
        stack: list[_Open] = []
        for count, event in enumerate(events):
            if count % EVENTS_A_TURN == 0:
                turns.spend(EVENTS_A_TURN)
            if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
                stack.pop()
                continue
            if isinstance(event, yaml.StreamEndEvent | yaml.DocumentEndEvent):
                return
            if not isinstance(event, yaml.ScalarEvent | yaml.AliasEvent | yaml.CollectionStartEvent):
                continue
            node = _Node((event.start_mark.line + 1, event.start_mark.column + 1))
            name: Any = None
            repeated = False
            if not stack:
                self._root = node
            else:
                around = stack[-1]
                if around.position is None and around.key is None and isinstance(event, yaml.ScalarEvent):
                    around.key = (_key(event), node.place)
                    continue
                name, repeated = self._enter(stack, node)
            if isinstance(event, yaml.CollectionStartEvent):
                is_list = isinstance(event, yaml.SequenceStartEvent)
                stack.append(_Open(node, name, 0 if is_list else None, repeated))

    def _enter(self, stack: list[_Open], node: _Node) -> tuple[Any, bool]:
        """Puts a value into the innermost open collection; its name there, and whether it is a repetition."""
        around = stack[-1]
        repeated = around.repeated
        if around.position is not None:
            name: Any = around.position
            around.position += 1
        else:
            if around.key is None:              # a key that is no scalar, which no template may have
                around.key = ('?', node.place)
            (name, node.place), around.key = around.key, None
            if name in around.node.inside and not repeated:
                self.duplicates.append((tuple([each.name for each in stack[1:]] + [name]), node.place))
                repeated = True
        around.node.inside[name] = node
        return name, repeated


def _key(event: Any) -> str:
    value: str = event.value
    if event.implicit[0] and event.tag is None and value and value[0] in '+-.0123456789tTfFyYnNoO~':
        try:
            loaded = plain_value(value)
        except ValueError:                  # a number that is refused where it is read
            return value
        return key_text(loaded) if isinstance(loaded, int | float | None) else value
    return value
