"""Values of the Language Server Protocol, made of those of the other modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lsprotocol import types

from heatlite.editing import outline, structure
from heatlite.editing.completing import Completion, Item, ItemKind
from heatlite.editing.diagnosing import EditorDiagnostic, EditorSettings
from heatlite.editing.hovering import Hover
from heatlite.editing.navigating import Edit
from heatlite.editing.repairing import Repair
from heatlite.editing.structure import Symbol
from heatlite.editing.text import Text, TextSpan
from heatlite.language import rules

SOURCE: Final = 'heatlite'
RULES_PAGE: Final = 'users/lint.html'
SEVERITIES: Final = {rules.ERROR: types.DiagnosticSeverity.Error, rules.WARNING: types.DiagnosticSeverity.Warning,
                     rules.NOTE: types.DiagnosticSeverity.Information}
UNUSED: Final = frozenset({rules.UNUSED_PARAMETER, rules.UNUSED_CONDITION})        # editors show these in grey
ITEMS: Final = {
    ItemKind.SECTION: types.CompletionItemKind.Module, ItemKind.TYPE: types.CompletionItemKind.Class,
    ItemKind.PROPERTY: types.CompletionItemKind.Property, ItemKind.FUNCTION: types.CompletionItemKind.Function,
    ItemKind.VALUE: types.CompletionItemKind.EnumMember, ItemKind.NAME: types.CompletionItemKind.Variable,
    ItemKind.ATTRIBUTE: types.CompletionItemKind.Field}
SYMBOLS: Final = {
    structure.SECTION: types.SymbolKind.Namespace, outline.PARAMETER: types.SymbolKind.Variable,
    outline.RESOURCE: types.SymbolKind.Object, outline.CONDITION: types.SymbolKind.Boolean,
    outline.MAPPING: types.SymbolKind.Array, outline.OUTPUT: types.SymbolKind.Field}


def settings(given: object) -> EditorSettings:
    """Return what a client sent as initialization options or as its configuration; what is wrong there is ignored."""
    sent = given.get('heatlite', given) if isinstance(given, Mapping) else {}
    names, url = sent.get('environments'), sent.get('documentation')
    return EditorSettings(tuple(each for each in names if isinstance(each, str)) if isinstance(names, list) else (),
                          sent.get('notes') is True, url.rstrip('/') if isinstance(url, str) else '')


def range_of(text: Text, span: TextSpan) -> types.Range:
    return types.Range(types.Position(*text.position(span.start)), types.Position(*text.position(span.end)))


def diagnostic(text: Text, found: EditorDiagnostic, options: EditorSettings) -> types.Diagnostic:
    finding = found.finding
    link = f'{options.documentation}/{RULES_PAGE}#{finding.rule.lower()}' if options.documentation else None
    related = None
    if found.elsewhere is not None:
        offset = found.elsewhere.offset
        place = range_of(Text(found.elsewhere.text, text.encoding), TextSpan(offset, offset))
        related = [types.DiagnosticRelatedInformation(types.Location(found.elsewhere.url, place), finding.message)]
    return types.Diagnostic(
        range_of(text, found.span), finding.text, severity=SEVERITIES[finding.level], code=finding.rule, source=SOURCE,
        code_description=types.CodeDescription(link) if link else None, related_information=related,
        tags=[types.DiagnosticTag.Unnecessary] if finding.rule in UNUSED else None)


def completion(text: Text, found: Completion, *, with_snippets: bool) -> types.CompletionList:
    return types.CompletionList(False, [_item(item, range_of(text, found.span), with_snippets)
                                        for item in found.items])


def _item(item: Item, place: types.Range, with_snippets: bool) -> types.CompletionItem:
    is_snippet = with_snippets and item.snippet is not None
    return types.CompletionItem(
        item.label, kind=ITEMS[item.kind], detail=item.detail or None, sort_text=item.rank + item.label,
        documentation=markdown(item.documentation) if item.documentation else None,
        tags=[types.CompletionItemTag.Deprecated] if item.is_deprecated else None,
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else types.InsertTextFormat.PlainText,
        text_edit=types.TextEdit(place, str(item.snippet) if is_snippet else item.insert))


def markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.Markdown, text)


def hover(text: Text, found: Hover) -> types.Hover:
    return types.Hover(markdown(found.text), range_of(text, found.span))


def edits(text: Text, found: Iterable[Edit]) -> list[types.TextEdit]:
    return [types.TextEdit(range_of(text, edit.span), edit.text) for edit in found]


def action(uri: str, text: Text, found: Repair, cause: types.Diagnostic) -> types.CodeAction:
    return types.CodeAction(
        found.title, kind=types.CodeActionKind.QuickFix, diagnostics=[cause], is_preferred=found.is_preferred or None,
        edit=types.WorkspaceEdit(changes={uri: edits(text, [found.edit])}))


def symbols(text: Text, found: Sequence[Symbol]) -> list[types.DocumentSymbol]:
    return [types.DocumentSymbol(
        symbol.name, SYMBOLS.get(symbol.kind, types.SymbolKind.Property), range_of(text, symbol.span),
        range_of(text, symbol.word), detail=symbol.detail or None, children=symbols(text, symbol.inside) or None)
        for symbol in found]


