"""Finds the positions of values in a text; computed only when a diagnostic needs them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from heatlite.common import turns
from heatlite.language.document import EventParser, key_text, plain_value, readers

Place = tuple[int, int]
EVENTS_A_TURN = 100


@dataclass(slots=True)
class _Node:
    """One value: its position, and its children by key or index (a tree takes no more memory than the text)."""

    place: Place
    inside: dict[object, _Node] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """A map or list whose end was not reached yet. `key`: in a map, the key of the next value, with its position."""

    node: _Node
    name: object                    # key or index of the collection in its parent
    position: int | None            # in a list, the index of the next item
    repeated: bool                  # is inside a repeated key
    key: tuple[str, Place] | None = None


class Positions:
    """Line and column (from 1) of every value of a document, by its path. JSON is parsed as YAML."""

    def __init__(self, text: str) -> None:
        self.duplicates: list[tuple[tuple[object, ...], Place]] = []
        self._root: _Node | None = None
        for reader in readers(text):
            self.duplicates, self._root = [], None
            with contextlib.suppress(yaml.YAMLError):   # positions found so far remain valid
                self._scan(reader(text))
                break

    def find(self, path: tuple[object, ...]) -> Place | None:
        """Return the position of `path`, else of its longest prefix that exists."""
        node = self._root
        if node is None:
            return None
        for part in path:
            below = node.inside.get(part)
            if below is None:
                break
            node = below
        return node.place

    def _scan(self, parser: EventParser) -> None:
        try:
            self._document(iter(parser.get_event, None))
        finally:
            parser.dispose()

    def _document(self, events: Iterator[object]) -> None:
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
            name: object = None
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

    def _enter(self, stack: list[_Open], node: _Node) -> tuple[object, bool]:
        """Add a value to the innermost open collection; return its name there, and whether it is a repetition."""
        around = stack[-1]
        repeated = around.repeated
        if around.position is not None:
            name: object = around.position
            around.position += 1
        else:
            if around.key is None:              # a key that is no scalar, which templates must not have
                around.key = ('?', node.place)
            (name, node.place), around.key = around.key, None
            if name in around.node.inside and not repeated:
                self.duplicates.append((tuple([each.name for each in stack[1:]] + [name]), node.place))
                repeated = True
        around.node.inside[name] = node
        return name, repeated


def _key(event: yaml.ScalarEvent) -> str:
    value: str = event.value
    if event.implicit[0] and event.tag is None and value and value[0] in '+-.0123456789tTfFyYnNoO~':
        try:
            loaded = plain_value(value)
        except ValueError:                  # a number that the parser refuses
            return value
        return key_text(loaded) if isinstance(loaded, int | float | None) else value
    return value
