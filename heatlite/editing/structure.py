"""The structure of a document: symbols, and ranges that an editor may fold."""

from __future__ import annotations

from dataclasses import dataclass

from heatlite.editing.outline import CONDITION, ENVIRONMENT, MAPPING, OUTPUT, PARAMETER, RESOURCE, SECTIONS, Outline
from heatlite.editing.text import Text, TextSpan
from heatlite.editing.tree import LIST, MAP, SCALAR, DocumentNode

SECTION = 'section'
KINDS = (PARAMETER, RESOURCE, CONDITION, MAPPING, OUTPUT)


@dataclass(frozen=True)
class Symbol:
    """A section, or what it declares. `kind`: `section`, one of `KINDS`, or '' for an entry of another section;
    `span`: with its body; `word`: the name."""

    name: str
    kind: str
    detail: str
    span: TextSpan
    word: TextSpan
    inside: tuple[Symbol, ...] = ()


def symbols(outline: Outline) -> list[Symbol]:
    root = outline.tree.root
    found = []
    for key, value in root.entries if root is not None else ():
        if key.kind != SCALAR:
            continue
        name = outline.section_of(key.value) if outline.kind != ENVIRONMENT else None
        kind = SECTIONS.get(name or '', '')
        inside = tuple(
            Symbol(each.value or '""', kind, _detail(outline, kind, each.value), _around(each, body), each.span)
            for each, body in value.entries if each.kind == SCALAR)
        found.append(Symbol(key.value or '""', SECTION, value.value if value.kind == SCALAR else '',
                            _around(key, value), key.span, inside))
    return found


def _detail(outline: Outline, kind: str, name: str) -> str:
    if kind == RESOURCE:
        return outline.type_of(name) or ''
    if kind == PARAMETER:
        body = outline.declared(PARAMETER).get(name)
        found = outline.tree.child(body, 'type') or outline.tree.child(body, 'Type')
        return (found.name if found is not None else None) or ''
    return ''


def _around(key: DocumentNode, value: DocumentNode) -> TextSpan:
    return TextSpan(key.start, max(key.end, value.end))


def folds(outline: Outline, text: Text) -> list[tuple[int, int]]:
    """(first line, last line), from 0, of all entries of maps and items of lists with more than one line."""
    found: dict[int, int] = {}
    for node in outline.tree.nodes():
        parts = [(key.start, value) for key, value in node.entries] + [(item.start, item) for item in node.items]
        for start, value in parts:
            if value.kind in (MAP, LIST, SCALAR) and value.end > start:
                first = text.line_of(start)
                last = text.line_of(start + len(text.text[start:value.end].rstrip()))
                if last > first:
                    found[first] = max(last, found.get(first, 0))
    return sorted(found.items())
