"""Repairs that an editor offers for a finding: a comment that disables its rule, and missing required properties."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from heatlite.authoring import explaining, suppression
from heatlite.common.i18n import _
from heatlite.editing import describing, meaning
from heatlite.editing.diagnosing import EditorDiagnostic
from heatlite.editing.formatting import applied
from heatlite.editing.navigating import Edit
from heatlite.editing.outline import Outline
from heatlite.editing.text import Text, TextSpan
from heatlite.editing.tree import MAP, SCALAR, DocumentNode, DocumentTree, Path
from heatlite.language import rules
from heatlite.language.schema import Schema


@dataclass(frozen=True)
class Repair:
    """`is_preferred`: it repairs the cause."""

    title: str
    edit: Edit
    is_preferred: bool = False


def repairs(outline: Outline, text: Text, diagnostic: EditorDiagnostic) -> list[Repair]:
    """Return the repairs for a finding in this document; those for other files are offered there."""
    if diagnostic.elsewhere is not None:
        return []
    path = tuple([part for part in diagnostic.finding.path if isinstance(part, str | int)])
    found = [*_missing(outline, path)] if diagnostic.finding.rule == rules.MISSING_PROPERTY else []
    return [*found, *_comments(outline, text, diagnostic)]


# --- comments -------------------------------------------------------------------------------------------------------

def _comments(outline: Outline, text: Text, diagnostic: EditorDiagnostic) -> Iterator[Repair]:
    rule = diagnostic.finding.rule
    line = text.line(text.line_of(diagnostic.span.start))
    content = text.text[line.start:line.end]
    given = suppression.COMMENT.search(content)
    if diagnostic.finding.line is not None and not content.lstrip().startswith('#'):
        edit = (Edit(TextSpan(line.start + given.end(1), line.start + given.end(1)), f',{rule}') if given is not None
                else Edit(TextSpan(line.end, line.end), f'  # heatlite-lint: disable={rule}'))
        if _is_a_comment(outline, text.text, edit):
            yield Repair(_('Disable %s in this line') % rule, edit)
    first = Edit(TextSpan(0, 0), f'# heatlite-lint: disable={rule}\n')
    if outline.tree.is_whole and not text.text.startswith('\ufeff') and _is_a_comment(outline, text.text, first):
        yield Repair(_('Disable %s in this file') % rule, first)


def _is_a_comment(outline: Outline, text: str, edit: Edit) -> bool:
    """Whether an edit leaves the values alone, which it does not inside of a text of several lines."""
    if not outline.tree.is_whole:
        return False
    after = DocumentTree(applied(text, [edit]))
    return after.is_whole and [(node.kind, node.value) for node in after.nodes()] == [
        (node.kind, node.value) for node in outline.tree.nodes()]


# --- properties -----------------------------------------------------------------------------------------------------

def _missing(outline: Outline, path: Path) -> Iterator[Repair]:
    """Insert each required property that the map at a path does not have."""
    schemas = meaning.of(outline, (*path, ''), is_key=True).schemas or {}
    around = outline.tree.at(path)
    given = {key.value for key, _value in around.entries} if around is not None else set()
    for name, schema in schemas.items():
        if schema.required and name not in given:
            edit = _inserted(outline, path, name, schema)
            if edit is not None and DocumentTree(applied(outline.text, [edit])).is_whole:
                yield Repair(_('Insert the required property "%s"') % name, edit, is_preferred=True)


def _inserted(outline: Outline, path: Path, name: str, schema: Schema) -> Edit | None:
    """Return the edit that adds a property to the map at a path, which may be missing or empty."""
    node, key = outline.tree.at(path), outline.tree.key_at(path)
    is_json = outline.text.lstrip().startswith('{')
    entry = (f'{json.dumps(name)}: {json.dumps(explaining.value_of(schema))}' if is_json
             else f'{name}: {describing.example(schema)}')
    if node is not None and node.kind == MAP:
        return _into(outline.text, node, entry)
    if node is not None and node.kind == SCALAR and not node.value and key is not None:
        if is_json:
            return None
        pad = ' ' * (_column(outline.text, key.start) + 2)
        return _after(outline.text, key.end, pad, entry)
    around = outline.tree.at(path[:-1])
    if around is None or around.kind != MAP or path[-1] != outline.edition.keys.properties:
        return None
    word = json.dumps(path[-1]) if is_json else path[-1]
    if around.style:
        return _into(outline.text, around, f'{word}: {{{entry}}}')
    pad = ' ' * _column(outline.text, around.entries[0][0].start)
    return _after(outline.text, around.end, pad, f'{word}:\n{pad}  {entry}')


def _into(text: str, node: DocumentNode, entry: str) -> Edit:
    if not node.style:
        pad = ' ' * _column(text, node.entries[0][0].start)
        return _after(text, node.end, pad, entry)
    if node.entries:
        end = node.entries[-1][1].end
        return Edit(TextSpan(end, end), f', {entry}')
    return Edit(TextSpan(node.start + 1, node.start + 1), entry)


def _after(text: str, offset: int, pad: str, entry: str) -> Edit:
    """Insert lines after the line with an offset, or at the offset if that begins a line."""
    if _column(text, offset) == 0 and offset:
        return Edit(TextSpan(offset, offset), f'{pad}{entry}\n')
    end = text.find('\n', offset)
    end = len(text) if end < 0 else end - text[:end].endswith('\r')
    return Edit(TextSpan(end, end), f'\n{pad}{entry}')


def _column(text: str, offset: int) -> int:
    return offset - max(text.rfind('\n', 0, offset), text.rfind('\r', 0, offset)) - 1
