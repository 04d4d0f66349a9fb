"""Reads a document, which may be wrong, to a tree of nodes with their places.

One pass over the events of the parser that the service uses: what comes before an error is there. Aliases are not
expanded, so that the cost is proportional to the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import yaml

from heatlite.common import turns
from heatlite.editing.text import TextSpan
from heatlite.language.document import EventParser, readers

MAP, LIST, SCALAR, ALIAS = 'map', 'list', 'scalar', 'alias'
BLOCK_STYLES: Final = frozenset({'|', '>'})
MERGE: Final = '<<'
SLOW_READER_LIMIT: Final = 20_000       # characters; longer texts are read by the fast reader only
MOST_DEPTH: Final = 200                 # maps and lists within each other; a path costs the square of its length
EVENTS_A_TURN: Final = 200
KINDS: Final[Mapping[type, str]] = {yaml.ScalarEvent: SCALAR, yaml.AliasEvent: ALIAS, yaml.MappingStartEvent: MAP,
                                    yaml.SequenceStartEvent: LIST}

Name = str | int
Path = tuple[Name, ...]


@dataclass(slots=True, eq=False)
class DocumentNode:
    """A value or a key. `value`: text of a scalar, name of an alias; `style`: `|`, `>`, quotes, or '' for plain text,
    `{` for a map or list in braces."""

    kind: str
    start: int
    end: int
    value: str = ''
    style: str = ''
    entries: list[tuple[DocumentNode, DocumentNode]] = field(default_factory=list)      # of a map
    items: list[DocumentNode] = field(default_factory=list)                     # of a list

    @property
    def span(self) -> TextSpan:
        return TextSpan(self.start, self.end)

    @property
    def name(self) -> str | None:
        """The text of a scalar."""
        return self.value if self.kind == SCALAR else None


@dataclass(frozen=True)
class FoundNode:
    """The node at an offset. `path` leads to it, or to the value of which it is the key."""

    node: DocumentNode
    path: Path
    is_key: bool


class DocumentTree:
    """The first document of a text. `root` is None for an empty one; `is_whole`: there was no error.

    `patient`: tries the slow reader as well, which accepts some texts that the fast one does not.
    """

    def __init__(self, text: str, *, patient: bool = True) -> None:
        self.root: DocumentNode | None = None
        self.is_whole = False
        self.anchors: dict[str, DocumentNode] = {}
        self._shift = 1 if text.startswith('\ufeff') else 0
        best: tuple[DocumentNode | None, dict[str, DocumentNode]] | None = None
        for reader in readers(text)[:None if patient and len(text) <= SLOW_READER_LIMIT else 1]:
            self.root, self.anchors = None, {}
            try:
                self._read(reader(text))
                self.is_whole = True
                return
            except (yaml.YAMLError, ValueError):
                best = best or (self.root, self.anchors)
        if best is not None:
            self.root, self.anchors = best

    def _read(self, parser: EventParser) -> None:
        # Open maps and lists, with the key that waits for a value.
        stack: list[tuple[DocumentNode, DocumentNode | None]] = []
        try:
            for count, event in enumerate(iter(parser.get_event, None)):
                if count % EVENTS_A_TURN == 0:
                    turns.spend(EVENTS_A_TURN)
                kind = KINDS.get(type(event))
                if kind is not None:
                    node = self._node(event, kind)
                    self._add(stack, node)
                    if kind in (MAP, LIST):
                        stack.append((node, None))
                        if len(stack) > MOST_DEPTH:
                            raise ValueError('too deep')
                elif isinstance(event, yaml.CollectionEndEvent):
                    self._close(stack, event)
                elif isinstance(event, yaml.DocumentEndEvent):
                    return
        finally:
            while stack:
                self._close(stack, None)
            parser.dispose()

    def _node(self, event: yaml.Event, kind: str) -> DocumentNode:
        start, end = event.start_mark.index + self._shift, event.end_mark.index + self._shift
        if kind == ALIAS:
            return DocumentNode(ALIAS, start, end, event.anchor)
        node = (DocumentNode(SCALAR, start, end, event.value, event.style or '') if kind == SCALAR
                else DocumentNode(kind, start, end, style='{' if event.flow_style else ''))
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _add(self, stack: list[tuple[DocumentNode, DocumentNode | None]], node: DocumentNode) -> None:
        if not stack:
            self.root = node
            return
        around, key = stack[-1]
        if around.kind == LIST:
            around.items.append(node)
        elif key is None:
            stack[-1] = (around, node)
        else:
            around.entries.append((key, node))
            stack[-1] = (around, None)

    def _close(self, stack: list[tuple[DocumentNode, DocumentNode | None]], event: yaml.Event) -> None:
        """End the innermost open map or list: at its bracket, else after the last value in it."""
        node, key = stack.pop()
        if key is not None:                         # the text breaks off before its value
            node.entries.append((key, DocumentNode(SCALAR, key.end, key.end)))
        last = node.entries[-1][1] if node.entries else node.items[-1] if node.items else None
        if event is not None and node.style:
            node.end = event.end_mark.index + self._shift
        elif last is not None:
            node.end = max(node.end, last.end)

    # --- looking up -----------------------------------------------------------------------------------------------

    def real(self, node: DocumentNode) -> DocumentNode:
        """Return the node itself, or the one that an alias stands for."""
        return self.anchors.get(node.value, node) if node.kind == ALIAS else node

    def entry(self, node: DocumentNode | None, name: str) -> tuple[DocumentNode, DocumentNode] | None:
        """Return the last entry of a map with this key, also from a map that is merged into it."""
        if node is None:
            return None
        node = self.real(node)
        for key, value in reversed(node.entries):
            if key.name == name:
                return key, value
        for merge, merged in node.entries:
            if merge.name == MERGE:
                for key, value in reversed(self.real(merged).entries):
                    if key.name == name:
                        return key, value
        return None

    def child(self, node: DocumentNode | None, name: Name) -> DocumentNode | None:
        if isinstance(name, str):
            found = self.entry(node, name)
            return None if found is None else self.real(found[1])
        items = self.real(node).items if node is not None else []
        return self.real(items[name]) if name < len(items) else None

    def at(self, path: Path) -> DocumentNode | None:
        """Return the value at a path, through aliases."""
        node = self.root
        for name in path:
            node = self.child(node, name)
            if node is None:
                return None
        return node

    def text_at(self, *path: Name) -> str | None:
        """Return the text of the scalar at a path."""
        node = self.at(path)
        return node.name if node is not None else None

    def key_at(self, path: Path) -> DocumentNode | None:
        """Return the key of the value at a path; the value itself in a list."""
        if not path:
            return self.root
        around, name = self.at(path[:-1]), path[-1]
        if isinstance(name, int):
            return self.child(around, name)
        found = self.entry(around, name)
        return None if found is None else found[0]

    def find(self, offset: int) -> FoundNode | None:
        """Return the innermost key or value that has an offset."""
        if self.root is None or not self.root.span.holds(offset):
            return None
        node: DocumentNode = self.root
        path: Path = ()
        while True:
            below: tuple[DocumentNode, Name] | None = None
            for key, value in node.entries:
                if key.span.holds(offset) and key.kind == SCALAR:
                    return FoundNode(key, (*path, key.value), True)
                if value.span.holds(offset):
                    below = value, key.value
            for place, item in enumerate(node.items):
                if item.span.holds(offset):
                    below = item, place
            if below is None:
                return FoundNode(node, path, False)
            node, path = below[0], (*path, below[1])

    def nodes(self) -> Iterator[DocumentNode]:
        """All keys and values, each once."""
        waiting = [self.root] if self.root is not None else []
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed([each for entry in node.entries for each in entry] + node.items)
