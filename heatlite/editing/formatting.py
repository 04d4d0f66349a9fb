"""Formatting: indentation of blocks, blanks at the ends of lines, and the end of the text.

Nothing else changes: order, quotes, comments, and the form of maps and lists are the author's. The result is compared
with the original, event by event; where they differ, nothing is changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from heatlite.common import turns
from heatlite.editing.navigating import Edit
from heatlite.editing.text import LINE_END, Text, TextSpan
from heatlite.editing.tree import BLOCK_STYLES, LIST, MAP, SCALAR, DocumentNode, DocumentTree

BLANKS: Final = ' \t'
OTHER_LINE_ENDS: Final = re.compile('[\x85\u2028\u2029]')
DASHES: Final = re.compile(r' *(?:- +)*')
WIDTHS: Final = range(2, 9)


class _Unfit(Exception):
    """The text has a form that is not formatted."""


def edits(text: str, width: int = 2) -> list[Edit]:
    """Return the edits that format a text, one for each line that changes; none for a text that cannot be read.

    `width`: spaces of one level of indentation.
    """
    tree = DocumentTree(text, patient=False)
    if not tree.is_whole or tree.root is None or OTHER_LINE_ENDS.search(text):
        return []
    lines = Text(text)
    layout = _Layout(tree, lines, width if width in WIDTHS else 2)
    for with_indent, with_end in ((True, True), (True, False), (False, True), (False, False)):
        try:
            found = list(layout.edits(with_indent=with_indent, with_end=with_end))
        except _Unfit:
            continue
        if not found:
            return []
        if _events(applied(text, found)) == _events(text):
            return found
    return []


def applied(text: str, changes: list[Edit]) -> str:
    """Return the text after edits, which do not overlap."""
    for edit in sorted(changes, key=lambda edit: edit.span.start, reverse=True):
        text = text[:edit.span.start] + edit.text + text[edit.span.end:]
    return text


def _events(text: str) -> list[tuple[object, ...]] | None:
    """Return what a text says, without places and comments; None if it cannot be read."""
    parser = yaml.CSafeLoader(text)
    found = []
    try:
        while (event := parser.get_event()) is not None:
            turns.spend()
            found.append((type(event), *(getattr(event, name, None) for name in (
                'value', 'anchor', 'tag', 'style', 'flow_style', 'implicit'))))
    except (yaml.YAMLError, ValueError):
        return None
    finally:
        parser.dispose()
    return found


class _Layout:
    """The lines of a text: which ones begin an entry or item, and which belong to a value that began before."""

    def __init__(self, tree: DocumentTree, lines: Text, width: int) -> None:
        self.tree, self.lines, self.width = tree, lines, width
        self.text = lines.text
        self.exact: set[int] = set()            # lines whose blanks at the end belong to a value
        self.inner: set[int] = set()            # lines that continue a value
        for node in tree.nodes():
            self._continued(node)

    def _continued(self, node: DocumentNode) -> None:
        if node.kind != SCALAR and not node.style:
            return
        first, last = self.lines.line_of(node.start), self.lines.line_of(max(node.start, node.end - 1))
        self.inner.update(range(first + 1, last + 1))
        if node.kind == SCALAR and node.style:
            self.exact.update(range(first + (node.style in BLOCK_STYLES), last + 1) if last > first else ())

    # --- edits ------------------------------------------------------------------------------------------------------

    def edits(self, *, with_indent: bool, with_end: bool) -> Iterator[Edit]:
        columns = self._columns() if with_indent else {}
        count = self.lines.lines
        last = count - 1
        while last > 0 and not self._content(last).strip(BLANKS) and last not in self.exact:
            last -= 1
        following: dict[int, tuple[int, int]] = {}          # line -> indentation and shift of the next entry
        entry = (-1, 0)
        for number in reversed(range(count)):
            following[number] = entry
            if number in columns:
                entry = (self._indent(number), columns[number] - self._indent(number))
        shift = 0
        for number in range(last + 1):
            if number in columns:
                shift = columns[number] - self._indent(number)
            elif number not in self.inner and self._content(number).lstrip(BLANKS).startswith('#'):
                indent, shift_of_next = following[number]   # a comment may belong to what follows it
                yield from self._line(number, shift_of_next if self._indent(number) == indent else shift)
                continue
            yield from self._line(number, shift)
        if with_end:
            yield from self._end(last)

    def _line(self, number: int, shift: int) -> Iterator[Edit]:
        line, content = self.lines.line(number), self._content(number)
        indent = self._indent(number)
        if number in self.exact:
            kept, blank = content, not content.strip(BLANKS)
        else:
            kept, blank = content.rstrip(BLANKS), not content.strip(BLANKS)
        if blank and number not in self.exact:
            made = ''
        elif blank and shift:
            made = kept[min(indent, -shift):] if shift < 0 else (' ' * shift + kept if kept else kept)
        else:
            made = ' ' * max(0, indent + shift) + kept[indent:]
        if made != content:
            yield from _smallest(line, content, made)

    def _end(self, last: int) -> Iterator[Edit]:
        end = self.lines.line(last).end
        rest = self.text[end:]
        line_end = LINE_END.search(self.text)
        wanted = line_end[0] if line_end is not None else '\n'
        if rest != wanted and (rest or self.text):
            yield Edit(TextSpan(end, len(self.text)), wanted)

    def _content(self, number: int) -> str:
        line = self.lines.line(number)
        return self.text[line.start:line.end]

    def _indent(self, number: int) -> int:
        content = self._content(number)
        return len(content) - len(content.lstrip(' '))

    # --- columns ----------------------------------------------------------------------------------------------------

    def _columns(self) -> dict[int, int]:
        """Line -> the column at which it must begin, of all lines with a key or dash of a block as their first word."""
        found: dict[int, int] = {}
        root = self.tree.root
        waiting = [(root, 0)] if root is not None and _is_block(root) else []
        while waiting:
            node, column = waiting.pop()
            turns.spend()
            before = self._column_of(node)
            for start, value in self._parts(node, before):
                number = self.lines.line_of(start)
                if self.text[self.lines.line(number).start:start].strip(' ') == '':
                    found[number] = column
                if not _is_block(value):
                    continue
                inside = self._column_of(value)
                if self.lines.line_of(self._start(value)) == number:
                    waiting.append((value, column + inside - before))      # begins behind a dash
                elif node.kind == MAP and value.kind == LIST and inside == before:
                    waiting.append((value, column))
                else:
                    waiting.append((value, column + self.width))
        return found

    def _parts(self, node: DocumentNode, column: int) -> Iterator[tuple[int, DocumentNode]]:
        """(start of the key or dash, value) of each entry or item of a block."""
        if node.kind == MAP:
            yield from ((key.start, value) for key, value in node.entries)
            return
        for item in node.items:
            number = self.lines.line_of(item.start)
            while True:
                line = self.lines.line(number)
                prefix = DASHES.match(self.text[line.start:line.end])
                if self.text[line.start + column:line.start + column + 1] == '-' and (
                        prefix is not None and (prefix.end() >= column)):
                    break
                number -= 1
                if number < 0:
                    raise _Unfit
            yield line.start + column, item

    def _start(self, node: DocumentNode) -> int:
        """Return the first key, or the first dash."""
        if node.kind == MAP:
            return node.entries[0][0].start
        if self.text[node.start:node.start + 1] != '-':
            raise _Unfit                        # an anchor or tag before a list
        return node.start

    def _column_of(self, node: DocumentNode) -> int:
        start = self._start(node)
        return start - self.lines.line(self.lines.line_of(start)).start


def _is_block(node: DocumentNode) -> bool:
    return node.kind in (MAP, LIST) and not node.style and bool(node.entries or node.items)


def _smallest(line: TextSpan, old: str, new: str) -> Iterator[Edit]:
    """Yield the edits of the beginning and of the end of a line."""
    old_indent, new_indent = len(old) - len(old.lstrip(' ')), len(new) - len(new.lstrip(' '))
    if new.strip(BLANKS) and old_indent != new_indent:
        yield Edit(TextSpan(line.start, line.start + old_indent), ' ' * new_indent)
        old, new, line = old[old_indent:], new[new_indent:], TextSpan(line.start + old_indent, line.end)
    if old != new:
        if old.startswith(new):
            yield Edit(TextSpan(line.start + len(new), line.end), '')
        else:
            yield Edit(line, new)
