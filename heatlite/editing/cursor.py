"""What is being written at an offset, in a document that is incomplete there.

A mark is put at the offset, once as a value and once as a key; where the text with the mark can be read up to it, the
path of the mark tells what may stand there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from heatlite.editing.outline import Outline
from heatlite.editing.text import TextSpan
from heatlite.editing.tree import BLOCK_STYLES, SCALAR, DocumentNode, DocumentTree, Path

MARK: Final = '\uf8ff'                  # a character for private use, which YAML permits
BEFORE: Final = re.compile(r'(?:(?<=: )\w+:|(?:[\w.\-]|::)*)$')
AFTER: Final = re.compile(r'(?:[\w.\-]|::)*')
COLON: Final = re.compile(r'["\']?[ \t]*:(?:\s|$)')
REST: Final = re.compile(r'["\']?[ \t]*(?:$|#|[,}\]])')
LONGEST_WORD: Final = 200               # characters before the offset that are looked at
LINE_ENDS: Final = '\r\n'


@dataclass(frozen=True)
class CursorContext:
    """One reading of the place: the path of the key or value that is written, in an outline that contains the mark, and
    perhaps only a part of the text."""

    outline: Outline
    path: Path
    is_key: bool


@dataclass(frozen=True)
class TextCursor:
    """`span`: the word at the offset, which a completion replaces; `word`: its part before the offset; `has_colon`: it
    is a key already; `is_quoted`: it stands in quotes; `indent`: spaces before the first character of the line."""

    span: TextSpan
    word: str
    has_colon: bool
    is_quoted: bool
    indent: int
    line: TextSpan
    contexts: tuple[CursorContext, ...]


def at(text: str, offset: int) -> TextCursor:
    """Read only the lines around an offset that its path depends on, or the whole text where that is not enough."""
    cursor = _at(text, offset, *_excerpt(text, offset))
    return cursor if cursor.contexts else _at(text, offset, text, 0)


def _excerpt(text: str, offset: int) -> tuple[str, int]:
    """Return the line with an offset, the lines above it that are indented less or as much as those below them, and
    those after it that are indented as much; and by how much the offset is less in it.
    """
    start = text.rfind('\n', 0, offset) + 1
    end = text.find('\n', offset)
    end = len(text) if end < 0 else end
    before = text[start:offset]
    own = level = len(before) - len(before.lstrip(' '))
    above: list[str] = []
    for line in reversed(text[:start].split('\n')[:-1]):
        words = line.lstrip(' ')
        indent = len(line) - len(words)
        if words.strip() and not words.startswith('#') and indent <= level:
            above.append(line)
            level = indent
    below: list[str] = []
    for line in text[end + 1:].split('\n'):
        words = line.lstrip(' ')
        indent = len(line) - len(words)
        if not words.strip() or words.startswith('#'):
            continue
        if indent < own:
            break
        if indent == own:
            below.append(line)
    head = ''.join(f'{line}\n' for line in reversed(above))
    return '\n'.join([f'{head}{text[start:end]}', *below]) + '\n', start - len(head)


def _at(text: str, offset: int, excerpt: str, shift: int) -> TextCursor:
    """`excerpt`: the part of `text` that is read; `shift`: how much greater offsets are in `text`."""
    start = max(text.rfind(end, 0, offset) for end in LINE_ENDS) + 1
    end = min((place for place in (text.find(end, offset) for end in LINE_ENDS) if place >= 0), default=len(text))
    before, after = text[start:offset], text[offset:end]
    found = BEFORE.search(before[-LONGEST_WORD:])
    word = found[0] if found is not None else ''
    tail = AFTER.match(after)
    span = TextSpan(offset - len(word), offset + (len(tail[0]) if tail is not None else 0))
    rest = text[span.end:end]
    has_colon = COLON.match(rest) is not None
    as_keys = [''] if has_colon else [':', ''] if REST.match(rest) else ['']
    contexts: list[CursorContext] = []
    for colon, last in [*((each, len(excerpt)) for each in as_keys), ('', end - shift)]:
        if last < len(excerpt) and contexts:
            break                               # without what follows: else an open brace goes on there
        quote = rest[:1] if colon and rest[:1] in ('"', "'") else ''
        at_word, behind = span.start - shift, span.end - shift + len(quote)
        context = _context(f'{excerpt[:at_word]}{word}{MARK}{quote}{colon}{excerpt[behind:last]}', at_word, word)
        if context is not None and (context.is_key or not colon) and not any(
                (context.path, context.is_key) == (other.path, other.is_key) for other in contexts):
            contexts.append(context)
    stripped = before.lstrip(' ')
    return TextCursor(span, word, has_colon, text[span.start - 1:span.start] in ('"', "'"), len(before) - len(stripped),
                      TextSpan(start, end), tuple(contexts))


def _context(marked: str, offset: int, word: str) -> CursorContext | None:
    tree = DocumentTree(marked, patient=False)
    found = tree.find(offset)
    if found is None or not _is_mark(found.node, word):
        return None
    around = tree.at(found.path[:-1]) if found.is_key else None
    if around is not None and around.style and marked[around.start] != '{':
        return None                             # `[name:`, where an item of a list begins, hardly a map of one key
    return CursorContext(Outline(marked, tree), found.path, found.is_key)


def _is_mark(node: DocumentNode, word: str) -> bool:
    return node.kind == SCALAR and node.value == word + MARK and node.style not in BLOCK_STYLES
